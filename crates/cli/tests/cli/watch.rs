//! `fugato` and `fugato watch` on a real terminal, with a run that another process works on.

use crate::env;
use crate::terminal::Terminal;
use fugato_testkit::TestEnv;
use std::process::Child;
use std::time::{Duration, Instant};

/// Two agents with Chinese names that think for minutes, and one that asks.
fn slow(env: &TestEnv) -> Child {
    env.write(
        ".agents/skills/slow/SKILL.md",
        "---\nname: slow\ndescription: Slow.\nphases:\n  - name: 收集\n    parallel: true\n    subagents:\n      \
         - {skill: _sub/研究员, type: explore, output: A}\n      - {skill: _sub/作者, type: explore, output: B}\n---\nSlow.\n",
    );
    for name in ["研究员", "作者"] {
        env.write(
            format!(".agents/skills/slow/_sub/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Works.\n---\nWork.\n"),
        );
    }
    env.write(
        "slow.yaml",
        "- when: {agent: 收集/作者, step: 1}\n  tools: [{name: ask_user, arguments: {question: 用什么语气？, options: [正式, 轻松]}}]\n\
         - when: {text: 轻松}\n  delay_ms: 600000\n  reply: ok\n- when: {step: 1}\n  delay_ms: 600000\n  reply: ok\n",
    );
    let mut command = env.command();
    command.args(["run", "slow", "--model", "script:slow.yaml", "--no-input"]);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null()).spawn().unwrap()
}

fn events(env: &TestEnv, kind: &str) -> String {
    env.run(["events", "--type", kind, "--jsonl"]).stdout
}

fn ends(mut child: Child) -> i32 {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        assert!(began.elapsed() < Duration::from_secs(90), "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_run_is_opened_paused_redirected_answered_and_cancelled_from_the_screen() {
    let env = env();
    let owner = slow(&env);
    let mut screen = Terminal::whole(&env, &[], 100, 30);
    screen.shows("收集/研究员");
    screen.shows("waits for you");
    // The cursor stands on the first that is at work.
    screen.type_keys("p");
    screen.shows("applied: fugato intervene pause 收集/研究员");
    assert!(events(&env, "directive.recorded").contains("\"pause\""));
    screen.type_keys("e");
    screen.shows("what shall it do instead?");
    screen.type_keys("改用蓝色\r");
    screen.shows("applied: fugato intervene redirect");
    assert!(events(&env, "message.sent").contains("改用蓝色"));
    screen.type_keys("i");
    screen.shows("用什么语气？");
    screen.type_keys("\r2");
    screen.shows("nothing waits for you");
    assert!(events(&env, "input.answered").contains("轻松"));
    screen.type_keys("7");
    screen.shows("redirect 收集/研究员: 改用蓝色");
    // One yes is not enough to cancel everything.
    screen.type_keys("Xy");
    screen.shows("cancel EVERYTHING");
    assert_eq!(events(&env, "run.ended"), "");
    screen.type_keys("all\r");
    screen.shows("applied: fugato intervene cancel all");
    assert!(events(&env, "run.ended").contains("aborted"));
    screen.type_keys("q");
    let (code, _) = screen.finish_any();
    assert_eq!(code, 0);
    ends(owner);
}

#[test]
fn the_terminal_is_given_back_however_it_ends() {
    let env = env();
    let restored = ["\u{1b}[?1049l", "\u{1b}[?2004l", "\u{1b}[?25h"];
    for (name, end) in [("q", Some("q")), ("ctrl-c", Some("\u{3}")), ("terminate", None)] {
        let mut screen = Terminal::whole(&env, &["watch"], 80, 24);
        screen.shows("no runs here yet");
        match end {
            Some(keys) => screen.type_keys(keys),
            None => {
                let pid = rustix::process::Pid::from_child(&screen.child);
                rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            }
        }
        let (code, bytes) = screen.finish_any();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let after = text.rsplit("\u{1b}[?1049h").next().unwrap_or_default().to_owned();
        for sequence in restored {
            assert!(after.contains(sequence), "{name}: {sequence:?} is missing");
        }
        assert_eq!(code, if name == "q" { 0 } else { 130 }, "{name}");
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let env = env();
    let mut screen = Terminal::whole(&env, &[], 80, 24);
    screen.shows("no runs here yet");
    assert_eq!(ends(screen.hang_up()), 130);
}

#[test]
fn it_follows_the_size_of_the_screen_down_to_one_line() {
    let env = env().chinese();
    let mut screen = Terminal::whole(&env, &[], 80, 24);
    screen.shows("这里还没有运行");
    screen.resize(20, 5);
    screen.shows("请放大到");
    screen.resize(60, 20);
    screen.shows("fugato demo");
    screen.type_keys("?");
    screen.shows("干预：光标所在的代理");
    screen.type_keys("qq");
    assert_eq!(screen.finish_any().0, 0);
}

#[test]
fn off_a_terminal_there_is_help_and_watching_says_what_to_type() {
    let env = env();
    env.fugato("").exits(0).says(&["Usage: fugato"]);
    env.fugato("watch").exits(2).says(&["needs a terminal", "fugato events --follow"]);
    env.fugato("watch --json").exits(2).says(&["no JSON form"]);
}

//! Every way a host can misbehave, one small program each.

use super::*;

const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"fine","session_id":"s-1","usage":{"input_tokens":3,"output_tokens":2},"total_cost_usd":0.5}"#;
const TURN: &str = r#"{"type":"turn.completed","usage":{"input_tokens":30,"output_tokens":20}}"#;

#[tokio::test]
async fn a_missing_program_is_told_with_the_way_to_get_it() {
    let room = Room::new();
    for (host, package) in [(Host::Claude, "@anthropic-ai/claude-code"), (Host::Codex, "@openai/codex")] {
        let mut task = room.task(host, "no-such-program", "x");
        task.env = vec![("PATH".into(), room.path("tmp").into_os_string())];
        let (end, events) = run_all(task).await;
        let words = failure(&end);
        let install = format!("npm install -g {package}");
        assert!(
            words.en.contains(&install) && words.zh.contains(&install) && words.zh.contains("找不到"),
            "{words:?}"
        );
        assert!(events.is_empty() && end.session.is_none());
    }
    // A directory is no program either.
    let (end, _) = run_all(room.task(Host::Codex, room.path("tmp"), "x")).await;
    assert!(failure(&end).en.contains("is not there"));
}

#[tokio::test]
async fn an_empty_task_is_not_started() {
    let room = Room::new();
    let mut task = room.fake(Host::Claude, "echo started > started");
    task.prompt = " \n".into();
    assert_eq!(failure(&run_all(task).await.0).en, "the task is empty");
    assert!(!room.path("project/started").exists());
}

#[tokio::test]
async fn output_that_is_no_stream_is_a_failure_that_says_so() {
    let room = Room::new();
    for body in [
        "echo hello; echo '[1]'; echo '\"x\"'",
        "head -c 300000 /dev/urandom | tr '\\0' x",
        "printf '{\"type\":'",
    ] {
        let (end, _) = run_all(room.fake(Host::Claude, body)).await;
        let words = failure(&end);
        assert!(
            words.en.contains("not its stream format") && words.en.contains("fugato doctor"),
            "{words:?}"
        );
    }
}

#[tokio::test]
async fn a_bad_exit_is_told_with_the_last_line_of_standard_error() {
    let room = Room::new();
    let body = "echo 'noise' >&2; echo \"error: unknown option '--tools'\" >&2; exit 1";
    for host in Host::ALL {
        let (end, _) = run_all(room.fake(host, body)).await;
        let words = failure(&end);
        assert!(
            words.en.contains("exit code 1") && words.en.contains("unknown option '--tools'"),
            "{words:?}"
        );
        assert!(words.zh.contains("退出码 1"));
    }
    let flood = "yes 'a line of noise' | head -n 100000 >&2; echo 'the reason' >&2; exit 3";
    let (end, _) = run_all(room.fake(Host::Codex, flood)).await;
    assert!(failure(&end).en.contains("exit code 3 and without a result: the reason"), "{end:?}");
}

#[tokio::test]
async fn an_end_without_a_result_is_no_success() {
    let room = Room::new();
    let (end, events) =
        run_all(room.fake(Host::Claude, r#"echo '{"type":"system","session_id":"s-9"}'"#)).await;
    assert!(failure(&end).en.contains("exit code 0 and without a result"), "{end:?}");
    assert_eq!(events, [HostEvent::Session("s-9".into())]);
    assert_eq!(end.session.unwrap().id, "s-9");
    let (end, _) = run_all(room.fake(Host::Codex, "kill -9 $$")).await;
    assert!(failure(&end).en.contains("signal 9"), "{end:?}");
}

#[tokio::test]
async fn lines_may_come_in_pieces_and_without_a_last_line_end() {
    let room = Room::new();
    let (a, b) = RESULT.split_at(40);
    let body = format!("printf '\\n\\n%s' '{a}'; sleep 0.2; printf '%s' '{b}'");
    let (end, _) = run_all(room.fake(Host::Claude, &body)).await;
    assert_eq!((end.end, end.text.as_str(), end.micro_usd), (Ending::Done, "fine", Some(500_000)));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (Some(3), Some(2)));
}

#[tokio::test]
async fn a_huge_line_is_passed_over_and_the_result_still_counts() {
    let room = Room::new();
    let body = format!(
        "printf '{{\"type\":\"user\",\"x\":\"'; head -c 3000000 /dev/zero | tr '\\0' x; printf '\"}}\\n'; echo '{RESULT}'"
    );
    let mut task = room.fake(Host::Claude, &body);
    task.limits.line_bytes = 1 << 20;
    let (end, events) = run_all(task).await;
    assert_eq!(end.end, Ending::Done);
    assert!(matches!(&events[..], [.., HostEvent::Notice(text)] if text.contains("too long")), "{events:?}");
}

#[tokio::test]
async fn a_flood_of_output_ends_it() {
    let room = Room::new();
    let mut task = room.fake(Host::Claude, "yes '{\"type\":\"x\"}'");
    task.limits.output_bytes = 1 << 20;
    let (end, _) = run_all(task).await;
    assert!(failure(&end).en.contains("wrote more than 1048576 bytes"), "{end:?}");
}

#[tokio::test]
async fn a_hanging_host_is_ended_at_its_time_limit_with_what_it_said() {
    let room = Room::new();
    let body = r#"echo '{"type":"thread.started","thread_id":"t-1"}'
echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"so far"}}'
echo '{"type":"item.started","item":{"id":"2","type":"command_execution","command":"sleep"}}'
sleep 300"#;
    let mut task = room.fake(Host::Codex, body);
    task.limits.time = Duration::from_secs(2);
    task.limits.grace = Duration::from_millis(200);
    let (end, events) = run_all(task).await;
    assert_eq!(
        (end.end, end.text.as_str(), end.session.unwrap().id.as_str()),
        (Ending::TimedOut, "so far", "t-1")
    );
    assert_eq!(calls(&events), [("Bash".to_owned(), true)]);
}

#[tokio::test]
async fn a_host_that_ignores_term_is_killed_with_everything_below_it() {
    let room = Room::new();
    let body = r#"trap '' TERM
(trap '' TERM; setsid sleep 300 & sleep 301) &
echo '{"type":"system","session_id":"s-2"}'
while true; do sleep 1; done"#;
    let mut task = room.fake(Host::Claude, body);
    task.limits.grace = Duration::from_millis(300);
    let (log, marks) = marked();
    task.log = log;
    let (end, _) = run_until(task, CancelToken::new(), |event| matches!(event, HostEvent::Session(_))).await;
    assert_eq!(end.end, Ending::Cancelled);
    assert_eq!(left(&marks), Vec::<String>::new());
}

#[tokio::test]
async fn a_task_cancelled_before_it_starts_starts_nothing() {
    let room = Room::new();
    let cancel = CancelToken::new();
    cancel.cancel();
    let (end, _) = run_until(room.fake(Host::Claude, "echo x > started"), cancel, |_| false).await;
    assert_eq!(end.end, Ending::Cancelled);
    assert!(!room.path("project/started").exists());
}

#[tokio::test]
async fn a_host_that_stays_after_its_last_word_is_ended_and_its_work_counts() {
    let room = Room::new();
    let mut task = room.fake(Host::Claude, &format!("echo '{RESULT}'; sleep 300"));
    task.limits.linger = Duration::from_millis(300);
    task.limits.grace = Duration::from_millis(300);
    let (log, marks) = marked();
    task.log = log;
    let (end, _) = run_all(task).await;
    assert_eq!((end.end, end.text.as_str()), (Ending::Done, "fine"));
    assert_eq!(left(&marks), Vec::<String>::new());
}

#[tokio::test]
async fn a_failure_to_end_in_time_after_cancel_is_still_a_cancel() {
    let room = Room::new();
    let body = r#"trap 'echo "{\"type\":\"turn.failed\",\"error\":{\"message\":\"interrupted\"}}"; exit 1' TERM
echo '{"type":"thread.started","thread_id":"t"}'
while true; do sleep 0.1; done"#;
    let task = room.fake(Host::Codex, body);
    let (end, _) = run_until(task, CancelToken::new(), |event| matches!(event, HostEvent::Session(_))).await;
    assert_eq!(end.end, Ending::Cancelled);
}

#[tokio::test]
async fn long_prompts_go_by_standard_input_and_long_system_prompts_past_the_arguments() {
    let room = Room::new();
    let body = format!(
        "cat > prompt; printf '%s\\n' \"$@\" > args; while [ $# -gt 1 ]; do [ \"$1\" = --append-system-prompt-file ] && cat \"$2\" > system; shift; done; echo '{RESULT}'; echo '{TURN}'"
    );
    let (prompt, system) = ("p".repeat(3 << 20), "s".repeat(300 << 10));
    let read = |name: &str| std::fs::read_to_string(room.path("project").join(name)).unwrap();
    for host in Host::ALL {
        let mut task = room.fake(host, &body);
        (task.prompt, task.system) = (prompt.clone(), system.clone());
        let (end, _) = run_all(task).await;
        assert_eq!(end.end, Ending::Done, "{host:?}");
        match host {
            Host::Claude => assert!(read("prompt") == prompt && read("system") == system),
            Host::Codex => assert!(read("prompt") == format!("{system}\n\n{prompt}")),
        }
        assert!(read("args").len() < 2000);
    }
    assert_eq!(
        std::fs::read_dir(std::env::temp_dir())
            .unwrap()
            .flatten()
            .filter(|entry| {
                let name = entry.file_name();
                name.to_string_lossy().starts_with("fugato-system-")
                    && std::fs::read_to_string(entry.path()).is_ok_and(|text| text == system)
            })
            .count(),
        0
    );
}

#[tokio::test]
async fn access_decides_the_arguments_and_nothing_is_dangerous_unless_the_guard_is_off() {
    let room = Room::new();
    let args = |host, access, guard| {
        let mut task = room.task(host, "x", "x");
        (task.access, task.guard) = (access, guard);
        task.tools.only = Some(["Read", "Bash", "Write", "office-read"].map(str::to_owned).to_vec());
        let args = match host {
            Host::Claude => claude::arguments(&task, None),
            Host::Codex => codex::arguments(&task, None),
        };
        args.into_iter().map(|arg| arg.into_string().unwrap()).collect::<Vec<_>>().join(" ")
    };
    use Access::{ReadOnly, ReadWrite};
    for (host, access, guard, wanted) in [
        (Host::Claude, ReadOnly, Guard::Kept, "--permission-mode dontAsk --tools Read"),
        (Host::Claude, ReadOnly, Guard::Off, "--permission-mode dontAsk --tools Read"),
        (Host::Claude, ReadWrite, Guard::Kept, "--permission-mode acceptEdits --tools Read,Bash,Write"),
        (Host::Claude, ReadWrite, Guard::Off, "--permission-mode bypassPermissions --tools Read,Bash,Write"),
        (Host::Codex, ReadOnly, Guard::Kept, "--sandbox read-only"),
        (Host::Codex, ReadOnly, Guard::Off, "--sandbox read-only"),
        (Host::Codex, ReadWrite, Guard::Kept, "--sandbox workspace-write"),
        (Host::Codex, ReadWrite, Guard::Off, "--dangerously-bypass-approvals-and-sandbox"),
    ] {
        let found = args(host, access, guard);
        assert!(found.contains(wanted), "{host:?} {access:?} {guard:?}: {found}");
        let is_dangerous = found.contains("dangerously") || found.contains("bypass");
        assert_eq!(is_dangerous, (access, guard) == (ReadWrite, Guard::Off), "{found}");
    }
}

#[tokio::test]
async fn turns_of_codex_are_limited_by_counting_them() {
    let room = Room::new();
    let body = r#"echo '{"type":"turn.started"}'; i=0
while true; do i=$((i+1))
echo "{\"type\":\"item.started\",\"item\":{\"id\":\"$i\",\"type\":\"command_execution\",\"command\":\"x\"}}"
echo "{\"type\":\"item.completed\",\"item\":{\"id\":\"$i\",\"type\":\"command_execution\",\"exit_code\":0}}"
sleep 0.05; done"#;
    let mut task = room.fake(Host::Codex, body);
    task.max_turns = Some(3);
    task.limits.grace = Duration::from_millis(300);
    let (end, events) = run_all(task).await;
    assert_eq!((end.end, end.steps), (Ending::TurnLimit, 4));
    assert!(calls(&events).len() >= 4);
}

#[tokio::test]
async fn a_host_sees_the_given_environment_only() {
    let room = Room::new();
    let (end, _) = run_all(room.fake(Host::Claude, &format!("env > seen; echo '{RESULT}'"))).await;
    assert_eq!(end.end, Ending::Done);
    let seen = std::fs::read_to_string(room.path("project/seen")).unwrap();
    let allowed = ["HOME", "CODEX_HOME", "TMPDIR", "PATH", "FUGATO_PROCESS", "PWD", "OLDPWD", "SHLVL", "_"];
    for line in seen.lines() {
        let name = line.split('=').next().unwrap();
        assert!(allowed.contains(&name), "{line}");
    }
}

#[tokio::test]
async fn versions_are_asked_for_and_judged() {
    let room = Room::new();
    let ask = |host, body: &str| {
        let task = room.fake(host, body);
        find(host, Box::leak(task.program.into_boxed_os_str()), room.env(&[]))
    };
    let found = ask(Host::Claude, "echo '2.1.400 (Claude Code)'").await.unwrap();
    assert_eq!(found.version.to_string(), "2.1.400");
    let old = ask(Host::Codex, "echo codex-cli 0.20.0").await.unwrap_err();
    assert!(matches!(&old, Lacking::TooOld { .. }) && old.words().en.contains("older than"), "{old:?}");
    for (body, wanted) in
        [("exit 3", "exit code 3"), ("echo hello", "names no version"), ("kill -9 $$", "was ended")]
    {
        let broken = ask(Host::Codex, body).await.unwrap_err();
        assert!(matches!(&broken, Lacking::Broken(words) if words.en.contains(wanted)), "{broken:?}");
    }
}

#[tokio::test]
async fn a_script_is_an_executor_with_the_same_ends() {
    use crate::tools::ToolContext;
    use fugato_model::RelPath;
    let room = Room::new();
    let dir = room.path("tmp");
    let task = serde_json::json!({"task": "count 世界"});
    let mut context =
        ToolContext { roots: vec![room.path("project")], env: room.env(&[]), ..ToolContext::default() };
    context.limits.time = Duration::from_secs(30);
    let ended = async |body: &str, context: &ToolContext, cancel: CancelToken| {
        std::fs::write(dir.join("agent.sh"), body).unwrap();
        let entry = RelPath::parse("agent.sh").unwrap();
        run_script(ScriptTask { dir: &dir, entry: &entry, task: &task, context }, cancel).await
    };
    let end = ended("cat; pwd > where", &context, CancelToken::new()).await;
    assert_eq!((end.end, end.text), (Ending::Done, task.to_string()));
    assert!(room.path("project/where").exists());
    let end = ended("echo why >&2; exit 4", &context, CancelToken::new()).await;
    assert!(failure(&end).en.contains("exit code 4: why"), "{end:?}");
    let cancel = CancelToken::new();
    cancel.cancel();
    assert_eq!(ended("sleep 300", &context, cancel).await.end, Ending::Cancelled);
    context.limits.time = Duration::from_millis(300);
    assert_eq!(ended("sleep 300", &context, CancelToken::new()).await.end, Ending::TimedOut);
}

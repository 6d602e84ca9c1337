//! The real Claude Code and Codex with our hook in their settings, against a mock model on loopback.
//!
//! Each test starts the program as a person does: fugato is only in its settings.

use crate::hosted::Which::{Claude, Codex};
use crate::hosted::{Owner, Room, Which, waits_for};
use fugato_testkit::mock_model::{Asked, Rule, Say};
use fugato_testkit::{TestEnv, host_program};
use std::path::Path;
use std::process::{Command, Stdio};

/// A room with a fugato of its own, beside which a hook of the test's choice lies.
struct Faked {
    room: Room,
    /// Goes with the test.
    _bin: tempfile::TempDir,
}

impl std::ops::Deref for Faked {
    type Target = Room;

    fn deref(&self) -> &Room {
        &self.room
    }
}

fn room_with(hook: &str, rules: Vec<Rule>) -> Faked {
    use std::os::unix::fs::PermissionsExt as _;
    let real = Path::new(env!("CARGO_BIN_EXE_fugato"));
    // Near the real one: a hard link stays on one disk, and unlike other links it is where it says.
    let bin = tempfile::tempdir_in(real.parent().unwrap()).unwrap();
    std::fs::hard_link(real, bin.path().join("fugato")).unwrap();
    let file = bin.path().join("fugato-hook");
    std::fs::write(&file, format!("#!/bin/sh\n{hook}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = TestEnv::new(bin.path().join("fugato").to_str().unwrap());
    Faked { room: Room::within(env, rules), _bin: bin }
}

/// The host as a person starts it, headless, in the project.
pub(crate) fn host(room: &Room, which: Which, task: &str, more: &[&str]) -> Command {
    let ours = room.command(&[]);
    let mut command = Command::new(host_program(which.name()));
    command.env_clear().current_dir(room.env.project()).stdin(Stdio::null());
    for (name, value) in ours.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    match which {
        Claude => command.args(["-p", task, "--output-format", "stream-json", "--verbose"]),
        Codex => {
            command.args(["exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", task])
        }
    };
    command.args(more);
    command
}

pub(crate) fn install(room: &Room, which: Which) {
    room.run(&["hook", "install", "--host", which.name(), "--trust"]).exits(0);
}

/// A model that has a file made, and then says that it is done.
fn makes_a_file(which: Which) -> Vec<Rule> {
    vec![
        Rule::on("quokka", [which.shell("printf x > made.txt")]).after(0),
        Rule::on("quokka", [Say::text("It is done.")]),
    ]
}

/// What the person allows without being asked.
fn allowed(which: Which) -> &'static [&'static str] {
    match which {
        Claude => &["--allowedTools", "Bash"],
        Codex => &[],
    }
}

fn ends(room: &Room, which: Which) -> String {
    let output = host(room, which, "a quokka wants a file", allowed(which)).output().unwrap();
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn calls_the_hook(which: Which) {
    let room = room_with("cat >> calls.txt; echo >> calls.txt", makes_a_file(which));
    install(&room, which);
    let said = ends(&room, which);
    assert!(room.has("made.txt"), "{said}");
    let calls = room.env.read("calls.txt");
    for event in ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"] {
        assert!(calls.contains(&format!("\"hook_event_name\":\"{event}\"")), "{event}: {calls}\n{said}");
    }
    // What is taken out is called no more.
    room.run(&["hook", "uninstall", "--host", which.name()]).exits(0);
    std::fs::remove_file(room.env.project().join("calls.txt")).unwrap();
    ends(&room, which);
    assert!(!room.has("calls.txt"));
}

#[test]
fn claude_calls_what_is_installed_and_not_what_was_taken_out() {
    calls_the_hook(Claude);
}

#[test]
fn codex_calls_what_is_installed_and_not_what_was_taken_out() {
    calls_the_hook(Codex);
}

/// Only before a tool: a session whose hooks all fail may not even begin.
const BEFORE_A_TOOL: &str = "case \"$(cat)\" in *PreToolUse*) ";

#[test]
fn a_hook_that_crashes_blocks_claude_code() {
    for crash in ["kill -SEGV $$", "exit 1", "echo not json; exit 3"] {
        let hook = format!("{BEFORE_A_TOOL}{crash};; esac");
        let room = room_with(&hook, makes_a_file(Claude));
        install(&room, Claude);
        let said = ends(&room, Claude);
        assert!(!room.has("made.txt"), "{crash}: {said}");
        assert!(room.asked("quokka").len() >= 2, "the model heard of it: {said}");
    }
}

#[test]
fn a_hook_that_is_gone_blocks_claude_code() {
    let room = room_with("exit 0", makes_a_file(Claude));
    install(&room, Claude);
    let settings = std::fs::read_to_string(room.env.user_home().join(".claude/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    let hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    std::fs::remove_file(hook).unwrap();
    let said = ends(&room, Claude);
    assert!(!room.has("made.txt"), "{said}");
}

#[test]
fn codex_has_no_setting_against_a_hook_that_crashes_and_doctor_says_so() {
    let room = room_with(&format!("{BEFORE_A_TOOL}exit 1;; esac"), makes_a_file(Codex));
    install(&room, Codex);
    ends(&room, Codex);
    assert!(room.has("made.txt"), "Codex has learned to block: `wiring::abilities` can say so");
    room.run(&["hook", "doctor", "--host", "codex"])
        .exits(0)
        .says(&["lets a tool run when the hook crashes"]);
}

#[test]
fn what_is_not_trusted_is_not_called_by_codex() {
    let room = room_with("cat >> calls.txt", makes_a_file(Codex));
    room.run(&["hook", "install", "--host", "codex"]).exits(0).says(&["only after you trust it"]);
    ends(&room, Codex);
    assert!(room.has("made.txt") && !room.has("calls.txt"));
}

#[test]
fn a_call_waits_for_as_long_as_the_hook_does() {
    for which in [Claude, Codex] {
        let hook = format!("{BEFORE_A_TOOL}touch held; while [ -e held ]; do sleep 0.05; done;; esac");
        let room = room_with(&hook, makes_a_file(which));
        install(&room, which);
        let mut child = host(&room, which, "a quokka wants a file", allowed(which));
        let mut owner = Owner(child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        waits_for("the call", || room.has("held"));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!room.has("made.txt"));
        std::fs::remove_file(room.env.project().join("held")).unwrap();
        assert_eq!(owner.wait(), Some(0));
        assert!(room.has("made.txt"));
    }
}

#[test]
fn a_plugin_brings_its_commands_skills_and_hook_to_claude_code() {
    use std::os::unix::fs::PermissionsExt as _;
    let room = room_with(
        "cat >> calls.txt",
        vec![
            Rule::on("a wombat is at work", [Say::text("shown")]),
            Rule::on("quokka", [Claude.shell("printf x > made.txt")]).after(0),
            Rule::on("quokka", [Say::text("done")]),
        ],
    );
    room.run(&["plugin", "export", "plugin"]).exits(0);
    let hooks: serde_json::Value = serde_json::from_str(&room.env.read("plugin/hooks/hooks.json")).unwrap();
    let hook = Path::new(hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap()).to_owned();
    // The dashboard has tests of its own.
    let fugato = hook.with_file_name("fugato");
    std::fs::remove_file(&fugato).unwrap();
    std::fs::write(&fugato, "#!/bin/sh\necho \"$1: a wombat is at work\"\n").unwrap();
    std::fs::set_permissions(&fugato, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |task: &str| {
        let mut command = host(&room, Claude, task, &["--plugin-dir", "plugin", "--allowedTools", "Bash"]);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let said = run("/fugato:status");
    let first: serde_json::Value = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .find(|line: &serde_json::Value| line["subtype"] == "init")
        .unwrap();
    for name in ["fugato:status", "fugato:intervene", "fugato:orchestrate", "fugato:oversee"] {
        assert!(first.to_string().contains(name), "{name}: {first:#}");
    }
    assert!(!room.asked("status: a wombat is at work").is_empty(), "{said}");
    let said = run("a quokka wants a file");
    assert!(room.has("made.txt") && room.env.read("calls.txt").contains("PreToolUse"), "{said}");
}

/// The program that the commands of an exported plugin call.
fn program_of(plugin: &str) -> String {
    let line = plugin.lines().find_map(|line| line.strip_prefix("!`")?.strip_suffix(" status || true`"));
    line.unwrap_or_default().to_owned()
}

/// Nothing stands in for anything: a run of our own is at work, and Claude Code looks at it and intervenes by the plugin's commands
/// and with the permissions these bring along.
#[test]
fn the_commands_of_the_plugin_show_and_steer_a_real_run_in_claude_code() {
    let fugato = env!("CARGO_BIN_EXE_fugato");
    let intervenes = |words: &str| {
        let asked = format!("The user wants: intervene {words}");
        let call = Claude.shell(&format!("{fugato} intervene {words}"));
        [Rule::on(&asked, [call]).after(0), Rule::on(&asked, [Say::text("so it is")])]
    };
    let mut rules = vec![Rule::on("## Orchestration Dashboard", [Say::text("shown")])];
    for words in ["pause all", "resume main", "pause ghost"] {
        rules.extend(intervenes(words));
    }
    let room = Room::within(crate::env(), rules);
    room.run(&["plugin", "export", "plugin"]).exits(0);
    assert_eq!(program_of(&room.env.read("plugin/commands/status.md")), fugato);
    let waits = "touch begun; while [ ! -e go-on ]; do sleep 0.05; done";
    room.env.write(
        "model.yaml",
        format!(
            "- when: {{agent: main, step: 1}}\n  tools: [{{name: Bash, arguments: {{command: '{waits}'}}}}]\n- when: {{}}\n  reply: over\n"
        ),
    );
    let mut owner = room.spawn(&["go", "a long task", "--model", "script:model.yaml", "--no-input"]);
    waits_for("the run", || room.has("begun"));
    let run = |task: &str| {
        // As the plugin allows, and no more.
        let output = host(&room, Claude, task, &["--plugin-dir", "plugin"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let said = run("/fugato:status");
    let shown = room.asked("## Orchestration Dashboard");
    assert!(shown.len() == 1 && said.contains("shown"), "{said}");
    for words in [room.id().as_str(), "- **Status**: running", "| main |", "No inter-agent dependencies."] {
        assert!(shown[0].text().contains(words), "{words}: {}", shown[0].text());
    }
    let status = || room.env.fugato("status --json").exits(0).json()["status"].clone();
    let told = |words: &str| {
        let said = run(&format!("/fugato:intervene {words}"));
        let asked = room.asked(&format!("The user wants: intervene {words}"));
        let results = asked.last().map(Asked::results).unwrap_or_default();
        results.last().cloned().unwrap_or_else(|| panic!("{words}: {said}"))
    };
    let answer = told("pause all");
    assert!(answer.contains("Intervention recorded: pause all"), "{answer}");
    assert_eq!(status(), "paused");
    let answer = told("pause ghost");
    assert!(
        answer.contains("Agent 'ghost' not found in active orchestration. Available agents: main"),
        "{answer}"
    );
    let answer = told("resume main");
    assert!(answer.contains("Intervention recorded: resume main"), "{answer}");
    assert_eq!(status(), "running");
    room.env.write("go-on", "");
    assert_eq!(owner.wait(), Some(0));
    let said = run("/fugato:status");
    assert!(!room.asked("Last orchestration ended with status: **complete**").is_empty(), "{said}");
}

/// In the settings of the project alone.
#[test]
fn a_hook_of_a_project_is_called_where_the_host_reads_the_settings_of_projects() {
    for which in [Claude, Codex] {
        let room = room_with("cat >> calls.txt", makes_a_file(which));
        room.run(&["hook", "install", "--host", which.name(), "--scope", "project", "--trust"]).exits(0);
        let said = ends(&room, which);
        assert!(room.has("calls.txt"), "{which:?}: {said}");
        if which == Claude {
            continue;
        }
        std::fs::remove_file(room.env.project().join("calls.txt")).unwrap();
        let config = room.env.user_home().join("codex/config.toml");
        let project = room.env.project().canonicalize().unwrap().display().to_string();
        let text = std::fs::read_to_string(&config).unwrap();
        // Codex may have recorded its own opinion meanwhile.
        let text = text.replace("trust_level = \"trusted\"", "trust_level = \"untrusted\"");
        let barred = format!("\n[projects.{project:?}]\ntrust_level = \"untrusted\"\n");
        let text = if text.contains("untrusted") { text } else { text + &barred };
        std::fs::write(&config, text).unwrap();
        room.run(&["hook", "doctor", "--host", "codex"]).exits(0).says(&["this project is not trusted"]);
        ends(&room, which);
        assert!(!room.has("calls.txt"), "a project that is not trusted");
    }
}

//! `hook install | uninstall | doctor` and `plugin export` as a person uses them. No host is started but fakes.

use crate::env;
use fugato_testkit::TestEnv;
use serde_json::{Value, json};
use std::path::PathBuf;

const MINE: &str = "{\n  // mine\n  \"model\": \"opus\",\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"other\"}]}]}\n}\n";

fn settings(env: &TestEnv, text: &str) -> PathBuf {
    let file = env.user_home().join(".claude/settings.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

fn text(file: &PathBuf) -> String {
    std::fs::read_to_string(file).unwrap()
}

/// A host that only knows its version.
fn fake_host(env: &TestEnv, name: &str, says: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let file = env.write(format!("bin/{name}"), format!("#!/bin/sh\necho '{says}'\n"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let key = format!("hosts.{name}.program");
    env.run(["config", "set", "--layer", "user", &key, &file.display().to_string()]).exits(0);
    file
}

#[test]
fn a_dry_run_shows_what_an_installation_writes_and_uninstalling_restores_it_byte_for_byte() {
    let env = env();
    fake_host(&env, "claude", "2.1.325 (Claude Code)");
    let file = settings(&env, MINE);
    let dry = env.fugato("hook install --host claude --dry-run").exits(0);
    dry.says(&["+", "\"PreToolUse\"", "\"onFailure\": \"block\"", "was not written (--dry-run)"]);
    assert_eq!(text(&file), MINE);
    let done = env.fugato("hook install --host claude").exits(0);
    assert_eq!(done.stdout, dry.stdout);
    done.says(&["wrote ~/.claude/settings.json", "what it was before:"]);
    let written = text(&file);
    assert!(written.contains("// mine") && written.contains("\"other\""), "{written}");
    assert!(written.contains(env!("CARGO_BIN_EXE_fugato")), "{written}");
    let again = env.fugato("hook install --host claude --json").exits(0).json();
    assert_eq!((&again["changes"][0]["changed"], &again["changes"][0]["diff"]), (&json!(false), &json!("")));
    env.fugato("hook doctor --host claude").exits(0).says(&[
        "Claude Code 2.1.325: pause holds a tool call",
        "blocks a tool call when the hook crashes",
        "hook installed in ~/.claude/settings.json (9 events)",
    ]);
    env.fugato("hook uninstall --dry-run").exits(0);
    assert_eq!(text(&file), written);
    env.fugato("hook uninstall").exits(0).says(&["wrote ~/.claude/settings.json"]);
    assert_eq!(text(&file), MINE);
    env.fugato("hook uninstall").exits(0).says(&["nothing to change"]);
}

#[test]
fn a_broken_file_is_shown_with_its_line_and_no_host_is_touched() {
    let env = env().chinese();
    settings(&env, "{\n  \"hooks\": [}\n}\n");
    let said = env.fugato("hook install --host codex,claude").exits(1);
    said.says(&["F0407", "settings.json:2", "没有写入"]);
    assert!(!env.user_home().join(".codex").exists());
    env.fugato("hook doctor --host claude").exits(1).says(&["settings.json:2", "错误"]);
    env.fugato("explain F0407").exits(0);
}

#[test]
fn only_hosts_that_are_here_are_meant_when_none_is_named() {
    let env = env();
    let mut command = env.command();
    let output = command.args(["hook", "install"]).env("PATH", "/usr/bin:/bin").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    fake_host(&env, "codex", "codex-cli 0.166.0");
    let output = env.command().args(["hook", "install"]).env("PATH", "/usr/bin:/bin").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(env.user_home().join(".codex/hooks.json").exists() && !env.user_home().join(".claude").exists());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("only after you trust it") && said.contains("lets a tool run when a hook crashes"),
        "{said}"
    );
    let report: Value = env.fugato("hook doctor --host codex --json").exits(0).json();
    let place = &report["hosts"][0]["places"][0];
    assert_eq!((&place["installed"], &place["trusted"]), (&json!(true), &json!(false)), "{report:#}");
    env.fugato("hook install --host codex --trust").exits(0);
    let report = env.fugato("hook doctor --host codex --json").exits(0).json();
    assert_eq!(report["hosts"][0]["places"][0]["trusted"], true, "{report:#}");
    env.fugato("hook uninstall --host codex").exits(0);
    assert!(!env.user_home().join(".codex").exists());
}

#[test]
fn a_project_is_wired_for_this_machine_alone_and_a_program_that_went_away_is_noticed() {
    let env = env();
    fake_host(&env, "claude", "2.1.197 (Claude Code)");
    std::fs::create_dir_all(env.project().join(".git/refs")).unwrap();
    env.write(".git/HEAD", "ref: refs/heads/main\n");
    env.fugato("hook install --host claude --scope project")
        .exits(0)
        .says(&["lets a tool run when a hook crashes"]);
    let file = env.project().join(".claude/settings.local.json");
    let moved = text(&file)
        .replace(env!("CARGO_BIN_EXE_fugato"), "/gone/fugato")
        .replace("fugato-hook", "fugato hook");
    std::fs::write(&file, moved).unwrap();
    env.fugato("hook doctor --host claude").exits(1).says(&[
        "/gone/fugato",
        "is not there",
        "--scope project",
    ]);
    env.fugato("hook install --host claude --scope project").exits(0);
    env.fugato("hook doctor --host claude").exits(0);
    env.fugato("hook uninstall --scope project").exits(0);
    assert!(!env.project().join(".claude").exists());
}

#[test]
fn a_plugin_is_written_once_more_over_itself_but_never_over_something_else() {
    let env = env();
    let written = env.fugato("plugin export out/fugato --json").exits(0).json();
    assert_eq!(written["files"].as_array().unwrap().len(), 6, "{written}");
    env.fugato("plugin export out/fugato").exits(0).says(&["commands/intervene.md"]);
    let manifest: Value = serde_json::from_str(&env.read("out/fugato/.claude-plugin/plugin.json")).unwrap();
    assert_eq!(manifest["name"], "fugato");
    for skill in ["orchestrate", "oversee"] {
        env.fugato(&format!("skill validate out/fugato/skills/{skill}")).exits(0);
    }
    let status = env.read("out/fugato/commands/status.md");
    assert!(status.contains(&format!("!`{} status || true`", env!("CARGO_BIN_EXE_fugato"))), "{status}");
    env.write("mine/notes.txt", "x");
    env.fugato("plugin export mine").exits(7).says(&["is not empty"]);
}

//! Programs that can run an agent, as `doctor` sees them.

use crate::env;
use fugato_testkit::{TestEnv, host_program};

/// A program of this name that says this, in a directory of its own.
fn program(env: &TestEnv, name: &str, body: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let file = env.write(format!("bin/{name}"), format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

fn doctor(env: &TestEnv, args: &[&str]) -> String {
    let path = format!("{}:/usr/bin:/bin", env.project().join("bin").display());
    let output = env.command().arg("doctor").args(args).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn doctor_says_which_hosts_are_there_and_why_one_cannot_be_used() {
    let env = env();
    let said = doctor(&env, &[]);
    assert!(said.contains("not installed: Claude Code, Codex"), "{said}");
    program(&env, "claude", "echo '2.1.400 (Claude Code)'");
    program(&env, "codex", "echo codex-cli 0.20.0");
    let said = doctor(&env, &[]);
    assert!(said.contains("Claude Code 2.1.400 can run agents"), "{said}");
    assert!(said.contains("warning  Codex 0.20.0 is older than 0.166.0"), "{said}");
    assert!(said.contains("npm install -g @openai/codex") && !said.contains("not installed"), "{said}");
    program(&env, "codex", "echo broken >&2; exit 3");
    let said = doctor(&env, &["--lang", "zh"]);
    assert!(
        said.contains("以退出码 3 结束") && said.contains("Claude Code 2.1.400 可以运行智能体"),
        "{said}"
    );
    let document: serde_json::Value = serde_json::from_str(&doctor(&env, &["--json"])).unwrap();
    assert_eq!(
        (&document["hosts"][0]["usable"], &document["hosts"][0]["version"]),
        (&true.into(), &"2.1.400".into())
    );
    assert_eq!(
        (&document["hosts"][1]["name"], &document["hosts"][1]["usable"]),
        (&"codex".into(), &false.into())
    );
}

#[test]
fn a_named_program_that_is_not_there_is_a_warning_and_a_project_cannot_name_one() {
    let env = env();
    env.run(["config", "set", "--layer", "user", "hosts.claude.program", "/no/such/claude"]).exits(0);
    let said = doctor(&env, &[]);
    assert!(said.contains("warning  Claude Code is not there: no program `/no/such/claude`"), "{said}");
    let env = crate::env();
    let evil = program(&env, "evil", "echo x > ../started; echo 9.9.9");
    env.write("fugato.toml", format!("[hosts.codex]\nprogram = \"{}\"\n", evil.display()));
    let said = doctor(&env, &[]);
    assert!(
        said.contains("not installed: Claude Code, Codex") && !env.project().join("started").exists(),
        "{said}"
    );
}

#[test]
fn doctor_finds_the_real_hosts() {
    let env = env();
    for name in ["claude", "codex"] {
        let program = host_program(name).display().to_string();
        env.run(["config", "set", "--layer", "user", &format!("hosts.{name}.program"), &program]).exits(0);
    }
    let key =
        env.command().args(["doctor", "--json"]).env("OPENAI_API_KEY", "canary-0123456789").output().unwrap();
    let said = String::from_utf8(key.stdout).unwrap();
    assert!(!said.contains("canary-0123456789"));
    let document: serde_json::Value = serde_json::from_str(&said).unwrap();
    for host in document["hosts"].as_array().unwrap() {
        assert_eq!((&host["usable"], host["version"].is_string()), (&true.into(), true), "{host}");
    }
    assert_eq!(document["hosts"][1]["key"], "OPENAI_API_KEY");
}

//! Commands and scripts of runs are closed in, from the binary: by default, by settings, by flags, and never by a project.

use crate::env;
use fugato_testkit::{Ran, TestEnv};

/// A skill whose one agent runs this command, and a home with a secret.
fn project(command: &str) -> TestEnv {
    let env = env();
    std::fs::create_dir_all(env.user_home().join(".ssh")).unwrap();
    std::fs::write(env.user_home().join(".ssh/id"), "canary-ssh").unwrap();
    env.skill("work", "name: work\ndescription: Works. Use for work.");
    let command = serde_json::Value::from(command);
    env.write(
        "model.yaml",
        format!("- when: {{step: 1}}\n  tools: [{{name: Bash, arguments: {{command: {command}}}}}]\n- when: {{}}\n  reply: done\n"),
    );
    env
}

fn run(env: &TestEnv, more: &str) -> Ran {
    env.fugato(&format!("run work --model script:model.yaml --no-input {more}"))
}

const TRY_OUTSIDE: &str = "echo x > ../outside.txt; echo wrote=$? > result.txt";

#[test]
fn a_command_of_an_agent_writes_in_the_project_only() {
    let env = project(TRY_OUTSIDE);
    run(&env, "").exits(0);
    assert_eq!(env.read("result.txt"), "wrote=1\n");
    assert!(!env.project().join("../outside.txt").exists());
    run(&env, "--no-sandbox").exits(0);
    assert_eq!(env.read("result.txt"), "wrote=0\n");
}

#[test]
fn keys_of_ours_and_secrets_of_the_person_stay_out_of_reach() {
    let command = "cat /proc/$PPID/environ > stolen.txt 2>&1; cat ~/.ssh/id >> stolen.txt 2>&1; \
                   find $FUGATO_HOME -name '*.db' -exec cat {} + >> stolen.txt 2>&1; env >> stolen.txt; echo end >> stolen.txt";
    let env = project(command);
    let output = env
        .command()
        .env("OPENAI_API_KEY", "canary-openai")
        .args(["run", "work", "--model", "script:model.yaml", "--no-input"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stolen = env.read("stolen.txt");
    assert!(
        stolen.ends_with("end\n") && !stolen.contains("canary") && !stolen.contains("SQLite format"),
        "{stolen}"
    );
}

#[test]
fn a_project_cannot_switch_its_sandbox_off_and_the_person_can() {
    let env = project(TRY_OUTSIDE);
    env.write("fugato.toml", "[sandbox]\nbackend = \"none\"\nwritable = [\"/\"]\n");
    run(&env, "").exits(0).says(&[
        "F0406",
        "sandbox.backend",
        "fugato config set --layer user sandbox.backend VALUE",
    ]);
    assert_eq!(env.read("result.txt"), "wrote=1\n");
    env.fugato("config set sandbox.backend none")
        .exits(8)
        .says(&["F0406", "must not give its commands more than you did"]);
    env.fugato("config set --layer user sandbox.backend none").exits(0);
    run(&env, "").exits(0);
    assert_eq!(env.read("result.txt"), "wrote=0\n");
    env.fugato("doctor").says(&["switched off by `sandbox.backend`", "commands can do what you can do"]);
}

#[test]
fn the_network_opens_by_flag_or_setting() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let env =
        project(&format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; echo reached=$? > result.txt"));
    run(&env, "").exits(0);
    assert_eq!(env.read("result.txt"), "reached=1\n");
    run(&env, "--allow-network").exits(0);
    assert_eq!(env.read("result.txt"), "reached=0\n");
    env.fugato("config set --layer user sandbox.network true").exits(0);
    run(&env, "").exits(0);
    assert_eq!(env.read("result.txt"), "reached=0\n");
}

#[test]
fn where_no_sandbox_can_be_made_nothing_runs_and_the_way_out_is_told() {
    let env = project("echo ran > result.txt");
    let refused = |args: &[&str]| {
        let mut command = env.command();
        let output = command
            .env("PATH", "/nowhere")
            .env("FUGATO_SANDBOX_BACKEND", "bubblewrap")
            .args(args)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let said = refused(&["run", "work", "--model", "script:model.yaml", "--no-input"]);
    assert!(said.contains("refused: `bwrap` is not installed"), "{said}");
    assert!(!env.project().join("result.txt").exists());
    let doctor = refused(&["doctor"]);
    assert!(
        doctor.contains("Commands and scripts are refused") && doctor.contains("no bubblewrap"),
        "{doctor}"
    );
    refused(&["run", "work", "--model", "script:model.yaml", "--no-input", "--no-sandbox"]);
    assert_eq!(env.read("result.txt"), "ran\n");
}

#[test]
fn doctor_says_what_this_machine_can_do() {
    let env = env();
    let document = env.fugato("doctor --json").json()["sandbox"].clone();
    assert_eq!(document["backend"], "landlock", "{document}");
    assert!(document["landlock"].as_i64().is_some_and(|version| version >= 1) && document["seccomp"] == true);
    assert!(document["enforced"].as_array().unwrap().len() >= 4, "{document}");
    env.fugato("doctor")
        .says(&["sandbox: landlock (Landlock version", "commands are held to: writing only in the project"]);
    env.fugato("doctor --lang zh").says(&["沙箱：landlock（Landlock 版本", "对命令的限制：只能写入项目"]);
    let output = env.command().env("HARNESS_DIR", "state").arg("doctor").output().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("lies inside the project, where commands may write")
    );
}

/// What a run was allowed goes with it into the background.
#[test]
fn a_detached_run_keeps_its_flags() {
    let env = project(TRY_OUTSIDE);
    let id = run(&env, "--detach --no-sandbox").exits(0).stdout.trim().to_owned();
    env.fugato(&format!("events {id} -f"));
    assert_eq!(env.read("result.txt"), "wrote=0\n");
}

#[test]
fn no_run_starts_while_a_permission_rule_cannot_be_read() {
    let env = project("echo ran > result.txt");
    env.write("fugato.toml", "[permissions]\ndeny = [\"Bash(rm\"]\n");
    run(&env, "").exits(8).says(&["F0403", "no permission rule", "nothing is started", "fugato.toml:2:17"]);
    assert!(!env.project().join("result.txt").exists());
}

/// A master that makes these calls, one after the other; gives what it was answered.
fn answers(env: &TestEnv, calls: &[(&str, serde_json::Value)], more: &str) -> Vec<String> {
    let step = |(at, (name, arguments)): (usize, &(&str, serde_json::Value))| serde_json::json!({"when": {"step": at + 1}, "tools": [{"name": name, "arguments": arguments}]});
    let mut rules: Vec<serde_json::Value> = calls.iter().enumerate().map(step).collect();
    rules.push(serde_json::json!({"when": {}, "reply": "done"}));
    env.write("model.yaml", serde_json::Value::from(rules).to_string());
    env.fugato(&format!("go work --model script:model.yaml --no-input {more}")).exits(0);
    let events = env.fugato("events --type tool.completed --jsonl").exits(0);
    let event = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let content = |event: serde_json::Value| event["kind"]["content"].as_str().unwrap().to_owned();
    events.stdout.lines().map(|line| content(event(line))).collect()
}

#[test]
fn what_a_rule_keeps_from_agents_is_in_no_search_either() {
    let env = env();
    env.write("secrets/key.txt", "canary-one");
    env.write("deep/.env", "canary-two");
    env.write("open.txt", "canary-three");
    env.write(
        "fugato.toml",
        "[permissions]\ndeny = [\"Read(secrets/**)\", \"Agent(browser)\"]\nask = [\"Read(.env)\"]\n",
    );
    let told = answers(
        &env,
        &[
            ("Grep", serde_json::json!({"pattern": "canary"})),
            ("Glob", serde_json::json!({"pattern": "**/*"})),
            ("Read", serde_json::json!({"path": "secrets/key.txt"})),
            ("Agent", serde_json::json!({"prompt": "x", "description": "x", "subagent_type": "browser"})),
        ],
        "",
    );
    assert!(told[0].contains("canary-three") && !told[0].contains("canary-o"), "{told:?}");
    assert!(!told[0].contains("canary-two") && !told[1].contains("key.txt"), "{told:?}");
    assert!(told[2].contains("by the rule `Read(secrets/**)`"), "{told:?}");
    assert!(told[3].contains("by the rule `Agent(browser)`"), "{told:?}");
}

#[test]
fn a_command_that_meets_the_wall_is_told_of_it() {
    let env = env();
    let told = answers(&env, &[("Bash", serde_json::json!({"command": "echo x > ../outside.txt"}))], "");
    assert!(told[0].contains("sandbox.writable") && told[0].contains("$TMPDIR"), "{told:?}");
    let told = answers(
        &env,
        &[("Bash", serde_json::json!({"command": "echo 'Permission denied'; exit 3"}))],
        "--no-sandbox",
    );
    assert!(!told[0].contains("sandbox"), "{told:?}");
}

#[test]
fn a_call_that_waits_to_be_allowed_is_shown_whole_in_the_language_of_the_person() {
    let env = env();
    env.write("fugato.toml", "[permissions]\nask = [\"Bash\"]\n");
    env.write(
        "model.yaml",
        r#"[{"when": {"step": 1}, "tools": [{"name": "Bash", "arguments": {"command": "echo 1\necho 2"}}]}, {"when": {}, "reply": "ok"}]"#,
    );
    let asked = env.fugato("go work --model script:model.yaml --no-input --lang zh").exits(6);
    asked.says(&["允许 `main` 执行吗？（依据规则 `Bash`）", "Bash: echo 1\n  echo 2", "fugato approve"]);
    let shown = env.fugato("runs show").exits(0);
    shown.says(&["May `main` run this? (by the rule `Bash`)", "fugato approve"]);
    env.fugato("approve").exits(0);
}

//! `fugato sop run`: programs whose commands are real programs, through the whole engine. What ran is counted outside.

use crate::env;
use fugato_testkit::TestEnv;
use serde_json::{Value, json};
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What a command of the contract's cases does, by its name; each call is counted in a file of the project.
const COMMAND: &str = r#"import json, os, sys, time
asked = json.load(sys.stdin)
args, name = asked["args"], os.path.basename(os.environ["FUGATO_SKILL_DIR"])
assert asked["prompt"] == " ".join(args)
with open("counter", "a") as counter:
    counter.write(json.dumps([name] + args) + "\n")
first = args[0] if args else ""
if name == "emit":
    sys.stdout.write(first)
elif name == "join":
    print("|".join(args))
elif name == "fail":
    sys.exit(f"some words before\n{first}")
elif name == "throw":
    sys.exit("boom")
elif name == "cancel":
    print(json.dumps({"cancel": args[0] if args else None}))
elif name == "slow":
    deadline = time.time() + 60
    while not os.path.exists("go-on") and time.time() < deadline:
        time.sleep(0.01)
    print(first)
"#;

fn command(env: &TestEnv, name: &str, effect: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: A command.\nmetadata:\n  fugato-run: main.py\n  fugato-effect: {effect}\n---\nDo.\n"
    );
    env.write(format!(".agents/skills/{name}/SKILL.md"), text);
    env.write(format!(".agents/skills/{name}/main.py"), COMMAND);
}

fn project() -> TestEnv {
    let env = env();
    for name in ["emit", "join", "fail", "throw", "cancel", "slow"] {
        command(&env, name, "idempotent");
    }
    env
}

/// What has run so far: command and arguments, in order.
fn counted(env: &TestEnv) -> Vec<String> {
    let file = env.project().join("counter");
    let lines = std::fs::read_to_string(file).unwrap_or_default();
    let one = |line: &str| serde_json::from_str::<Vec<String>>(line).unwrap().join(" ");
    lines.lines().map(one).collect()
}

fn cases() -> Vec<Value> {
    let file = include_str!("../../../skill/tests/fixtures/sop-cases.json");
    serde_json::from_str::<Value>(file).unwrap()["cases"].as_array().unwrap().clone()
}

fn sorted(list: &Value) -> Vec<String> {
    let mut texts: Vec<String> =
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    texts.sort();
    texts
}

#[test]
fn every_case_of_the_contract_holds_with_programs_as_commands() {
    let env = project();
    // A program that says nothing says the empty text; an agent can really give nothing.
    // `none` means no skill, and so is no name of one.
    env.skill("silent", "name: silent\ndescription: Gives nothing.");
    env.write("model.yaml", "- tools: [{name: submit_result, arguments: {result: null}}]\n");
    for case in cases().iter().filter(|case| case.get("updates").is_none()) {
        let _ = std::fs::remove_file(env.project().join("counter"));
        let id = case["id"].as_str().unwrap();
        env.write("p.sop", case["script"].as_str().unwrap().replace(" none", " silent"));
        let ran = env.fugato("sop run p.sop --json --model script:model.yaml");
        if let Some(expected) = case.get("error").or_else(|| case.get("error_contains")) {
            let ran = ran.exits(1);
            let found = ran.json()["diagnostics"][0]["message"].as_str().unwrap().to_owned();
            assert!(found.contains(expected.as_str().unwrap()), "{id}: {found}");
            assert!(ran.stderr.contains(expected.as_str().unwrap()), "{id}: {}", ran.stderr);
            assert_eq!(counted(&env).len(), 0, "{id}");
            continue;
        }
        let ran = ran.exits(i32::from(!case["onFail"].as_array().unwrap().is_empty()));
        let found = ran.json();
        assert_eq!(found["schema"], "fugato.sop/v1");
        assert_eq!((&found["variables"], &found["failed"]), (&case["variables"], &case["onFail"]), "{id}");
        // Those of one level may interleave; what nobody has, and what an agent does, is not counted here.
        let mut expected = sorted(&case["commandHistory"]);
        expected.retain(|command| command != "none" && !command.starts_with('$'));
        let mut counted = counted(&env);
        counted.sort();
        assert_eq!(counted, expected, "{id}");
    }
}

#[test]
fn the_result_the_input_and_what_people_see() {
    let env = project();
    env.write("trip.sop", "# 找车票\n@a emit $input\n@b fail \"no seat\"\n@c final_answer \"found\" $a\n");
    let ran = env.run(["sop", "run", "trip.sop", "--input", "to 上海", "--json"]).exits(1);
    let expected = json!({
        "schema": "fugato.sop/v1",
        "variables": {"a": "to 上海", "b": "fail:no seat", "c": "found to 上海", "input": "to 上海"},
        "failed": [{"variable": "b", "reason": "fail:no seat"}],
        "result": "found to 上海",
    });
    assert_eq!(ran.json(), expected);
    let ran = env.run(["sop", "run", "trip.sop", "--input", "x"]).exits(1);
    for part in ["fail:no seat", "found x", "找车票"] {
        assert!(
            ran.stdout.contains(part) || ran.stderr.contains(part),
            "{part}\n{}\n{}",
            ran.stdout,
            ran.stderr
        );
    }
    env.write("p.sop", "@a emit 1\n@b nobody-has-this $a\n");
    let ran = env.fugato("sop run p.sop --json").exits(1);
    assert_eq!(ran.json()["variables"]["b"], "fail:unknown nobody-has-this");
    assert!(ran.stderr.contains("unknown command nobody-has-this for @b"), "{}", ran.stderr);
    env.write("p.sop", "@a cannot_complete no trains today\n");
    let ran = env.fugato("sop run p.sop --json").exits(1);
    assert_eq!(ran.json()["result"], Value::Null);
    assert!(ran.stderr.contains("cannot be completed: no trains today"), "{}", ran.stderr);
}

#[test]
fn a_bound_halts_a_program_and_says_so() {
    let env = project();
    env.write("p.sop", "@a emit 1\n@b emit 2\n@c emit 3\n");
    let ran = env.fugato("sop run p.sop --json --max-commands 2").exits(1);
    assert_eq!(ran.json()["variables"]["c"], "undefined:halted: the program may run 2 commands");
    assert!(ran.stderr.contains("the program was stopped: the program may run 2 commands"), "{}", ran.stderr);
    assert_eq!(counted(&env).len(), 2);
}

#[test]
fn a_run_that_was_killed_goes_on_and_no_command_that_had_ended_runs_again() {
    let env = project();
    env.write("p.sop", "@a emit 1\n@b emit 2\n@c slow $a\n@d join $b $c\n@e final_answer $d\n");
    let mut command = env.command();
    command.args(["sop", "run", "p.sop", "--json"]).stdout(Stdio::null()).stderr(Stdio::null());
    // Its own group: what it started dies with it, as when a machine goes down.
    let mut child = command.process_group(0).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while !counted(&env).iter().any(|command| command.starts_with("slow")) {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "{:?}", counted(&env));
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    env.write("go-on", "");
    let id = env.fugato("runs --json").exits(0).json()["runs"][0]["id"].as_str().unwrap().to_owned();
    env.run(["resume", &id]).exits(0);
    let mut counted = counted(&env);
    counted.sort();
    // The one that was under way may be repeated, and was; nothing else was.
    assert_eq!(counted, ["emit 1", "emit 2", "join 2 1", "slow 1", "slow 1"]);
    let shown = env.run(["runs", "show", &id, "--json"]).exits(0).json();
    assert_eq!(shown["status"], "complete");
}

#[test]
fn what_may_happen_once_only_is_asked_about_after_a_kill() {
    let env = project();
    command(&env, "slow", "once");
    env.write("p.sop", "@a emit 1\n@c slow $a\n@e emit $c\n");
    let mut command = env.command();
    command.args(["sop", "run", "p.sop", "--json"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while !counted(&env).iter().any(|command| command.starts_with("slow")) {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "{:?}", counted(&env));
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    env.write("go-on", "");
    let id = env.fugato("runs --json").exits(0).json()["runs"][0]["id"].as_str().unwrap().to_owned();
    env.run(["resume", &id, "--no-input"]).exits(6);
    assert_eq!(counted(&env), ["emit 1", "slow 1"]);
}

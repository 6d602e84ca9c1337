//! Orchestrators whose sessions run programs, from the binary: planned, repaired, followed up, steered. What ran is counted
//! outside.

use crate::env;
use crate::go::{lines, newest};
use fugato_testkit::{Ran, TestEnv};
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A command that counts itself and gives back what it was told; `wait…` waits for a file.
const COMMAND: &str = r#"import json, os, sys, time
asked = json.load(sys.stdin)
with open("counter", "a") as counter:
    counter.write(asked["prompt"] + "\n")
deadline = time.time() + 60
while asked["prompt"].startswith("wait") and not os.path.exists("go-on") and time.time() < deadline:
    time.sleep(0.01)
print("got " + asked["prompt"])
"#;

fn project(session: &str, plans: &[(&str, u32, &str)]) -> TestEnv {
    let env = env();
    let metadata = "metadata:\n  fugato-run: main.py\n  fugato-effect: idempotent\n";
    env.write(
        ".agents/skills/fetch/SKILL.md",
        format!("---\nname: fetch\ndescription: Fetches what it is told.\n{metadata}---\nDo.\n"),
    );
    env.write(".agents/skills/fetch/main.py", COMMAND);
    env.write(
        ".agents/skills/desk/oskill.md",
        format!("# desk\n\n## Description\nA desk for errands.\n\n## Allowed Skills\n- fetch\n\n{session}\n"),
    );
    let rule = |(task, step, reply): &(&str, u32, &str)| json!({"when": {"agent": "main/plan", "task": task, "step": step}, "reply": format!("```sop\n{reply}\n```")});
    let rules: Vec<Value> = plans.iter().map(rule).collect();
    env.write("model.yaml", json!(rules).to_string());
    env
}

const SOP: &str = "## Session\nsop\n";

fn chat(env: &TestEnv, said: &str) -> Ran {
    env.run(["chat", "desk", said, "--model", "script:model.yaml", "--no-input", "--json"])
}

fn counted(env: &TestEnv) -> Vec<String> {
    let text = std::fs::read_to_string(env.project().join("counter")).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_follow_up_runs_only_what_is_new_and_what_depends_on_it() {
    let first = "@a fetch apples\n@b fetch pears\n@answer final_answer $a $b";
    let second = "@a fetch apples\n@b fetch plums\n@answer final_answer $a $b";
    let env = project(SOP, &[("plums", 1, second), ("fruit", 1, first)]);
    let ran = chat(&env, "fruit please").exits(0);
    assert_eq!(ran.json()["answer"], "got apples got pears");
    assert_eq!(counted(&env), ["apples", "pears"]);
    let ran = chat(&env, "plums instead").exits(0);
    assert_eq!(ran.json()["answer"], "got apples got plums");
    assert_eq!(ran.json()["variables"]["a"], "got apples");
    assert_eq!(counted(&env), ["apples", "pears", "plums"]);
}

#[test]
fn a_plan_that_cannot_be_run_is_repaired_and_what_was_wrong_is_in_the_log() {
    let plans =
        [("go", 1, "@a fetsh x\n@b fetch $c"), ("go", 2, "@a fetsh x"), ("go", 3, "@a final_answer ok")];
    let env = project(SOP, &plans);
    let ran = env.run(["run", "desk", "go", "--model", "script:model.yaml", "--jsonl"]).exits(0);
    let refused: Vec<Value> = lines(&ran.stdout, "sop.refused").collect();
    assert_eq!(refused.len(), 2);
    assert_eq!(refused[0]["problems"][0]["en"], "Variable b depends on undefined variable c");
    let unknown = "Line 1: unknown command fetsh for @a (did you mean fetch?)";
    assert_eq!(refused[1]["problems"][0]["en"], unknown);
    assert_eq!(lines(&ran.stdout, "sop.planned").count(), 1);
    let told: Vec<Value> = lines(&ran.stdout, "agent.continued").collect();
    assert!(told[1]["prompt"].as_str().unwrap().contains(unknown), "{told:?}");
    // The third is the last.
    let env = project(SOP, &plans.map(|(task, step, _)| (task, step, "@a fetsh x")));
    let ran = env.run(["run", "desk", "go", "--model", "script:model.yaml"]).exits(1);
    assert!(ran.stderr.contains(unknown), "{}", ran.stderr);
    assert_eq!(counted(&env).len(), 0);
}

#[test]
fn a_program_of_the_descriptor_needs_no_model_and_is_told_the_request() {
    let env = project("## SOP\n```sop\n# 取\n@a fetch $input\n@answer final_answer $a\n```\n", &[]);
    let ran = env.run(["run", "desk", "pears", "now"]).exits(0);
    assert!(ran.stdout.contains("got pears now"), "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(counted(&env), ["pears now"]);
}

struct Working(Child);

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Working {
    fn begin(env: &TestEnv, args: &[&str]) -> Self {
        Self(env.command().args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn until(&mut self, what: &str, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !is_so() {
            // Once it has ended, nothing more will become so.
            let has_ended = self.0.try_wait().unwrap().is_some();
            assert!(Instant::now() < deadline && (!has_ended || is_so()), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_command_is_cancelled_by_a_person_and_the_rest_of_the_program_goes_on() {
    let env = project(SOP, &[]);
    env.write("p.sop", "@a fetch wait-here\n@b fetch pears\n@c fetch $a\n@d final_answer $b\n");
    let mut owner = Working::begin(&env, &["sop", "run", "p.sop", "--json"]);
    owner.until("both run", || counted(&env).len() == 2);
    env.fugato("cancel main/a").exits(0);
    owner.until("the end", || env.fugato("runs --json").json()["runs"][0]["status"] == "complete");
    assert_eq!(counted(&env), ["pears", "wait-here"]);
    let events = env.run(["events", &newest(&env), "--jsonl"]).exits(0).stdout;
    let ended = lines(&events, "node.completed").find(|line| line["node"] == 0).unwrap();
    assert_eq!(ended["value"]["variables"]["a"], "canceled:cancelled by the operator");
    assert_eq!(ended["value"]["variables"]["c"], "canceled:because cancelled by the operator via a");
    assert_eq!(ended["value"]["result"], "got pears");
}

#[test]
fn a_paused_program_starts_nothing_and_goes_on_when_it_is_resumed() {
    let env = project(SOP, &[]);
    env.write("p.sop", "@a fetch wait-here\n@b fetch $a\n");
    let mut owner = Working::begin(&env, &["sop", "run", "p.sop", "--json"]);
    owner.until("the first runs", || counted(&env).len() == 1);
    env.fugato("pause all").exits(0);
    env.write("go-on", "");
    let id = newest(&env);
    let events = || env.run(["events", &id, "--jsonl"]).exits(0).stdout;
    owner.until("the first ends", || lines(&events(), "node.completed").count() == 1);
    assert_eq!(lines(&events(), "skill.called").count(), 1);
    env.fugato("resume all").exits(0);
    owner.until("the end", || lines(&events(), "run.ended").count() == 1);
    assert_eq!(counted(&env), ["got wait-here", "wait-here"]);
}

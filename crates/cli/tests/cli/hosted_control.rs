//! Hosted agents under our control by hook: the door before each tool call, what a host may cost, and whole skills in a host.

use crate::hosted::Which::{Claude, Codex};
use crate::hosted::{Room, Which, waits_for};
use fugato_testkit::mock_model::{Asked, Rule, Say};
use serde_json::json;
use std::time::Duration;

fn orphaned(which: Which) {
    let slow = [Say::Wait(Duration::from_secs(2)), which.shell("printf x > made.txt")];
    let room = Room::within(
        crate::env(),
        vec![Rule::on("quokka", slow).after(0), Rule::on("quokka", [Say::text("I stop.")])],
    );
    let mut owner = room.spawn(&["go", "a quokka wants a file", "--agent-host", which.name(), "--no-input"]);
    waits_for("the first question", || !room.asked("quokka").is_empty());
    let run = room.id();
    owner.kill();
    waits_for("its end", || !is_at_work(&run));
    assert!(!room.has("made.txt"));
    // Whoever was quick enough to ask again before it was ended was refused.
    let asked = room.asked("quokka").len();
    assert!(asked == 1 || !room.asked("was interrupted; do not try again").is_empty(), "{asked} questions");
}

/// Does a process that was started for this run live?
fn is_at_work(run: &str) -> bool {
    let mark = format!("FUGATO_RUN={run}");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut environments = processes.filter_map(|one| std::fs::read(one.path().join("environ")).ok());
    environments.any(|all| String::from_utf8_lossy(&all).contains(&mark))
}

#[test]
fn claude_whose_owner_died_makes_no_further_call() {
    orphaned(Claude);
}

#[test]
fn codex_whose_owner_died_makes_no_further_call() {
    orphaned(Codex);
}

const MESSAGE: &str = "care for the wombat";

/// A message to a host in the middle of its turn is heard with the result of the call it waits for, and not again.
fn told_in_the_middle(which: Which) {
    // Codex gives it to its model as a word of the developer's.
    let hears = |asked: &Asked| asked.text().contains(MESSAGE) || asked.system().contains(MESSAGE);
    let waits = which.shell("echo > begun; while [ ! -e go-on ]; do sleep 0.05; done; echo waited");
    let room = Room::within(
        crate::env(),
        vec![
            Rule::when(hears, [Say::text("The wombat is cared for.")]),
            Rule::on("quokka", [waits]).after(0),
            Rule::on("quokka", [Say::text("Nobody told me.")]),
        ],
    );
    let mut owner = room.spawn(&["go", "a quokka works", "--agent-host", which.name(), "--no-input"]);
    waits_for("its command", || room.has("begun"));
    room.run(&["send", "main", MESSAGE]).exits(0);
    waits_for("the message", || !room.of_kind("message.sent").is_empty());
    room.env.write("go-on", "");
    assert_eq!(owner.wait(), Some(0));
    let told: Vec<Asked> = room.model.asked().into_iter().filter(hears).collect();
    assert_eq!(told.len(), 1);
    let words = "The operator sends you a message while you work";
    assert!(told[0].text().contains(words) || told[0].system().contains(words), "{told:?}");
    let delivered = room.of_kind("message.delivered");
    assert!(delivered.len() == 1 && delivered[0]["count"] == 1, "{delivered:?}");
    // One turn, one answer, which knows of it.
    assert_eq!((room.of_kind("model.requested").len(), room.of_kind("agent.interrupted").len()), (1, 0));
    room.env.fugato("runs show").exits(0).says(&["The wombat is cared for."]);
}

#[test]
fn a_message_reaches_claude_in_the_middle_of_its_turn() {
    told_in_the_middle(Claude);
}

#[test]
fn a_message_reaches_codex_in_the_middle_of_its_turn() {
    told_in_the_middle(Codex);
}

/// One that also has our hook in its own settings is asked about nothing twice and recorded once.
fn doubly_wired(which: Which) {
    let room = Room::within(
        crate::env(),
        vec![
            Rule::on("quokka", [which.shell("echo once >> made.txt")]).after(0),
            Rule::on("quokka", [Say::text("It is written.")]),
        ],
    );
    room.run(&["hook", "install", "--host", which.name(), "--trust"]).exits(0);
    room.run(&["go", "a quokka wants a file", "--agent-host", which.name()])
        .exits(0)
        .says(&["It is written."]);
    assert_eq!(room.env.read("made.txt"), "once\n");
    assert_eq!((room.of_kind("agent.acted").len(), room.of_kind("agent.started").len()), (1, 1));
    let runs = room.env.fugato("runs --json").exits(0).json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs:#}");
}

#[test]
fn claude_with_the_hook_in_its_own_settings_too_is_one_agent_of_one_run() {
    doubly_wired(Claude);
}

#[test]
fn codex_with_the_hook_in_its_own_settings_too_is_one_agent_of_one_run() {
    doubly_wired(Codex);
}

#[test]
fn claude_is_charged_for_what_it_costs_and_stops_when_the_budget_is_used_up() {
    let rules = || {
        vec![
            Rule::on("quokka", [Claude.shell("echo once >> first.txt")]).after(0),
            Rule::on("quokka", [Claude.shell("true")]).after(1),
            Rule::on("quokka", [Claude.shell("true")]).after(2),
            Rule::on("quokka", [Say::text("It is written.")]),
        ]
    };
    let room = Room::within(crate::env(), rules());
    let ran = room.run(&["go", "a quokka", "--agent-host", "claude", "--budget-usd", "1"]).exits(0);
    ran.says(&["It is written."]);
    let whole = room.of_kind("model.answered")[0]["micro_usd"].as_u64().unwrap();
    assert!(whole > 0);
    let room = Room::within(crate::env(), rules());
    let half = format!("{:.6}", whole as f64 / 2e6);
    let ran = room.run(&["go", "a quokka", "--agent-host", "claude", "--budget-usd", &half]);
    let ended = room.of_kind("run.ended");
    assert_eq!(ended[0]["outcome"], "budget_exhausted", "{}{}", ran.stdout, ran.stderr);
    assert!(ended[0]["reason"]["en"].as_str().unwrap().contains("cost"), "{ended:?}");
    assert!(room.asked("quokka").len() < 4, "it went on");
    let spent = room.of_kind("model.answered")[0]["micro_usd"].as_u64().unwrap();
    assert!(spent > whole / 4 && spent < whole, "{spent} of {whole}");
}

#[test]
fn codex_is_not_started_under_a_budget_that_nobody_can_check() {
    let room = Room::within(crate::env(), vec![Rule::always([Say::text("done")])]);
    room.run(&["go", "a quokka", "--agent-host", "codex", "--budget-usd", "1"]);
    let ended = room.of_kind("run.ended");
    assert_eq!(ended[0]["outcome"], "budget_exhausted", "{ended:?}");
    assert!(
        ended[0]["reason"]["en"].as_str().unwrap().contains("Codex does not tell what it costs"),
        "{ended:?}"
    );
    assert!(room.model.asked().is_empty());
}

#[test]
fn rules_that_codex_does_not_keep_are_said_before_it_starts() {
    let room = Room::within(crate::env(), vec![Rule::always([Say::text("done")])]);
    room.env.run(["config", "set", "--layer", "user", "permissions.deny", "Bash(rm:*)"]).exits(0);
    let ran = room.run(&["go", "a quokka", "--agent-host", "codex"]).exits(0);
    ran.says(&["Codex keeps no `deny` or `ask` rules"]);
    let ran = room.run(&["go", "a quokka", "--agent-host", "claude"]).exits(0);
    assert!(!ran.stderr.contains("Codex keeps"), "{}", ran.stderr);
}

#[test]
fn a_skill_runs_in_a_host_alone_or_phase_by_phase() {
    let room = Room::within(crate::env(), vec![Rule::always([Say::text("{\"from\": \"host\"}")])]);
    room.env.skill("plain", "name: plain\ndescription: A plain one.");
    let ran = room.run(&["run", "plain", "a quokka", "--agent-host", "codex"]).exits(0);
    ran.says(&["host"]);
    assert!(!room.asked("a quokka").is_empty());
    room.env.write(
        ".agents/skills/daily/SKILL.md",
        "---\nname: daily\ndescription: One phase.\nphases:\n  - name: only\n    subagents:\n      - {skill: _sub/part, output: PART}\n---\nText.\n",
    );
    room.env.write(
        ".agents/skills/daily/_sub/part/SKILL.md",
        "---\nname: part\ndescription: A part.\n---\nDo the part.\n",
    );
    room.run(&["run", "daily", "--agent-host", "claude"]).exits(0);
    assert_eq!(room.env.fugato("runs show --json").json()["variables"]["PART"], json!({"from": "host"}));
    let started = room.of_kind("agent.started");
    assert_eq!(started[0]["agent_type"], "host:claude", "{started:?}");
}

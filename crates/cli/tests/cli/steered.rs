//! The real Claude Code and Codex, started as a person starts them, steered by our hook in their settings: pause, resume,
//! redirect and cancel, against a mock model on loopback.

use crate::hosted::Which::{Claude, Codex};
use crate::hosted::{Owner, Room, Which, waits_for};
use crate::wired::{host, install};
use fugato_engine::Verb;
use fugato_testkit::mock_model::{Asked, Rule, Say};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A model that has a first file made, waits to be told, and has a second one made.
struct Scene {
    room: Room,
    goes_on: Arc<AtomicBool>,
}

const SECOND: &str = "printf x > second.txt";

impl Scene {
    fn new(which: Which, more: Vec<Rule>) -> Self {
        Self::with(which, SECOND, more)
    }

    fn with(which: Which, second: &str, more: Vec<Rule>) -> Self {
        let goes_on = Arc::new(AtomicBool::new(false));
        let is_told = Arc::clone(&goes_on);
        let is_second = move |asked: &Asked| {
            let is_it = asked.text().contains("quokka") && asked.results().len() == 1;
            let began = Instant::now();
            while is_it && !is_told.load(Ordering::Acquire) && began.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            is_it
        };
        let mut rules = vec![Rule::on("quokka", [which.shell("touch first.txt")]).after(0)];
        rules.extend(more);
        rules.push(Rule::when(is_second, [which.shell(second)]));
        rules.push(Rule::on("quokka", [Say::text("It is done.")]));
        let room = Room::within(crate::env(), rules);
        install(&room, which);
        Self { room, goes_on }
    }

    /// The host at work, after its first call, before its second.
    fn begins(&self, which: Which, more: &[&str]) -> Owner {
        let mut command = host(&self.room, which, "a quokka wants files", more);
        command.env("FUGATO_AGENT", "worker").env("FUGATO_HOOK_WAIT_MS", "40000");
        let owner = Owner(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        waits_for("the first file", || self.room.has("first.txt"));
        owner
    }

    fn go_on(&self) {
        self.goes_on.store(true, Ordering::Release);
    }

    /// Waits until the agent has met the directive.
    fn is_met(&self) {
        waits_for("the directive", || !self.room.of_kind("directive.applied").is_empty());
    }
}

fn all(which: Which) -> &'static [&'static str] {
    match which {
        Claude => &["--allowedTools", "Bash"],
        Codex => &[],
    }
}

fn held(which: Which) {
    let scene = Scene::new(which, Vec::new());
    let mut owner = scene.begins(which, all(which));
    scene.room.direct(Verb::Pause, "worker", None);
    scene.go_on();
    scene.is_met();
    std::thread::sleep(Duration::from_millis(500));
    assert!(!scene.room.has("second.txt"), "the call was not held");
    assert_eq!(scene.room.asked("quokka").len(), 2, "the model heard of it");
    scene.room.direct(Verb::Resume, "worker", None);
    assert_eq!(owner.wait(), Some(0));
    let heard = scene.room.asked("quokka").last().map(Asked::results);
    assert!(scene.room.has("second.txt"), "{heard:?} {:#?}", scene.room.events());
    assert_eq!(scene.room.asked("paused by the operator").len(), 0);
    let ended = scene.room.of_kind("run.ended");
    assert_eq!(ended.first().map(|event| &event["outcome"]), Some(&"complete".into()), "{ended:?}");
}

#[test]
fn a_pause_holds_the_next_call_of_claude_code_until_the_resume() {
    held(Claude);
}

#[test]
fn a_pause_holds_the_next_call_of_codex_until_the_resume() {
    held(Codex);
}

/// The host dies while its call is held: nothing is done in its name, and nobody takes it for alive.
fn killed(which: Which) {
    let scene = Scene::new(which, Vec::new());
    let mut owner = scene.begins(which, all(which));
    scene.room.direct(Verb::Pause, "worker", None);
    scene.go_on();
    scene.is_met();
    owner.kill();
    let is_interrupted = || {
        let runs = scene.room.env.fugato("runs --json").exits(0).json();
        runs["runs"][0]["status"] == "interrupted"
    };
    waits_for("the run to be seen as interrupted", is_interrupted);
    assert!(!scene.room.has("second.txt"));
}

#[test]
fn claude_code_that_is_killed_while_paused_leaves_an_interrupted_run() {
    killed(Claude);
}

/// After the resume the host's own rules say no, as they would have without us.
fn decided_by_the_host(which: Which) {
    // Outside of the project: the sandbox of Codex has it fail, Claude Code would have to ask.
    let scene = Scene::with(which, "printf x > ../user/second.txt", Vec::new());
    let rules: &[&str] = match which {
        Claude => &["--allowedTools", "Bash(touch:*)"],
        Codex => &[],
    };
    let mut owner = scene.begins(which, rules);
    scene.room.direct(Verb::Pause, "worker", None);
    scene.go_on();
    scene.is_met();
    scene.room.direct(Verb::Resume, "worker", None);
    owner.wait();
    assert!(!scene.room.has("../user/second.txt"), "a resume is no permission");
    assert_eq!(scene.room.asked("operator").len(), 0, "the refusal is the host's own");
    assert_eq!(scene.room.asked("quokka").len(), 3);
}

#[test]
fn after_a_resume_the_rules_of_claude_code_decide() {
    decided_by_the_host(Claude);
}

#[test]
fn after_a_resume_the_sandbox_of_codex_decides() {
    decided_by_the_host(Codex);
}

fn refused_when_it_takes_too_long(which: Which) {
    let scene = Scene::new(which, Vec::new());
    let mut command = host(&scene.room, which, "a quokka wants files", all(which));
    command.env("FUGATO_AGENT", "worker").env("FUGATO_HOOK_WAIT_MS", "200");
    let mut owner = Owner(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    waits_for("the first file", || scene.room.has("first.txt"));
    scene.room.direct(Verb::Pause, "worker", None);
    scene.go_on();
    owner.wait();
    assert!(!scene.room.has("second.txt"));
    assert!(!scene.room.asked("paused by the operator; wait").is_empty(), "the model knows why");
}

#[test]
fn a_pause_that_lasts_longer_than_the_hook_may_wait_is_a_refusal_with_its_reason() {
    for which in [Claude, Codex] {
        refused_when_it_takes_too_long(which);
    }
}

fn redirected(which: Which) {
    let numbat = Rule::on("care for a numbat instead", [Say::text("The numbat it is.")]);
    let scene = Scene::new(which, vec![numbat]);
    let mut owner = scene.begins(which, all(which));
    scene.room.direct(Verb::Redirect, "worker", Some("care for a numbat instead"));
    scene.go_on();
    assert_eq!(owner.wait(), Some(0));
    assert!(!scene.room.has("second.txt"), "the old task went on");
    assert!(!scene.room.asked("care for a numbat instead").is_empty());
}

#[test]
fn a_redirect_reaches_the_model_of_claude_code() {
    redirected(Claude);
}

#[test]
fn a_redirect_reaches_the_model_of_codex() {
    redirected(Codex);
}

fn cancelled(which: Which) {
    let again = |n: usize| Rule::on("quokka", [which.shell(&format!("printf x > again-{n}.txt"))]).after(n);
    let scene = Scene::new(which, vec![again(2), again(3)]);
    let mut owner = scene.begins(which, all(which));
    scene.room.direct(Verb::Cancel, "worker", None);
    scene.go_on();
    owner.wait();
    for file in ["second.txt", "again-2.txt", "again-3.txt"] {
        assert!(!scene.room.has(file), "{file}");
    }
    let stopped = scene.room.of_kind("agent.stopped");
    assert_eq!(stopped[0]["verdict"]["verdict"], "cancelled", "{stopped:?}");
}

#[test]
fn a_cancel_sticks_in_claude_code() {
    cancelled(Claude);
}

#[test]
fn a_cancel_sticks_in_codex() {
    cancelled(Codex);
}

#[test]
fn a_subagent_of_claude_code_is_an_agent_of_its_own() {
    let delegate = Say::call(
        "Agent",
        serde_json::json!({"description": "Scrape site", "prompt": "the numbat task", "subagent_type": "general-purpose"}),
    );
    let room = Room::within(
        crate::env(),
        vec![
            Rule::on("numbat task", [Say::Wait(Duration::from_secs(2)), Claude.shell(SECOND)]).after(0),
            Rule::on("numbat task", [Say::text("STATUS\nDONE\nIt is scraped.")]),
            Rule::on("quokka", [delegate]).after(0),
            Rule::on("quokka", [Say::text("It is done.")]),
        ],
    );
    install(&room, Claude);
    let mut command = host(&room, Claude, "a quokka wants a site", all(Claude));
    let mut owner = Owner(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let is_there = || room.env.fugato("runs --json").code == 0 && room.of_kind("agent.joined").len() == 2;
    waits_for("the subagent", is_there);
    let started = room.of_kind("agent.started");
    let name = started[1]["agent"].as_str().unwrap().to_owned();
    assert!(name.to_lowercase().contains("scrape"), "{started:?}");
    room.direct(Verb::Pause, &name, None);
    waits_for("the directive", || !room.of_kind("directive.applied").is_empty());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!room.has("second.txt"));
    room.direct(Verb::Resume, &name, None);
    owner.wait();
    waits_for("its end", || !room.of_kind("run.ended").is_empty());
    assert!(room.has("second.txt"));
    assert_eq!(room.of_kind("run.ended")[0]["outcome"], "complete");
}

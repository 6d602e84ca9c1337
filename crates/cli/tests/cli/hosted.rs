//! Claude Code and Codex, programs and people doing the work of agents in runs of the binary. The hosts are the real ones,
//! with throw-away homes and a mock model on loopback.

use crate::env;
use fugato_engine::{AgentPath, Command as Told, Target, Verb};
use fugato_runtime::store::Store;
use fugato_testkit::mock_model::{Asked, INPUT_TOKENS, MockModel, OUTPUT_TOKENS, Rule, Say};
use fugato_testkit::{Ran, TestEnv, host_program};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Claude,
    Codex,
}

use Which::{Claude, Codex};

/// A project in which both hosts talk to the mock model.
pub(crate) struct Room {
    pub env: TestEnv,
    pub model: MockModel,
}

/// A process that works on a run; a test that fails does not leave it behind.
pub(crate) struct Owner(pub Child);

impl Owner {
    pub fn wait(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }

    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.wait();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Which {
    pub fn name(self) -> &'static str {
        if self == Claude { "claude" } else { "codex" }
    }

    /// A shell command, as the host's model calls it.
    pub fn shell(self, command: &str) -> Say {
        match self {
            Claude => Say::call("Bash", json!({"command": command, "description": "a step"})),
            Codex => Say::call("exec_command", json!({"cmd": command})),
        }
    }
}

impl Room {
    fn new(rules: Vec<Rule>) -> Self {
        Self::within(env(), rules)
    }

    pub fn within(env: TestEnv, rules: Vec<Rule>) -> Self {
        let model = MockModel::start(rules);
        let address = model.address();
        let home = env.user_home();
        for dir in ["codex", "tmp"] {
            std::fs::create_dir_all(home.join(dir)).unwrap();
        }
        let codex = format!(
            "model_provider = \"mock\"\nmodel = \"mock-1\"\n[analytics]\nenabled = false\n\
             [sandbox_workspace_write]\nexclude_slash_tmp = true\n[model_providers.mock]\n\
             name = \"mock\"\nbase_url = \"{address}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n\
             request_max_retries = 1\nstream_max_retries = 1\n"
        );
        std::fs::write(home.join("codex/config.toml"), codex).unwrap();
        let room = Self { env, model };
        for name in ["claude", "codex"] {
            let program = host_program(name).display().to_string();
            let key = format!("hosts.{name}.program");
            room.env.run(["config", "set", "--layer", "user", &key, &program]).exits(0);
        }
        room.allow("Bash");
        room
    }

    /// The person's own rules allow it.
    fn allow(&self, rule: &str) {
        self.env.run(["config", "set", "--layer", "user", "permissions.allow", rule]).exits(0);
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.env.command();
        let home = self.env.user_home();
        command
            .args(args)
            .env("ANTHROPIC_BASE_URL", self.model.address())
            .env("ANTHROPIC_API_KEY", "sk-dummy-of-a-test")
            .env("ANTHROPIC_MODEL", "claude-sonnet-4-5")
            .env("OPENAI_API_KEY", "sk-dummy-of-a-test")
            .env("CODEX_HOME", home.join("codex"))
            .env("TMPDIR", home.join("tmp"))
            .envs(
                ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"]
                    .map(|name| (name, "1")),
            )
            .env("DISABLE_AUTOUPDATER", "1")
            .env("CLAUDE_CODE_MAX_RETRIES", "1");
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    }

    pub fn spawn(&self, args: &[&str]) -> Owner {
        let mut command = self.command(args);
        Owner(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// An agent file of the project.
    fn agent(&self, name: &str, fields: &str, prompt: &str) {
        let text =
            format!("---\nname: {name}\ndescription: Does it. Use in tests.\n{fields}\n---\n{prompt}\n");
        self.env.write(format!(".agents/agents/{name}.md"), text);
    }

    /// A scripted master that has `helper` do this, then whatever `more` says.
    fn master(&self, prompt: &str, more: &str) {
        let text = format!(
            "- when: {{agent: main, step: 1}}\n  tools:\n    - name: Agent\n      arguments: {{subagent_type: helper, description: help, prompt: '{prompt}'}}\n{more}"
        );
        self.env.write("model.yaml", text);
    }

    pub fn id(&self) -> String {
        let runs = self.env.fugato("runs --json").exits(0).json();
        assert_ne!(runs["runs"], json!([]));
        runs["runs"][0]["id"].as_str().unwrap().to_owned()
    }

    pub fn events(&self) -> Vec<Value> {
        let lines = self.env.fugato("events --jsonl").exits(0).stdout;
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn of_kind(&self, kind: &str) -> Vec<Value> {
        let kinds = self.events().into_iter().map(|event| event["kind"].clone());
        kinds.filter(|event| event["type"] == kind).collect()
    }

    /// Posts a directive to the living owner, as another process does.
    pub fn direct(&self, verb: Verb, agent: &str, text: Option<&str>) {
        let dir = self.env.fugato("path").exits(0).stdout.trim().to_owned();
        let dir = dir.replace("[ROOM]", &self.env.project().parent().unwrap().display().to_string());
        let store = Store::open(std::path::Path::new(&dir)).unwrap();
        let target = Target::Agent(AgentPath::new(agent));
        let told = Told::Direct { verb, target, text: text.map(str::to_owned) };
        fugato_runtime::runs::command(&store, &self.id(), &told, Duration::from_secs(60)).unwrap();
    }

    pub fn has(&self, file: &str) -> bool {
        self.env.project().join(file).exists()
    }

    /// Requests in which the host's model was told these words.
    pub fn asked(&self, words: &str) -> Vec<Asked> {
        self.model.asked().into_iter().filter(|asked| asked.text().contains(words)).collect()
    }
}

#[track_caller]
pub(crate) fn waits_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes whose arguments name this; a zombie has none.
fn started_with(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|entry| {
        entry.file_name().to_string_lossy().parse::<u32>().ok()?;
        let line =
            String::from_utf8_lossy(&std::fs::read(entry.path().join("cmdline")).ok()?).replace('\0', " ");
        line.split(|c: char| !(c.is_ascii_digit() || c == '.')).any(|word| word == mark).then_some(line)
    });
    lines.collect()
}

/// A number of seconds that nobody else sleeps.
fn unusual(base: u64, which: Which) -> String {
    format!("{base}.{}{:06}", which as u8, std::process::id())
}

fn goes(which: Which) {
    let room = Room::new(vec![
        Rule::on("quokka", [Say::text("I write it. "), which.shell("printf 你好 > made.txt")]).after(0),
        Rule::on("quokka", [Say::text("It is written.")]),
    ]);
    let ran = room.run(&["go", "a quokka wants a file", "--agent-host", which.name(), "--jsonl", "--stream"]);
    let ran = ran.exits(0);
    assert_eq!(room.env.read("made.txt"), "你好");
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let live: String =
        lines.iter().filter(|line| line["type"] == "live").filter_map(|line| line["text"].as_str()).collect();
    assert!(live.contains("I write it.") && live.contains("It is written."), "{live}");
    let acted = room.of_kind("agent.acted");
    assert_eq!((acted.len(), &acted[0]["tool"], &acted[0]["is_error"]), (1, &"Bash".into(), &false.into()));
    let ended = room.of_kind("run.ended");
    assert_eq!((&ended[0]["outcome"], &ended[0]["result"]), (&"complete".into(), &"It is written.".into()));
    let shown = room.env.fugato("runs show --json").exits(0).json();
    assert_eq!(shown["status"], "complete", "{shown:#}");
    let answered = room.of_kind("model.answered");
    let usage = &answered[0]["answer"]["usage"];
    assert_eq!(usage["output_tokens"], 2 * OUTPUT_TOKENS, "{usage}");
    assert!(usage["input_tokens"].as_u64().is_some_and(|tokens| tokens >= 2 * INPUT_TOKENS), "{usage}");
    let cost = answered[0]["micro_usd"].as_u64();
    assert_eq!(cost.is_some_and(|cost| cost > 0), which == Claude, "{cost:?}");
    room.env.fugato("events").exits(0).says(&["agent.acted", "made.txt"]);
    room.env.fugato("trace").exits(0).says(&["main"]);
    room.env.fugato("runs show").exits(0).says(&["complete", &format!("host:{}", which.name())]);
    room.env.fugato("cost").exits(0).says(&["main"]);
    // It delegates in its own way, and is told of no kinds of ours.
    let system = room.model.asked()[0].system();
    assert!(system.contains("You are the master agent of a run") && !system.contains("canvas-designer"));
}

#[test]
fn claude_does_the_task_of_go() {
    goes(Claude);
}

#[test]
fn codex_does_the_task_of_go() {
    goes(Codex);
}

#[test]
fn a_host_that_is_not_installed_is_said_before_there_is_a_run() {
    let env = env();
    for (host, title) in [("claude", "Claude Code"), ("codex", "Codex")] {
        let output = env
            .command()
            .args(["go", "x", "--agent-host", host])
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(&format!("{title} is not there")) && said.contains("npm install -g"), "{said}");
    }
    env.fugato("runs").exits(3);
}

/// A master has a host do something, then tells it more: it is the same conversation.
fn goes_on(which: Which) {
    let room = Room::new(vec![
        Rule::on("numbat", [Say::text("And the numbat.")]),
        Rule::on("quokka", [Say::text("The quokka is done.")]),
    ]);
    room.agent(
        "helper",
        &format!("executor: host:{}\ntools: Read, Write, browser-*", which.name()),
        "Always be a wombat.",
    );
    room.master(
        "a quokka comes",
        "- when: {agent: main, step: 2}\n  tools:\n    - name: SendMessage\n      arguments: {to: helper-1, message: a numbat follows}\n\
         - when: {agent: main, step: 3}\n  reply: over\n",
    );
    room.run(&["go", "both", "--model", "script:model.yaml"]).exits(0).says(&["over"]);
    let asked = room.model.asked();
    assert_eq!(asked.len(), 2, "{:?}", room.model.unmatched());
    assert!(!asked[0].text().contains("numbat") && asked[0].system().contains("Always be a wombat."));
    assert!(asked[1].text().contains("a quokka comes") && asked[1].text().contains("a numbat follows"));
    // What it said itself is in the conversation that it goes on with.
    assert!(asked[1].body.to_string().contains("The quokka is done."));
    let sessions: Vec<Value> =
        room.of_kind("agent.hosted").iter().map(|event| event["session"]["id"].clone()).collect();
    assert!(sessions.len() >= 2 && sessions.iter().all(|id| *id == sessions[0]), "{sessions:?}");
    let told: Vec<Value> = room.of_kind("tool.completed");
    assert!(told[0]["content"].as_str().unwrap().contains("The quokka is done."), "{told:?}");
    assert!(told[1]["content"].as_str().unwrap().contains("And the numbat."), "{told:?}");
    if which == Claude {
        let tools = asked[0].tools();
        assert!(
            tools.contains(&"Write".into())
                && !tools.contains(&"Bash".into())
                && !tools.contains(&"Task".into()),
            "{tools:?}"
        );
    }
}

#[test]
fn claude_as_a_subagent_goes_on_in_the_same_conversation() {
    goes_on(Claude);
}

#[test]
fn codex_as_a_subagent_goes_on_in_the_same_conversation() {
    goes_on(Codex);
}

/// A host in the middle of its work: the first step is done, the second is a long command.
fn in_the_middle(which: Which, time: &str, then: Vec<Rule>) -> (Owner, Room) {
    let mut rules = then;
    rules.push(Rule::on("quokka", [which.shell("echo once >> first.txt")]).after(0));
    rules.push(Rule::on("quokka", [which.shell(&format!("echo > begun; sleep {time}"))]).after(1));
    // Codex asks its model while a command goes on.
    rules.push(Rule::on("quokka", [Say::Hang]));
    let room = Room::new(rules);
    room.agent("helper", &format!("executor: host:{}", which.name()), "Work.");
    room.master("a quokka works", "- when: {agent: main, step: 2}\n  reply: over\n");
    let child = room.spawn(&["go", "work", "--model", "script:model.yaml", "--no-input"]);
    waits_for("the long command", || room.has("begun"));
    (child, room)
}

const GOES_ON: &str = "You were interrupted";

fn killed(which: Which) {
    let time = unusual(301, which);
    let (mut child, room) = in_the_middle(which, &time, vec![Rule::on(GOES_ON, [Say::text("All is done.")])]);
    child.kill();
    room.run(&["resume", "--model", "script:model.yaml"]).exits(0).says(&["over"]);
    assert_eq!(started_with(&time), Vec::<String>::new());
    assert_eq!(room.env.read("first.txt"), "once\n");
    let asked = room.asked(GOES_ON);
    assert_eq!(asked.len(), 1);
    assert!(asked[0].text().contains("a quokka works"), "another conversation");
    assert!(room.of_kind("agent.stopped").iter().any(|event| event["verdict"]["text"] == "All is done."));
}

#[test]
fn claude_goes_on_after_kill_9_of_its_owner_and_redoes_nothing() {
    killed(Claude);
}

#[test]
fn codex_goes_on_after_kill_9_of_its_owner_and_redoes_nothing() {
    killed(Codex);
}

fn paused(which: Which) {
    let time = unusual(302, which);
    let (mut child, room) = in_the_middle(which, &time, vec![Rule::on(GOES_ON, [Say::text("All is done.")])]);
    room.direct(Verb::Pause, "helper-1", None);
    // Its program is stopped; whoever works on the run waits.
    let began = Instant::now();
    while !started_with(&time).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "its program still runs");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!((room.of_kind("agent.interrupted").len(), room.asked(GOES_ON).len()), (1, 0));
    room.run(&["resume", "helper-1"]).exits(0);
    assert_eq!(child.wait(), Some(0));
    assert_eq!(room.env.read("first.txt"), "once\n");
    let asked = room.asked(GOES_ON);
    assert!(asked.len() == 1 && asked[0].text().contains("a quokka works"));
}

#[test]
fn a_pause_stops_claude_in_the_middle_and_a_resume_has_it_go_on() {
    paused(Claude);
}

#[test]
fn a_pause_stops_codex_in_the_middle_and_a_resume_has_it_go_on() {
    paused(Codex);
}

fn redirected(which: Which) {
    let time = unusual(303, which);
    let (mut child, room) =
        in_the_middle(which, &time, vec![Rule::on("numbat", [Say::text("The numbat it is.")])]);
    room.direct(Verb::Redirect, "helper-1", Some("care for a numbat instead"));
    assert_eq!(child.wait(), Some(0));
    assert_eq!(started_with(&time), Vec::<String>::new());
    let asked = room.asked("care for a numbat instead");
    assert!(asked.len() == 1 && asked[0].text().contains("a quokka works"));
    assert!(
        room.of_kind("agent.stopped").iter().any(|event| event["verdict"]["text"] == "The numbat it is.")
    );
}

#[test]
fn a_redirect_reaches_claude_in_the_middle_of_its_turn() {
    redirected(Claude);
}

#[test]
fn a_redirect_reaches_codex_in_the_middle_of_its_turn() {
    redirected(Codex);
}

fn cancelled(which: Which) {
    let time = unusual(304, which);
    let (mut child, room) = in_the_middle(which, &time, Vec::new());
    room.direct(Verb::Cancel, "helper-1", None);
    assert_eq!(child.wait(), Some(0));
    assert_eq!(started_with(&time), Vec::<String>::new());
    let told = room.of_kind("tool.completed");
    assert!(told[0]["content"].as_str().unwrap().contains("cancelled"), "{told:?}");
}

#[test]
fn cancelling_claude_while_its_tool_runs_leaves_no_process() {
    cancelled(Claude);
}

#[test]
fn cancelling_codex_while_its_tool_runs_leaves_no_process() {
    cancelled(Codex);
}

#[test]
fn claude_keeps_to_its_turns_and_to_the_rules_of_the_run() {
    let room = Room::new(vec![
        Rule::on("quokka", [Claude.shell("echo > allowed.txt")]).after(0),
        Rule::on("quokka", [Claude.shell("touch denied.txt")]).after(1),
        Rule::on("quokka", [Say::text("More. "), Claude.shell("true")]),
    ]);
    room.env.run(["config", "set", "--layer", "user", "permissions.deny", "Bash(touch:*)"]).exits(0);
    room.agent("helper", "executor: host:claude\nmaxTurns: 3", "Work.");
    room.master("a quokka works", "- when: {agent: main, step: 2}\n  reply: over\n");
    room.run(&["go", "work", "--model", "script:model.yaml"]).exits(0);
    assert!(room.has("allowed.txt") && !room.has("denied.txt"));
    let acted = room.of_kind("agent.acted");
    assert_eq!(acted[1]["is_error"], true, "{acted:?}");
    let told = room.of_kind("tool.completed");
    let told = told[0]["content"].as_str().unwrap();
    assert!(told.contains("limit_reached") && told.contains("its limit of steps"), "{told}");
    assert_eq!(room.model.asked().len(), 3);
}

#[test]
fn in_a_run_that_must_ask_a_host_only_reads() {
    for which in [Claude, Codex] {
        let room = Room::new(vec![
            Rule::on("quokka", [which.shell("echo > made.txt")]).after(0),
            Rule::on("quokka", [Say::text("I could not.")]),
        ]);
        room.env.run(["config", "set", "--layer", "user", "permissions.mode", "ask"]).exits(0);
        let ran = room.run(&["go", "a quokka wants a file", "--agent-host", which.name()]);
        ran.exits(0).says(&["I could not."]);
        assert!(!room.has("made.txt"));
    }
}

/// A scripted master with a helper that is this program.
fn with_program(body: &str) -> Room {
    let room = Room::new(Vec::new());
    room.env.write("helper.sh", format!("#!/bin/sh\n{body}\n"));
    room.agent("helper", "executor: script\ncommand: [sh, helper.sh]", "Nothing.");
    room.master("a task for a program", "- when: {agent: main, tool_result: Agent}\n  reply: over\n");
    room
}

#[test]
fn a_program_does_the_work_of_a_subagent_once_and_its_failures_are_told() {
    let said = |body: &str, more: &[&str]| {
        let room = with_program(body);
        let args = [&["go", "work", "--model", "script:model.yaml"], more].concat();
        room.run(&args).exits(0).says(&["over"]);
        let told = room.of_kind("tool.completed");
        (told[0]["content"].as_str().unwrap().to_owned(), room)
    };
    let (told, room) = said("cat > task.json; echo 答", &[]);
    assert!(told.contains("completed") && told.contains("答"), "{told}");
    let task: Value = serde_json::from_str(&room.env.read("task.json")).unwrap();
    assert_eq!((&task["task"], &task["type"]), (&"a task for a program".into(), &"helper".into()));
    let (told, room) = said("echo once >> ran.txt", &[]);
    assert!(told.contains("completed"), "{told}");
    assert_eq!(room.env.read("ran.txt"), "once\n", "what prints nothing is not run again");
    let (told, _) = said("echo broken >&2; exit 7", &[]);
    assert!(told.contains("exit code 7") && told.contains("broken"), "{told}");
    let (told, _) = said("while :; do echo 0123456789012345678901234567890123456789; done", &[]);
    assert!(told.contains("wrote too much") || told.contains("took too long"), "{told}");
}

#[test]
fn a_program_that_was_running_when_its_owner_died_is_not_run_again() {
    let time = unusual(305, Claude);
    let room = with_program(&format!("echo once >> ran.txt; sleep {time}"));
    let mut child = room.spawn(&["go", "work", "--model", "script:model.yaml", "--no-input"]);
    waits_for("the program", || room.has("ran.txt"));
    child.kill();
    room.run(&["resume", "--model", "script:model.yaml"]).exits(0).says(&["over"]);
    assert_eq!((room.env.read("ran.txt").as_str(), started_with(&time)), ("once\n", Vec::new()));
    let told = room.of_kind("tool.completed");
    assert!(told[0]["content"].as_str().unwrap().contains("may or may not have taken effect"), "{told:?}");
}

#[test]
fn a_person_does_the_work_of_a_subagent_from_another_process() {
    let room = Room::new(Vec::new());
    room.agent("helper", "executor: human", "Nothing.");
    room.master("which colour?", "- when: {agent: main, tool_result: Agent}\n  reply: over\n");
    room.run(&["go", "work", "--model", "script:model.yaml", "--no-input"]).exits(6).says(&["which colour?"]);
    room.run(&["answer", &room.id(), "绿"]).exits(0);
    let told = room.of_kind("tool.completed");
    assert!(told[0]["content"].as_str().unwrap().contains("绿"), "{told:?}");
    assert_eq!(room.of_kind("run.ended")[0]["result"], "over");
}

/// A skill whose only phase names a kind of agent that the project defines.
fn with_phase(room: &Room) {
    room.env.write(
        ".agents/skills/daily/SKILL.md",
        "---\nname: daily\ndescription: One phase.\nphases:\n  - name: only\n    subagents:\n      - {skill: _sub/part, type: Helper, output: PART}\n---\nText.\n",
    );
    room.env.write(
        ".agents/skills/daily/_sub/part/SKILL.md",
        "---\nname: part\ndescription: A part.\n---\nDo the part.\n",
    );
}

#[test]
fn a_phase_names_a_kind_of_agent_of_the_project() {
    let room = Room::new(vec![Rule::always([Say::text("{\"from\": \"host\"}")])]);
    with_phase(&room);
    // Without the file it is an error, and the check says so.
    room.run(&["run", "daily", "--model", "echo"]).exits(1).says(&["F0806"]);
    room.env.fugato("skill check").exits(1).says(&["F0806"]);
    room.agent("helper", "tools: Read\nmaxTurns: 2\nmodel: script:other.yaml", "Always be a wombat.");
    room.env.fugato("skill check").exits(0);
    room.env.fugato("plan daily").exits(0).says(&["helper"]);
    room.env.write(
        "other.yaml",
        "- when: {step: 1}\n  tools: [{name: Write, arguments: {path: made.txt, content: x}}]\n- when: {step: 2}\n  reply: '{\"n\": 1}'\n",
    );
    let ran = room.run(&["run", "daily", "--model", "echo"]);
    // Its second step was its last, and a phase without a result ends the run.
    ran.exits(1).says(&["steps"]);
    assert!(!room.has("made.txt"));
    let started = room.of_kind("agent.started");
    assert_eq!((&started[0]["access"], &started[0]["agent_type"]), (&"read_only".into(), &"helper".into()));
    assert!(started[0]["system"].as_str().unwrap().starts_with("Always be a wombat."), "{started:?}");
    assert!(started[0]["model"].as_str().unwrap().ends_with("other.yaml"), "{started:?}");
    room.agent(
        "helper",
        "executor: script\ncommand: [sh, -c, 'cat > task.json; echo 1 >> ran.txt; echo {\\\"n\\\": 2}']",
        "",
    );
    room.run(&["run", "daily", "--model", "echo"]).exits(0);
    assert_eq!(room.env.fugato("runs show --json").json()["variables"]["PART"], json!({"n": 2}));
    assert!(room.env.read("task.json").contains("Do the part."));
    assert_eq!(room.env.read("ran.txt"), "1\n");
    room.agent("helper", "executor: host:claude", "Always be a wombat.");
    room.run(&["run", "daily", "--model", "echo"]).exits(0);
    assert_eq!(room.env.fugato("runs show --json").json()["variables"]["PART"], json!({"from": "host"}));
    // A run keeps the kind it began with.
    room.agent("helper", "executor: host:codex", "Changed.");
    let created = room.of_kind("run.created");
    assert_eq!(created[0]["spec"]["types"]["helper"]["executor"]["executor"], "claude", "{created:?}");
}

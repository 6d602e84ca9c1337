//! Agents outside through the built hook: captured calls of the real programs, directives, files of others, crowds.

use crate::env;
use fugato_engine::{AgentPath, Command as Told, MessageKind, Target, Verb};
use fugato_runtime::runs::{CommandError, command};
use fugato_runtime::store::{Reader, Store};
use fugato_testkit::TestEnv;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A project whose agents call the hook.
pub struct Room {
    pub env: TestEnv,
    pub state: PathBuf,
}

impl Room {
    pub fn new() -> Self {
        let env = env();
        let printed = env.command().arg("path").output().unwrap();
        let state = PathBuf::from(String::from_utf8(printed.stdout).unwrap().trim());
        Self { env, state }
    }

    /// The small program, in the project.
    pub fn hook(&self) -> Command {
        let mut hook = Command::new(env!("CARGO_BIN_EXE_fugato-hook"));
        let like = self.env.command();
        hook.env_clear()
            .current_dir(self.env.project())
            .envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        hook.env("FUGATO_HOOK_WAIT_MS", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        hook
    }

    pub fn start(&self, payload: &[u8]) -> Child {
        feed(&mut self.hook(), payload)
    }

    pub fn call(&self, payload: &[u8]) -> Said {
        Said::of(&self.start(payload).wait_with_output().unwrap())
    }

    pub fn says(&self, payload: &Value) -> Said {
        self.call(payload.to_string().as_bytes())
    }

    /// `PreToolUse` of a subagent of session `s`; none: of the session.
    pub fn asks(&self, subagent: Option<&str>) -> Said {
        self.says(&self.payload("PreToolUse", subagent))
    }

    pub fn payload(&self, event: &str, subagent: Option<&str>) -> Value {
        let mut payload = json!({
            "session_id": "s", "hook_event_name": event, "cwd": self.env.project(), "prompt_id": "p",
            "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t",
        });
        if let Some(id) = subagent {
            payload["agent_id"] = id.into();
            payload["agent_type"] = "general-purpose".into();
        }
        payload
    }

    /// The session `s` starts an agent.
    pub fn spawn(&self, call: &str, description: &str, subagent: &str) {
        let mut asks = self.payload("PreToolUse", None);
        asks["tool_name"] = "Agent".into();
        asks["tool_use_id"] = call.into();
        asks["tool_input"] =
            json!({"description": description, "prompt": "do it", "subagent_type": "general-purpose"});
        self.says(&asks).is_silent();
        self.says(&self.payload("SubagentStart", Some(subagent))).is_silent();
    }

    pub fn run(&self) -> String {
        let target = std::fs::read_link(self.state.join("orchestrator")).unwrap();
        target.file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub fn file(&self, path: &str) -> String {
        let path = self.state.join("orchestrator").join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.file(path)).unwrap()
    }

    pub fn events(&self) -> Vec<Value> {
        let printed = self.env.run(["events", &self.run(), "--jsonl"]).exits(0).stdout;
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn count(&self, kind: &str) -> usize {
        self.events().iter().filter(|event| event["kind"]["type"] == kind).count()
    }

    /// As the verbs of the command line do.
    pub fn tell(&self, verb: Verb, target: &str, text: Option<&str>) -> Result<(), String> {
        let target = match target {
            "all" => Target::All,
            path => Target::Agent(AgentPath::new(path)),
        };
        let told = Told::Direct { verb, target, text: text.map(str::to_owned) };
        self.order(&told)
    }

    pub fn order(&self, told: &Told) -> Result<(), String> {
        self.order_by(&Store::open(&self.state).unwrap(), told)
    }

    fn order_by(&self, store: &Store, told: &Told) -> Result<(), String> {
        match command(store, &self.run(), told, Duration::from_secs(10)) {
            Ok(()) => Ok(()),
            Err(CommandError::Refused(refusal)) => Err(refusal.words.en),
            Err(other) => panic!("{other}"),
        }
    }

    pub fn replay(&self, name: &str) {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hook-payloads");
        let text = std::fs::read_to_string(fixtures.join(name)).unwrap();
        let project = self.env.project();
        for line in text.lines() {
            let mut payload: Value = serde_json::from_str(line).unwrap();
            payload["cwd"] = project.to_str().unwrap().into();
            self.says(&payload).is_silent();
        }
    }
}

pub fn feed(hook: &mut Command, payload: &[u8]) -> Child {
    let mut child = hook.spawn().unwrap();
    // One that refuses early does not read to the end.
    let _ = child.stdin.take().unwrap().write_all(payload);
    child
}

/// What a call answered.
#[derive(Debug)]
pub struct Said {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Said {
    pub fn of(output: &Output) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    #[track_caller]
    pub fn is_silent(&self) -> &Self {
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.as_str()), (0, "", ""));
        self
    }

    #[track_caller]
    pub fn output(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        let document: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        document["hookSpecificOutput"].clone()
    }

    #[track_caller]
    pub fn denies(&self, reason: &str) -> &Self {
        let output = self.output();
        assert_eq!(
            (&output["permissionDecision"], &output["hookEventName"]),
            (&json!("deny"), &json!("PreToolUse"))
        );
        assert!(output["permissionDecisionReason"].as_str().unwrap().contains(reason), "{self:?}");
        self
    }

    #[track_caller]
    pub fn tells(&self, words: &str) -> &Self {
        let output = self.output();
        assert!(output["additionalContext"].as_str().unwrap().contains(words), "{self:?}");
        assert_eq!(output.get("permissionDecision"), None, "never a decision beside words");
        self
    }
}

#[test]
fn captured_calls_of_claude_become_a_run_that_ends_by_itself() {
    for name in ["claude-2.1.197-hooks.jsonl", "claude-2.1.325-hooks.jsonl"] {
        let room = Room::new();
        room.replay(name);
        let run = room.json("run.json");
        assert_eq!(
            (&run["status"], run["agents"].as_array().unwrap().len()),
            (&json!("complete"), 2),
            "{run}"
        );
        let sub = &run["agents"][1];
        assert_eq!((&sub["id"], &sub["role"]), (&json!("scrape-site-a"), &json!("general-purpose")));
        assert_eq!((&sub["task"], &sub["status"]), (&json!("SUBTASK-MARK do it"), &json!("done")));
        let stream = room.file("agents/scrape-site-a/stream.jsonl");
        assert!(stream.contains("echo from-sub") && stream.contains("reports DONE"), "{stream}");
        // Before the first agent was started there was nothing to record.
        assert!(!room.file("agents/main/stream.jsonl").contains("echo hello"));
        let shown = room.env.run(["runs", "show", &room.run()]).exits(0);
        shown.says(&["complete", "all agents are done"]);
        room.env.run(["trace", &room.run()]).exits(0).says(&["scrape-site-a"]);
        room.env.fugato("runs ls").exits(0).says(&["complete", "agents of claude"]);
    }
}

#[test]
fn captured_calls_of_codex_become_a_run_of_one_agent() {
    let room = Room::new();
    room.replay("codex-0.166.0-hooks.jsonl");
    let run = room.json("run.json");
    assert_eq!((&run["status"], &run["agents"][0]["id"]), (&json!("complete"), &json!("codex")));
    assert_eq!(run["agents"][0]["task"], "go");
    assert!(room.file("agents/codex/stream.jsonl").contains("result: hello"));
}

#[test]
fn the_files_of_such_a_run_are_what_the_log_says() {
    let room = Room::new();
    room.spawn("c1", "构建 Site", "x1");
    room.tell(Verb::Pause, "all", None).unwrap();
    room.asks(Some("x1")).denies("paused");
    room.tell(Verb::Resume, "构建-site", None).unwrap();
    room.tell(Verb::Redirect, "构建-site", Some("docs first")).unwrap();
    room.asks(Some("x1")).denies("docs first");
    room.asks(Some("x1")).tells("docs first");
    let mut stop = room.payload("SubagentStop", Some("x1"));
    stop["last_assistant_message"] = "BLOCKED: no key".into();
    room.says(&stop).is_silent();
    let before = room.json("run.json");
    assert_eq!(before["agents"][1]["status"], "blocked");
    assert_eq!(before["status"], "paused", "main still is");
    std::fs::remove_dir_all(room.state.join("runs")).unwrap();
    room.env.fugato("doctor --rebuild").exits(0);
    let mut after = room.json("run.json");
    // The log may have grown since the list of agents last looked different.
    (after["seq"], after["updated_at"]) = (before["seq"].clone(), before["updated_at"].clone());
    assert_eq!(after, before);
}

/// Also of one agent that did all of it, and before what it did is in the database.
#[test]
fn the_last_five_events_of_all_agents_are_shown() {
    let room = Room::new();
    room.spawn("t1", "builder", "a1");
    for file in ["one", "two", "three", "four", "five", "six"] {
        let mut asks = room.payload("PreToolUse", Some("a1"));
        (asks["tool_use_id"], asks["tool_input"]) = (file.into(), json!({"command": file}));
        room.says(&asks).is_silent();
    }
    let shown = room.env.fugato("status").exits(0).stdout;
    let recent = shown.split("### Recent Events").nth(1).unwrap().split("###").next().unwrap();
    let lines: Vec<&str> = recent.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lines.len(), 5, "{shown}");
    for (line, file) in lines.iter().zip(["six", "five", "four", "three", "two"]) {
        assert!(line.contains("builder: Bash") && line.contains(file), "{shown}");
    }
}

#[test]
fn a_rebuild_leaves_what_the_hook_wrote_alone() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.asks(Some("x1")).is_silent();
    room.tell(Verb::Redirect, "a", Some("other")).unwrap();
    room.asks(Some("x1")).denies("other");
    let files = [
        "agents/a/stream.jsonl",
        "agents/a/inbox.jsonl",
        "agents/a/status.json",
        "agents/main/stream.jsonl",
        "agents/main/status.json",
        "control.json",
        "control.log.jsonl",
    ];
    let before = files.map(|file| room.file(file));
    room.env.fugato("doctor --rebuild").exits(0);
    for (file, before) in files.into_iter().zip(before) {
        assert_eq!(room.file(file), before, "{file}");
    }
}

#[test]
fn pause_all_and_resume_one_leaves_the_others_paused() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.spawn("c2", "b", "x2");
    room.tell(Verb::Pause, "all", None).unwrap();
    for who in [None, Some("x1"), Some("x2")] {
        room.asks(who).denies("paused by the operator; wait");
    }
    room.tell(Verb::Resume, "a", None).unwrap();
    room.asks(Some("x1")).is_silent();
    room.asks(Some("x2")).denies("paused");
    let run = room.json("run.json");
    let words: Vec<_> =
        run["agents"].as_array().unwrap().iter().map(|agent| agent["status"].clone()).collect();
    assert_eq!(words, ["paused", "running", "paused"]);
    assert!(room.tell(Verb::Resume, "a", None).unwrap_err().contains("running, not paused"));
    assert!(room.tell(Verb::Pause, "c", None).unwrap_err().contains("available agents: main, a, b"));
    let log = room.file("control.log.jsonl");
    assert!(log.contains("\"receipt\":\"delivered\"") && log.contains("\"receipt\":\"applied\""), "{log}");
}

#[test]
fn a_paused_call_waits_inside_the_hook_until_it_is_resumed() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.tell(Verb::Pause, "a", None).unwrap();
    let mut hook = room.hook();
    hook.env("FUGATO_HOOK_WAIT_MS", "50000");
    let payload = room.payload("PreToolUse", Some("x1")).to_string();
    let mut child = feed(&mut hook, payload.as_bytes());
    let until = Instant::now() + Duration::from_secs(30);
    while room.count("directive.applied") == 0 {
        assert!(Instant::now() < until, "the pause never reached the agent");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(child.try_wait().unwrap(), None, "it waits");
    room.tell(Verb::Resume, "a", None).unwrap();
    Said::of(&child.wait_with_output().unwrap()).is_silent();
}

#[test]
fn who_is_cancelled_stays_so_and_each_program_is_told_in_its_way() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.tell(Verb::Cancel, "a", None).unwrap();
    assert_eq!(room.json("run.json")["agents"][1]["status"], "cancelled", "at once");
    for _ in 0..3 {
        let said = room.asks(Some("x1"));
        said.denies("cancelled by the operator");
        assert!(said.stdout.contains("\"continue\":false"));
    }
    room.asks(None).is_silent();
    let payload = json!({
        "session_id": "c", "turn_id": "t", "hook_event_name": "PreToolUse", "cwd": room.env.project(),
        "tool_name": "Bash", "tool_input": {}, "model": "m",
    });
    room.says(&payload).is_silent();
    room.tell(Verb::Cancel, "all", None).unwrap();
    assert_eq!(room.json("run.json")["status"], "aborted");
    let codex = room.says(&payload);
    codex.denies("cancelled");
    assert!(!codex.stdout.contains("continue"), "Codex would run the tool: {codex:?}");
    room.asks(None).denies("cancelled");
}

#[test]
fn messages_and_news_arrive_once() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    let to = Target::Agent(AgentPath::new("a"));
    room.order(&Told::Send {
        to,
        from: "user".into(),
        text: "use port 81".into(),
        kind: MessageKind::Handoff,
    })
    .unwrap();
    room.says(&room.payload("PostToolUse", Some("x1"))).tells("use port 81");
    room.says(&room.payload("PostToolUse", Some("x1"))).is_silent();
    assert!(room.file("agents/a/inbox.jsonl").contains("use port 81"));
}

#[test]
fn what_other_programs_write_is_taken_up_with_the_next_call() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    let dir = room.state.join("orchestrator");
    let write = |text: &str| std::fs::write(dir.join("control.json"), text).unwrap();
    write(r#"{"action": "pause", "target": "a", "message": "", "generation": 1}"#);
    room.asks(Some("x1")).denies("paused");
    // An agent that acknowledges as the skill tells it to changes nothing.
    write(r#"{"action": "pause", "target": "a", "message": "", "generation": 2}"#);
    room.asks(Some("x1")).denies("paused");
    assert_eq!(room.count("directive.recorded"), 1);
    write(r#"{"resume": "a"}"#);
    room.asks(Some("x1")).is_silent();
    write("{\"action\": \"pa");
    room.asks(Some("x1")).is_silent();
    write(r#"{"action": "cancel", "target": "ghost", "generation": 9}"#);
    room.asks(Some("x1")).is_silent();
    assert_eq!(room.count("directive.refused"), 1);
    let inbox = dir.join("agents/a/inbox.jsonl");
    std::fs::write(
        &inbox,
        "{\"from\":\"b\",\"type\":\"question\",\"message\":\"which port?\"}\n{\"type\":\"redi",
    )
    .unwrap();
    room.asks(Some("x1")).tells("which port?");
    let mut rest = std::fs::OpenOptions::new().append(true).open(&inbox).unwrap();
    rest.write_all(b"rect\",\"instruction\":\"stop that\",\"at\":\"now\"}\n").unwrap();
    room.asks(Some("x1")).denies("stop that");
    room.asks(Some("x1")).tells("stop that");
    room.asks(Some("x1")).is_silent();
    // An agent that writes into its outbox sends; who it is from is not for the line to say.
    let line = "{\"from\":\"user\",\"to\":\"main\",\"type\":\"result\",\"body\":\"port 81\"}\n";
    std::fs::write(dir.join("agents/a/outbox.jsonl"), line).unwrap();
    room.asks(Some("x1")).is_silent();
    room.asks(None).tells("Message from `a`:\nport 81");
    room.asks(None).is_silent();
    assert_eq!(room.file("agents/a/outbox.jsonl"), line);
}

#[test]
fn secrets_of_the_host_are_not_recorded() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    let mut payload = room.payload("PostToolUse", Some("x1"));
    payload["tool_response"] = "key is sk-ant-1234567890abcdef".into();
    let mut hook = room.hook();
    hook.env("ANTHROPIC_API_KEY", "sk-ant-1234567890abcdef");
    Said::of(&feed(&mut hook, payload.to_string().as_bytes()).wait_with_output().unwrap()).is_silent();
    let stream = room.file("agents/a/stream.jsonl");
    assert!(stream.contains("key is <redacted>") && !stream.contains("1234567890"), "{stream}");
    assert!(!room.events().iter().any(|event| event.to_string().contains("1234567890")));
}

#[test]
fn an_old_control_file_of_our_own_is_no_directive() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.tell(Verb::Pause, "a", None).unwrap();
    let old = room.file("control.json");
    room.tell(Verb::Resume, "a", None).unwrap();
    // As a slow process, a full disk or a backup may leave it.
    std::fs::write(room.state.join("orchestrator/control.json"), old).unwrap();
    room.asks(Some("x1")).is_silent();
    assert_eq!(room.count("directive.recorded"), 2);
}

#[test]
fn two_agents_that_write_one_file_are_told() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.spawn("c2", "b", "x2");
    let writes = |who: &str| {
        let mut payload = room.payload("PreToolUse", Some(who));
        payload["tool_name"] = "Edit".into();
        payload["tool_input"] = json!({"file_path": room.env.project().join("src/./a.rs")});
        room.says(&payload)
    };
    writes("x1").is_silent();
    writes("x2").tells("written by agent `a`");
    assert_eq!(room.count("agent.warned"), 1);
}

#[test]
fn a_session_whose_program_died_leaves_no_run_behind() {
    let room = Room::new();
    // The host is a program that calls the hook and dies without a word.
    let mut asks = room.payload("PreToolUse", None);
    asks["tool_name"] = "Agent".into();
    asks["tool_input"] = json!({"description": "a"});
    let script = "import subprocess,sys\nsubprocess.run([sys.argv[1]],input=sys.argv[2].encode())";
    let mut host = Command::new("python3");
    let like = room.hook();
    host.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(room.env.project());
    let done =
        host.args(["-c", script, env!("CARGO_BIN_EXE_fugato-hook"), &asks.to_string()]).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    let first = room.run();
    room.env.fugato("runs ls").exits(0).says(&["interrupted"]);
    let mut other = room.payload("PreToolUse", None);
    (other["session_id"], other["tool_name"]) = ("other".into(), "Agent".into());
    other["tool_input"] = json!({"description": "b"});
    room.says(&other).is_silent();
    assert_ne!(room.run(), first, "a new run for whoever comes next");
    room.env.run(["runs", "show", &first]).exits(0).says(&["aborted", "without a word"]);
}

#[test]
fn nobody_continues_such_a_run_for_its_agents() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    let said = room.env.run(["resume", &room.run()]);
    assert_ne!(said.code, 0);
    // As a directive it lets them go on; who is not paused needs no such word.
    said.says(&["nothing is paused"]);
}

#[test]
fn a_crowd_of_commands_and_calls_keeps_one_order() {
    const THREADS: u32 = 8;
    const EACH: u32 = 12;
    let room = Room::new();
    for n in 0..4 {
        room.spawn(&format!("c{n}"), &format!("agent {n}"), &format!("x{n}"));
    }
    // A process has one way to write a store, whatever its threads.
    let store = Store::open(&room.state).unwrap();
    let answered = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (room, store) = (&room, &store);
                scope.spawn(move || {
                    let mut applied = 0;
                    for n in 0..EACH {
                        let verb = if (n + thread) % 2 == 0 { Verb::Pause } else { Verb::Resume };
                        let target = Target::Agent(AgentPath::new(&format!("agent-{}", (n + thread) % 4)));
                        let told = Told::Direct { verb, target, text: None };
                        applied += u32::from(room.order_by(store, &told).is_ok());
                        room.asks(Some(&format!("x{}", n % 4)));
                    }
                    applied
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum::<u32>()
    });
    // Calls that found the store busy were put aside: one more takes them up.
    room.asks(None);
    let events = room.events();
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "one log without gaps");
    let of = |kind: &str| events.iter().filter(|event| event["kind"]["type"] == kind).collect::<Vec<_>>();
    let recorded = of("directive.recorded");
    assert_eq!(recorded.len(), answered as usize, "every one that was applied");
    let decided = events.iter().filter(|event| {
        ["directive.recorded", "directive.refused"]
            .contains(&event["kind"]["type"].as_str().unwrap_or_default())
    });
    let generations: Vec<u64> = decided.map(|event| event["kind"]["generation"].as_u64().unwrap()).collect();
    let all: Vec<u64> = (1..=u64::from(THREADS * EACH)).collect();
    assert_eq!(generations, all, "applied or refused, in one order");
    assert_eq!(
        of("tool.asked").len(),
        4 + usize::try_from(THREADS * EACH).unwrap() + 1,
        "every call is recorded"
    );
    let reader = Reader::open(&room.state).unwrap().unwrap();
    assert!(reader.check().is_ok());
}

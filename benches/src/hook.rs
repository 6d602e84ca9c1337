//! A call of the hook beside the least a hook can do, both as processes: what an agent waits for, before and after each of its
//! tool calls. Alone, with ten agents at once, and in a run of a hundred thousand events.

use crate::BenchError;
use crate::figure::{Figure, Samples};
use crate::place::Bench;
use fugato_runtime::store::{Batch, Reader, Store};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Agents of the run, and how many call at the same moment in the crowded measure.
const AGENTS: u32 = 10;

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = Room::new(bench)?;
    let mut figures = Vec::new();
    let (ours, bare) = room.in_turns(bench.sizes.hook_calls)?;
    figures.extend(pair("hook, 1 agent", &ours, &bare));
    let (ours, bare) = room.crowded(bench.sizes.hook_calls / AGENTS)?;
    figures.extend(pair("hook, 10 agents at once", &ours, &bare));
    room.grow(bench.sizes.hook_events)?;
    let events = bench.sizes.hook_events;
    let (ours, bare) = room.in_turns(bench.sizes.hook_calls)?;
    figures.extend(pair(&format!("hook, a run of {events} events"), &ours, &bare));
    Ok(figures)
}

fn pair(name: &str, ours: &Samples, bare: &Samples) -> [Figure; 2] {
    let at = |share: f64, word: &str, most: f64| {
        let mut other = Samples::default();
        other.add(bare.share(share));
        Figure::of(format!("{name}: {word}"), "ms", ours.share(share)).beside(&other).ratio_below(most).note(
            format!(
                "{} calls; bare: reads stdin and a small file, appends a line, renames a file",
                ours.count()
            ),
        )
    };
    [at(0.5, "p50", 2.0), at(0.99, "p99", 3.0)]
}

struct Room {
    dir: PathBuf,
    hook: PathBuf,
    bare: PathBuf,
}

impl Room {
    /// A run with ten agents.
    fn new(bench: &Bench) -> Result<Self, BenchError> {
        let dir = bench.room("hook")?;
        let beside = |program: &Path, name: &str| program.parent().unwrap_or(Path::new(".")).join(name);
        let (hook, bare) = (beside(&bench.fugato, "fugato-hook"), beside(&bench.bare, "fugato-bare-hook"));
        let room = Self { dir, hook, bare };
        for n in 0..AGENTS {
            std::fs::create_dir_all(room.bare_dir(n))?;
            std::fs::write(
                room.bare_dir(n).join("control.json"),
                "{\"action\":\"resume\",\"generation\":1}\n",
            )?;
            let mut asks = room.payload("PreToolUse", None);
            fill(&mut asks, "tool_name", "Agent".into());
            let input = json!({"description": format!("agent {n}"), "subagent_type": "general-purpose"});
            fill(&mut asks, "tool_input", input);
            room.ours(&asks)?;
            room.ours(&room.payload("SubagentStart", Some(n)))?;
        }
        Ok(room)
    }

    fn bare_dir(&self, agent: u32) -> PathBuf {
        self.dir.join(format!("bare/{agent}"))
    }

    fn payload(&self, event: &str, agent: Option<u32>) -> Value {
        let mut payload = json!({
            "session_id": "41c6d2d1-e368-4f62-ab1b-9fac7463c6d4", "transcript_path": "/home/dev/.claude/projects/x.jsonl",
            "cwd": self.dir, "prompt_id": "d4e3fa8f-f5e0-4f15-9945-ccfe59ad1530", "permission_mode": "default",
            "hook_event_name": event, "tool_name": "Bash", "tool_use_id": "toolu_1",
            "tool_input": {"command": "cargo test --workspace", "description": "run the tests"},
        });
        if let Some(agent) = agent {
            fill(&mut payload, "agent_id", format!("a{agent}").into());
            fill(&mut payload, "agent_type", "general-purpose".into());
        }
        if event == "PostToolUse" {
            let response =
                json!({"stdout": "ok: 12 passed\n".repeat(10), "stderr": "", "interrupted": false});
            fill(&mut payload, "tool_response", response);
        }
        payload
    }

    fn ours(&self, payload: &Value) -> Result<Duration, BenchError> {
        let mut command = Command::new(&self.hook);
        command.env_clear().current_dir(&self.dir).env("HOME", &self.dir).env("HARNESS_DIR", self.state());
        timed_with(&mut command, payload)
    }

    fn bare(&self, agent: u32, payload: &Value) -> Result<Duration, BenchError> {
        let mut command = Command::new(&self.bare);
        command.env_clear().current_dir(&self.dir).arg(self.bare_dir(agent));
        timed_with(&mut command, payload)
    }

    fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// One after the other, ours and the bare one in turns.
    fn in_turns(&self, calls: u32) -> Result<(Samples, Samples), BenchError> {
        let (mut ours, mut bare) = (Samples::default(), Samples::default());
        for n in 0..calls {
            let event = if n % 2 == 0 { "PreToolUse" } else { "PostToolUse" };
            let payload = self.payload(event, Some(n / 2 % AGENTS));
            ours.add_millis(self.ours(&payload)?);
            bare.add_millis(self.bare(n / 2 % AGENTS, &payload)?);
        }
        Ok((ours, bare))
    }

    /// All agents at the same moment, first with ours, then with the bare one.
    fn crowded(&self, rounds: u32) -> Result<(Samples, Samples), BenchError> {
        let (mut ours, mut bare) = (Samples::default(), Samples::default());
        for n in 0..rounds.max(1) {
            let event = if n % 2 == 0 { "PreToolUse" } else { "PostToolUse" };
            for took in at_once(|agent| self.ours(&self.payload(event, Some(agent)))) {
                ours.add_millis(took?);
            }
            for took in at_once(|agent| self.bare(agent, &self.payload(event, Some(agent)))) {
                bare.add_millis(took?);
            }
        }
        Ok((ours, bare))
    }

    /// The log grows as if the agents had worked for days.
    fn grow(&self, events: u32) -> Result<(), BenchError> {
        // What the calls have left beside the log is bound into it first.
        self.ours(&self.payload("SessionStart", None))?;
        let store = Store::open(&self.state())?;
        let row = store.reader()?.active()?.ok_or("there is no run")?;
        let kind = json!({
            "type": "tool.answered", "agent": 1, "call": "toolu_1", "tool": "Bash", "content": "ok: 12 passed\n".repeat(10),
            "is_error": false,
        });
        let (mut next, last) = (row.last_seq + 1, row.last_seq + u64::from(events));
        while next <= last {
            let end = last.min(next + 999);
            let event = |seq| json!({"v": 1, "seq": seq, "at": row.updated_at, "by": "host", "kind": kind});
            let events = (next..=end).map(|seq| serde_json::to_vec(&event(seq))).collect::<Result<_, _>>()?;
            let (run, epoch) = (row.id.clone(), row.epoch);
            let batch = Batch { run, epoch, first_seq: next, events, summary: None, answers: Vec::new() };
            store.append(batch).wait()?;
            next = end + 1;
        }
        let found = Reader::open(&self.state())?.ok_or("there is no store")?.last_seq(&row.id)?;
        if found == last { Ok(()) } else { Err(format!("{found} events instead of {last}").into()) }
    }
}

fn at_once(call: impl Fn(u32) -> Result<Duration, BenchError> + Sync) -> Vec<Result<Duration, BenchError>> {
    std::thread::scope(|scope| {
        let call = &call;
        let agents: Vec<_> = (0..AGENTS).map(|agent| scope.spawn(move || call(agent))).collect();
        agents
            .into_iter()
            .map(|agent| agent.join().unwrap_or_else(|_| Err("a call panicked".into())))
            .collect()
    })
}

fn fill(payload: &mut Value, field: &str, value: Value) {
    if let Some(fields) = payload.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

/// From start to exit, as a host waits for it.
fn timed_with(command: &mut Command, payload: &Value) -> Result<Duration, BenchError> {
    let text = payload.to_string();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    child.stdin.take().ok_or("no standard input")?.write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    let took = began.elapsed();
    let put_aside = output.stderr.windows(9).any(|part| part == b"put aside");
    if !output.status.success() || !(output.stderr.is_empty() || put_aside) {
        return Err(format!("{command:?}: {output:?}").into());
    }
    Ok(took)
}

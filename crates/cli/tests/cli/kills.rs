//! `kill -9` at random moments of real runs of the binary: while they start, while they work, while they are resumed and
//! while they are answered. A counter outside the state directory says what really happened.
//!
//! `FUGATO_KILLS` sets how many kills (240 without it), `FUGATO_SEED` repeats one sequence of moments.

use crate::env;
use fugato_testkit::TestEnv;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SKILL: &str = "name: counted
description: Counts what it does. Use in tests.
phases:
  - name: first
    parallel: true
    subagents:
      - {skill: _sub/a, type: script, output: A}
      - {skill: _sub/b, type: script, output: B}
      - {skill: _sub/think, type: explore, output: T}
  - name: second
    depends_on: [first]
    subagents:
      - {skill: _sub/c, type: script, args: 'a={{A}}', output: C}
      - {skill: _sub/send, type: script, output: S}
  - name: third
    depends_on: [second]
    subagents:
      - {skill: _sub/inner, type: general-purpose, args: 'c={{C}}', output: D}";

/// A sub-skill with phases of its own.
const INNER: &str = "name: inner
description: A part with parts.
phases:
  - name: deep
    subagents:
      - {skill: _sub/d, type: script, args: '{{ARGUMENTS}}', output: DEEP}";

/// Scripts that may be repeated, and the one that may not.
const READS: [&str; 4] = ["a", "b", "c", "d"];
const ONCE: &str = "send";

/// The counter takes whole lines, in order, on the disk: `began NAME` before and `ended NAME` after the work. Each
/// script also has a helper that would live on for a minute if nobody ended it.
fn project() -> TestEnv {
    let env = env();
    env.write(".agents/skills/counted/SKILL.md", format!("---\n{SKILL}\n---\n# counted\n\nText.\n"));
    let counter = env.project().join("counter").display().to_string();
    for name in READS.into_iter().chain([ONCE]) {
        let (effect, pause) = if name == ONCE { ("once", "0.06") } else { ("read", "0.01") };
        let metadata = format!("metadata:\n  fugato-run: main.sh\n  fugato-effect: {effect}\n");
        let part = if name == "d" { "inner/_sub/d" } else { name };
        sub(&env, part, &metadata);
        let script = format!(
            "#!/bin/sh\nsay() {{ echo \"$1 {name}\" >> '{counter}'; }}\nsleep 60 &\nhelper=$!\nsay began\n\
             sleep {pause}\nsay ended\nkill $helper\necho '{{\"by\": \"{name}\"}}'\n"
        );
        env.write(format!(".agents/skills/counted/_sub/{part}/main.sh"), script);
    }
    env.write(".agents/skills/counted/_sub/inner/SKILL.md", format!("---\n{INNER}\n---\nText.\n"));
    sub(&env, "think", "");
    env.write("model.yaml", "- when: {agent: '*'}\n  reply: '{\"thought\": 1}'\n");
    env
}

fn sub(env: &TestEnv, path: &str, more: &str) {
    let name = path.rsplit('/').next().unwrap();
    let text = format!("---\nname: {name}\ndescription: A part.\n{more}---\nDo it.\n");
    env.write(format!(".agents/skills/counted/_sub/{path}/SKILL.md"), text);
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Whom the signal reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// fugato alone: what it started must end without it.
    Parent,
    /// Its whole process group, as a terminal or a supervisor does it.
    Group,
}

/// One run from its start to its end, killed again and again on the way.
struct Trial {
    env: TestEnv,
    id: Option<String>,
    kills: u64,
    /// Microseconds a whole run takes here and now: kills fall anywhere within.
    span: u64,
    /// Kills that found the run at work.
    interrupted: u64,
    /// Nodes the log called done when last looked at, and how often their scripts had begun by then.
    done: BTreeMap<String, usize>,
    questions: usize,
}

impl Trial {
    fn new(span: u64) -> Self {
        let env = project();
        Self { env, id: None, kills: 0, span, interrupted: 0, done: BTreeMap::new(), questions: 0 }
    }

    fn spawn(&self, args: &[&str]) -> Child {
        self.env
            .command()
            .args(args)
            .env("FUGATO_TEST_ROOM", self.env.project())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    /// Starts a command and kills it at a random moment; it may also be quicker.
    fn run_and_kill(&mut self, args: &[&str], dice: &mut Dice) {
        let mut child = self.spawn(args);
        let reach = if dice.below(2) == 0 { Reach::Parent } else { Reach::Group };
        std::thread::sleep(Duration::from_micros(dice.below(self.span)));
        match reach {
            Reach::Parent => child.kill().unwrap(),
            Reach::Group => {
                let group = format!("-{}", child.id());
                let mut kill = std::process::Command::new("kill");
                // It may be over already; then there is no such group.
                let _ = kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status().unwrap();
            }
        }
        let status = child.wait().unwrap();
        if status.code().is_none() {
            self.kills += 1;
        }
    }

    fn counted(&self, what: &str) -> usize {
        let counter = std::fs::read_to_string(self.env.project().join("counter")).unwrap_or_default();
        counter.lines().filter(|line| *line == what).count()
    }

    fn begun(&self, name: &str) -> usize {
        self.counted(&format!("began {name}"))
    }

    /// The run as lists show it, once there is one.
    fn row(&self) -> Option<Value> {
        let ran = self.env.fugato("runs --json");
        if ran.code == 3 {
            return None;
        }
        ran.exits(0).json()["runs"].as_array().unwrap().first().cloned()
    }

    /// What holds after every kill.
    fn look(&mut self) -> Option<String> {
        let Some(row) = self.row() else {
            assert!(self.done.is_empty() && self.id.is_none(), "a run that existed is gone");
            assert!(READS.iter().all(|name| self.begun(name) == 0), "work was done for no run");
            return None;
        };
        let id = row["id"].as_str().unwrap().to_owned();
        assert!(self.id.as_ref().is_none_or(|known| *known == id));
        self.id = Some(id.clone());
        assert_ne!(row["status"], "running", "nobody runs it");
        self.interrupted += u64::from(row["status"] == "interrupted");
        let trace = self.env.run(["trace", &id, "--json"]).exits(0).json();
        let bars = trace["bars"].as_array().unwrap();
        for bar in bars.iter().filter(|bar| bar["state"] == "done") {
            let name = bar["id"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            let begun = self.begun(&name);
            let before = *self.done.entry(name.clone()).or_insert(begun);
            assert_eq!(begun, before, "`{name}` was completed and ran again");
        }
        let lost: Vec<&String> =
            self.done.keys().filter(|name| !bars.iter().any(|bar| is_done(bar, name))).collect();
        assert!(lost.is_empty(), "{lost:?} were completed, and the log forgot it");
        Some(row["status"].as_str().unwrap().to_owned())
    }

    /// Goes on once more, killed on the way or not.
    fn go_on(&mut self, status: &str, may_kill: bool, dice: &mut Dice) {
        let id = self.id.clone().unwrap();
        let begun = self.begun(ONCE);
        let answer = if begun == 0 { "repeat" } else { "done" };
        let model = "script:model.yaml";
        let args: Vec<&str> = match status {
            "awaiting_input" => {
                self.questions += 1;
                vec!["answer", &id, answer]
            }
            _ => vec!["resume", &id, "--model", model],
        };
        if may_kill {
            self.run_and_kill(&args, dice);
        } else {
            let mut child = self.spawn(&args);
            assert!([Some(0), Some(6)].contains(&child.wait().unwrap().code()), "{args:?}");
        }
        if status == "awaiting_input" && answer == "done" {
            assert_eq!(self.begun(ONCE), begun, "what may happen once was repeated");
        }
    }

    /// Kills until enough or over, then lets the run come to its end and looks at everything.
    fn play(mut self, kills: u64, dice: &mut Dice) -> Self {
        self.run_and_kill(&["run", "counted", "--model", "script:model.yaml"], dice);
        for _ in 0..kills.saturating_sub(1) {
            match self.look() {
                None => self.run_and_kill(&["run", "counted", "--model", "script:model.yaml"], dice),
                Some(status) if status == "complete" => break,
                Some(status) => self.go_on(&status, true, dice),
            }
        }
        for _ in 0..6 {
            match self.look() {
                None => drop(self.env.fugato("run counted --model script:model.yaml").exits(0)),
                Some(status) if status == "complete" => break,
                Some(status) => self.go_on(&status, false, dice),
            }
        }
        self.check_end();
        self
    }

    fn check_end(&mut self) {
        assert_eq!(self.look().as_deref(), Some("complete"));
        let id = self.id.clone().unwrap();
        let events = self.env.run(["events", &id, "--jsonl"]).exits(0).stdout;
        let mut values: Vec<Value> = Vec::new();
        for (line, seq) in events.lines().zip(1u64..) {
            let event: Value = serde_json::from_str(line).unwrap();
            assert_eq!(event["seq"], seq, "the log has no gaps");
            if event["kind"]["type"] == "node.completed" {
                values.push(event["kind"]["value"].clone());
            }
        }
        let expected = READS.map(|name| json!({"by": name}));
        assert!(expected.iter().all(|value| values.contains(value)), "{values:?}");
        assert!(values.contains(&json!({"thought": 1})));
        // It was repeated only when it was asked about and had not begun.
        assert_eq!(self.begun(ONCE), 1, "`{ONCE}` happens once");
        assert!(READS.iter().all(|name| self.counted(&format!("ended {name}")) >= 1));
        self.nobody_is_left();
        // After the faults, new work succeeds.
        self.env.fugato("run counted --model script:model.yaml").exits(0);
    }

    fn nobody_is_left(&self) {
        nobody_carries(&self.env);
    }
}

/// No process of this world lives on, helpers of killed scripts included.
pub fn nobody_carries(env: &TestEnv) {
    let mark = format!("FUGATO_TEST_ROOM={}", env.project().display());
    let began = Instant::now();
    loop {
        let left: Vec<String> = processes().filter(|pid| carries(pid, &mark)).collect();
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "processes {left:?} are left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Microseconds of a run that nobody kills.
fn calm_span() -> u64 {
    let calm = project();
    let began = Instant::now();
    calm.fugato("run counted --model script:model.yaml").exits(0);
    u64::try_from(began.elapsed().as_micros()).unwrap()
}

fn is_done(bar: &Value, name: &str) -> bool {
    bar["state"] == "done" && bar["id"].as_str().is_some_and(|id| id.rsplit('/').next() == Some(name))
}

fn processes() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.parse::<u32>().is_ok())
}

/// A zombie has no environment, so it does not count.
fn carries(pid: &str, mark: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
}

#[test]
fn kill_9_at_random_moments_completes_every_run_repeats_nothing_finished_and_leaves_nobody() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let wanted = number("FUGATO_KILLS").unwrap_or(240).max(240);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = number("FUGATO_SEED").unwrap_or(now.as_nanos() as u64 | 1);
    println!("FUGATO_SEED={seed}");
    let [kills, runs, questions, interrupted] = [const { AtomicU64::new(0) }; 4];
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            let (kills, runs, questions, interrupted) = (&kills, &runs, &questions, &interrupted);
            scope.spawn(move || {
                let mut dice = Dice(seed.wrapping_mul(worker * 2 + 1) | 1);
                let span = calm_span();
                while kills.load(Ordering::Relaxed) < wanted {
                    let trial = Trial::new(span).play(12, &mut dice);
                    kills.fetch_add(trial.kills, Ordering::Relaxed);
                    questions.fetch_add(trial.questions as u64, Ordering::Relaxed);
                    interrupted.fetch_add(trial.interrupted, Ordering::Relaxed);
                    runs.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    println!("{kills:?} kills of {runs:?} runs, {interrupted:?} at work, {questions:?} questions");
    // Kills that never find anybody at work, and never in the middle of what may happen once, prove nothing.
    assert!(interrupted.into_inner() > wanted / 4 && questions.into_inner() > 0);
}

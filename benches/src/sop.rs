//! Programs of the SOP language: reading and checking a large one, running it as commands that do nothing, and replacing
//! one declaration of it.

use crate::bare::tell;
use crate::figure::{Figure, Samples, millis};
use crate::inside;
use crate::journal::CONCURRENT;
use crate::place::{Bench, BenchError, fresh, told};
use fugato_engine::{
    Callable, CallableWork, Limits, Orchestrator, Phase, Plan, PlanNode, SessionKind, SopBudget, Work,
};
use fugato_runtime::store::Store;
use fugato_skill::sop::{Budget, Interpreter, Outcome, Program};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// Declarations of the program that is read, whatever the size of the measurement.
const DECLARATIONS: u32 = 10_000;

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let text = linked(DECLARATIONS, "first");
    let changed = linked(DECLARATIONS, "other");
    let (mut read, mut step, mut update) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..bench.sizes.rounds {
        let began = Instant::now();
        let program = Program::parse(&text).map_err(|errors| format!("{} errors", errors.len()))?;
        let unknown = program.unknown_commands(&["noop"]).len();
        read.add_millis(began.elapsed());
        if unknown > 0 {
            return Err("the commands are known".into());
        }
        let mut interpreter = Interpreter::new(program, wide());
        let began = Instant::now();
        run(&mut interpreter)?;
        step.add(millis(began.elapsed()) * 1e3 / f64::from(DECLARATIONS));
        let began = Instant::now();
        let change = interpreter.update_to(&changed).map_err(|why| format!("{why:?}"))?;
        update.add_millis(began.elapsed());
        if change.to_run.len() != 1 {
            return Err(format!("{} declarations are run again", change.to_run.len()).into());
        }
    }
    let room = bench.room("sop")?;
    let count = bench.sizes.nodes.min(DECLARATIONS);
    let mut each = Samples::default();
    for _ in 0..bench.sizes.rounds {
        let dir = fresh(&room)?;
        let mut command = Command::new(&bench.own);
        let said = told(command.arg("sop").arg(&dir).arg(count.to_string()))?;
        let total = said.get("total_ms").and_then(serde_json::Value::as_f64).ok_or("no time was told")?;
        each.add(total * 1e3 / f64::from(count));
    }
    Ok(vec![
        Figure::new(format!("a program of {DECLARATIONS} declarations, read and checked"), "ms", &read)
            .below(50.0),
        Figure::new("the same, the interpreter alone, per command", "µs", &step),
        Figure::new("the same, one declaration replaced", "ms", &update).note(
            "from the new text; all others keep their values, and nothing of them is read or run again",
        ),
        Figure::new(format!("{count} commands that do nothing, per command"), "µs", &each)
            .note("a whole run: each is called, started and ended, every event durable"),
    ])
}

const fn wide() -> Budget {
    Budget { commands: usize::MAX, prompt_chars: usize::MAX, failures: usize::MAX }
}

/// Each third declaration refers to two before it. The last one, which nobody needs, is told this word.
fn linked(count: u32, word: &str) -> String {
    let mut text = String::new();
    for at in 1..count {
        let _ = match at % 3 {
            0 => writeln!(text, "@v{at} noop $v{} $v{} part {at}", at - 1, at - 2),
            _ => writeln!(text, "# Step {at}.\n@v{at} noop \"text of {at}\""),
        };
    }
    let _ = writeln!(text, "@last noop {word}");
    text
}

fn run(interpreter: &mut Interpreter) -> Result<(), BenchError> {
    let given: Arc<str> = "done".into();
    loop {
        let ready = interpreter.ready();
        if ready.is_empty() {
            return Ok(());
        }
        for command in ready {
            interpreter.finished(&command.name, Outcome::Success(Arc::clone(&given)))?;
        }
    }
}

/// A whole run of a program whose commands do nothing, alone in its process.
pub fn part(dir: &str, count: &str) -> Result<(), BenchError> {
    let dir = Path::new(dir);
    let count: u32 = count.parse()?;
    let program: String = (0..count).map(|at| format!("@v{at} noop {at}\n")).collect();
    let orchestrator = Orchestrator {
        name: "bench".into(),
        description: String::new(),
        instructions: String::new(),
        session: SessionKind::Sop {
            fixed: Some(program),
            budget: SopBudget { commands: u32::MAX, prompt_chars: u32::MAX, ..SopBudget::default() },
        },
        allowed: vec!["noop".into()],
        preparation: None,
        model: None,
    };
    let node = PlanNode {
        id: "main".into(),
        phase: 0,
        after: Vec::new(),
        work: Work::Session { orchestrator: Arc::new(orchestrator), args: Default::default() },
        output: None,
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    };
    let limits = Limits { concurrent: CONCURRENT, ..Limits::default() };
    let phase = Phase { name: "main".into(), parallel: false, depends_on: Vec::new(), within: None };
    let plan = Plan { phases: vec![phase], nodes: vec![node] };
    let mut spec = inside::spec("run_bench", plan, None, limits);
    let noop = Callable { description: String::new(), work: CallableWork::Noop };
    spec.skills.insert("noop".into(), Arc::new(noop));
    let runtime = inside::runtime()?;
    let store = Store::open(&dir.join("state"))?;
    let began = Instant::now();
    let mut session = inside::create(&runtime, store, spec, inside::world(dir, ""), Box::new(|_| {}))?;
    inside::drive(&runtime, &mut session)?;
    tell(&json!({"total_ms": millis(began.elapsed())}))
}

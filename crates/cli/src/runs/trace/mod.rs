//! `fugato trace`: the run as a waterfall, from the log.

mod bars;
mod chart;
mod glyphs;
mod rows;
mod scale;
#[cfg(test)]
mod tests;

pub use bars::Trace;
pub use chart::{Chart, Steps};
pub use rows::Tracer;

use super::reporter::{cost_words, duration};
use super::{find, open, reader};
use crate::app::App;
use crate::error::Outcome;
use crate::render::canvas::strings;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, words};
use fugato_runtime::store::RunStatus;
use std::time::{SystemTime, UNIX_EPOCH};

/// Draw a run as a waterfall.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
    /// Show every model and tool call [default: when there are few]
    #[arg(long)]
    deep: bool,
    /// Show every row [default: long and unfinished ones, the rest folded]
    #[arg(long)]
    all: bool,
}

/// A pipe has no width: what most screens have.
const COLUMNS_OFF_A_TERMINAL: usize = 100;
/// Nodes of a folded chart: about a screen.
const SHOWN_NODES: usize = 40;
/// Calls shown without being asked for.
const FEW_STEPS: usize = 24;

pub fn run(args: &TraceArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (events, run) = open(&reader, &row)?;
    let mut trace = Trace::of(&events, &run);
    if row.effective_status() == RunStatus::Running {
        trace.to = trace.to.max(now());
    }
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.trace/v1", "run": row.id, "from": trace.from, "to": trace.to,
            "resumed": trace.resumed, "bars": trace.bars,
        }))?;
        return Ok(Exit::Ok);
    }
    let steps: usize = trace.bars.iter().map(|bar| bar.steps.len()).sum();
    let chart = Chart {
        lang: app.out.lang,
        width: app.out.width,
        columns: app.out.columns().unwrap_or(COLUMNS_OFF_A_TERMINAL),
        nodes: if args.all { usize::MAX } else { SHOWN_NODES },
        steps: match (args.deep || args.all, steps <= FEW_STEPS) {
            (true, _) | (false, true) => Steps::All,
            (false, false) => Steps::None,
        },
    };
    for line in strings(&chart.draw(&trace)) {
        app.out.line(line)?;
    }
    let (id, status) = (&row.id, row.effective_status());
    let (time, cost) = (duration(trace.to - trace.from), cost_words(&run));
    app.out.note(&words!("{id} {status} · {time} · {cost}", "{id} {status} · {time} · {cost}"));
    if chart.steps == Steps::None {
        app.out.note(&words!(
            "{steps} model and tool calls are not shown: fugato trace {id} --deep",
            "{steps} 次模型和工具调用未显示：fugato trace {id} --deep"
        ));
    }
    Ok(Exit::Ok)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

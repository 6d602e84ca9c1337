//! `fugato replay RUN`: what the run showed while it ran, from its log, at its own pace.

use super::reporter::Reporter;
use super::{find, open, reader};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Event, EventKind, Run};
use fugato_model::{Exit, escape_for_terminal, words};
use std::io::IsTerminal as _;
use std::time::Duration;

/// Show again what a run showed.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
    /// So many times as fast; no pause is longer than two seconds
    #[arg(long, value_name = "X", default_value_t = 1.0, conflicts_with = "instant")]
    speed: f64,
    /// Without pauses [default: only off a terminal]
    #[arg(long)]
    instant: bool,
    /// Print each event as one line of JSON
    #[arg(long)]
    jsonl: bool,
}

/// A run may have waited for days; who watches it again need not.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub fn run(args: &ReplayArgs, app: &mut App) -> Outcome {
    if !(args.speed.is_finite() && args.speed > 0.0) {
        let speed = args.speed;
        return Err(CliError::usage(words!(
            "--speed: found {speed}, expected a number above 0",
            "--speed：值为 {speed}，应为大于 0 的数"
        ))
        .hint(words!("--speed 2, or --instant", "--speed 2，或 --instant")));
    }
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (events, run) = open(&reader, &row)?;
    if app.out.json && !args.jsonl {
        app.out.json(&super::drive::document(&run, app.out.lang))?;
        return Ok(Exit::Ok);
    }
    let is_live = !args.instant && std::io::stderr().is_terminal();
    let pace = is_live.then_some(args.speed);
    let id = &row.id;
    if !args.jsonl {
        super::rerun::announce(&run.spec, app);
    }
    show(&events, pace, args.jsonl, app)?;
    if args.jsonl {
        return Ok(Exit::Ok);
    }
    let began = events.first().map_or(0, |event| event.at);
    let ended = events.last().map_or(0, |event| event.at);
    if run.ended.is_some() {
        super::summary::summary(&run, ended.saturating_sub(began), &mut app.out)?;
    } else {
        let status = super::show::status_of(&row, &run);
        let next = super::show::next(id, &status, &run).unwrap_or_default();
        app.out.note(&match status.as_str() {
            "awaiting_input" => words!(
                "waiting for an answer. Answer now, tomorrow, from anywhere: {next}",
                "等待回答。随时可以回答：{next}"
            ),
            _ => words!("{status}. Go on: {next}", "{status}。继续：{next}"),
        });
    }
    Ok(Exit::Ok)
}

fn show(events: &[Event], pace: Option<f64>, jsonl: bool, app: &mut App) -> Result<(), CliError> {
    let mut run: Option<Run> = events.first().and_then(Run::created);
    let Some(mut reporter) = run.as_ref().map(|run| Reporter::new(run, false)) else { return Ok(()) };
    let mut before = None;
    for event in events {
        pause(before.replace(event.at), event.at, pace);
        // The first one made the run.
        if let Some(run) = run.as_mut().filter(|run| event.seq > run.seq) {
            run.apply(event);
        }
        if jsonl {
            let line = serde_json::to_string(event).map_err(|error| CliError::internal(&error))?;
            app.out.line(line)?;
            app.out.flush()?;
            continue;
        }
        if let Some(run) = &run {
            reporter.event(event, run, &mut app.out);
        }
        // What the person typed stood on the terminal too.
        if let EventKind::InputAnswered { answer, .. } = &event.kind {
            app.out.aside(&format!("> {}", escape_for_terminal(answer)));
        }
    }
    Ok(())
}

fn pause(before: Option<i64>, at: i64, pace: Option<f64>) {
    let (Some(before), Some(speed)) = (before, pace) else { return };
    let gap = Duration::from_millis(u64::try_from(at.saturating_sub(before)).unwrap_or(0));
    let scaled = Duration::try_from_secs_f64(gap.as_secs_f64() / speed).unwrap_or(LONGEST_PAUSE);
    std::thread::sleep(scaled.min(LONGEST_PAUSE));
}

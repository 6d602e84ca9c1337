//! `fugato runs | events | cost`: what happened, from the log.

use super::reporter::{cost_words, duration};
use super::{find, open, reader};
use crate::app::App;
use crate::error::Outcome;
use crate::printer::{paint, style};
use crate::render::{Cell, Table};
use clap::Args;
use fugato_model::{Exit, Lang, words};
use fugato_runtime::store::RunFilter;

/// List the runs of this project.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
}

/// Names one run.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// The run, or the beginning of its id [default: the newest]
    run: Option<String>,
}

/// What a run cost, per agent.
#[derive(Debug, Args)]
pub struct CostArgs {
    /// The run, or the beginning of its id [default: the newest]
    run: Option<String>,
}

pub fn runs(args: &RunsArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let filter = RunFilter { limit: Some(args.limit), ..RunFilter::default() };
    let rows = reader.runs(&filter).map_err(|error| super::store_error(&error))?;
    if app.out.json {
        let items: Vec<_> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "id": row.id, "status": row.effective_status().as_str(), "skill": row.skill,
                    "title": row.title, "started_at": row.created_at, "updated_at": row.updated_at,
                    "events": row.last_seq,
                })
            })
            .collect();
        app.out.json(&serde_json::json!({"schema": "fugato.runs/v1", "runs": items}))?;
        return Ok(Exit::Ok);
    }
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["RUN", "STATUS", "EVENTS", "TIME", "TITLE"]),
        Lang::Zh => Table::new(0).header(["运行", "状态", "事件", "用时", "标题"]),
    };
    for row in &rows {
        let status = row.effective_status();
        let look = match status.as_str() {
            "complete" => style::GOOD,
            "failed" | "aborted" => style::BAD,
            _ => style::WARN,
        };
        table.row([
            Cell::styled(style::NAME, &row.id),
            Cell::styled(look, status.as_str()),
            Cell::new(row.last_seq.to_string()),
            Cell::new(duration(row.updated_at - row.created_at)),
            Cell::new(row.title.clone().unwrap_or_default()),
        ]);
    }
    table.print(&mut app.out)?;
    Ok(Exit::Ok)
}

/// Every event as one line: text for eyes, JSON with `--json`.
pub fn events(args: &EventsArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (events, _) = open(&reader, &row)?;
    let start = events.first().map_or(0, |event| event.at);
    for event in &events {
        if app.out.json {
            let line =
                serde_json::to_string(event).map_err(|error| crate::error::CliError::internal(&error))?;
            app.out.line(line)?;
            continue;
        }
        let value = serde_json::to_value(&event.kind).unwrap_or_default();
        let kind = value.get("type").and_then(|kind| kind.as_str()).unwrap_or_default().to_owned();
        let mut rest = value;
        if let Some(object) = rest.as_object_mut() {
            object.remove("type");
        }
        let rest: String = rest.to_string().chars().take(120).collect();
        let rest = fugato_model::escape_for_terminal(&rest).into_owned();
        let time = paint(style::DIM, format!("{:>9}", duration(event.at - start)));
        app.out.line(format!("{:>5} {time} {} {rest}", event.seq, paint(style::NAME, kind)))?;
    }
    Ok(Exit::Ok)
}

pub fn cost(args: &CostArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (_, run) = open(&reader, &row)?;
    if app.out.json {
        let lang = app.out.lang;
        let view = run.view(lang);
        app.out.json(&serde_json::json!({
            "schema": "fugato.cost/v1", "run": row.id, "total": run.spent, "agents": view.agents,
        }))?;
        return Ok(Exit::Ok);
    }
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["AGENT", "CALLS", "IN", "OUT", "COST"]),
        Lang::Zh => Table::new(0).header(["代理", "调用", "输入", "输出", "费用"]),
    };
    let known = |tokens: Option<u64>| tokens.map_or_else(|| "—".to_owned(), |n| n.to_string());
    for agent in &run.agents {
        let cost = agent.spent.micro_usd.map_or_else(
            || "—".to_owned(),
            |micro| format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100),
        );
        table.row([
            Cell::styled(style::NAME, agent.path.as_str()),
            Cell::new(agent.spent.answers.to_string()),
            Cell::new(known(agent.spent.usage.input_tokens)),
            Cell::new(known(agent.spent.usage.output_tokens)),
            Cell::new(cost),
        ]);
    }
    table.print(&mut app.out)?;
    let (answers, tokens, cost) = (run.spent.answers, run.spent.tokens(), cost_words(&run));
    app.out.note(&words!(
        "{answers} model calls · {tokens} tokens · {cost}",
        "模型调用 {answers} 次 · {tokens} 词元 · {cost}"
    ));
    Ok(Exit::Ok)
}

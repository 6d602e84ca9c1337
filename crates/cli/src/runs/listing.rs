//! `fugato runs`: the runs of this project as a list, and what can be done with their records.

use super::reporter::duration;
use super::{archive, reader, remove, show, store_error};
use crate::app::App;
use crate::error::Outcome;
use crate::printer::style;
use crate::render::{Cell, Table};
use anstyle::Style;
use clap::{Args, Subcommand};
use fugato_model::{Exit, Lang, words};
use fugato_runtime::store::{RunFilter, RunRow};

/// The runs of this project.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArgs {
    #[command(subcommand)]
    command: Option<RunsCommand>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List the runs of this project, newest first
    Ls(ListArgs),
    /// Show one run on a page: how it stands, its nodes, variables and cost
    Show(show::ShowArgs),
    /// Remove the records of runs
    Rm(remove::RemoveArgs),
    /// Write a run, with everything its log names, into one file
    Export(archive::ExportArgs),
    /// Bring in a run that was exported elsewhere
    Import(archive::ImportArgs),
}

/// Which runs to list.
#[derive(Debug, Args)]
struct ListArgs {
    /// Only runs that stand like this [default: all]
    #[arg(long, value_name = "STATUS", value_parser = STATUSES)]
    status: Option<String>,
    /// Only runs of this skill [default: all]
    #[arg(long, value_name = "NAME", add = clap_complete::ArgValueCandidates::new(crate::complete::skills))]
    skill: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// All of them, however many
    #[arg(long)]
    all: bool,
}

const STATUSES: [&str; 8] = [
    "running",
    "paused",
    "awaiting_input",
    "interrupted",
    "complete",
    "failed",
    "aborted",
    "budget_exhausted",
];

pub fn run(args: &RunsArgs, app: &mut App) -> Outcome {
    match &args.command {
        None => list(&args.list, app),
        Some(RunsCommand::Ls(args)) => list(args, app),
        Some(RunsCommand::Show(args)) => show::run(args, app),
        Some(RunsCommand::Rm(args)) => remove::run(args, app),
        Some(RunsCommand::Export(args)) => archive::export(args, app),
        Some(RunsCommand::Import(args)) => archive::import(args, app),
    }
}

fn list(args: &ListArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let limit = if args.all { usize::MAX } else { args.limit as usize };
    let is_filtered = args.status.is_some() || args.skill.is_some();
    // One more than asked for tells whether there are more. What a run's owner is doing is not in the database, so a
    // filter is applied to all rows.
    let ask = if is_filtered || args.all { None } else { Some(args.limit.saturating_add(1)) };
    let rows = reader
        .runs(&RunFilter { limit: ask, ..RunFilter::default() })
        .map_err(|error| store_error(&error))?;
    let is_wanted = |row: &&RunRow| {
        let has_status = args.status.as_ref().is_none_or(|status| row.effective_status().as_str() == status);
        has_status && args.skill.as_ref().is_none_or(|skill| row.skill.as_ref() == Some(skill))
    };
    let mut wanted: Vec<&RunRow> = rows.iter().filter(is_wanted).collect();
    let has_more = wanted.len() > limit;
    wanted.truncate(limit);
    if app.out.json {
        let items: Vec<_> = wanted.iter().map(|row| item(row)).collect();
        app.out.json(&serde_json::json!({
            "schema": "fugato.runs/v1", "runs": items, "has_more": has_more,
        }))?;
        return Ok(Exit::Ok);
    }
    if wanted.is_empty() {
        app.out.note(&match is_filtered {
            true => words!(
                "no run fits; `fugato runs --all` lists all",
                "没有符合的运行；`fugato runs --all` 列出全部"
            ),
            false => words!("no runs; start one: fugato run SKILL", "没有运行；先启动一个：fugato run 技能"),
        });
        return Ok(Exit::Ok);
    }
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["RUN", "STATUS", "EVENTS", "TIME", "TITLE"]),
        Lang::Zh => Table::new(0).header(["运行", "状态", "事件", "用时", "标题"]),
    };
    for row in wanted {
        let status = row.effective_status();
        table.row([
            Cell::styled(style::NAME, &row.id),
            Cell::styled(look(status.as_str()), status.as_str()),
            Cell::new(row.last_seq.to_string()),
            Cell::new(duration(row.updated_at.saturating_sub(row.created_at))),
            Cell::new(row.title.clone().unwrap_or_default()),
        ]);
    }
    table.print(&mut app.out)?;
    if has_more {
        app.out.note(&words!("there are more: fugato runs --all", "还有更多：fugato runs --all"));
    }
    Ok(Exit::Ok)
}

fn item(row: &RunRow) -> serde_json::Value {
    serde_json::json!({
        "id": row.id, "status": row.effective_status().as_str(), "skill": row.skill, "title": row.title,
        "started_at": row.created_at, "updated_at": row.updated_at, "events": row.last_seq,
        "bytes": row.bytes, "parent": row.parent,
    })
}

/// How a state is coloured, of runs and of nodes.
pub fn look(status: &str) -> Style {
    match status {
        "complete" | "done" => style::GOOD,
        "failed" | "aborted" => style::BAD,
        "pending" | "skipped" | "reused" => style::DIM,
        _ => style::WARN,
    }
}

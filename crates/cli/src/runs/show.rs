//! `fugato runs show`: one run on one page, and what to type next.

use super::bill::{bill, counted, steps};
use super::listing::look;
use super::reporter::{duration, short};
use super::summary::{raising, result_text, safe};
use super::{find, open, reader};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use crate::render::{Cell, Table};
use crate::status::{Layout, intervention, intervention_line, view_error};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{AgentView, Asked, Event, EventKind, NodeStatus, Outcome as Ended, Run};
use fugato_model::{Exit, Lang, Words, words};
use fugato_runtime::runs::is_task;
use fugato_runtime::store::{RunRow, RunStatus};
use fugato_runtime::view::{self, Overview};
use std::collections::BTreeMap;

/// Show one run.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
}

pub fn run(args: &ShowArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (events, run) = open(&reader, &row)?;
    let status = status_of(&row, &run);
    let next = next(&row.id, &status, &run);
    let seen = view::of_run(&super::state(app), &reader, &row).map_err(|error| view_error(&error))?;
    if app.out.json {
        let mut document = document(&row, &run, &status, next.as_deref(), app.out.lang);
        let told: Vec<_> = seen.interventions.iter().map(|one| intervention(one, app.out.lang)).collect();
        if let Some(fields) = document.as_object_mut() {
            fields.insert("interventions".to_owned(), told.into());
        }
        app.out.json(&document)?;
        return Ok(Exit::Ok);
    }
    head(&row, &run, &status, app)?;
    nodes(&events, &run, app)?;
    agents(&run, app)?;
    variables(&run, app)?;
    interventions(&seen, app)?;
    result(&run, app)?;
    let numbers: Vec<u32> = run.open_questions().map(|(number, _)| number).collect();
    for number in numbers {
        let text = super::reporter::asked(&run, number, app.out.lang);
        app.out.line(text)?;
    }
    if let Some(next) = next {
        app.out.note(&words!("next: {next}", "下一步：{next}"));
    }
    Ok(Exit::Ok)
}

/// What was said to the run, and what came of it, newest first.
fn interventions(seen: &Overview, app: &mut App) -> Result<(), CliError> {
    const SHOWN: usize = 10;
    if seen.interventions.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let layout = Layout::new(app, true);
    for told in seen.interventions.iter().take(SHOWN) {
        app.out.line(intervention_line(told, &layout))?;
    }
    if let Some(more @ 1..) = seen.interventions.len().checked_sub(SHOWN) {
        app.out.line(format!("+{more}"))?;
    }
    Ok(())
}

/// A master and whom it started.
fn agents(run: &Run, app: &mut App) -> Result<(), CliError> {
    if run.spec.types.is_empty() {
        return Ok(());
    }
    let view = run.view(app.out.lang);
    app.out.line("")?;
    let mut table = Table::new(0);
    for agent in &view.agents {
        let name = if agent.parent.is_some() { format!("↳ {}", agent.id) } else { agent.id.clone() };
        let (steps, used) = (steps(agent), super::estimate::tokens(agent.spent.tokens()));
        let (en, zh) = (steps.en, steps.zh);
        let took = words!("{en} · {used} tokens", "{zh} · {used} 词元");
        table.row([
            Cell::styled(style::NAME, name),
            Cell::styled(look(agent.status), agent.status),
            Cell::styled(style::DIM, &agent.agent_type),
            Cell::styled(style::DIM, took.in_lang(app.out.lang)),
            Cell::new(&agent.description),
            Cell::styled(style::DIM, said(agent)),
        ]);
    }
    table.print(&mut app.out)
}

/// What a subagent ended with, in short; the master's is the result of the run.
fn said(agent: &AgentView) -> String {
    let result = agent.result.as_ref().filter(|_| agent.parent.is_some());
    result.map(|result| format!("→ {}", short(result))).unwrap_or_default()
}

/// Lines and characters of a result that a page has room for.
const RESULT_LINES: usize = 20;
const RESULT_CHARS: usize = 2000;

/// The result, or its beginning and where the whole is.
fn result(run: &Run, app: &mut App) -> Result<(), CliError> {
    let Some((.., Some(result))) = &run.ended else { return Ok(()) };
    let text = result_text(result);
    let mut left = RESULT_CHARS;
    let mut shown = 0;
    app.out.line("")?;
    for line in text.lines().take(RESULT_LINES) {
        let cut: String = line.chars().take(left).collect();
        (left, shown) = (left - cut.chars().count(), shown + cut.len() + 1);
        app.out.line(safe(&cut))?;
        if left == 0 {
            break;
        }
    }
    if shown < text.trim_end().len() {
        let (id, all) = (&run.spec.id, text.chars().count());
        app.out.note(&words!(
            "the result has {all} characters; whole: fugato runs show {id} --json (`result`)",
            "结果共 {all} 个字符；完整内容：fugato runs show {id} --json（`result`）"
        ));
    }
    Ok(())
}

/// The word for it: what the log says, unless its owner is gone.
pub fn status_of(row: &RunRow, run: &Run) -> String {
    match row.effective_status() {
        RunStatus::Interrupted => "interrupted".to_owned(),
        _ => run.status().to_owned(),
    }
}

/// The command that goes on from here.
pub fn next(id: &str, status: &str, run: &Run) -> Option<String> {
    Some(match (status, &run.ended) {
        ("interrupted" | "paused", _) => format!("fugato resume {id}"),
        ("running", _) => format!("fugato events {id} -f"),
        ("awaiting_input", _) => answering(run, "TEXT"),
        (_, Some((Ended::BudgetExhausted, ..))) => format!("fugato resume {id} {} N", raising(run)),
        (_, Some((Ended::Failed | Ended::Aborted, ..))) => rerun_hint(run),
        _ => format!("fugato trace {id}"),
    })
}

/// The command that answers the oldest open question; `text` stands for what a person would write.
pub fn answering(run: &Run, text: &str) -> String {
    let id = &run.spec.id;
    let oldest = run.open_questions().next();
    match oldest.map(|(_, question)| &question.about) {
        Some(Asked::Permission { .. }) => format!("fugato approve {id} [--always | --deny {text}]"),
        _ => format!("fugato answer {id} {text}"),
    }
}

/// How to go on after a failure: from the first phase that did not complete.
pub fn rerun_hint(run: &Run) -> String {
    let id = &run.spec.id;
    let states = run.spec.plan.nodes.iter().zip(&run.nodes);
    let failed = (0u32..).zip(states).filter(|(_, (_, state))| state.status == NodeStatus::Failed);
    // Of a sub-skill with phases, the one inside that failed: the others need not run again.
    let is_failed =
        |call: u32| run.nodes.get(call as usize).is_some_and(|state| state.status == NodeStatus::Failed);
    let ended_the_run = failed.filter(|(node, _)| run.callers(*node).all(is_failed));
    let mut failed = ended_the_run.map(|(node, both)| (run.callers(node).count(), both)).collect::<Vec<_>>();
    failed.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
    let mut failed = failed.into_iter().map(|(_, both)| both);
    let unfinished = |(_, state): &(_, &fugato_engine::NodeState)| !state.status.has_ended();
    let stopped = || run.spec.plan.nodes.iter().zip(&run.nodes).find(unfinished);
    let phase = failed.next().or_else(stopped).map(|(plan, _)| plan.phase);
    match phase.and_then(|phase| run.spec.plan.phases.get(phase as usize)) {
        Some(phase) => format!("fugato rerun {id} --from {}", crate::render::shell_word(&phase.name)),
        None => format!("fugato rerun {id}"),
    }
}

fn head(row: &RunRow, run: &Run, status: &str, app: &mut App) -> Result<(), CliError> {
    let lang = app.out.lang;
    let reason = match (&run.ended, status) {
        (Some((_, reason, _)), _) => reason.in_lang(lang).to_owned(),
        (None, "interrupted") => words!("its process is gone", "其进程已不存在").in_lang(lang).to_owned(),
        _ => String::new(),
    };
    let digest = run.spec.skill.digest.map(|digest| format!("  {}", digest.short())).unwrap_or_default();
    let limits = &run.spec.limits;
    let mut bounds = vec![match lang {
        Lang::En => format!("{} at once, {} steps", limits.concurrent, limits.steps),
        Lang::Zh => format!("同时 {} 个，{} 步", limits.concurrent, limits.steps),
    }];
    bounds.extend(limits.tokens.map(|tokens| match lang {
        Lang::En => format!("{tokens} tokens"),
        Lang::Zh => format!("{tokens} 词元"),
    }));
    bounds.extend(limits.micro_usd.map(dollars));
    bounds.extend(limits.wall_ms.map(|ms| duration(i64::try_from(ms).unwrap_or(i64::MAX))));
    let mut table = Table::new(0).whole();
    let mut field = |name: Words, cell: Cell| {
        table.row([Cell::styled(style::DIM, name.in_lang(lang)), cell]);
    };
    field(words!("run", "运行"), Cell::styled(style::NAME, &row.id));
    field(words!("status", "状态"), Cell::styled(look(status), format!("{status}  {reason}").trim_end()));
    match run.spec.single.as_deref().filter(|_| is_task(&run.spec)) {
        Some(task) => field(words!("task", "任务"), Cell::new(on_one_line(task))),
        None => field(
            words!("skill", "技能"),
            Cell::new(format!("{}{digest}  {}", run.spec.skill.name, run.spec.skill.dir)),
        ),
    }
    let arguments = run.spec.context.get("ARGUMENTS").and_then(|value| value.as_str()).unwrap_or_default();
    if !arguments.is_empty() {
        field(words!("arguments", "参数"), Cell::new(arguments));
    }
    if let Some(parent) = &run.spec.parent {
        field(words!("parent", "来自"), Cell::new(parent));
    }
    field(words!("model", "模型"), Cell::new(&run.spec.model));
    field(words!("limits", "上限"), Cell::new(bounds.join(", ")));
    field(words!("cost", "费用"), Cell::new(bill(run).in_lang(lang)));
    let time = duration(row.updated_at.saturating_sub(row.created_at));
    let count = row.last_seq;
    let events = counted(count, "event");
    let time = words!("{time}, {events}", "{time}，{count} 个事件");
    field(words!("time", "用时"), Cell::new(time.in_lang(lang)));
    table.print(&mut app.out)
}

/// Every node below its phase.
fn nodes(events: &[Event], run: &Run, app: &mut App) -> Result<(), CliError> {
    let (lang, took) = (app.out.lang, durations(events, run));
    let view = run.view(lang);
    if view.nodes.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let mut table = match lang {
        Lang::En => Table::new(0).header(["NODE", "STATE", "TIME", "NOTE"]),
        Lang::Zh => Table::new(0).header(["节点", "状态", "用时", "说明"]),
    };
    for node in &view.nodes {
        let word = if node.reused { "reused" } else { node.status };
        let time = took.get(node.id.as_str()).map(|ms| duration(*ms)).unwrap_or_default();
        let attempt = if node.attempt > 1 { format!("({}) ", node.attempt) } else { String::new() };
        let note = format!("{attempt}{}", node.message.as_deref().unwrap_or_default());
        table.row([
            Cell::styled(style::NAME, &node.id),
            Cell::styled(look(word), word),
            Cell::new(time),
            Cell::new(note.lines().next().unwrap_or_default()),
        ]);
    }
    table.print(&mut app.out)
}

/// A long task is read in the log.
pub fn on_one_line(task: &str) -> String {
    const SHOWN: usize = 200;
    let words = task.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = words.chars().take(SHOWN).collect();
    if cut.len() < words.len() { format!("{cut}…") } else { cut }
}

fn variables(run: &Run, app: &mut App) -> Result<(), CliError> {
    // A task has no variables but those every run begins with, unless somebody set one.
    let is_usual = |name: &str| ["ARGUMENTS", "TARGET_DATE", "TODAY", "TODAY_ZONE"].contains(&name);
    let is_shown = |name: &str| !is_task(&run.spec) || !is_usual(name);
    let shown: Vec<_> = run.variables.iter().filter(|(name, _)| is_shown(name)).collect();
    if shown.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    for (name, value) in shown {
        app.out.line(format!("{} = {}", paint(style::BOLD, name), short(value)))?;
    }
    Ok(())
}

/// How long each node took, all its attempts together.
pub fn durations<'r>(events: &[Event], run: &'r Run) -> BTreeMap<&'r str, i64> {
    let mut began: BTreeMap<u32, i64> = BTreeMap::new();
    let mut took: BTreeMap<&str, i64> = BTreeMap::new();
    for event in events {
        if let Some((node, _)) = event.kind.starts() {
            began.insert(node, event.at);
        }
        match &event.kind {
            EventKind::NodeCompleted { node, .. } | EventKind::NodeFailed { node, .. } => {
                if let (Some(since), Some(node)) = (began.remove(node), run.plan_node(*node)) {
                    *took.entry(&node.id).or_default() += event.at.saturating_sub(since).max(0);
                }
            }
            _ => {}
        }
    }
    took
}

pub fn dollars(micro: u64) -> String {
    format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}

/// What `run --json` prints, and what only the store knows.
fn document(row: &RunRow, run: &Run, status: &str, next: Option<&str>, lang: Lang) -> serde_json::Value {
    let mut document = super::drive::document(run, lang);
    if let (Some(object), serde_json::Value::Object(more)) = (
        document.as_object_mut(),
        serde_json::json!({
            "status": status, "title": run.spec.title, "parent": run.spec.parent, "model": run.spec.model,
            "limits": run.spec.limits, "skill_dir": run.spec.skill.dir, "skill_digest": run.spec.skill.digest,
            "context": run.spec.context, "started_at": row.created_at, "updated_at": row.updated_at,
            "events": row.last_seq, "bytes": row.bytes, "next": next,
        }),
    ) {
        object.extend(more);
    }
    document
}

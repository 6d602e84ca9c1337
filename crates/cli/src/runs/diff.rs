//! `fugato diff RUN RUN`: what went in, what was done and what came out differently.
//!
//! Equal means equal outputs: how the run ended, its result, and every variable its nodes set. Inputs, times and costs
//! are shown and do not count.

use super::reporter::{cost_words, duration};
use super::show::durations;
use super::{find, open, reader};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use crate::render::{Cell, Table};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Event, Run};
use fugato_model::{Exit, Lang, words};
use fugato_runtime::store::{Reader, RunFilter, RunRow};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What differs between two runs.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The run before, or the beginning of its id [default: the parent of the newest, or the second newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    before: Option<String>,
    /// The run after; with only one run, that one is compared with its parent [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    after: Option<String>,
}

pub fn run(args: &DiffArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let (before, after) = both(&reader, args)?;
    let (before_events, before) = open(&reader, &before)?;
    let (after_events, after) = open(&reader, &after)?;
    let comparison = compare((&before_events, &before), (&after_events, &after), app.out.lang);
    if app.out.json {
        let document = serde_json::to_value(&comparison).map_err(|error| CliError::internal(&error))?;
        app.out.document("fugato.diff/v1", document)?;
    } else {
        print(&comparison, app)?;
    }
    Ok(if comparison.equal { Exit::Ok } else { Exit::Failed })
}

fn both(reader: &Reader, args: &DiffArgs) -> Result<(RunRow, RunRow), CliError> {
    if let (Some(before), Some(after)) = (&args.before, &args.after) {
        return Ok((find(reader, Some(before))?, find(reader, Some(after))?));
    }
    let after = find(reader, args.before.as_deref())?;
    if let Some(parent) = &after.parent {
        return Ok((find(reader, Some(parent))?, after));
    }
    let two = RunFilter { limit: Some(2), ..RunFilter::default() };
    let newest = reader.runs(&two).map_err(|error| super::store_error(&error))?;
    match newest.into_iter().nth(1).filter(|_| args.before.is_none()) {
        Some(before) => Ok((before, after)),
        None => {
            let id = &after.id;
            Err(CliError::usage(words!(
                "run `{id}` has no parent to compare with",
                "运行 `{id}` 没有可以比较的来源运行"
            ))
            .hint(words!("name two: fugato diff {id} RUN", "请给出两个：fugato diff {id} 运行")))
        }
    }
}

/// Everything that differs, and every node.
#[derive(Debug, Serialize)]
struct Comparison {
    equal: bool,
    runs: [String; 2],
    /// Skill, model, limits, how it ended, tokens and cost.
    fields: Vec<Change>,
    nodes: Vec<NodeChange>,
    variables: Vec<Change>,
    result: Option<Change>,
}

#[derive(Debug, Serialize)]
struct Change {
    name: String,
    before: Option<Value>,
    after: Option<Value>,
    /// Made by the run, so it counts for equality.
    output: bool,
}

#[derive(Debug, Serialize)]
struct NodeChange {
    id: String,
    /// `None`: the plan does not have it.
    before: Option<NodeFacts>,
    after: Option<NodeFacts>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct NodeFacts {
    status: &'static str,
    attempts: u32,
    ms: Option<i64>,
}

fn compare(before: (&[Event], &Run), after: (&[Event], &Run), lang: Lang) -> Comparison {
    let (old, new) = (before.1, after.1);
    let fields = changes(&fields(old, lang), &fields(new, lang), &|name| name == "status");
    let made: BTreeSet<&str> =
        old.spec.plan.nodes.iter().chain(&new.spec.plan.nodes).flat_map(|node| node.sets()).collect();
    let variables = changes(&old.variables, &new.variables, &|name| made.contains(name));
    let result = |run: &Run| run.ended.as_ref().and_then(|(.., result)| result.clone());
    let (was, is) = (result(old), result(new));
    let result =
        (was != is).then(|| Change { name: "result".to_owned(), before: was, after: is, output: true });
    let equal = !fields.iter().chain(&variables).chain(&result).any(|change| change.output);
    Comparison {
        equal,
        runs: [old.spec.id.clone(), new.spec.id.clone()],
        fields,
        nodes: nodes(before, after, lang),
        variables,
        result,
    }
}

fn fields(run: &Run, lang: Lang) -> BTreeMap<String, Value> {
    let spec = &run.spec;
    let mut fields = BTreeMap::from([
        ("skill".to_owned(), json!(spec.skill.name)),
        ("skill.digest".to_owned(), json!(spec.skill.digest)),
        ("model".to_owned(), json!(spec.model)),
        ("status".to_owned(), json!(run.status())),
        ("reason".to_owned(), json!(run.ended.as_ref().map(|(_, reason, _)| reason.in_lang(lang)))),
        ("model calls".to_owned(), json!(run.spent.answers)),
        ("tokens".to_owned(), json!(run.spent.tokens())),
        ("cost".to_owned(), json!(cost_words(run))),
    ]);
    if let Ok(Value::Object(limits)) = serde_json::to_value(&spec.limits) {
        fields.extend(limits.into_iter().map(|(name, value)| (format!("limits.{name}"), value)));
    }
    fields
}

fn changes(
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
    is_output: &dyn Fn(&str) -> bool,
) -> Vec<Change> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differ = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    differ
        .map(|name| Change {
            name: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
            output: is_output(name),
        })
        .collect()
}

fn nodes(before: (&[Event], &Run), after: (&[Event], &Run), lang: Lang) -> Vec<NodeChange> {
    let facts = |(events, run): (&[Event], &Run)| {
        let took = durations(events, run);
        let view = run.view(lang);
        let facts = view.nodes.into_iter().map(|node| {
            let status = if node.reused { "reused" } else { node.status };
            let ms = took.get(node.id.as_str()).copied();
            (node.id, NodeFacts { status, attempts: node.attempt, ms })
        });
        facts.collect::<Vec<_>>()
    };
    let mut old: BTreeMap<String, NodeFacts> = facts(before).into_iter().collect();
    let mut all: Vec<NodeChange> = Vec::new();
    for (id, facts) in facts(after) {
        all.push(NodeChange { before: old.remove(&id), after: Some(facts), id });
    }
    all.extend(old.into_iter().map(|(id, facts)| NodeChange { id, before: Some(facts), after: None }));
    all
}

fn print(comparison: &Comparison, app: &mut App) -> Result<(), CliError> {
    let [before, after] = &comparison.runs;
    app.out.line(paint(style::BOLD, format!("{before} → {after}")))?;
    let mut table = Table::new(0);
    for change in &comparison.fields {
        let [before, after] = [&change.before, &change.after].map(|value| short(value.as_ref()));
        table.row([Cell::styled(style::DIM, &change.name), Cell::new(format!("{before} → {after}"))]);
    }
    table.print(&mut app.out)?;
    print_nodes(&comparison.nodes, app)?;
    for change in comparison.variables.iter().chain(&comparison.result) {
        app.out.line("")?;
        let unified = unified(change);
        app.out.line(crate::render::diff(&unified).trim_end())?;
    }
    if comparison.equal {
        app.out.note(&words!("the outputs are equal", "输出相同"));
    } else {
        app.out.note(&words!("the outputs differ", "输出不同"));
    }
    Ok(())
}

fn print_nodes(nodes: &[NodeChange], app: &mut App) -> Result<(), CliError> {
    if nodes.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["", "NODE", "STATE", "ATTEMPTS", "TIME"]),
        Lang::Zh => Table::new(0).header(["", "节点", "状态", "次数", "用时"]),
    };
    for node in nodes {
        let mark = match (&node.before, &node.after) {
            (None, _) => Cell::styled(style::GOOD, "+"),
            (_, None) => Cell::styled(style::BAD, "-"),
            (Some(before), Some(after))
                if (before.status, before.attempts) == (after.status, after.attempts) =>
            {
                Cell::new("")
            }
            _ => Cell::styled(style::WARN, "~"),
        };
        let cell = |show: &dyn Fn(&NodeFacts) -> String| {
            let [before, after] = [&node.before, &node.after].map(|facts| facts.as_ref().map(show));
            Cell::new(match (before, after) {
                (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
                (before, after) => after.or(before).unwrap_or_default(),
            })
        };
        table.row([
            mark,
            Cell::styled(style::NAME, &node.id),
            cell(&|facts| facts.status.to_owned()),
            cell(&|facts| facts.attempts.to_string()),
            cell(&|facts| facts.ms.map_or_else(|| "—".to_owned(), duration)),
        ]);
    }
    table.print(&mut app.out)
}

fn short(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "—".to_owned(),
        Some(value) => super::reporter::short(value),
    }
}

/// How long two values may be compared: beyond it the difference is coarser, never wrong.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);

fn unified(change: &Change) -> String {
    let text = |value: &Option<Value>| match value {
        None => String::new(),
        Some(Value::String(text)) => format!("{}\n", text.trim_end_matches('\n')),
        Some(other) => format!("{}\n", serde_json::to_string_pretty(other).unwrap_or_default()),
    };
    let (before, after) = (text(&change.before), text(&change.after));
    let name = &change.name;
    similar::TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(&before, &after)
        .unified_diff()
        .header(name, name)
        .to_string()
}

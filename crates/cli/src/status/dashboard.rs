//! The dashboard as text: the headings and the table of the original, at most 29 lines. Pure.
//!
//! What does not fit is folded in a fixed order: blank lines go, finished agents become `+N more`, then edges, then
//! events, then whoever else.

use super::changes::Changes;
use super::graph;
use crate::app::App;
use crate::render::Width;
use fugato_model::{Lang, escape_for_terminal, words};
use fugato_runtime::exports::timestamp;
use fugato_runtime::view::{AgentRow, Intervention, Overview, ReceiptState};
use std::collections::BTreeMap;
use unicode_segmentation::UnicodeSegmentation as _;

/// How the dashboard is to look.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub lang: Lang,
    pub width: Width,
    /// Cells of the terminal: columns are aligned and the last one is cut. `None`: somebody else's eyes or program.
    pub columns: Option<usize>,
    /// Most lines; `None`: all of it.
    pub most: Option<usize>,
}

impl Layout {
    pub fn new(app: &App, all: bool) -> Self {
        let most = (!all).then_some(MOST_LINES);
        Self { lang: app.out.lang, width: app.out.width, columns: app.out.columns(), most }
    }
}

/// "Keep total under 30 lines."
const MOST_LINES: usize = 29;
/// Characters of an event that are shown.
const SUMMARY: usize = 60;
const FEW_EVENTS: usize = 3;
const INTERVENTIONS: usize = 3;
const FEW_EDGES: usize = 2;

/// How much of each part is shown.
#[derive(Clone, Copy, Debug)]
struct Folding {
    blank: bool,
    agents: usize,
    edges: usize,
    events: usize,
    interventions: usize,
}

/// The lines of the dashboard.
pub fn lines(view: &Overview, changes: Option<&Changes>, now: i64, layout: &Layout) -> Vec<String> {
    let chains = graph::chains(view);
    let mut folding = Folding {
        blank: true,
        agents: view.agents.len(),
        edges: chains.len(),
        events: Overview::RECENT,
        interventions: if layout.most.is_some() { INTERVENTIONS } else { usize::MAX },
    };
    if let Some(most) = layout.most {
        fit(&mut folding, view, &chains, changes, most);
    }
    let mut lines = head(view, now, layout);
    let now = view.until(now);
    let gap = |lines: &mut Vec<String>| {
        if folding.blank {
            lines.push(String::new());
        }
    };
    gap(&mut lines);
    lines.extend(table(view, folding.agents, now, layout));
    gap(&mut lines);
    lines.push("### Dependency Graph".to_owned());
    lines.extend(edges(&chains, folding.edges));
    gap(&mut lines);
    lines.push("### Recent Events (last 5 across all agents)".to_owned());
    lines.extend(events(view, folding.events, layout));
    gap(&mut lines);
    lines.push("### User Interventions".to_owned());
    lines.extend(interventions(view, folding.interventions, layout));
    if let Some(changes) = changes {
        gap(&mut lines);
        lines.push("### File Changes".to_owned());
        lines.extend(changes.lines());
    }
    lines
}

/// Takes away, in order, until it fits.
fn fit(folding: &mut Folding, view: &Overview, chains: &[String], changes: Option<&Changes>, most: usize) {
    let height = |folding: &Folding| height(folding, view, chains, changes);
    if height(folding) <= most {
        return;
    }
    folding.blank = false;
    let unfinished = view.agents.iter().filter(|agent| !agent.is_finished()).count();
    folding.agents = fold(folding.agents, height(folding), most, unfinished);
    folding.edges = fold(folding.edges, height(folding), most, FEW_EDGES.min(chains.len()));
    while folding.events > FEW_EVENTS && height(folding) > most {
        folding.events -= 1;
    }
    while folding.interventions > 1 && height(folding) > most {
        folding.interventions -= 1;
    }
    folding.agents = fold(folding.agents, height(folding), most, 1);
}

/// How many of these to show, down to `least`, when the whole is this high; those left out take one line.
fn fold(shown: usize, height: usize, most: usize, least: usize) -> usize {
    match height.saturating_sub(most) {
        0 => shown,
        extra => shown.saturating_sub(extra + 1).max(least).min(shown),
    }
}

fn height(folding: &Folding, view: &Overview, chains: &[String], changes: Option<&Changes>) -> usize {
    let part = |shown: usize, all: usize| if shown < all { shown + 1 } else { all.max(1) };
    let agents = if folding.agents < view.agents.len() { folding.agents + 1 } else { view.agents.len() };
    let events = folding.events.min(view.events.len()).max(1);
    let interventions = part(folding.interventions.min(view.interventions.len()), view.interventions.len());
    let changed = changes.map_or(0, |changes| 1 + changes.lines().len());
    let blank = if folding.blank { 4 + usize::from(changes.is_some()) } else { 0 };
    5 + 2 + agents + 1 + part(folding.edges, chains.len()) + 1 + events + 1 + interventions + changed + blank
}

fn head(view: &Overview, now: i64, layout: &Layout) -> Vec<String> {
    let (id, status) = (plain(&view.id), plain(view.status.as_str()));
    let reason = view.reason.as_ref().map(|reason| format!(" ({})", plain(reason.in_lang(layout.lang))));
    let (reason, total) = (reason.unwrap_or_default(), view.agents.len());
    let time = view.elapsed(now).map_or_else(|| "unknown".to_owned(), elapsed);
    vec![
        "## Orchestration Dashboard".to_owned(),
        format!("- **Run ID**: {id}"),
        format!("- **Status**: {status}{reason}"),
        format!("- **Elapsed**: {time}"),
        format!("- **Agents**: {} / {total} active", view.is_running()),
    ]
}

/// `Xm Ys`, from one hour on `Xh Ym`.
pub fn elapsed(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

const HEADINGS: [&str; 5] = ["Agent", "Role", "Status", "Elapsed", "Last Event"];

fn table(view: &Overview, shown: usize, now: i64, layout: &Layout) -> Vec<String> {
    let kept = kept(&view.agents, shown);
    let mut rows: Vec<[String; 5]> = kept.iter().map(|agent| row(agent, now, layout)).collect();
    if let Some(more @ 1..) = view.agents.len().checked_sub(kept.len()) {
        let mut words: BTreeMap<&str, usize> = BTreeMap::new();
        let is_kept = |agent: &&AgentRow| !kept.iter().any(|kept| std::ptr::eq(*kept, *agent));
        for agent in view.agents.iter().filter(is_kept) {
            *words.entry(agent.status.as_str()).or_default() += 1;
        }
        let words: Vec<String> =
            words.iter().map(|(word, count)| format!("{count} {}", cell(word))).collect();
        let nothing = String::new;
        rows.push([format!("+{more} more"), nothing(), words.join(", "), nothing(), nothing()]);
    }
    draw(&rows, layout)
}

/// Who is shown, in the run's order: whoever is at work before who waits, who has finished last.
fn kept(agents: &[AgentRow], shown: usize) -> Vec<&AgentRow> {
    let rank = |agent: &AgentRow| match agent.status.as_str() {
        "running" => 0,
        "paused" | "awaiting_input" | "blocked" | "needs_context" => 1,
        "pending" => 2,
        _ if agent.is_finished() => 3,
        _ => 1,
    };
    let mut order: Vec<(u8, usize)> =
        agents.iter().enumerate().map(|(at, agent)| (rank(agent), at)).collect();
    order.sort_unstable();
    order.truncate(shown);
    order.sort_unstable_by_key(|(_, at)| *at);
    order.into_iter().filter_map(|(_, at)| agents.get(at)).collect()
}

fn row(agent: &AgentRow, now: i64, layout: &Layout) -> [String; 5] {
    let time = agent.elapsed(now).map_or_else(|| "-".to_owned(), elapsed);
    let event = match &agent.last_event {
        Some(event) => cell(&summary(event.message.in_lang(layout.lang))),
        None => words!("no events yet", "暂无事件").in_lang(layout.lang).to_owned(),
    };
    let event = match agent.silent(now) {
        Some(silent) => {
            let silence = elapsed(silent);
            let words = words!("(silent for {silence}) {event}", "（已静默 {silence}）{event}");
            words.in_lang(layout.lang).to_owned()
        }
        None => event,
    };
    [cell(&agent.id), cell(&agent.role), cell(agent.status.as_str()), time, event]
}

fn draw(rows: &[[String; 5]], layout: &Layout) -> Vec<String> {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let Some(columns) = layout.columns else {
        let mut lines = vec![line(&HEADINGS.map(str::to_owned))];
        let rules = HEADINGS.map(|heading| "-".repeat(heading.len() + 2));
        lines.push(format!("|{}|", rules.join("|")));
        lines.extend(rows.iter().map(|row| line(row)));
        return lines;
    };
    let width = layout.width;
    let widest = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| width.of(cell));
        cells.max().unwrap_or(0).max(HEADINGS.get(at).map_or(0, |heading| heading.len()))
    };
    let mut widths: Vec<usize> = (0..HEADINGS.len()).map(widest).collect();
    let frame = 3 * HEADINGS.len() + 1;
    // The last column gives way first, then roles; ids are what people type.
    for at in [4, 1] {
        let extra = (widths.iter().sum::<usize>() + frame).saturating_sub(columns);
        if let (Some(cells), Some(heading)) = (widths.get_mut(at), HEADINGS.get(at)) {
            *cells = cells.saturating_sub(extra).max(heading.len());
        }
    }
    let pad = |text: &str, cells: usize| {
        let cut = width.cut(text, cells);
        let space = " ".repeat(cells.saturating_sub(width.of(&cut)));
        format!("{cut}{space}")
    };
    let padded = |row: &[String; 5]| -> Vec<String> {
        row.iter().zip(&widths).map(|(cell, cells)| pad(cell, *cells)).collect()
    };
    let mut lines = vec![line(&padded(&HEADINGS.map(str::to_owned)))];
    let rules: Vec<String> = widths.iter().map(|cells| "-".repeat(cells + 2)).collect();
    lines.push(format!("|{}|", rules.join("|")));
    lines.extend(rows.iter().map(|row| line(&padded(row))));
    lines
}

fn edges(chains: &[String], shown: usize) -> Vec<String> {
    if chains.is_empty() {
        return vec!["No inter-agent dependencies.".to_owned()];
    }
    let mut lines: Vec<String> = chains.iter().take(shown).cloned().collect();
    if let Some(more @ 1..) = chains.len().checked_sub(shown) {
        lines.push(format!("+{more} more"));
    }
    lines
}

fn events(view: &Overview, shown: usize, layout: &Layout) -> Vec<String> {
    if view.events.is_empty() {
        return vec![words!("no events yet", "暂无事件").in_lang(layout.lang).to_owned()];
    }
    let line = |event: &fugato_runtime::view::EventRow| {
        let at = event.at.map_or_else(|| "unknown".to_owned(), |at| seconds(&timestamp(at)));
        let (agent, said) = (plain(&event.agent), plain(&summary(event.message.in_lang(layout.lang))));
        fit_columns(format!("- [{at}] {agent}: {said}"), layout)
    };
    view.events.iter().take(shown).map(line).collect()
}

fn interventions(view: &Overview, shown: usize, layout: &Layout) -> Vec<String> {
    if view.interventions.is_empty() {
        return vec![words!("none", "无").in_lang(layout.lang).to_owned()];
    }
    let told = view.interventions.iter().take(shown).map(|one| intervention_line(one, layout));
    let mut lines: Vec<String> = told.collect();
    if let Some(more @ 1..) = view.interventions.len().checked_sub(shown) {
        lines.push(format!("+{more} more"));
    }
    lines
}

/// A directive and how far it has come.
pub fn intervention_line(told: &Intervention, layout: &Layout) -> String {
    let number = told.generation.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let (action, target) = (plain(&told.action), plain(&told.target));
    let message = match told.message.as_str() {
        "" => String::new(),
        message => format!(" \"{}\"", plain(&summary(message))),
    };
    let state = told.state();
    let why = told.why().map(|why| format!(": {}", plain(&summary(why.in_lang(layout.lang)))));
    let why = why.unwrap_or_default();
    let of = told.receipts.iter().filter(|receipt| receipt.state == state && receipt.agent.is_some()).count();
    let count = if of > 1 && state != ReceiptState::Recorded { format!(" ×{of}") } else { String::new() };
    fit_columns(format!("- [{number}] {action} {target}{message}: {}{count}{why}", state.as_str()), layout)
}

fn fit_columns(line: String, layout: &Layout) -> String {
    match layout.columns {
        Some(columns) => layout.width.cut(&line, columns),
        None => line,
    }
}

/// Without the fraction of the second.
fn seconds(timestamp: &str) -> String {
    timestamp.split_once('.').map_or_else(|| timestamp.to_owned(), |(whole, _)| format!("{whole}Z"))
}

/// At most 60 characters as people count them, on one line.
fn summary(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut graphemes = line.grapheme_indices(true);
    match graphemes.nth(SUMMARY) {
        None => line,
        Some(_) => {
            let cut = line.grapheme_indices(true).nth(SUMMARY - 1).map_or(0, |(at, _)| at);
            format!("{}…", line.get(..cut).unwrap_or_default())
        }
    }
}

fn plain(text: &str) -> String {
    escape_for_terminal(text).into_owned()
}

/// A cell of a Markdown table.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    plain(&line).replace('|', "\\|")
}

#[cfg(test)]
mod tests;

//! The plan as a picture: a box per phase with its subagents, arrows between phases; an outline where a picture does not
//! fit. Pure: a plan in, lines out.

use crate::printer::style;
use crate::render::Width;
use crate::render::canvas::{Line, Span, Strokes, strings, width_of};
use crate::render::layered::{self, Graph, TextBox};
use anstyle::Style;
use fugato_engine::{Phase, Plan, PlanNode, Work};
use fugato_model::{Lang, words};
use std::collections::HashMap;

/// For whom a plan is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    pub lang: Lang,
    pub width: Width,
    pub columns: usize,
}

/// How much a box says. Where everything does not fit beside each other, first lines are broken, then only names stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    OneLine,
    Stacked,
    Names,
}

/// Subagents shown in a box; the outline shows all.
const SHOWN_IN_BOX: usize = 16;

/// A sign before the name of a node, by its number in the plan, and how both look: how it stands, in a run.
pub type Marks<'m> = &'m dyn Fn(usize) -> Option<(Style, String)>;

/// Lines of text; no model is asked. Sub-skills with phases of their own are pictures of their own, below.
pub fn draw(plan: &Plan, paper: Paper) -> Vec<String> {
    strings(&picture(plan, paper, &|_| None))
}

/// The same with a sign at every node.
pub fn picture(plan: &Plan, paper: Paper, marks: Marks<'_>) -> Vec<Line> {
    let mut lines = level(plan, None, paper, marks);
    for (number, call) in (0u32..).zip(&plan.nodes) {
        let Work::Phases { skill, .. } = &call.work else { continue };
        let (id, skill) = (safe(&call.id), safe(skill));
        let says = say(paper.lang, &format!("  the phases of {skill}"), &format!("  {skill} 的阶段"));
        lines.push(Vec::new());
        lines.push(cut(vec![Span::new(style::NAME, id), Span::new(style::DIM, says)], paper));
        lines.extend(level(plan, Some(number), paper, marks));
    }
    lines
}

/// The phases of the skill itself, or of one that a node calls.
fn level(plan: &Plan, within: Option<u32>, paper: Paper, marks: Marks<'_>) -> Vec<Line> {
    let picture = [Detail::OneLine, Detail::Stacked, Detail::Names].into_iter().find_map(|detail| {
        layered::draw(&graph(plan, within, paper, detail, marks), paper.width, paper.columns)
    });
    picture.unwrap_or_else(|| outline(plan, within, paper, marks))
}

/// A skill without phases: one agent reads it.
pub fn draw_single(paper: Paper) -> Vec<String> {
    let does = say(
        paper.lang,
        "one agent reads the whole skill; there are no phases",
        "没有阶段：由一个代理执行整个技能",
    );
    let boxed = |text: &str| TextBox {
        title: vec![Span::new(style::NAME, "main")],
        lines: vec![vec![Span::plain(text), Span::new(style::DIM, "  general-purpose")]],
    };
    let graph = Graph { boxes: vec![boxed(&does)], edges: Vec::new() };
    let picture = layered::draw(&graph, paper.width, paper.columns);
    strings(&picture.unwrap_or_else(|| vec![cut(vec![Span::plain(&does)], paper)]))
}

fn graph(plan: &Plan, within: Option<u32>, paper: Paper, detail: Detail, marks: Marks<'_>) -> Graph {
    let by_phase = nodes_by_phase(plan);
    let chosen =
        || (0u32..).zip(plan.phases.iter().zip(&by_phase)).filter(|(_, (phase, _))| phase.within == within);
    let numbers: HashMap<u32, usize> = chosen().map(|(number, _)| number).zip(0..).collect();
    let boxes = chosen().map(|(_, (phase, nodes))| {
        let mut title = vec![Span::new(style::NAME, own_name(plan, phase))];
        if phase.parallel && nodes.len() > 1 {
            title.push(Span::new(style::DIM, say(paper.lang, " (parallel)", "（并行）")));
        }
        TextBox { title, lines: contents(nodes, paper, detail, marks) }
    });
    let edges = chosen().flat_map(|(to, (phase, _))| {
        let numbers = &numbers;
        phase.depends_on.iter().filter_map(move |from| Some((*numbers.get(from)?, *numbers.get(&to)?)))
    });
    Graph { boxes: boxes.collect(), edges: edges.collect() }
}

/// Under the name of its call, a phase is called what its own skill calls it.
fn own_name<'p>(plan: &Plan, phase: &'p Phase) -> &'p str {
    let call = phase.within.and_then(|call| plan.nodes.get(call as usize));
    let own = call.and_then(|call| phase.name.strip_prefix(&call.id)?.strip_prefix('/'));
    own.unwrap_or(&phase.name)
}

fn safe(text: &str) -> String {
    fugato_model::escape_for_terminal(text).into_owned()
}

fn nodes_by_phase(plan: &Plan) -> Vec<Vec<(usize, &PlanNode)>> {
    let mut by_phase: Vec<Vec<(usize, &PlanNode)>> = vec![Vec::new(); plan.phases.len()];
    for (at, node) in plan.nodes.iter().enumerate().filter(|(_, node)| !matches!(node.work, Work::Gate)) {
        if let Some(nodes) = by_phase.get_mut(node.phase as usize) {
            nodes.push((at, node));
        }
    }
    by_phase
}

/// The lines of a box, in columns.
fn contents(nodes: &[(usize, &PlanNode)], paper: Paper, detail: Detail, marks: Marks<'_>) -> Vec<Line> {
    let Paper { lang, width, .. } = paper;
    if nodes.is_empty() {
        return vec![vec![Span::new(style::DIM, say(lang, "switched off", "已停用"))]];
    }
    let told: Vec<Told> =
        nodes.iter().take(SHOWN_IN_BOX).map(|(at, node)| Told::new(node, paper, marks(*at))).collect();
    let widest = |part: fn(&Told) -> &str| told.iter().map(|told| width.of(part(told))).max().unwrap_or(0);
    let (names, kinds, outputs) =
        (widest(|told| &told.name), widest(|told| &told.kind), widest(|told| &told.output));
    let pad = |text: &str, cells: usize| " ".repeat(cells.saturating_sub(width.of(text)));
    let mut lines: Vec<Line> = Vec::new();
    for Told { name, look, kind, output, marks } in &told {
        let name_span = Span::new(*look, name);
        let (dim, bold) = (style::DIM, style::BOLD);
        match detail {
            Detail::Names => lines.push(vec![name_span]),
            Detail::Stacked => {
                lines.push(vec![name_span]);
                let gap = if output.is_empty() { "" } else { " " };
                let kind = Span::new(dim, format!("  {kind}{gap}"));
                lines.push(vec![kind, Span::new(bold, output)]);
                if !marks.is_empty() {
                    lines.push(vec![Span::new(dim, format!("  {marks}"))]);
                }
            }
            Detail::OneLine => {
                let kind = format!("{}  {kind}{}", pad(name, names), pad(kind, kinds));
                let mut line = vec![name_span, Span::new(dim, kind)];
                if outputs > 0 {
                    line.push(Span::new(bold, format!("  {output}{}", pad(output, outputs))));
                }
                if !marks.is_empty() {
                    line.push(Span::new(dim, format!("  {marks}")));
                }
                lines.push(line);
            }
        }
    }
    if let Some(more @ 1..) = nodes.len().checked_sub(SHOWN_IN_BOX) {
        lines.push(vec![Span::new(
            style::DIM,
            say(lang, &format!("+{more} more"), &format!("另有 {more} 个")),
        )]);
    }
    lines
}

/// What is said about a node.
struct Told {
    name: String,
    look: Style,
    kind: String,
    output: String,
    marks: String,
}

impl Told {
    fn new(node: &PlanNode, paper: Paper, mark: Option<(Style, String)>) -> Self {
        let Paper { lang, width, .. } = paper;
        let arrow = Strokes::from(width).arrow();
        let own = node.id.rsplit_once('/').map_or(node.id.as_str(), |(_, own)| own);
        let (name, kind, sets) = match &node.work {
            Work::Agent { agent_type, .. } => (own.to_owned(), agent_type.clone(), Vec::new()),
            Work::Script { .. } => (own.to_owned(), "script".to_owned(), Vec::new()),
            Work::Phases { agent_type, .. } => {
                let phases = say(lang, "phases, below", "阶段见下");
                (own.to_owned(), format!("{agent_type} ({phases})"), Vec::new())
            }
            Work::Inline { sets, .. } => {
                (say(lang, "in the main conversation", "在主对话中"), "inline".to_owned(), sets.clone())
            }
            Work::Session { orchestrator, .. } => {
                let kind = say(lang, "orchestrator", "编排器");
                (own.to_owned(), format!("{kind} {}", orchestrator.name), Vec::new())
            }
            Work::Noop | Work::Gate => (own.to_owned(), String::new(), Vec::new()),
        };
        let outputs: Vec<String> = node.output.iter().cloned().chain(sets).collect();
        let output =
            if outputs.is_empty() { String::new() } else { format!("{arrow} {}", outputs.join(", ")) };
        let mut marks = Vec::new();
        if node.fallback_inline {
            marks.push(say(lang, "fallback: inline", "失败时内联执行"));
        }
        if node.optional {
            marks.push(say(lang, "optional", "可选"));
        }
        let (look, name) = match mark {
            Some((look, sign)) => (look, format!("{sign} {name}")),
            None => (style::PLAIN, name),
        };
        Self { name: safe(&name), look, kind: safe(&kind), output: safe(&output), marks: marks.join(", ") }
    }
}

/// One phase after the other, each with what it waits for.
fn outline(plan: &Plan, within: Option<u32>, paper: Paper, marks: Marks<'_>) -> Vec<Line> {
    let by_phase = nodes_by_phase(plan);
    let (arrow, bar, last_bar, waits_for) = match Strokes::from(paper.width) {
        Strokes::Lines => ("◀──", "├─ ", "└─ ", "──▶"),
        Strokes::Ascii => ("<--", "|- ", "`- ", "->"),
    };
    let mut lines: Vec<Line> = Vec::new();
    for (phase, nodes) in plan.phases.iter().zip(&by_phase).filter(|(phase, _)| phase.within == within) {
        let waits: Vec<&str> = phase
            .depends_on
            .iter()
            .filter_map(|on| plan.phases.get(*on as usize))
            .map(|phase| own_name(plan, phase))
            .collect();
        let mut head = vec![Span::new(style::NAME, own_name(plan, phase))];
        if phase.parallel && nodes.len() > 1 {
            head.push(Span::new(style::DIM, say(paper.lang, " (parallel)", "（并行）")));
        }
        if !waits.is_empty() {
            head.push(Span::new(style::DIM, format!("  {arrow} {}", waits.join(", "))));
        }
        lines.push(head);
        for (number, (at, node)) in nodes.iter().enumerate() {
            let branch = if number + 1 == nodes.len() { last_bar } else { bar };
            let Told { name, look, kind, output, marks } = Told::new(node, paper, marks(*at));
            let output = output.replacen(Strokes::from(paper.width).arrow(), waits_for, 1);
            let mut line =
                vec![Span::plain(branch), Span::new(look, name), Span::new(style::DIM, format!("  {kind}"))];
            if !output.is_empty() {
                line.push(Span::new(style::BOLD, format!("  {output}")));
            }
            if !marks.is_empty() {
                line.push(Span::new(style::DIM, format!("  {marks}")));
            }
            lines.push(cut(line, paper));
        }
    }
    lines
}

/// A line that is too long loses its end.
pub fn cut(line: Line, paper: Paper) -> Line {
    if width_of(&line, paper.width) <= paper.columns {
        return line;
    }
    let mut left = paper.columns;
    let mut kept = Vec::new();
    for span in line {
        let text = paper.width.cut(&span.text, left);
        left = left.saturating_sub(paper.width.of(&text));
        kept.push(Span { text, style: span.style });
        if left == 0 {
            break;
        }
    }
    kept
}

fn say(lang: Lang, english: &str, chinese: &str) -> String {
    words!("{english}", "{chinese}").in_lang(lang).to_owned()
}

#[cfg(test)]
mod tests;

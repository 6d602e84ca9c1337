//! The plan as boxes and arrows with how each node stands; who delegates to whom as a tree.

use super::board::{glyph, look_of, state_words};
use super::cut;
use crate::printer::style;
use crate::render::Width;
use crate::render::canvas::{Line, Span};
use crate::runs::{Paper, picture};
use crate::tui::model::Model;
use crate::tui::watched::Watched;
use fugato_engine::Run;
use fugato_model::words;
use std::collections::{HashMap, HashSet};

pub fn lines(model: &Model) -> Vec<Line> {
    let Some((watched, run)) =
        model.watched.as_ref().and_then(|watched| Some((watched, watched.run.as_ref()?)))
    else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    // An orchestrator has no plan of its own: what it calls is a tree.
    let is_called = !run.spec.skills.is_empty();
    if !run.spec.plan.phases.is_empty() && !is_called {
        lines.extend(plan(model, watched, run));
    }
    if is_called || watched.roster.rows.iter().any(|row| row.node.is_none()) {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.extend(tree(model, watched, run));
    }
    if lines.is_empty() {
        let text = words!("  nobody has started yet", "  还没有代理开始工作");
        lines.push(vec![Span::new(style::DIM, text.in_lang(model.lang))]);
    }
    lines
}

fn plan(model: &Model, watched: &Watched, run: &Run) -> Vec<Line> {
    let rows = &watched.roster.rows;
    let by_node: HashMap<usize, _> = rows.iter().filter_map(|row| Some((row.node? as usize, row))).collect();
    let mark = |node: usize| {
        let state = by_node.get(&node)?.state(run, watched.card.is_live);
        Some((look_of(state), glyph(state, model.width).to_owned()))
    };
    let paper = Paper { lang: model.lang, width: model.width, columns: model.columns };
    picture(&run.spec.plan, paper, &mark)
}

/// Agents below whoever started them.
fn tree(model: &Model, watched: &Watched, run: &Run) -> Vec<Line> {
    let (lang, width) = (model.lang, model.width);
    let (tee, corner, bar) = match width {
        Width::Narrow => ("├─ ", "└─ ", "│  "),
        Width::Wide => ("|- ", "`- ", "|  "),
    };
    let order: Vec<(usize, usize)> = watched.roster.in_order();
    // Is there another one on the same level below? Seen from the last line upwards.
    let mut goes_on: Vec<Vec<bool>> = Vec::with_capacity(order.len());
    let mut open: Vec<bool> = Vec::new();
    for (_, depth) in order.iter().rev() {
        open.resize(*depth + 1, false);
        goes_on.push(open.clone());
        if let Some(own) = open.get_mut(*depth) {
            *own = true;
        }
    }
    goes_on.reverse();
    let parents: HashSet<usize> = watched.roster.rows.iter().filter_map(|row| row.parent).collect();
    let mut lines = Vec::new();
    for ((at, depth), goes_on) in order.iter().zip(goes_on) {
        let Some((row, state)) = watched.row(*at) else { continue };
        // Nodes of a plan stand in the picture above, unless somebody works for them.
        if row.node.is_some() && run.spec.skills.is_empty() && !parents.contains(at) {
            continue;
        }
        let mut branch = String::new();
        for level in 1..=*depth {
            let more = goes_on.get(level).copied().unwrap_or(false);
            branch.push_str(match (level == *depth, more) {
                (true, true) => tee,
                (true, false) => corner,
                (false, true) => bar,
                (false, false) => "   ",
            });
        }
        let line = vec![
            Span::plain(" "),
            Span::new(style::DIM, branch),
            Span::new(look_of(state), glyph(state, width)),
            Span::new(style::NAME, format!(" {}", row.name)),
            Span::new(style::DIM, format!("  {}", row.role)),
            Span::new(look_of(state), format!("  {}", state_words(row, state, run, lang))),
        ];
        lines.push(cut(line, model.columns, width));
    }
    lines
}

//! A canvas as a model reads it: groups with what is in them, a line per node and per edge, in few tokens.

use super::containment::{ancestors, parents};
use super::error::CanvasError;
use super::model::{Canvas, Edge, Node, NodeKind, Rect};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Which part to show; everything when nothing is asked for.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// These nodes and edges, with all of their text.
    pub ids: Vec<String>,
    /// What is in this group.
    pub group: Option<String>,
    /// What contains this text, in any case of letters.
    pub search: Option<String>,
}

/// Of the text of a node; all of it is shown for nodes that were asked for by id.
const HEAD: usize = 80;

/// The outline of the selected part.
pub fn outline(canvas: &Canvas, selection: &Selection) -> Result<String, CanvasError> {
    let parents = parents(canvas);
    let shown = select(canvas, &parents, selection)?;
    let groups = canvas.nodes.iter().filter(|node| node.kind() == NodeKind::Group).count();
    let mut text = format!("{} nodes ({groups} groups), {} edges", canvas.nodes.len(), canvas.edges.len());
    if let Some(area) = Rect::around(canvas.nodes.iter().filter_map(Node::rect)) {
        let _ = write!(text, "; from {},{} to {},{}", area.x, area.y, area.right(), area.bottom());
    }
    text.push('\n');
    if canvas.nodes.is_empty() {
        text.push_str("The canvas is empty; add nodes with canvas-add or canvas-from-text.\n");
    }
    let whole = !selection.ids.is_empty();
    if shown.len() < canvas.nodes.len() {
        let _ = writeln!(text, "{} of the nodes are shown.", shown.len());
    }
    nodes(&mut text, canvas, &parents, &shown, whole);
    edges(&mut text, canvas, &shown, selection);
    for edge in canvas.dangling() {
        let _ = writeln!(
            text,
            "problem: edge `{}` joins `{}` and `{}`, of which one is not there; remove it with canvas-remove",
            edge.id(),
            edge.from(),
            edge.to()
        );
    }
    Ok(text)
}

fn select(
    canvas: &Canvas,
    parents: &[Option<usize>],
    selection: &Selection,
) -> Result<HashSet<usize>, CanvasError> {
    let mut shown: HashSet<usize> = (0..canvas.nodes.len()).collect();
    if !selection.ids.is_empty() {
        let index = canvas.index();
        let edges: HashMap<&str, &Edge> = canvas.edges.iter().map(|edge| (edge.id(), edge)).collect();
        let mut wanted = HashSet::new();
        for id in &selection.ids {
            match (index.get(id.as_str()), edges.get(id.as_str())) {
                (Some(at), _) => drop(wanted.insert(*at)),
                (None, Some(edge)) => {
                    wanted.extend([edge.from(), edge.to()].iter().filter_map(|end| index.get(end)));
                }
                (None, None) => return Err(canvas.no_item(id)),
            }
        }
        shown.retain(|at| wanted.contains(at));
    }
    if let Some(group) = &selection.group {
        let at = *canvas.index().get(group.as_str()).ok_or_else(|| canvas.no_node(group))?;
        shown.retain(|member| *member == at || ancestors(parents, *member).any(|outer| outer == at));
    }
    if let Some(search) = &selection.search {
        let search = search.to_lowercase();
        let fits = |node: &Node| {
            node.content().to_lowercase().contains(&search) || node.id().to_lowercase().contains(&search)
        };
        shown.retain(|at| canvas.nodes.get(*at).is_some_and(fits));
    }
    Ok(shown)
}

/// Groups with their members beneath them, each level in the order of the file.
fn nodes(text: &mut String, canvas: &Canvas, parents: &[Option<usize>], shown: &HashSet<usize>, whole: bool) {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); canvas.nodes.len() + 1];
    for at in (0..canvas.nodes.len()).filter(|at| shown.contains(at)) {
        // Under the nearest group that is shown too.
        let outer = ancestors(parents, at).find(|outer| shown.contains(outer));
        children.get_mut(outer.unwrap_or(canvas.nodes.len())).into_iter().for_each(|list| list.push(at));
    }
    let level = |at: usize, depth: usize| {
        children.get(at).into_iter().flatten().rev().map(move |child| (*child, depth)).collect::<Vec<_>>()
    };
    let mut stack = level(canvas.nodes.len(), 0);
    while let Some((at, depth)) = stack.pop() {
        let Some(node) = canvas.nodes.get(at) else { continue };
        // Deeper than a few levels indentation says nothing more.
        let _ = writeln!(text, "{}{}", "  ".repeat(depth.min(12)), line(node, whole));
        stack.extend(level(at, depth + 1));
    }
}

fn line(node: &Node, whole: bool) -> String {
    let mut line = format!("[{}] {}", node.id(), node.type_name());
    if let Some(rect) = node.rect() {
        let _ = write!(line, " {},{} {}x{}", rect.x, rect.y, rect.width, rect.height);
    }
    if let Some(color) = node.color() {
        let _ = write!(line, " color {color}");
    }
    if !node.content().is_empty() {
        let _ = write!(line, ": {}", if whole { quoted(node.content()) } else { head(node.content()) });
    }
    line
}

fn edges(text: &mut String, canvas: &Canvas, shown: &HashSet<usize>, selection: &Selection) {
    let index = canvas.index();
    let is_shown = |id: &str| index.get(id).is_some_and(|at| shown.contains(at));
    let asked: HashSet<&str> = selection.ids.iter().map(String::as_str).collect();
    let everything = shown.len() == canvas.nodes.len();
    for edge in &canvas.edges {
        // Of a part also the edges that leave it: they say how it hangs together with the rest.
        if !everything && !is_shown(edge.from()) && !is_shown(edge.to()) && !asked.contains(edge.id()) {
            continue;
        }
        let arrow = match edge.arrows() {
            (false, true) => "->",
            (true, true) => "<->",
            (true, false) => "<-",
            (false, false) => "--",
        };
        let _ = write!(text, "({}) {} {arrow} {}", edge.id(), edge.from(), edge.to());
        if !edge.label().is_empty() {
            let _ = write!(text, ": {}", head(edge.label()));
        }
        text.push('\n');
    }
}

/// The beginning, on one line.
fn head(text: &str) -> String {
    let first: Vec<&str> = text.split_whitespace().take(HEAD).collect();
    let line = first.join(" ");
    let mut head: String = line.chars().take(HEAD).collect();
    if head.len() < line.len() || text.split_whitespace().nth(HEAD).is_some() {
        let total = text.chars().count();
        let _ = write!(head, "… ({total} characters)");
    }
    head
}

/// All of it, line ends visible: as it stands in the file.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

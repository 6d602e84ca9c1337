//! Text becomes a canvas: a Markdown outline as a tree, a Mermaid flowchart as nodes, groups and edges.
//!
//! Both are read into one sketch, which is then measured and laid out.

mod chain;
mod markdown;
mod mermaid;
mod shape;

use super::change::{NewEdge, connect};
use super::error::CanvasError;
use super::ids::Ids;
use super::layout::{Direction, Sizes, Wish, arrange};
use super::measure::text_size;
use super::model::{Canvas, MAX_NODES, Node, Rect};
use serde::Deserialize;
use serde_json::Map;

/// How the text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Mermaid if it says so, else Markdown.
    #[default]
    Auto,
    Markdown,
    Mermaid,
}

/// Nodes and edges before they have ids, sizes and places.
#[derive(Debug, Default)]
struct Sketch {
    nodes: Vec<SketchNode>,
    edges: Vec<SketchEdge>,
    direction: Option<Direction>,
}

#[derive(Debug, Default)]
struct SketchNode {
    /// As the text names it, if it does.
    name: Option<String>,
    text: String,
    is_group: bool,
    /// The group it is in.
    parent: Option<usize>,
    color: Option<String>,
}

#[derive(Debug, Default)]
struct SketchEdge {
    from: usize,
    to: usize,
    label: String,
    arrows: (bool, bool),
}

/// A new canvas from text. `direction`: instead of the one the text asks for.
pub fn from_text(text: &str, format: Format, direction: Option<Direction>) -> Result<Canvas, CanvasError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (source, first_line) = mermaid::fenced(text).unwrap_or((text, 1));
    let is_mermaid = match format {
        Format::Auto => mermaid::is_flowchart(source),
        Format::Mermaid => true,
        Format::Markdown => false,
    };
    let sketch = if is_mermaid { mermaid::read(source, first_line)? } else { markdown::read(text)? };
    if sketch.nodes.is_empty() {
        return Err(CanvasError::Refused(
            "the text has nothing to draw; give headings, nested lists or a Mermaid flowchart".into(),
        ));
    }
    build(&sketch, direction)
}

fn build(sketch: &Sketch, direction: Option<Direction>) -> Result<Canvas, CanvasError> {
    if sketch.nodes.len() > MAX_NODES {
        return Err(CanvasError::Refused(format!("the text makes more than {MAX_NODES} nodes")));
    }
    let mut canvas = Canvas::default();
    let mut ids = Ids::of(&canvas);
    let mut names = Vec::with_capacity(sketch.nodes.len());
    // Groups lie behind nodes, outer ones behind inner ones; they are met in that order.
    let mut order: Vec<usize> = (0..sketch.nodes.len()).collect();
    order.sort_by_key(|at| sketch.nodes.get(*at).is_none_or(|node| !node.is_group));
    for node in &sketch.nodes {
        names.push(match &node.name {
            Some(name) => ids.take(name).unwrap_or_else(|_| ids.made_from(name)),
            None => ids.made_from(&node.text),
        });
    }
    let mut position = vec![0; sketch.nodes.len()];
    for at in &order {
        let (Some(node), Some(id)) = (sketch.nodes.get(*at), names.get(*at)) else { continue };
        position.get_mut(*at).into_iter().for_each(|slot| *slot = canvas.nodes.len());
        canvas.nodes.push(made(node, id));
    }
    let forest: Vec<Option<usize>> = order
        .iter()
        .map(|at| sketch.nodes.get(*at)?.parent.and_then(|parent| position.get(parent).copied()))
        .collect();
    let name = |at: usize| names.get(at).cloned().unwrap_or_default();
    let end = |has_arrow: bool| if has_arrow { "arrow" } else { "none" }.to_owned();
    let edges: Vec<NewEdge> = sketch
        .edges
        .iter()
        .map(|edge| NewEdge {
            from: name(edge.from),
            to: name(edge.to),
            label: Some(edge.label.clone()).filter(|label| !label.is_empty()),
            from_end: edge.arrows.0.then(|| end(true)),
            to_end: (!edge.arrows.1).then(|| end(false)),
            ..NewEdge::default()
        })
        .collect();
    connect(&mut canvas, &edges)?;
    let direction = direction.or(sketch.direction).unwrap_or_default();
    arrange(&mut canvas, &forest, &Wish { direction, sizes: Sizes::Keep, ..Wish::default() });
    Ok(canvas)
}

fn made(node: &SketchNode, id: &str) -> Node {
    let mut fields = Map::new();
    fields.insert("id".into(), id.into());
    let (kind, content) = if node.is_group { ("group", "label") } else { ("text", "text") };
    fields.insert("type".into(), kind.into());
    fields.insert(content.into(), node.text.as_str().into());
    if let Some(color) = &node.color {
        fields.insert("color".into(), color.as_str().into());
    }
    let mut made = Node { fields };
    let (width, height) = text_size(&node.text);
    made.set_rect(Rect { x: 0, y: 0, width, height });
    made
}

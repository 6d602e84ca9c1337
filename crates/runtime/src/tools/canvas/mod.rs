//! canvas-*: JSON Canvas files of the project. What a canvas is and how it is laid out is `fugato-world`'s; here files
//! are opened, locked for the change, and replaced whole.
//!
//! Two agents that change one canvas at once take turns, and each sees what the other did. A file that would not be
//! valid afterwards is not written.

mod describe;
mod file;
mod from_text;

use super::outcome::{Failure, ToolOutcome};
use super::{CancelToken, EffectClass, Tool, ToolContext, on_a_thread};
use file::{Picture, change, open, picture};
use fugato_world::canvas::{
    self, CanvasError, Direction, NewEdge, NewGroup, NewNode, Selection, Sizes, Wish,
};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) static TOOLS: &[Tool] = &[
    Tool {
        name: "canvas-read",
        class: EffectClass::Read,
        describe: describe::read,
        run: |call| on_a_thread(call, read),
    },
    Tool {
        name: "canvas-add",
        // Without an id of its own a node added twice is there twice.
        class: EffectClass::Once,
        describe: describe::add,
        run: |call| on_a_thread(call, add),
    },
    Tool {
        name: "canvas-update",
        class: EffectClass::Idempotent,
        describe: describe::update,
        run: |call| on_a_thread(call, update),
    },
    Tool {
        name: "canvas-remove",
        class: EffectClass::Idempotent,
        describe: describe::remove,
        run: |call| on_a_thread(call, remove),
    },
    Tool {
        name: "canvas-connect",
        class: EffectClass::Once,
        describe: describe::connect,
        run: |call| on_a_thread(call, connect),
    },
    Tool {
        name: "canvas-group",
        class: EffectClass::Once,
        describe: describe::group,
        run: |call| on_a_thread(call, group),
    },
    Tool {
        name: "canvas-layout",
        class: EffectClass::Idempotent,
        describe: describe::layout,
        run: |call| on_a_thread(call, layout),
    },
    Tool {
        name: "canvas-from-text",
        class: EffectClass::Idempotent,
        describe: describe::from_text,
        run: |call| on_a_thread(call, from_text::from_text),
    },
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    path: String,
    #[serde(default)]
    ids: Vec<String>,
    group: Option<String>,
    search: Option<String>,
}

fn read(wanted: &Read, context: &ToolContext, _: &CancelToken) -> Result<ToolOutcome, Failure> {
    let (_, canvas) = open(context, &wanted.path)?;
    let selection =
        Selection { ids: wanted.ids.clone(), group: wanted.group.clone(), search: wanted.search.clone() };
    let outline = canvas::outline(&canvas, &selection).map_err(refused)?;
    Ok(ToolOutcome::fitted(outline.into_bytes(), context.limits.inline_bytes))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    path: String,
    #[serde(default)]
    nodes: Vec<NewNode>,
    #[serde(default)]
    edges: Vec<NewEdge>,
}

fn add(wanted: &Add, context: &ToolContext, _: &CancelToken) -> Result<ToolOutcome, Failure> {
    if wanted.nodes.is_empty() && wanted.edges.is_empty() {
        return Err(Failure::new("`nodes` is empty; give at least one node, for example {\"text\": \"…\"}"));
    }
    change(context, &wanted.path, file::Missing::Made, |canvas| {
        let nodes = canvas::add(canvas, &wanted.nodes).map_err(refused)?;
        let edges = canvas::connect(canvas, &wanted.edges).map_err(refused)?;
        let mut answer = String::new();
        for id in &nodes.ids {
            let rect = canvas.node(id).and_then(canvas::Node::rect).unwrap_or_default();
            answer.push_str(&format!("[{id}] at {},{} {}x{}\n", rect.x, rect.y, rect.width, rect.height));
        }
        for id in &edges.ids {
            answer.push_str(&format!("({id})\n"));
        }
        Ok(format!("added {} nodes and {} edges:\n{answer}", nodes.ids.len(), edges.ids.len()))
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    path: String,
    changes: Vec<Map<String, Value>>,
}

fn update(wanted: &Update, context: &ToolContext, _: &CancelToken) -> Result<ToolOutcome, Failure> {
    change(context, &wanted.path, file::Missing::Refused, |canvas| {
        let too_small = canvas::update(canvas, &wanted.changes).map_err(refused)?;
        let mut answer = format!("updated {}", wanted.changes.len());
        if !too_small.is_empty() {
            answer.push_str(&format!(
                "; the text of {} no longer fits: give width and height, or use canvas-layout",
                too_small.join(", ")
            ));
        }
        Ok(answer)
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remove {
    path: String,
    ids: Vec<String>,
}

fn remove(wanted: &Remove, context: &ToolContext, _: &CancelToken) -> Result<ToolOutcome, Failure> {
    change(context, &wanted.path, file::Missing::Refused, |canvas| {
        let removed = canvas::remove(canvas, &wanted.ids);
        let mut answer = format!("removed {} nodes and {} edges", removed.nodes.len(), removed.edges.len());
        if !removed.unknown.is_empty() {
            answer.push_str(&format!("; not there: {}", removed.unknown.join(", ")));
        }
        Ok(answer)
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Connect {
    path: String,
    edges: Vec<NewEdge>,
}

fn connect(wanted: &Connect, context: &ToolContext, _: &CancelToken) -> Result<ToolOutcome, Failure> {
    change(context, &wanted.path, file::Missing::Refused, |canvas| {
        let added = canvas::connect(canvas, &wanted.edges).map_err(refused)?;
        Ok(format!("added {} edges: {}", added.ids.len(), added.ids.join(", ")))
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    path: String,
    ids: Vec<String>,
    id: Option<String>,
    label: Option<String>,
    color: Option<String>,
    padding: Option<u32>,
    #[serde(default)]
    arrange: bool,
}

fn group(wanted: &Group, context: &ToolContext, _: &CancelToken) -> Result<ToolOutcome, Failure> {
    let new = NewGroup {
        ids: wanted.ids.clone(),
        id: wanted.id.clone(),
        label: wanted.label.clone(),
        color: wanted.color.clone(),
        padding: wanted.padding,
        arrange: wanted.arrange,
    };
    change(context, &wanted.path, file::Missing::Refused, |canvas| {
        let id = canvas::group(canvas, &new).map_err(refused)?;
        Ok(format!("made the group [{id}] around {} nodes", new.ids.len()))
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layout {
    path: String,
    direction: Option<Direction>,
    sizes: Option<Sizes>,
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    picture: Picture,
}

fn layout(wanted: &Layout, context: &ToolContext, _: &CancelToken) -> Result<ToolOutcome, Failure> {
    let mut laid = None;
    let done = change(context, &wanted.path, file::Missing::Refused, |canvas| {
        let wish = Wish {
            direction: wanted.direction.unwrap_or_else(|| Direction::of(canvas)),
            sizes: wanted.sizes.unwrap_or_default(),
            only: wanted.ids.clone(),
        };
        let arranged = canvas::layout(canvas, &wish).map_err(refused)?;
        laid = Some(canvas.clone());
        let area = arranged.area;
        Ok(format!("laid out {} nodes over {} x {} pixels", arranged.nodes, area.width, area.height))
    })?;
    let drawn =
        laid.map_or(Ok(String::new()), |canvas| picture(context, &wanted.path, &canvas, wanted.picture))?;
    Ok(ToolOutcome::text(done.content + &drawn))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: CanvasError) -> Failure {
    Failure::new(error.to_string())
}

//! canvas-from-text: an outline or a flowchart as a new canvas. A second time it writes the same file; what is there and
//! differs is replaced only when told.

use super::file::{Picture, picture, place, write};
use super::refused;
use crate::tools::outcome::{Failure, ToolOutcome};
use crate::tools::place::Place;
use crate::tools::slot::{Parents, Slot};
use crate::tools::{CancelToken, ToolContext};
use fugato_world::canvas::from_text::{Format, from_text as made_from};
use fugato_world::canvas::{Direction, NodeKind, print};
use serde::Deserialize;
use std::io::Read as _;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    text: Option<String>,
    source: Option<String>,
    #[serde(default)]
    format: Format,
    direction: Option<Direction>,
    #[serde(default)]
    replace: bool,
    #[serde(default)]
    picture: Picture,
}

/// More text than a canvas of the most nodes has.
const LONGEST: u64 = 4 << 20;

pub fn from_text(wanted: &Arguments, context: &ToolContext, _: &CancelToken) -> Result<ToolOutcome, Failure> {
    let text = match (&wanted.text, &wanted.source) {
        (Some(text), None) => text.clone(),
        (None, Some(source)) => read(context, source)?,
        _ => return Err(Failure::new("give either `text` or `source`, the path of a text file")),
    };
    if text.len() as u64 > LONGEST {
        return Err(Failure::new("the text is longer than 4 MiB; split it"));
    }
    let canvas = made_from(&text, wanted.format, wanted.direction).map_err(|error| match &wanted.source {
        Some(source) => Failure::new(format!("`{source}`: {error}")),
        None => refused(error),
    })?;
    let target = place(context, &wanted.path)?;
    let slot = Slot::open(&target, Parents::Make)?;
    let limit = context.limits.file_bytes;
    let before = if slot.exists() { slot.read(limit)? } else { Vec::new() };
    let is_same = before == print(&canvas).as_bytes();
    if !before.trim_ascii().is_empty() && !is_same && !wanted.replace {
        return Err(Failure::new(format!(
            "`{}` is there already; choose another path, set `replace`, or change it with canvas-add and canvas-update",
            wanted.path
        )));
    }
    write(&slot, &wanted.path, &canvas, limit, Some(&before))?;
    drop(slot);
    let groups = canvas.nodes.iter().filter(|node| node.kind() == NodeKind::Group).count();
    let answer = format!(
        "made `{}`: {} nodes ({groups} groups), {} edges",
        wanted.path,
        canvas.nodes.len(),
        canvas.edges.len()
    );
    let drawn = picture(context, &wanted.path, &canvas, wanted.picture)?;
    Ok(ToolOutcome::text(answer + &drawn))
}

fn read(context: &ToolContext, source: &str) -> Result<String, Failure> {
    let file = Place::new(context, source)?.open_file()?;
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(format!("`{source}` cannot be read: {error}")))?;
    String::from_utf8(bytes)
        .map_err(|error| Failure::new(format!("`{source}` is not UTF-8 text ({})", error.utf8_error())))
}

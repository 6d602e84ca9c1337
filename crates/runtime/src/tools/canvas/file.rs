//! The file of a canvas: read, changed under its lock, replaced whole; and a picture beside it.

use crate::tools::ToolContext;
use crate::tools::outcome::{Failure, ToolOutcome};
use crate::tools::place::{Place, PlaceError};
use crate::tools::slot::{Parents, Slot};
use fugato_world::canvas::{Canvas, parse, print, to_svg};
use fugato_world::picture::png;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::io::Read as _;

/// What happens when there is no file yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Made,
    Refused,
}

/// Whether a picture is written beside the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Picture {
    #[default]
    None,
    Svg,
    Png,
}

impl<'de> Deserialize<'de> for Picture {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        match Value::deserialize(deserializer)? {
            Value::Null | Value::Bool(false) => Ok(Self::None),
            Value::Bool(true) => Ok(Self::Svg),
            Value::String(kind) if kind == "svg" => Ok(Self::Svg),
            Value::String(kind) if kind == "png" => Ok(Self::Png),
            other => Err(D::Error::custom(format!("`picture` is true, \"svg\" or \"png\", not {other}"))),
        }
    }
}

/// A canvas to look at.
pub fn open(context: &ToolContext, path: &str) -> Result<(Place, Canvas), Failure> {
    let place = place(context, path)?;
    let limit = context.limits.file_bytes;
    let mut bytes = Vec::new();
    let cap = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let read = place.open_file()?.take(cap).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format!("`{path}` cannot be read: {error}")))?;
    if bytes.len() > limit {
        let size = bytes.len() as u64;
        return Err(PlaceError::TooLarge { path: place.shown, size, limit }.into());
    }
    let canvas = read_canvas(path, bytes)?;
    Ok((place, canvas))
}

/// Changes a canvas while nobody else does. The answer is that of the change, which sees the newest file.
pub fn change(
    context: &ToolContext,
    path: &str,
    missing: Missing,
    work: impl FnOnce(&mut Canvas) -> Result<String, Failure>,
) -> Result<ToolOutcome, Failure> {
    let place = place(context, path)?;
    let parents = if missing == Missing::Made { Parents::Make } else { Parents::MustExist };
    let slot = Slot::open(&place, parents)?;
    let limit = context.limits.file_bytes;
    let before = match slot.exists() {
        true => slot.read(limit)?,
        false if missing == Missing::Made => Vec::new(),
        false => {
            return Err(Failure::new(format!(
                "`{path}` does not exist; canvas-add and canvas-from-text make a new one"
            )));
        }
    };
    let mut canvas = read_canvas(path, before.clone())?;
    let answer = work(&mut canvas)?;
    write(&slot, path, &canvas, limit, Some(&before))?;
    Ok(ToolOutcome::fitted(answer.into_bytes(), context.limits.inline_bytes))
}

/// Writes it if it is valid and not there already.
pub fn write(
    slot: &Slot<'_>,
    path: &str,
    canvas: &Canvas,
    limit: usize,
    before: Option<&[u8]>,
) -> Result<(), Failure> {
    let text = print(canvas);
    // Positions may have run off the plane; better no change than a file that nothing reads.
    parse(&text).map_err(|error| Failure::new(format!("the canvas would no longer be valid: {error}")))?;
    if text.len() > limit {
        return Err(PlaceError::TooLarge { path: path.to_owned(), size: text.len() as u64, limit }.into());
    }
    if before != Some(text.as_bytes()) {
        slot.replace(text.as_bytes())?;
    }
    Ok(())
}

/// Draws the canvas beside itself and says where.
pub fn picture(
    context: &ToolContext,
    path: &str,
    canvas: &Canvas,
    wanted: Picture,
) -> Result<String, Failure> {
    let stem = path.strip_suffix(".canvas").unwrap_or(path);
    let svg = || to_svg(canvas);
    let (name, bytes, note) = match wanted {
        Picture::None => return Ok(String::new()),
        Picture::Svg => (format!("{stem}.svg"), svg().into_bytes(), None),
        Picture::Png => {
            let drawn =
                png(&svg(), 1.0).map_err(|error| Failure::new(format!("{error}; ask for an svg instead")))?;
            (format!("{stem}.png"), drawn.bytes, drawn.note)
        }
    };
    let place = Place::new(context, &name)?;
    Slot::open(&place, Parents::MustExist)?.replace(&bytes)?;
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    Ok(format!("\npicture: `{name}`{note}"))
}

pub fn place(context: &ToolContext, path: &str) -> Result<Place, Failure> {
    if !path.ends_with(".canvas") {
        return Err(Failure::new(format!("`{path}` is no canvas; its name must end with .canvas")));
    }
    Ok(Place::new(context, path)?)
}

fn read_canvas(path: &str, bytes: Vec<u8>) -> Result<Canvas, Failure> {
    let text = String::from_utf8(bytes)
        .map_err(|error| Failure::new(format!("`{path}` is not UTF-8 text ({})", error.utf8_error())))?;
    parse(&text).map_err(|error| Failure::new(format!("`{path}`: {error}")))
}

//! Documents and pictures: `office-read` gives the text and tables of a document, `image-ocr` the text in a picture.
//!
//! Files are opened here, beneath the project; what is in them is `fugato_world::office`'s business. Letters in pictures
//! are read by the program `tesseract`, which gets the picture on its standard input, never a path.

mod ocr;

use super::arguments::count;
use super::outcome::{Failure, ToolOutcome};
use super::place::Place;
use super::{CancelToken, EffectClass, Tool, ToolContext, on_a_thread};
use fugato_world::office::{Trouble, Wanted, Watch, read};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

pub(super) static TOOLS: &[Tool] = &[
    Tool {
        name: "office-read",
        class: EffectClass::Read,
        describe,
        run: |call| on_a_thread(call, office_read),
    },
    Tool { name: "image-ocr", class: EffectClass::Read, describe: ocr::describe, run: ocr::image_ocr },
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "file_path")]
    path: String,
    #[serde(default, deserialize_with = "words")]
    pages: Option<String>,
    #[serde(default, deserialize_with = "words")]
    sheet: Option<String>,
    #[serde(default)]
    range: Option<String>,
    #[serde(default, deserialize_with = "count")]
    max_rows: Option<u64>,
}

fn describe() -> (&'static str, Value) {
    let description = "Reads a document of the project as Markdown: PDF, Word (docx), Excel (xlsx, xls), PowerPoint \
        (pptx), OpenDocument (odt, ods, odp), RTF, CSV and TSV, with headings, lists, tables, slides and their notes. Of a \
        large document it gives an overview and the first part; the last lines in square brackets say how to read on.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the project directory"},
            "pages": {"type": "string", "description": "Pages or slides, like 3-7,12"},
            "sheet": {"type": "string", "description": "Name or number of a sheet"},
            "range": {"type": "string", "description": "Cells of the sheet, like A1:F200"},
            "max_rows": {"type": "integer", "minimum": 1, "description": "Most rows of each sheet (default 200)"}
        },
        "required": ["path"],
        "additionalProperties": false
    });
    (description, parameters)
}

fn office_read(
    wanted: &Arguments,
    context: &ToolContext,
    cancel: &CancelToken,
) -> Result<ToolOutcome, Failure> {
    let place = Place::new(context, &wanted.path)?;
    let mut file = place.open_file()?;
    let part = Wanted {
        pages: wanted.pages.clone(),
        sheet: wanted.sheet.clone(),
        range: wanted.range.clone(),
        max_rows: wanted.max_rows,
    };
    let is_cancelled = || cancel.is_cancelled();
    let watch = Watch::new(&is_cancelled, context.limits.time);
    let text =
        read(&mut file, &place.rel, &part, &watch).map_err(|trouble| failure(&place.shown, &trouble))?;
    Ok(ToolOutcome::fitted(text.into_bytes(), context.limits.inline_bytes))
}

fn failure(shown: &str, trouble: &Trouble) -> Failure {
    match trouble {
        Trouble::Cancelled => Failure::cancelled(),
        trouble => Failure::new(format!("`{shown}`: {trouble}")),
    }
}

/// A text, or a number that is meant as one: models write page 3 as `3`.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(serde::de::Error::custom(format!("expected text like \"3-7,12\", found {other}"))),
    }
}

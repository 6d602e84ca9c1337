//! chart: data of the call or a CSV file as a picture, with ECharts and Mermaid source on request. What is drawn is
//! `fugato-world`'s; here the table is opened and the files are written.

use super::outcome::{Failure, ToolOutcome};
use super::place::{Place, PlaceError};
use super::slot::{Parents, Slot};
use super::walk::Watch;
use super::{CancelToken, EffectClass, Tool, ToolContext, on_a_thread};
use fugato_world::chart::{Chart, Data, Spec, chart as draw};
use fugato_world::picture::png;
use serde_json::{Map, Value, json};
use std::io::{self, Read};

pub(super) static TOOLS: &[Tool] =
    &[Tool { name: "chart", class: EffectClass::Idempotent, describe, run: |call| on_a_thread(call, chart) }];

/// Read row by row, so it may be larger than what is written.
const LARGEST_TABLE: u64 = 512 << 20;
/// Pixels per unit of the SVG: sharp on the usual screens.
const PNG_SCALE: f32 = 2.0;

fn describe() -> (&'static str, Value) {
    let description = "Draws data as a chart. Data comes as `data` (rows) or from a CSV file (`source`); rows can be grouped \
        and summed up with `aggregate`. Writes `output` (.svg or .png), and beside it what `also` names: svg, png, \
        echarts (an option object as .echarts.json) or mermaid (.mmd). Without `output` nothing is written and the \
        answer has the Mermaid source. The answer says what was drawn and what was left out.";
    let column = |what: &str| json!({"type": "string", "description": what});
    let parameters = json!({
        "type": "object",
        "properties": {
            "kind": {"enum": ["bar", "grouped-bar", "stacked-bar", "line", "area", "scatter", "pie", "histogram", "heatmap"]},
            "data": {"type": ["array", "object", "string"], "description":
                "[{\"month\": \"Jan\", \"sales\": 5}, …], or a list of lists with the names first, or CSV text"},
            "source": {"type": "string", "description": "A CSV file of the project, instead of `data`"},
            "output": {"type": "string", "description": "The picture to write: a path ending with .svg or .png"},
            "also": {"type": "array", "items": {"enum": ["svg", "png", "echarts", "mermaid"]}},
            "x": column("The column of categories, numbers or dates; default the first"),
            "y": {"type": ["string", "array"], "items": {"type": "string"},
                "description": "The column or columns of values; default those with numbers"},
            "series": column("A column that splits the rows into series; the rows of a heatmap"),
            "aggregate": {"enum": ["sum", "mean", "count", "min", "max", "median"]},
            "sort": {"enum": ["none", "x", "value", "ascending"], "description": "The order of categories"},
            "top": {"type": "integer", "minimum": 1, "description": "Only the largest categories; the rest becomes one"},
            "bins": {"type": "integer", "minimum": 1, "description": "Of a histogram"},
            "horizontal": {"type": "boolean", "description": "Bars lie; good for long names"},
            "title": {"type": "string"},
            "x_label": {"type": "string"},
            "y_label": {"type": "string"},
            "width": {"type": "integer"}, "height": {"type": "integer"}
        },
        "required": ["kind"],
        "additionalProperties": false
    });
    (description, parameters)
}

fn chart(
    wanted: &Map<String, Value>,
    context: &ToolContext,
    cancel: &CancelToken,
) -> Result<ToolOutcome, Failure> {
    let mut wish = wanted.clone();
    let data = wish.shift_remove("data").filter(|data| !data.is_null());
    let source = text(&mut wish, "source")?;
    let output = text(&mut wish, "output")?;
    let also = also(&mut wish)?;
    let spec = spec(wish)?;
    let forms = forms(output.as_deref(), &also)?;
    let watch = Watch::new(cancel, context.limits.time);
    let made = match (&data, &source) {
        (Some(rows), None) => draw(&spec, Data::Rows(rows)),
        (None, Some(source)) => draw(&spec, table(context, source, &watch)?),
        _ => return Err(Failure::new("give either `data` or `source`, the path of a CSV file")),
    };
    watch.check()?;
    let made = made.map_err(|error| match &source {
        Some(source) => Failure::new(format!("`{source}`: {error}")),
        None => Failure::new(error.to_string()),
    })?;
    let mut answer = String::new();
    for (path, form) in &forms {
        answer.push_str(&put(context, path, *form, &made)?);
    }
    if forms.is_empty() {
        match &made.mermaid {
            Ok(source) => answer.push_str(&format!("```mermaid\n{source}```\n")),
            Err(reason) => answer.push_str(&format!("{reason}; give `output` for a picture\n")),
        }
    }
    answer.push_str(&made.summary);
    for note in &made.notes {
        answer.push_str(&format!("\nnote: {note}"));
    }
    Ok(ToolOutcome::fitted(answer.into_bytes(), context.limits.inline_bytes))
}

fn text(wish: &mut Map<String, Value>, key: &str) -> Result<Option<String>, Failure> {
    match wish.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(Failure::new(format!("wrong arguments: `{key}` must be a path, found {other}"))),
    }
}

/// Numbers may be written as text, as models sometimes do.
fn spec(mut wish: Map<String, Value>) -> Result<Spec, Failure> {
    for key in ["top", "bins", "width", "height"] {
        let number = match wish.get(key) {
            Some(Value::String(text)) => text.trim().parse::<u64>().ok(),
            Some(Value::Number(number)) => {
                number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..1e9).contains(n)).map(|n| {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "whole and in range"
                    )]
                    let whole = n as u64;
                    whole
                })
            }
            _ => None,
        };
        if let Some(number) = number {
            wish.insert(key.into(), number.into());
        }
    }
    serde_json::from_value(Value::Object(wish))
        .map_err(|error| Failure::new(format!("wrong arguments: {error}")))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Svg,
    Png,
    Echarts,
    Mermaid,
}

impl Form {
    fn named(name: &str) -> Option<Self> {
        match name {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            "echarts" => Some(Self::Echarts),
            "mermaid" => Some(Self::Mermaid),
            _ => None,
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Echarts => "echarts.json",
            Self::Mermaid => "mmd",
        }
    }
}

fn also(wish: &mut Map<String, Value>) -> Result<Vec<Form>, Failure> {
    let listed = match wish.shift_remove("also") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(one) => vec![one],
    };
    let form = |value: &Value| {
        value.as_str().and_then(Form::named).ok_or_else(|| {
            Failure::new(format!("wrong arguments: `also` lists svg, png, echarts or mermaid, found {value}"))
        })
    };
    listed.iter().map(form).collect()
}

/// Every file to write; the names follow from that of the picture.
fn forms(output: Option<&str>, also: &[Form]) -> Result<Vec<(String, Form)>, Failure> {
    let Some(output) = output else {
        return match also {
            [] => Ok(Vec::new()),
            _ => Err(Failure::new("`also` needs `output`: its name is used for the other files")),
        };
    };
    let (stem, first) = match output.rsplit_once('.') {
        Some((stem, "svg")) if !stem.is_empty() => (stem, Form::Svg),
        Some((stem, "png")) if !stem.is_empty() => (stem, Form::Png),
        _ => return Err(Failure::new(format!("`output` must end with .svg or .png, found `{output}`"))),
    };
    let mut forms = vec![(output.to_owned(), first)];
    for form in also.iter().filter(|form| **form != first) {
        let path = format!("{stem}.{}", form.ending());
        if !forms.iter().any(|(_, other)| other == form) {
            forms.push((path, *form));
        }
    }
    Ok(forms)
}

fn table<'w>(context: &ToolContext, source: &str, watch: &'w Watch<'w>) -> Result<Data<'w>, Failure> {
    let place = Place::new(context, source)?;
    let file = place.open_file()?;
    let size = file.metadata().map_or(0, |data| data.len());
    if size > LARGEST_TABLE {
        let limit = usize::try_from(LARGEST_TABLE).unwrap_or(usize::MAX);
        return Err(PlaceError::TooLarge { path: place.shown, size, limit }.into());
    }
    Ok(Data::Csv(Box::new(Watched { file: file.take(LARGEST_TABLE), watch })))
}

/// A file that is no longer read once the call was cancelled or took too long.
struct Watched<'w> {
    file: io::Take<std::fs::File>,
    watch: &'w Watch<'w>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.watch.check().map_err(|_| io::Error::other("the call was cancelled or took too long"))?;
        self.file.read(buffer)
    }
}

/// Writes one form and says so; what a form cannot show is said, not an error.
fn put(context: &ToolContext, path: &str, form: Form, made: &Chart) -> Result<String, Failure> {
    let (bytes, note) = match form {
        Form::Svg => (made.svg.clone().into_bytes(), None),
        Form::Png => {
            let drawn = png(&made.svg, PNG_SCALE).map_err(|error| Failure::new(error.to_string()))?;
            (drawn.bytes, drawn.note)
        }
        Form::Echarts => {
            let text = serde_json::to_string_pretty(&made.echarts).unwrap_or_default();
            (text.into_bytes(), None)
        }
        Form::Mermaid => match &made.mermaid {
            Ok(source) => (source.clone().into_bytes(), None),
            Err(reason) => return Ok(format!("no Mermaid source: {reason}\n")),
        },
    };
    let place = Place::new(context, path)?;
    let limit = context.limits.file_bytes;
    if bytes.len() > limit {
        return Err(PlaceError::TooLarge { path: place.shown, size: bytes.len() as u64, limit }.into());
    }
    Slot::open(&place, Parents::Make)?.replace(&bytes)?;
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    Ok(format!("wrote `{path}` ({} bytes){note}\n", bytes.len()))
}

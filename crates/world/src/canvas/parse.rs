//! Between the text of a file and a canvas. What is wrong is named with its line and field; what is unknown is kept.

use super::error::CanvasError;
use super::model::{Canvas, Edge, FARTHEST, MAX_EDGES, MAX_NODES, Node, NodeKind, Side, whole};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Reads a file. An empty one is an empty canvas.
pub fn parse(text: &str) -> Result<Canvas, CanvasError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Canvas::default());
    }
    let top: Value = serde_json::from_str(text).map_err(|error| syntax(&error))?;
    let Value::Object(mut rest) = top else {
        return Err(field(
            1,
            "",
            format!("expected an object with `nodes` and `edges`, found {}", kind(&top)),
        ));
    };
    let lines = Lines::new(text);
    let nodes = list(rest.shift_remove("nodes"), "nodes", MAX_NODES, &lines)?;
    let edges = list(rest.shift_remove("edges"), "edges", MAX_EDGES, &lines)?;
    let mut seen: HashMap<String, (&'static str, usize)> = HashMap::new();
    let mut canvas = Canvas { rest, ..Canvas::default() };
    for (at, fields) in nodes.into_iter().enumerate() {
        check_node(&fields).map_err(|fault| fault.at(&lines, "nodes", at))?;
        let node = Node { fields };
        once(&mut seen, node.id(), "nodes", at, &lines)?;
        canvas.nodes.push(node);
    }
    for (at, fields) in edges.into_iter().enumerate() {
        check_edge(&fields).map_err(|fault| fault.at(&lines, "edges", at))?;
        let edge = Edge { fields };
        once(&mut seen, edge.id(), "edges", at, &lines)?;
        canvas.edges.push(edge);
    }
    Ok(canvas)
}

/// The file: one node and one edge per line, so that changes are easy to compare.
pub fn print(canvas: &Canvas) -> String {
    let mut text = String::from("{\n\t\"nodes\":[");
    lines(&mut text, canvas.nodes.iter().map(|node| &node.fields));
    text.push_str("],\n\t\"edges\":[");
    lines(&mut text, canvas.edges.iter().map(|edge| &edge.fields));
    text.push(']');
    for (key, value) in &canvas.rest {
        text.push_str(&format!(",\n\t{}:{value}", Value::from(key.as_str())));
    }
    text.push_str("\n}\n");
    text
}

fn lines<'a>(text: &mut String, items: impl Iterator<Item = &'a Map<String, Value>>) {
    let mut any = false;
    for fields in items {
        text.push_str(if any { ",\n\t\t" } else { "\n\t\t" });
        // Maps of JSON values always have a text.
        text.push_str(&serde_json::to_string(fields).unwrap_or_default());
        any = true;
    }
    if any {
        text.push_str("\n\t");
    }
}

/// A field that is not as it should be.
pub(super) struct Fault {
    pub field: &'static str,
    pub problem: String,
}

impl Fault {
    fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }

    fn at(self, lines: &Lines<'_>, list: &'static str, at: usize) -> CanvasError {
        field(lines.of(list, at), &format!("{list}[{at}].{}", self.field), self.problem)
    }
}

pub(super) fn check_node(fields: &Map<String, Value>) -> Result<(), Fault> {
    id(fields, "id")?;
    let Some(Value::String(name)) = fields.get("type") else {
        return Err(Fault::new("type", expected("text, file, link or group", fields.get("type"))));
    };
    let node = NodeKind::named(name);
    for key in ["x", "y", "width", "height"] {
        match fields.get(key) {
            None if node == NodeKind::Other => {}
            Some(value) if whole(value).is_some() => {}
            found => {
                let wanted = format!("a number between -{FARTHEST} and {FARTHEST}");
                return Err(Fault::new(key, expected(&wanted, found)));
            }
        }
    }
    for key in ["width", "height"] {
        if fields.get(key).and_then(whole).is_some_and(|size| size < 0) {
            return Err(Fault::new(key, "a size cannot be negative"));
        }
    }
    match node.content() {
        None => {}
        // A group needs no label.
        Some("label") => text(fields, "label")?,
        Some(content) if fields.get(content).is_some_and(Value::is_string) => {}
        Some(content) => return Err(Fault::new(content, expected("text", fields.get(content)))),
    }
    if node == NodeKind::Other { Ok(()) } else { color(fields) }
}

pub(super) fn check_edge(fields: &Map<String, Value>) -> Result<(), Fault> {
    for key in ["id", "fromNode", "toNode"] {
        id(fields, key)?;
    }
    for key in ["fromSide", "toSide"] {
        match fields.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(side)) if Side::named(side).is_some() => {}
            found => return Err(Fault::new(key, expected("top, right, bottom or left", found))),
        }
    }
    for key in ["fromEnd", "toEnd"] {
        match fields.get(key).map(Value::as_str) {
            None | Some(Some("none" | "arrow")) => {}
            Some(_) => return Err(Fault::new(key, expected("none or arrow", fields.get(key)))),
        }
    }
    text(fields, "label")?;
    color(fields)
}

impl NodeKind {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "text" => Self::Text,
            "file" => Self::File,
            "link" => Self::Link,
            "group" => Self::Group,
            _ => Self::Other,
        }
    }
}

fn id(fields: &Map<String, Value>, key: &'static str) -> Result<(), Fault> {
    match fields.get(key) {
        Some(Value::String(id)) if !id.is_empty() => Ok(()),
        found => Err(Fault::new(key, expected("an id (text that is not empty)", found))),
    }
}

fn text(fields: &Map<String, Value>, key: &'static str) -> Result<(), Fault> {
    match fields.get(key) {
        None | Some(Value::String(_)) => Ok(()),
        found => Err(Fault::new(key, expected("text", found))),
    }
}

/// A preset from 1 to 6, or a colour as `#rrggbb`.
fn color(fields: &Map<String, Value>) -> Result<(), Fault> {
    let fits = |color: &str| {
        let hex = |digits: &str| {
            matches!(digits.len(), 3 | 4 | 6 | 8) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        // Applications write their own presets too; what is neither is no colour anywhere.
        color.is_empty() || color.parse::<u8>().is_ok() || color.strip_prefix('#').is_some_and(hex)
    };
    match fields.get("color") {
        None => Ok(()),
        Some(Value::String(color)) if fits(color) => Ok(()),
        found => Err(Fault::new("color", expected("\"1\" to \"6\" or \"#rrggbb\"", found))),
    }
}

fn expected(what: &str, found: Option<&Value>) -> String {
    match found {
        None => format!("is missing; expected {what}"),
        Some(value) => {
            let shown: String = value.to_string().chars().take(60).collect();
            format!("expected {what}, found {shown}")
        }
    }
}

fn list(
    value: Option<Value>,
    name: &'static str,
    most: usize,
    lines: &Lines<'_>,
) -> Result<Vec<Map<String, Value>>, CanvasError> {
    let items = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(field(1, name, format!("expected a list, found {}", kind(&other)))),
    };
    if items.len() > most {
        return Err(field(1, name, format!("has {} entries; at most {most} are worked on", items.len())));
    }
    let objects = items.into_iter().enumerate().map(|(at, item)| match item {
        Value::Object(fields) => Ok(fields),
        other => {
            let place = format!("{name}[{at}]");
            Err(field(lines.of(name, at), &place, format!("expected an object, found {}", kind(&other))))
        }
    });
    objects.collect()
}

/// An id may be used once: edges and changes find nodes by it.
fn once(
    seen: &mut HashMap<String, (&'static str, usize)>,
    id: &str,
    list: &'static str,
    at: usize,
    lines: &Lines<'_>,
) -> Result<(), CanvasError> {
    let Some((other, first)) = seen.insert(id.to_owned(), (list, at)) else { return Ok(()) };
    let first = lines.of(other, first);
    let problem = format!("the id `{id}` is already used in line {first}; ids must differ");
    Err(field(lines.of(list, at), &format!("{list}[{at}].id"), problem))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn field(line: usize, at: &str, problem: impl Into<String>) -> CanvasError {
    let at = if at.is_empty() { "the file" } else { at };
    CanvasError::Field { line, at: at.into(), problem: problem.into() }
}

fn syntax(error: &serde_json::Error) -> CanvasError {
    let problem = error.to_string();
    let problem = problem.rsplit_once(" at line ").map_or(problem.as_str(), |(problem, _)| problem);
    CanvasError::Syntax { line: error.line(), column: error.column(), problem: problem.to_owned() }
}

/// Finds lines only when something is wrong.
struct Lines<'a> {
    text: &'a str,
}

#[derive(Deserialize)]
struct Places<'a> {
    #[serde(borrow, default)]
    nodes: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    edges: Vec<&'a RawValue>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text }
    }

    fn of(&self, list: &str, at: usize) -> usize {
        let found = || {
            let places: Places<'_> = serde_json::from_str(self.text).ok()?;
            let item = if list == "nodes" { places.nodes } else { places.edges }.get(at).copied()?;
            // The raw value is a piece of the text, so its address says where.
            let offset = (item.get().as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
            Some(self.text.get(..offset)?.matches('\n').count() + 1)
        };
        found().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_line_and_field() {
        let node = r#"{"id":"a","type":"text","x":0,"y":0,"width":10,"height":10,"text":"t"}"#;
        let with = |other: &str| refused(&format!("{{\"nodes\":[\n{node},\n{other}\n]}}"));
        insta::assert_snapshot!([
            refused("{\"nodes\":[\n{\"id\":}"),
            refused("[]"),
            refused("{\"nodes\":{}}"),
            with("7"),
            with(r#"{"type":"text"}"#),
            with(r#"{"id":"b","type":"text","y":0,"width":1,"height":1,"text":""}"#),
            with(r#"{"id":"b","type":"text","x":1e300,"y":0,"width":1,"height":1,"text":""}"#),
            with(r#"{"id":"b","type":"file","x":0,"y":0,"width":1,"height":1}"#),
            with(r#"{"id":"b","type":"group","x":0,"y":0,"width":-1,"height":1}"#),
            with(r#"{"id":"b","type":"group","x":0,"y":0,"width":1,"height":1,"color":"red"}"#),
            with(node),
            refused("{\"edges\":[\n\n{\"id\":\"e\",\"fromNode\":\"a\",\"toNode\":\"b\",\"toSide\":\"middle\"}]}"),
        ].join("\n"));
    }

    #[test]
    fn unknown_fields_and_types_survive_a_round_trip() {
        let text = "{\n\t\"nodes\":[\n\t\t{\"id\":\"a\",\"type\":\"portal\",\"zoom\":1.5,\"deep\":{\"b\":[1,null]}},\n\t\t\
            {\"styleAttributes\":{\"shape\":\"pill\"},\"id\":\"b\",\"type\":\"text\",\"x\":0.5,\"y\":0,\"width\":10,\"height\":10,\
            \"text\":\"中\"}\n\t],\n\t\"edges\":[\n\t\t{\"id\":\"e\",\"fromNode\":\"a\",\"toNode\":\"b\",\"path\":\"dotted\"}\n\t],\n\t\
            \"metadata\":{\"version\":\"1.0-1.0\"}\n}\n";
        assert_eq!(print(&parse(text).unwrap()), text);
        assert_eq!(print(&Canvas::default()), "{\n\t\"nodes\":[],\n\t\"edges\":[]\n}\n");
        assert_eq!(parse("").unwrap(), Canvas::default());
    }
}

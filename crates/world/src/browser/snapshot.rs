//! A page as a reader of screens hears it: one line per thing, with a ref on everything that can be used. Refs stay the
//! same until the document is another one, and a number is never given twice.

use super::context::{Context, Here, Outcome, text_of};
use super::error::BrowserError;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Larger pages are not made into a tree: the browser would send hundreds of megabytes.
const MAX_ELEMENTS: u64 = 40_000;
const MAX_TEXT: u64 = 2_000_000;
/// What is shown of a page that is too large.
const LARGE_SHOWN: usize = 8_000;
/// Frames in frames, and frames in all; advertisements need no more.
const MAX_FRAME_DEPTH: usize = 5;
const MAX_FRAMES: usize = 30;
/// Indentation shows structure, and costs words.
const MAX_INDENT: usize = 12;
/// For one whole answer.
const SNAPSHOT_BYTES: usize = 14 << 10;

/// An element the browser knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub session: String,
    pub backend: u64,
    /// The frames of other sites around it, innermost first: their coordinates must be added.
    pub owners: Vec<(String, u64)>,
}

/// The refs of one tab.
#[derive(Debug, Default)]
pub(super) struct Refs {
    document: u64,
    next: u32,
    nodes: HashMap<u32, Node>,
    numbers: HashMap<(String, u64), u32>,
}

impl Refs {
    fn turn_to(&mut self, document: u64) {
        if self.document != document {
            self.document = document;
            self.nodes.clear();
            self.numbers.clear();
        }
    }

    fn number(&mut self, node: Node) -> u32 {
        let key = (node.session.clone(), node.backend);
        let next = &mut self.next;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            *next += 1;
            *next
        });
        self.nodes.insert(number, node);
        number
    }
}

impl Context {
    /// The page from this line on.
    pub async fn snapshot(&mut self, start: usize) -> Outcome {
        self.begin(40);
        let result = self.whole(start).await;
        self.end("browser-snapshot", result)
    }

    async fn whole(&mut self, start: usize) -> Outcome {
        let here = self.here()?;
        let heading = self.heading(&here).await?;
        Ok(heading + &self.page(&here, start, SNAPSHOT_BYTES).await?)
    }

    pub(super) fn of_ref(&mut self, here: &Here, name: &str) -> Result<Node, BrowserError> {
        let document = self.state.of(&here.target, |tab| tab.document).unwrap_or(0);
        let refs = self.refs.entry(here.target.clone()).or_default();
        let known = refs.next;
        refs.turn_to(document);
        let name = name.trim().trim_matches(['[', ']']);
        let number = name.trim_start_matches(['e', 'E', '@']).parse::<u32>().ok();
        let found = number.and_then(|number| refs.nodes.get(&number).cloned());
        found.ok_or_else(|| {
            let shown = super::events::short(name);
            BrowserError::page(match number {
                Some(number) if number <= known && number > 0 => {
                    format!("`{shown}` belongs to an earlier page; take a new browser-snapshot")
                }
                _ => format!("there is no element `{shown}`; refs like e12 are in browser-snapshot"),
            })
        })
    }

    /// Lines of the page from `start` (1 is the first), at most `bytes` of them.
    pub(super) async fn page(&mut self, here: &Here, start: usize, bytes: usize) -> Outcome {
        if let Some(large) = self.too_large(here).await? {
            return Ok(large);
        }
        let document = self.state.of(&here.target, |tab| tab.document).unwrap_or(0);
        self.refs.entry(here.target.clone()).or_default().turn_to(document);
        let mut reading = Reading { lines: Vec::new(), frames: 0 };
        self.read_frame(
            here,
            Frame { session: here.session.clone(), id: None, owners: Vec::new(), depth: 0, indent: 0 },
            &mut reading,
        )
        .await?;
        Ok(paged(&reading.lines, start, bytes))
    }

    /// One document, and the documents in its frames. Boxed because frames hold frames.
    fn read_frame<'c>(
        &'c mut self,
        here: &'c Here,
        frame: Frame,
        reading: &'c mut Reading,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<(), BrowserError>> + Send + 'c>> {
        Box::pin(async move {
            let mut wanted = json!({});
            if let (Some(id), Some(fields)) = (&frame.id, wanted.as_object_mut()) {
                fields.insert("frameId".into(), id.as_str().into());
            }
            let tree = self.ask(&frame.session, "Accessibility.getFullAXTree", wanted).await?;
            let nodes = tree.get("nodes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let by_id: HashMap<&str, &Value> =
                nodes.iter().filter_map(|node| Some((node.get("nodeId")?.as_str()?, node))).collect();
            let Some(root) = nodes.first() else { return Ok(()) };
            let mut stack = vec![(root, frame.indent, String::new())];
            while let Some((node, indent, covered)) = stack.pop() {
                let line = describe(node);
                let (mut inner, mut below) = (indent, covered);
                if let Some(line) = line.filter(|line| !line.is_told_by(&below)) {
                    let mut text = line.text;
                    if let (true, Some(backend)) = (line.is_usable, line.backend) {
                        let known =
                            Node { session: frame.session.clone(), backend, owners: frame.owners.clone() };
                        let number = self.refs.entry(here.target.clone()).or_default().number(known);
                        text = format!("[e{number}] {text}");
                    }
                    reading.lines.push(format!("{}- {text}", "  ".repeat(indent.min(MAX_INDENT))));
                    inner += 1;
                    if let (true, Some(backend)) = (line.is_frame, line.backend) {
                        self.read_inner(here, &frame, backend, inner, reading).await;
                    }
                    below = if line.name.is_empty() { below } else { line.name };
                }
                let children =
                    node.get("childIds").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                for child in children.iter().rev().filter_map(|id| by_id.get(id.as_str()?)) {
                    stack.push((child, inner, below.clone()));
                }
            }
            Ok(())
        })
    }

    /// A frame that cannot be read leaves the rest of the page readable.
    async fn read_inner(
        &mut self,
        here: &Here,
        outer: &Frame,
        owner: u64,
        indent: usize,
        reading: &mut Reading,
    ) {
        if outer.depth >= MAX_FRAME_DEPTH || reading.frames >= MAX_FRAMES {
            return;
        }
        reading.frames += 1;
        let wanted = json!({"backendNodeId": owner});
        let Ok(about) = self.ask(&outer.session, "DOM.describeNode", wanted).await else { return };
        let id = text_of(&about, "/node/frameId");
        let elsewhere = self.state.of(&here.target, |tab| tab.frames.get(&id).cloned()).flatten();
        let frame = match elsewhere {
            Some(session) => {
                let mut owners = vec![(outer.session.clone(), owner)];
                owners.extend(outer.owners.iter().cloned());
                Frame { session, id: None, owners, depth: outer.depth + 1, indent }
            }
            None => {
                let (session, owners) = (outer.session.clone(), outer.owners.clone());
                Frame { session, id: Some(id), owners, depth: outer.depth + 1, indent }
            }
        };
        if self.read_frame(here, frame, reading).await.is_err() {
            reading
                .lines
                .push(format!("{}- (this frame could not be read)", "  ".repeat(indent.min(MAX_INDENT))));
        }
    }

    /// The beginning of the text of a page that is too large for a tree.
    async fn too_large(&mut self, here: &Here) -> Result<Option<String>, BrowserError> {
        let expression = format!("({MEASURE})({MAX_ELEMENTS}, {MAX_TEXT}, {LARGE_SHOWN})");
        let wanted = json!({"expression": expression, "returnByValue": true});
        let answer = self.ask(&here.session, "Runtime.evaluate", wanted).await?;
        let value = answer.pointer("/result/value");
        let Some(text) = value.and_then(|value| value.get("text")).and_then(Value::as_str) else {
            return Ok(None);
        };
        let elements = value.and_then(|value| value.get("elements")).and_then(Value::as_u64).unwrap_or(0);
        Ok(Some(format!(
            "[the page is too large for a snapshot ({elements} elements); this is the beginning of its text. Pick out parts with \
             browser-evaluate, or act on elements by CSS selector]\n{text}"
        )))
    }
}

struct Reading {
    lines: Vec<String>,
    frames: usize,
}

#[derive(Clone, Debug)]
struct Frame {
    session: String,
    /// None: the main document of the session.
    id: Option<String>,
    owners: Vec<(String, u64)>,
    depth: usize,
    indent: usize,
}

/// A line about one node.
#[derive(Debug, Default, PartialEq, Eq)]
struct Line {
    text: String,
    name: String,
    is_usable: bool,
    is_frame: bool,
    is_text: bool,
    backend: Option<u64>,
}

impl Line {
    /// The text of a button stands in its name already.
    fn is_told_by(&self, outer: &str) -> bool {
        self.is_text && outer.contains(self.name.as_str())
    }
}

/// `None`: the node says nothing itself, only what is in it.
fn describe(node: &Value) -> Option<Line> {
    let text = |pointer: &str| node.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let role = text("/role/value");
    if node.get("ignored").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let name = one_line(text("/name/value"), 300);
    let backend = node.get("backendDOMNodeId").and_then(Value::as_u64);
    let properties = Properties(node.get("properties").and_then(Value::as_array).map_or(&[], Vec::as_slice));
    let is_usable = USABLE.contains(&role) || (properties.is_true("focusable") && role != "RootWebArea");
    match role {
        "InlineTextBox" | "LineBreak" | "RootWebArea" | "WebArea" | "ListMarker" => return None,
        "StaticText" | "LabelText" if name.is_empty() => return None,
        "StaticText" => {
            return Some(Line { text: name.clone(), name, is_text: true, ..Line::default() });
        }
        "none" | "presentation" | "generic" | "paragraph" | "Section" | "LabelText" | "group"
        | "listitem" | "rowgroup" | "strong" | "emphasis" | "LayoutTable" | "LayoutTableRow"
        | "LayoutTableCell" | "div"
            if !is_usable && (name.is_empty() || role != "group") =>
        {
            return None;
        }
        _ => {}
    }
    let shown = ROLES.iter().find(|(own, _)| *own == role).map_or(role, |(_, shown)| shown);
    let mut line = shown.to_owned();
    if !name.is_empty() {
        line.push_str(&format!(" \"{name}\""));
    }
    let value = one_line(&node.pointer("/value/value").map(plain).unwrap_or_default(), 300);
    if !value.is_empty() && value != name {
        line.push_str(&format!(" value=\"{value}\""));
    }
    properties.describe(&mut line);
    Some(Line { text: line, name, is_usable, is_frame: role == "Iframe", is_text: false, backend })
}

struct Properties<'n>(&'n [Value]);

impl Properties<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().find(|property| property.get("name").and_then(Value::as_str) == Some(name));
        found.and_then(|property| property.pointer("/value/value"))
    }

    fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(plain(value).as_str(), "true" | "mixed"))
    }

    fn describe(&self, line: &mut String) {
        for name in
            ["checked", "selected", "pressed", "disabled", "required", "readonly", "focused", "modal", "busy"]
        {
            if self.is_true(name) {
                line.push_str(&format!(" {name}"));
            }
        }
        if let Some(expanded) = self.get("expanded").map(plain) {
            line.push_str(if expanded == "true" { " expanded" } else { " collapsed" });
        }
        if self.get("invalid").map(plain).is_some_and(|invalid| invalid != "false") {
            line.push_str(" invalid");
        }
        if let Some(level) = self.get("level") {
            line.push_str(&format!(" level={}", plain(level)));
        }
        if let Some(url) = self.get("url").and_then(Value::as_str) {
            line.push_str(&format!(" -> {}", one_line(url, 300)));
        }
    }
}

/// Roles whose elements are clicked, typed into or chosen, whether they can be reached with the keyboard or not.
const USABLE: &[&str] = &[
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "listbox",
    "checkbox",
    "radio",
    "switch",
    "slider",
    "spinbutton",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "tab",
    "treeitem",
    "DisclosureTriangle",
    "Date",
    "DateTime",
    "ColorWell",
    "InputTime",
    "MenuListPopup",
    "PopUpButton",
];

/// Chromium's own names for what has an ordinary one.
const ROLES: &[(&str, &str)] = &[
    ("Iframe", "frame"),
    ("image", "image"),
    ("DisclosureTriangle", "summary"),
    ("PopUpButton", "combobox"),
    ("Date", "date field"),
    ("DateTime", "date field"),
    ("InputTime", "time field"),
    ("ColorWell", "colour field"),
    ("LabelText", "label"),
    ("generic", "element"),
];

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn one_line(text: &str, most: usize) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(most) {
        line.truncate(at);
        line.push('…');
    }
    line
}

fn paged(lines: &[String], start: usize, bytes: usize) -> String {
    let first = start.max(1);
    if lines.is_empty() {
        return "(the page is empty)".to_owned();
    }
    if first > lines.len() {
        return format!("(the page has only {} lines)", lines.len());
    }
    let mut text = String::new();
    let mut last = first - 1;
    for line in lines.iter().skip(first - 1) {
        if text.len() + line.len() + 1 > bytes && last >= first {
            break;
        }
        text.push_str(line);
        text.push('\n');
        last += 1;
    }
    if first > 1 || last < lines.len() {
        text.push_str(&format!("[lines {first} to {last} of {}", lines.len()));
        let more = format!("; browser-snapshot with start={} goes on", last + 1);
        text.push_str(if last < lines.len() { &more } else { "" });
        text.push(']');
    }
    text
}

const MEASURE: &str = "(most, longest, shown) => {
    const elements = document.getElementsByTagName('*').length;
    let length = 0, text = '';
    const walk = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode;
        const parent = node.parentNode && node.parentNode.nodeName;
        if (parent === 'SCRIPT' || parent === 'STYLE') continue;
        length += node.length;
        if (text.length < shown) text += node.substringData(0, shown).replace(/\\s+/g, ' ');
        if (length > longest) break;
    }
    return elements > most || length > longest ? {elements, text: text.slice(0, shown)} : {};
}";

#[cfg(test)]
mod tests {
    use super::*;

    fn node(role: &str, name: &str, more: &Value) -> Value {
        let mut node = json!({"nodeId": "1", "ignored": false, "role": {"value": role}, "name": {"value": name}, "backendDOMNodeId": 7});
        for (key, value) in more.as_object().cloned().unwrap_or_default() {
            node[key] = value;
        }
        node
    }

    #[test]
    fn a_node_is_one_line_with_what_matters() {
        let line = |node: Value| describe(&node).map(|line| (line.text, line.is_usable));
        let checked = json!({"properties": [{"name": "checked", "value": {"value": "true"}}, {"name": "disabled", "value": {"value": true}}]});
        assert_eq!(
            line(node("checkbox", "Agree", &checked)),
            Some(("checkbox \"Agree\" checked disabled".into(), true))
        );
        let field = json!({"value": {"value": "张三"}, "properties": [{"name": "required", "value": {"value": true}}]});
        assert_eq!(
            line(node("textbox", " Your\n name ", &field)),
            Some(("textbox \"Your name\" value=\"张三\" required".into(), true))
        );
        let link = json!({"properties": [{"name": "url", "value": {"value": "https://x.example/a"}}]});
        assert_eq!(line(node("link", "A", &link)), Some(("link \"A\" -> https://x.example/a".into(), true)));
        let heading = json!({"properties": [{"name": "level", "value": {"value": 2}}]});
        assert_eq!(line(node("heading", "H", &heading)), Some(("heading \"H\" level=2".into(), false)));
        let focusable = json!({"properties": [{"name": "focusable", "value": {"value": true}}]});
        assert_eq!(line(node("generic", "", &focusable)), Some(("element".into(), true)));
        assert_eq!(line(node("generic", "", &json!({}))), None);
        assert_eq!(line(node("button", "X", &json!({"ignored": true}))), None);
    }

    #[test]
    fn refs_stay_until_the_document_changes_and_are_never_given_twice() {
        let node = |backend| Node { session: "s".into(), backend, owners: Vec::new() };
        let mut refs = Refs::default();
        refs.turn_to(1);
        assert_eq!((refs.number(node(5)), refs.number(node(6)), refs.number(node(5))), (1, 2, 1));
        refs.turn_to(1);
        assert_eq!(refs.number(node(6)), 2);
        refs.turn_to(2);
        assert!(refs.nodes.is_empty());
        assert_eq!(refs.number(node(5)), 3);
    }

    #[test]
    fn pages_of_lines_join_to_the_whole() {
        let lines: Vec<String> = (1..=100).map(|n| format!("- line {n}")).collect();
        let first = paged(&lines, 1, 300);
        assert!(
            first.contains("- line 1\n") && first.contains("of 100; browser-snapshot with start="),
            "{first}"
        );
        let next: usize = first.rsplit("start=").next().unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(paged(&lines, next, 300).starts_with(&format!("- line {next}\n")));
        assert_eq!(paged(&lines, 101, 300), "(the page has only 100 lines)");
        assert!(paged(&lines, 1, 1).starts_with("- line 1\n"));
        assert!(!paged(&lines, 1, 10_000).contains('['));
    }
}

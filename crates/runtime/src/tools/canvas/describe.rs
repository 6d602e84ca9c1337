//! What models are told of the canvas tools.

use serde_json::{Value, json};

fn path() -> Value {
    json!({"type": "string", "description": "A .canvas file, relative to the project directory"})
}

#[expect(clippy::needless_pass_by_value, reason = "called with json!")]
fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn ids(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

fn color() -> Value {
    json!({"type": "string",
        "description": "\"1\" red, \"2\" orange, \"3\" yellow, \"4\" green, \"5\" cyan, \"6\" purple, or #rrggbb"})
}

fn direction() -> Value {
    json!({"enum": ["right", "down", "left", "up"], "description": "Where edges lead"})
}

fn picture() -> Value {
    json!({"enum": [true, false, "svg", "png"], "description": "Also draw it as a picture beside the file"})
}

pub fn read() -> (&'static str, Value) {
    let description = "Reads a canvas (JSON Canvas) as an outline: [id] type x,y width x height: text for nodes, members \
        indented below their group, (id) from -> to: label for edges. Long text is cut; name nodes by `ids` to see all \
        of theirs.";
    let properties = json!({
        "path": path(),
        "ids": ids("Only these nodes and edges, with their whole text"),
        "group": {"type": "string", "description": "Only what is in this group"},
        "search": {"type": "string", "description": "Only nodes whose text contains this"}
    });
    (description, object(properties, &["path"]))
}

fn edge() -> Value {
    let side = json!({"enum": ["top", "right", "bottom", "left"]});
    let end = json!({"enum": ["none", "arrow"]});
    object(
        json!({
            "from": {"type": "string", "description": "The id of a node"},
            "to": {"type": "string", "description": "The id of a node"},
            "label": {"type": "string"},
            "id": {"type": "string"},
            "color": color(),
            "from_side": side, "to_side": side,
            "from_end": end, "to_end": end
        }),
        &["from", "to"],
    )
}

pub fn add() -> (&'static str, Value) {
    let description = "Adds nodes (and edges between nodes) to a canvas; makes the file if there is none. Leave x and y out \
        and a free place is found: beside `near`, inside `group`, or below everything. Ids that are left out are made \
        from the text; the answer lists them.";
    let node = object(
        json!({
            "text": {"type": "string", "description": "Markdown; makes a text node"},
            "file": {"type": "string", "description": "A path; makes a file node"},
            "url": {"type": "string", "description": "An address; makes a link node"},
            "label": {"type": "string", "description": "Makes an empty group; canvas-group makes one around nodes"},
            "type": {"enum": ["text", "file", "link", "group"]},
            "subpath": {"type": "string", "description": "Of a file node: #heading"},
            "id": {"type": "string"},
            "color": color(),
            "x": {"type": "integer"}, "y": {"type": "integer"},
            "width": {"type": "integer"}, "height": {"type": "integer"},
            "near": {"type": "string", "description": "The id of a node to stand beside"},
            "group": {"type": "string", "description": "The id of a group to be in"}
        }),
        &[],
    );
    let properties = json!({
        "path": path(),
        "nodes": {"type": "array", "items": node},
        "edges": {"type": "array", "items": edge(), "description": "Edges to add after the nodes"}
    });
    (description, object(properties, &["path", "nodes"]))
}

pub fn update() -> (&'static str, Value) {
    let description = "Sets fields of nodes and edges by id: text, color, x, y, width, height, label, fromNode, toNode, \
        fromSide, toSide and others; null removes a field. What is in a group moves with it.";
    let change = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let properties = json!({"path": path(), "changes": {"type": "array", "items": change}});
    (description, object(properties, &["path", "changes"]))
}

pub fn remove() -> (&'static str, Value) {
    let description = "Removes nodes, with the edges at them, and edges. What is in a removed group stays.";
    (description, object(json!({"path": path(), "ids": ids("Of nodes and edges")}), &["path", "ids"]))
}

pub fn connect() -> (&'static str, Value) {
    let description = "Adds edges between nodes of a canvas.";
    (
        description,
        object(json!({"path": path(), "edges": {"type": "array", "items": edge()}}), &["path", "edges"]),
    )
}

pub fn group() -> (&'static str, Value) {
    let description = "Makes a group around nodes. Refused when other nodes are in the way, unless `arrange` is set: then \
        the whole canvas is laid out with the new group.";
    let properties = json!({
        "path": path(),
        "ids": ids("The nodes"),
        "label": {"type": "string"},
        "id": {"type": "string"},
        "color": color(),
        "padding": {"type": "integer", "minimum": 0, "maximum": 1000, "description": "Default 20"},
        "arrange": {"type": "boolean"}
    });
    (description, object(properties, &["path", "ids"]))
}

pub fn layout() -> (&'static str, Value) {
    let description = "Lays a canvas out automatically: layers along the edges, few crossings, nothing on top of anything, \
        groups kept together. Text nodes that are too small grow.";
    let properties = json!({
        "path": path(),
        "direction": direction(),
        "sizes": {"enum": ["keep", "grow", "fit"], "description": "Of text nodes; default grow"},
        "ids": ids("Only these nodes, in their place"),
        "picture": picture()
    });
    (description, object(properties, &["path"]))
}

pub fn from_text() -> (&'static str, Value) {
    let description = "Makes a canvas from text and lays it out: a Markdown outline (headings and nested lists) becomes a \
        tree, a Mermaid flowchart becomes nodes, groups and edges.";
    let properties = json!({
        "path": path(),
        "text": {"type": "string", "description": "The outline or flowchart"},
        "source": {"type": "string", "description": "Instead of `text`: a text file of the project"},
        "format": {"enum": ["auto", "markdown", "mermaid"], "description": "Default auto"},
        "direction": direction(),
        "replace": {"type": "boolean", "description": "Replace a canvas that is there already"},
        "picture": picture()
    });
    (description, object(properties, &["path"]))
}

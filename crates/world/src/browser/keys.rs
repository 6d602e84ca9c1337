//! Keys that are pressed by name, and how the browser wants to hear of them.

use serde_json::{Value, json};

/// Name, code, and the number old scripts look at.
const KEYS: &[(&str, &str, u32)] = &[
    ("Enter", "Enter", 13),
    ("Tab", "Tab", 9),
    ("Escape", "Escape", 27),
    ("Backspace", "Backspace", 8),
    ("Delete", "Delete", 46),
    ("ArrowUp", "ArrowUp", 38),
    ("ArrowDown", "ArrowDown", 40),
    ("ArrowLeft", "ArrowLeft", 37),
    ("ArrowRight", "ArrowRight", 39),
    ("Home", "Home", 36),
    ("End", "End", 35),
    ("PageUp", "PageUp", 33),
    ("PageDown", "PageDown", 34),
    ("Space", "Space", 32),
];

/// The two events of a key with a name. `None`: there is no such key here.
pub(super) fn named(name: &str) -> Option<[Value; 2]> {
    let (key, code, number) = KEYS.iter().find(|(key, ..)| key.eq_ignore_ascii_case(name))?;
    let (key, text) = match *key {
        "Enter" => ("Enter", "\r"),
        "Space" => (" ", " "),
        key => (key, ""),
    };
    let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
    let mut down = json!({"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number});
    if let (false, Some(fields)) = (text.is_empty(), down.as_object_mut()) {
        fields.insert("text".into(), text.into());
    }
    Some([down, json!({"type": "keyUp", "key": key, "code": code, "windowsVirtualKeyCode": number})])
}

pub(super) fn names() -> String {
    KEYS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

/// The two events of a printable ASCII character; others are not typed with keys.
pub(super) fn printable(c: char) -> Option<[Value; 2]> {
    if !(' '..='~').contains(&c) {
        return None;
    }
    let number = if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() as u32 } else { 0 };
    let key = c.to_string();
    Some([
        json!({"type": "keyDown", "key": key, "text": key, "windowsVirtualKeyCode": number}),
        json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": number}),
    ])
}

/// Selects everything in the focused field.
pub(super) fn select_all() -> Value {
    json!({"type": "rawKeyDown", "key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65, "modifiers": 2, "commands": ["selectAll"]})
}

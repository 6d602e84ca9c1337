//! browser-*: a real Chromium for agents. Each tool is one row: what models are told, and which action of the browser it is.

mod calls;
mod host;

use super::{EffectClass, Tool};
use serde_json::{Value, json};

pub(super) use host::Host;
pub use host::{browser_is_sandboxed, find_browser};

pub(super) static TOOLS: &[Tool] = &[
    Tool {
        name: "browser-navigate",
        class: EffectClass::Once,
        describe: || {
            described(
                "Opens an address in a real browser and shows the page as lines, with refs like [e12] on what can be used. For \
                 pages that need scripts, forms or a login; WebFetch is quicker for the rest. Only public addresses.",
                json!({"url": {"type": "string"}, "dialogs": dialogs(), "prompt_text": prompt_text()}),
                &["url"],
            )
        },
        run: |call| Box::pin(calls::navigate(call)),
    },
    Tool {
        name: "browser-snapshot",
        class: EffectClass::Read,
        describe: || {
            described(
                "Shows the current page as lines, frames included, with refs like [e12] on what can be used. Refs hold until \
                 another page is loaded.",
                json!({"start": {"type": "integer", "minimum": 1, "description": "The line to go on from"}}),
                &[],
            )
        },
        run: |call| Box::pin(calls::snapshot(call)),
    },
    Tool {
        name: "browser-click",
        class: EffectClass::Once,
        describe: || {
            let more = json!({"double": {"type": "boolean"}});
            described("Clicks an element of the current page, then shows the page.", on_element(more), &[])
        },
        run: |call| Box::pin(calls::click(call)),
    },
    Tool {
        name: "browser-type",
        class: EffectClass::Once,
        describe: || {
            let more = json!({
                "text": {"type": "string"},
                "clear": {"type": "boolean", "description": "Empty the field first"},
                "submit": {"type": "boolean", "description": "Press Enter at the end"},
                "key": {"type": "string", "description": "A key pressed at the end: Enter, Tab, Escape, ArrowDown, …"}
            });
            described(
                "Types into a field of the current page (without ref or selector: into what has the focus), then shows the page.",
                on_element(more),
                &[],
            )
        },
        run: |call| Box::pin(calls::type_text(call)),
    },
    Tool {
        name: "browser-select",
        class: EffectClass::Once,
        describe: || {
            let more = json!({
                "options": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "Texts or values"}
            });
            described("Chooses from a list of options, then shows the page.", on_element(more), &["options"])
        },
        run: |call| Box::pin(calls::select(call)),
    },
    Tool {
        name: "browser-screenshot",
        class: EffectClass::Idempotent,
        describe: || {
            described(
                "Takes a picture of the current page (PNG) and gives its path. Text is read better with browser-snapshot.",
                json!({
                    "path": {"type": "string", "description": "Where to put it; in the scratch directory unless given"},
                    "full_page": {"type": "boolean", "description": "The whole page, not only what is in view"}
                }),
                &[],
            )
        },
        run: |call| Box::pin(calls::screenshot(call)),
    },
    Tool {
        name: "browser-wait",
        class: EffectClass::Read,
        describe: || {
            described(
                "Waits for something on the current page, then shows it. Give one of text, gone, url or ms.",
                json!({
                    "text": {"type": "string", "description": "Until this text is there"},
                    "gone": {"type": "string", "description": "Until this text is no longer there"},
                    "url": {"type": "string", "description": "Until the address contains this"},
                    "ms": {"type": "integer", "minimum": 1, "maximum": 60000, "description": "Only time"},
                    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 120, "description": "Default 15"}
                }),
                &[],
            )
        },
        run: |call| Box::pin(calls::wait(call)),
    },
    Tool {
        name: "browser-back",
        class: EffectClass::Once,
        describe: || described("Goes back to the page before this one, then shows it.", json!({}), &[]),
        run: |call| Box::pin(calls::back(call)),
    },
    Tool {
        name: "browser-tabs",
        class: EffectClass::Once,
        describe: || {
            described(
                "Lists the tabs, opens a new one, selects or closes one by its number.",
                json!({
                    "action": {"enum": ["list", "open", "select", "close"], "description": "Default list"},
                    "tab": {"type": "integer", "minimum": 1, "description": "For select and close"},
                    "url": {"type": "string", "description": "For open"}
                }),
                &[],
            )
        },
        run: |call| Box::pin(calls::tabs(call)),
    },
    Tool {
        name: "browser-evaluate",
        class: EffectClass::Once,
        describe: || {
            described(
                "Runs JavaScript in the current page and gives the value of its last expression as JSON; a promise is awaited.",
                json!({"script": {"type": "string"}, "dialogs": dialogs(), "prompt_text": prompt_text()}),
                &["script"],
            )
        },
        run: |call| Box::pin(calls::evaluate(call)),
    },
];

fn described(text: &'static str, properties: Value, required: &[&str]) -> (&'static str, Value) {
    let mut parameters = json!({"type": "object", "required": required, "additionalProperties": false});
    if let Some(fields) = parameters.as_object_mut() {
        fields.insert("properties".to_owned(), properties);
    }
    (text, parameters)
}

/// What all actions on an element take, with their own arguments.
fn on_element(own: Value) -> Value {
    let mut all = json!({
        "ref": {"type": "string", "description": "The element, like e12, from the page as it was shown"},
        "selector": {"type": "string", "description": "Or CSS; the first match in the page"},
        "dialogs": dialogs(),
        "prompt_text": prompt_text()
    });
    if let (Some(all), Value::Object(own)) = (all.as_object_mut(), own) {
        all.extend(own);
    }
    all
}

fn dialogs() -> Value {
    json!({
        "enum": ["accept", "dismiss"],
        "description": "How dialogs of the page are answered; unless given, messages are confirmed and questions declined"
    })
}

fn prompt_text() -> Value {
    json!({"type": "string", "description": "What is answered to a prompt that is accepted"})
}

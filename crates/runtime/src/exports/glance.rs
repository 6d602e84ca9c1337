//! The two most frequent events without what the exports do not need: arguments and results of nodes, which may be large
//! and lie in blobs. Everything else is decoded whole.

use fugato_engine::{By, Event, EventKind};
use fugato_model::Words;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::Value;
use std::sync::LazyLock;

/// `None`: another event, or one that this short way does not understand.
pub(super) fn at(bytes: &[u8]) -> Option<Event> {
    // The kind stands near the beginning of the bytes; looking for it first spares the others a parse in vain.
    let head = bytes.get(..bytes.len().min(HEAD))?;
    static KIND: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"type\":\"node."));
    KIND.find(head)?;
    let Short { v, seq, at, by, kind } = serde_json::from_slice(bytes).ok()?;
    let kind = match kind.r#type {
        "node.started" => {
            EventKind::NodeStarted { node: kind.node?, attempt: kind.attempt?, arguments: None }
        }
        "node.completed" => {
            EventKind::NodeCompleted { node: kind.node?, value: Value::Null, warnings: kind.warnings }
        }
        _ => return None,
    };
    Some(Event { v, seq, at, by, kind })
}

const HEAD: usize = 128;

#[derive(Deserialize)]
struct Short<'a> {
    v: u8,
    seq: u64,
    at: i64,
    by: By,
    #[serde(borrow)]
    kind: ShortKind<'a>,
}

#[derive(Deserialize)]
struct ShortKind<'a> {
    r#type: &'a str,
    node: Option<u32>,
    attempt: Option<u32>,
    #[serde(default)]
    warnings: Vec<Words>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::words;
    use serde_json::json;

    fn event(kind: EventKind) -> Event {
        Event { v: Event::VERSION, seq: 7, at: -3, by: By::Agent, kind }
    }

    #[test]
    fn the_short_way_gives_the_same_event_without_its_values() {
        let warnings = vec![words!("w", "警告")];
        let whole = event(EventKind::NodeCompleted {
            node: 3,
            value: json!({"type": "node.started"}),
            warnings: warnings.clone(),
        });
        let short = at(&serde_json::to_vec(&whole).unwrap()).unwrap();
        assert_eq!(short, event(EventKind::NodeCompleted { node: 3, value: Value::Null, warnings }));
        let arguments = Some(json!({"context": {"$blob": "x"}}));
        let whole = event(EventKind::NodeStarted { node: 3, attempt: 2, arguments });
        let short = at(&serde_json::to_vec(&whole).unwrap()).unwrap();
        assert_eq!(short, event(EventKind::NodeStarted { node: 3, attempt: 2, arguments: None }));
    }

    #[test]
    fn every_other_event_goes_the_long_way() {
        let uncertain = event(EventKind::NodeUncertain { node: 1 });
        let answered =
            event(EventKind::InputAnswered { question: 0, answer: "\"type\":\"node.started\"".into() });
        for other in [uncertain, answered] {
            assert_eq!(at(&serde_json::to_vec(&other).unwrap()), None);
        }
        assert_eq!(at(b""), None);
        assert_eq!(at(br#"{"v":1,"seq":1,"at":1,"by":"user","kind":{"type":"node.completed","node":1,"warnings":{}}}"#), None);
    }
}

//! The lines of the files that grow. Each names the event it came from, so that a reader, and a writer after a crash,
//! knows how far a file goes.

use super::moment::timestamp;
use super::sentence::Sentence;
use super::status::MessageType;
use fugato_engine::{By, MessageKind, Target, Verb};
use fugato_model::Words;
use serde::Serialize;

/// The newest word to a run: the content of `control.json`.
#[derive(Debug, Serialize)]
pub(super) struct Directive {
    #[serde(rename = "action")]
    pub verb: Verb,
    pub target: String,
    pub message: String,
    pub generation: u64,
}

impl Directive {
    pub fn new(generation: u64, verb: Verb, target: &Target, text: Option<&str>) -> Self {
        let target = match target {
            Target::All => "all".to_owned(),
            Target::Agent(path) => path.to_string(),
        };
        Self { verb, target, message: text.unwrap_or_default().to_owned(), generation }
    }
}

pub(super) fn stream(seq: u64, at: i64, sentence: &Sentence) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        seq: u64,
        timestamp: String,
        r#type: &'a str,
        message: &'a str,
        message_zh: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<&'a str>,
    }
    line(&Line {
        seq,
        timestamp: timestamp(at),
        r#type: sentence.kind,
        message: &sentence.words.en,
        message_zh: &sentence.words.zh,
        tool: sentence.tool.as_deref(),
    })
}

/// A line of the inbox of one agent and, if another agent sent it, of that one's outbox.
pub(super) fn message(
    seq: u64,
    at: i64,
    from: &str,
    to: &str,
    text: &str,
    instruction: Option<&str>,
    kind: Option<MessageKind>,
) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        seq: u64,
        id: String,
        from: &'a str,
        to: &'a str,
        r#type: MessageType,
        body: &'a str,
        timestamp: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        instruction: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    }
    line(&Line {
        seq,
        id: format!("msg_{seq}"),
        from,
        to,
        r#type: match (instruction, kind) {
            (Some(_), _) | (_, Some(MessageKind::Redirect)) => MessageType::Redirect,
            (_, Some(MessageKind::Question)) => MessageType::Question,
            (_, Some(MessageKind::Blocked)) => MessageType::Blocked,
            (_, Some(MessageKind::Result)) => MessageType::Result,
            (_, Some(MessageKind::Handoff) | None) => MessageType::Handoff,
        },
        body: instruction.unwrap_or(text),
        timestamp: timestamp(at),
        instruction,
        at: instruction.map(|_| timestamp(at)),
    })
}

/// A line of the inbox of one that waits for another. Several may be told by one event: each line has a name of its own.
pub(super) fn news(seq: u64, at: i64, from: &str, to: &str, text: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        seq: u64,
        id: String,
        from: &'a str,
        to: &'a str,
        r#type: MessageType,
        body: &'a str,
        timestamp: String,
    }
    let id = format!("news_{seq}_{to}");
    line(&Line { seq, id, from, to, r#type: MessageType::Result, body: text, timestamp: timestamp(at) })
}

pub(super) fn directive(seq: u64, at: i64, by: By, directive: &Directive) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        seq: u64,
        timestamp: String,
        action: Verb,
        target: &'a str,
        message: &'a str,
        generation: u64,
        by: By,
        receipt: &'static str,
    }
    line(&Line {
        seq,
        timestamp: timestamp(at),
        action: directive.verb,
        target: &directive.target,
        message: &directive.message,
        generation: directive.generation,
        by,
        receipt: "recorded",
    })
}

/// How far a directive has come with one agent.
pub(super) fn receipt(seq: u64, at: i64, generation: u64, agent: &str, receipt: &'static str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        seq: u64,
        timestamp: String,
        generation: u64,
        agent: &'a str,
        receipt: &'a str,
    }
    line(&Line { seq, timestamp: timestamp(at), generation, agent, receipt })
}

pub(super) fn refused(
    seq: u64,
    at: i64,
    generation: u64,
    reason: &Words,
    directive: Option<&Directive>,
) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        seq: u64,
        timestamp: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<Verb>,
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
        generation: u64,
        receipt: &'static str,
        reason: &'a str,
        reason_zh: &'a str,
    }
    line(&Line {
        seq,
        timestamp: timestamp(at),
        action: directive.map(|directive| directive.verb),
        target: directive.map(|directive| directive.target.as_str()),
        message: directive.map(|directive| directive.message.as_str()),
        generation,
        receipt: "refused",
        reason: &reason.en,
        reason_zh: &reason.zh,
    })
}

fn line(value: &impl Serialize) -> Vec<u8> {
    // Structures of strings and numbers always serialise.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

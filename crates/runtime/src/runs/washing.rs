//! Secrets are removed before anything is decided: what the engine never saw is in no event, no export, no display, and
//! the live state stays the one that the log folds to.
//!
//! The store removes them once more from what it writes; this room is why there is nothing left to remove.

use super::session::Notice;
use crate::store::Redactor;
use fugato_engine::{Completion, Input, RunSpec};
use fugato_model::Words;
use fugato_model::chat::{Message, Part};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

type Watcher = Box<dyn FnMut(Notice) + Send>;

/// Removes the secrets of an input.
pub(super) fn input(redactor: &Redactor, input: &mut Input) {
    match input {
        Input::Completed { completion, .. } => self::completion(redactor, completion),
        Input::Direct { text: Some(text), .. } => self::text(redactor, text),
        Input::Answer { answer, .. } => text(redactor, answer),
        Input::Send { from, text, .. } => {
            self::text(redactor, from);
            self::text(redactor, text);
        }
        Input::Acted { tool, arguments, head, .. } => {
            text(redactor, tool);
            whole(redactor, arguments);
            text(redactor, head);
        }
        _ => {}
    }
}

/// Removes the secrets of what a person asked for.
pub(super) fn spec(redactor: &Redactor, spec: &mut RunSpec) {
    whole(redactor, spec);
}

/// A watcher that is told nothing secret, also when a secret arrives in pieces.
pub(super) fn watcher(redactor: Arc<Redactor>, mut watcher: Watcher) -> Watcher {
    let mut held: HashMap<String, String> = HashMap::new();
    Box::new(move |notice| match notice {
        Notice::Live { agent, text } => {
            let mut all = held.remove(&agent).unwrap_or_default();
            all.push_str(&text);
            let mut clean = redactor.clean_text(&all).into_owned();
            let keep = clean.len() - redactor.held_back(&clean);
            // In the middle of a character nothing can be cut; then it is shown with the next piece.
            let rest =
                if clean.is_char_boundary(keep) { clean.split_off(keep) } else { std::mem::take(&mut clean) };
            if !rest.is_empty() {
                held.insert(agent.clone(), rest);
            }
            if !clean.is_empty() || text.is_empty() {
                watcher(Notice::Live { agent, text: clean });
            }
        }
        // No secret can begin in one message and end in another.
        Notice::Said { agent } => {
            if let Some(text) = held.remove(&agent) {
                watcher(Notice::Live { agent: agent.clone(), text });
            }
            watcher(Notice::Said { agent });
        }
        // Made from clean inputs.
        other => watcher(other),
    })
}

fn completion(redactor: &Redactor, completion: &mut Completion) {
    match completion {
        Completion::Answered { answer, .. } => message(redactor, &mut answer.message),
        Completion::ModelFailed { message, .. } => text(redactor, message),
        Completion::Tool { content, .. } => text(redactor, content),
        Completion::Script { stdout } => text(redactor, stdout),
        Completion::ScriptFailed { message, last_line } => {
            words(redactor, message);
            last_line.iter_mut().for_each(|line| text(redactor, line));
        }
        Completion::ScriptCutShort { message } => words(redactor, message),
        _ => {}
    }
}

fn message(redactor: &Redactor, message: &mut Message) {
    for part in &mut message.parts {
        match part {
            Part::Text { text } => self::text(redactor, text),
            Part::Reasoning { text, signature } => {
                if let Cow::Owned(clean) = redactor.clean_text(text) {
                    // The proof is of the text as it was: sent back with another, it would be refused.
                    (*text, *signature) = (clean, None);
                }
            }
            Part::ToolCall(call) => {
                text(redactor, &mut call.name);
                whole(redactor, &mut call.arguments);
            }
            Part::ToolResult(result) => text(redactor, &mut result.content),
            Part::Image { .. } => {}
        }
    }
}

fn words(redactor: &Redactor, words: &mut Words) {
    text(redactor, &mut words.en);
    text(redactor, &mut words.zh);
}

fn text(redactor: &Redactor, text: &mut String) {
    if let Cow::Owned(clean) = redactor.clean_text(text) {
        *text = clean;
    }
}

/// Something with texts at any depth.
fn whole<T: Serialize + DeserializeOwned>(redactor: &Redactor, value: &mut T) {
    if redactor.is_idle() {
        return;
    }
    let Ok(document) = serde_json::to_vec(value) else { return };
    if let Cow::Owned(clean) = redactor.clean_json(&document)
        && let Ok(clean) = serde_json::from_slice(&clean)
    {
        *value = clean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::chat::{Answer, Role, StopReason, ToolCall, Usage};
    use std::sync::Mutex;

    const CANARY: &str = "sk-canary-0123456789";

    fn redactor() -> Redactor {
        Redactor::new(Vec::<(String, String)>::new(), [CANARY.to_owned()])
    }

    #[test]
    fn nothing_that_reaches_a_run_holds_a_secret() {
        let said = || format!("it is {CANARY}!");
        let message = Message {
            role: Role::Assistant,
            parts: vec![
                Part::Text { text: said() },
                Part::Reasoning { text: said(), signature: None },
                Part::ToolCall(ToolCall {
                    id: "1".into(),
                    name: "Write".into(),
                    arguments: serde_json::json!({"content": [said()], CANARY: 1}),
                }),
            ],
        };
        let answer = Box::new(Answer { message, stop: StopReason::EndTurn, usage: Usage::default() });
        let fault = fugato_model::chat::ModelFault::Rejected;
        let completions = [
            Completion::Answered { answer, micro_usd: None },
            Completion::ModelFailed { fault, message: said() },
            Completion::Tool { content: said(), is_error: false, used: None },
            Completion::Script { stdout: said() },
            Completion::ScriptFailed { message: Words { en: said(), zh: said() }, last_line: Some(said()) },
        ];
        let key = fugato_engine::EffectKey::Model { agent: 0, step: 1 };
        let completed = completions.map(|completion| Input::Completed { key, completion });
        let others = [Input::Answer { question: 0, answer: said() }];
        for mut input in completed.into_iter().chain(others) {
            self::input(&redactor(), &mut input);
            let shown = format!("{input:?}");
            assert!(!shown.contains(CANARY) && shown.contains("<redacted>"), "{shown}");
        }
    }

    #[test]
    fn a_secret_that_arrives_in_pieces_is_never_shown() {
        let seen = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&seen);
        let mut watcher = watcher(
            Arc::new(redactor()),
            Box::new(move |notice| {
                if let Notice::Live { text, .. } = notice {
                    told.lock().unwrap().push_str(&text);
                }
            }),
        );
        for piece in ["the key: s", "k-can", "ary-0123456789", " and 技", "能 sk", "y"] {
            watcher(Notice::Live { agent: "a".into(), text: piece.into() });
        }
        assert_eq!(*seen.lock().unwrap(), "the key: <redacted> and 技能 sky");
    }
}

//! An answer in the words of OpenAI's Responses API.

use super::http::{self, Events};
use super::{Asked, CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Say};
use serde_json::{Value, json};
use std::io;
use std::net::TcpStream;

pub(super) fn answer(stream: &mut TcpStream, asked: &Asked, place: usize, says: &[Say]) -> io::Result<()> {
    if let Some(Say::Status(status)) = says.iter().find(|say| matches!(say, Say::Status(_))) {
        return http::refuse(stream, *status, "the mock model fails as it was told");
    }
    if asked.is_streamed() { streamed(stream, asked, place, says) } else { whole(stream, asked, place, says) }
}

fn response(asked: &Asked, place: usize, status: &str, output: &[Value]) -> Value {
    let usage = json!({
        "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    });
    json!({
        "id": format!("resp_{place}"), "object": "response", "status": status, "model": asked.model(),
        "output": output, "error": null, "usage": if status == "completed" { usage } else { Value::Null },
    })
}

fn item(place: usize, index: usize, say: &Say) -> Option<Value> {
    match say {
        Say::Text(text) => Some(json!({
            "type": "message", "id": format!("msg_{place}_{index}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        })),
        Say::Call { id, name, arguments } => Some(json!({
            "type": "function_call", "id": format!("fc_{place}_{index}"), "call_id": id.clone().unwrap_or_else(|| format!("call_{place}_{index}")),
            "name": name, "arguments": arguments.to_string(), "status": "completed",
        })),
        Say::Status(_) | Say::Wait(_) | Say::Hang => None,
    }
}

fn whole(stream: &mut TcpStream, asked: &Asked, place: usize, says: &[Say]) -> io::Result<()> {
    let mut output = Vec::new();
    for (index, say) in says.iter().enumerate() {
        match say {
            Say::Wait(time) => std::thread::sleep(*time),
            Say::Hang => return http::hang(stream),
            say => output.extend(item(place, index, say)),
        }
    }
    let body = response(asked, place, "completed", &output);
    http::whole(stream, 200, http::JSON, body.to_string().as_bytes())
}

fn streamed(stream: &mut TcpStream, asked: &Asked, place: usize, says: &[Say]) -> io::Result<()> {
    let mut events = Numbered { events: Events::begin(stream)?, next: 0 };
    events
        .send(json!({"type": "response.created", "response": response(asked, place, "in_progress", &[])}))?;
    let mut output: Vec<Value> = Vec::new();
    for (number, say) in says.iter().enumerate() {
        match say {
            Say::Wait(time) => std::thread::sleep(*time),
            Say::Hang => return events.events.hang(),
            _ => {}
        }
        let Some(item) = item(place, number, say) else { continue };
        let index = output.len();
        let id = item.get("id").cloned().unwrap_or_default();
        let mut opened = item.clone();
        for (key, empty) in [("content", json!([])), ("arguments", json!(""))] {
            if let Some(field) = opened.get_mut(key) {
                *field = empty;
            }
        }
        events.send(json!({"type": "response.output_item.added", "output_index": index, "item": opened}))?;
        let (kind, text) = match say {
            Say::Call { arguments, .. } => ("response.function_call_arguments.delta", arguments.to_string()),
            Say::Text(text) => ("response.output_text.delta", text.clone()),
            Say::Status(_) | Say::Wait(_) | Say::Hang => continue,
        };
        for piece in http::pieces(&text) {
            events.send(json!({
                "type": kind, "output_index": index, "content_index": 0, "item_id": id, "delta": piece,
            }))?;
        }
        events.send(json!({"type": "response.output_item.done", "output_index": index, "item": item}))?;
        output.push(item);
    }
    let done = response(asked, place, "completed", &output);
    events.send(json!({"type": "response.completed", "response": done}))?;
    events.events.end()
}

struct Numbered<'a> {
    events: Events<'a>,
    next: u64,
}

impl Numbered<'_> {
    fn send(&mut self, mut event: Value) -> io::Result<()> {
        if let Some(fields) = event.as_object_mut() {
            fields.insert("sequence_number".to_owned(), self.next.into());
        }
        self.next += 1;
        self.events.send(&event)
    }
}

//! An answer in the words of Anthropic's Messages API.

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

fn message(asked: &Asked, place: usize, content: &[Value], stop: &Value, output: u64) -> Value {
    json!({
        "id": format!("msg_{place}"), "type": "message", "role": "assistant", "model": asked.model(),
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {
            "input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": CACHED_TOKENS, "output_tokens": output,
        },
    })
}

fn stop(says: &[Say]) -> Value {
    let calls = says.iter().any(|say| matches!(say, Say::Call { .. }));
    if calls { "tool_use".into() } else { "end_turn".into() }
}

fn whole(stream: &mut TcpStream, asked: &Asked, place: usize, says: &[Say]) -> io::Result<()> {
    let mut content = Vec::new();
    for (index, say) in says.iter().enumerate() {
        match say {
            Say::Text(text) => content.push(json!({"type": "text", "text": text})),
            Say::Call { id, name, arguments } => content
                .push(json!({"type": "tool_use", "id": id.clone().unwrap_or_else(|| new_id(place, index)), "name": name, "input": arguments})),
            Say::Wait(time) => std::thread::sleep(*time),
            Say::Hang => return http::hang(stream),
            Say::Status(_) => {}
        }
    }
    let body = message(asked, place, &content, &stop(says), OUTPUT_TOKENS);
    http::whole(stream, 200, http::JSON, body.to_string().as_bytes())
}

fn streamed(stream: &mut TcpStream, asked: &Asked, place: usize, says: &[Say]) -> io::Result<()> {
    let mut events = Events::begin(stream)?;
    let start = message(asked, place, &[], &Value::Null, 1);
    events.send(&json!({"type": "message_start", "message": start}))?;
    let mut index = 0;
    for (number, say) in says.iter().enumerate() {
        let (block, deltas): (Value, Vec<Value>) = match say {
            Say::Wait(time) => {
                std::thread::sleep(*time);
                continue;
            }
            Say::Hang => return events.hang(),
            Say::Status(_) => continue,
            Say::Text(text) => {
                let delta = |piece: &&str| json!({"type": "text_delta", "text": piece});
                (json!({"type": "text", "text": ""}), http::pieces(text).iter().map(delta).collect())
            }
            Say::Call { id, name, arguments } => {
                let text = arguments.to_string();
                let delta = |piece: &&str| json!({"type": "input_json_delta", "partial_json": piece});
                let block = json!({"type": "tool_use", "id": id.clone().unwrap_or_else(|| new_id(place, number)), "name": name, "input": {}});
                (block, http::pieces(&text).iter().map(delta).collect())
            }
        };
        events.send(&json!({"type": "content_block_start", "index": index, "content_block": block}))?;
        for delta in deltas {
            events.send(&json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
        }
        events.send(&json!({"type": "content_block_stop", "index": index}))?;
        index += 1;
    }
    events.send(&json!({
        "type": "message_delta", "delta": {"stop_reason": stop(says), "stop_sequence": null},
        "usage": {"output_tokens": OUTPUT_TOKENS},
    }))?;
    events.send(&json!({"type": "message_stop"}))?;
    events.end()
}

fn new_id(place: usize, index: usize) -> String {
    format!("toolu_{place}_{index}")
}

//! Any bytes as the streamed answer of any provider, cut anywhere: an answer or an error, the same for every way of cutting,
//! and every tool call has a name and an object as its arguments.
#![no_main]

use fugato_model::chat::{Answer, Part};
use fugato_runtime::models::{Api, answer_of_body};
use libfuzzer_sys::fuzz_target;

const APIS: [Api; 5] = [Api::Anthropic, Api::Responses, Api::Chat, Api::Gemini, Api::Ollama];

// The first byte chooses the provider, the second where the network cuts; the rest is the body.
fuzz_target!(|bytes: &[u8]| {
    let [choice, cut, body @ ..] = bytes else { return };
    let api = APIS[usize::from(*choice) % APIS.len()];
    let whole = answer_of_body(api, [body]);
    let pieces = answer_of_body(api, body.chunks(usize::from(*cut).max(1)));
    assert_eq!(whole.is_ok(), pieces.is_ok(), "{whole:?} {pieces:?}");
    if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
        assert_eq!(whole, pieces);
        sound(&whole, body.len());
    }
});

fn sound(answer: &Answer, body: usize) {
    for part in &answer.message.parts {
        match part {
            Part::ToolCall(call) => assert!(!call.name.is_empty() && call.arguments.is_object()),
            Part::Text { text } => assert!(text.len() <= body),
            _ => {}
        }
    }
}

//! Bodies of responses without a network: what a provider's stream would have become, for any bytes cut anywhere.

use super::built_in::server;
use super::collect::Collector;
use super::endpoint::{Api, CallLimits, ProviderSettings};
use super::error::ModelError;
use super::{About, ModelRequest, ToolChoice, Transcript, http};
use fugato_model::chat::Answer;

/// The answer that a body in the language of `api` is, read in these pieces.
pub fn answer_of_body<'b>(
    api: Api,
    chunks: impl IntoIterator<Item = &'b [u8]>,
) -> Result<Answer, ModelError> {
    let own = ProviderSettings { api: Some(api), ..ProviderSettings::default() };
    let endpoint = server("body", "http://127.0.0.1", &[], &[]).endpoint(&|_| None, &own);
    let transcript = Transcript::default();
    let request = ModelRequest {
        model: "m",
        system: "",
        transcript: &transcript,
        tools: &[],
        written: None,
        tool_choice: ToolChoice::Auto,
        max_tokens: None,
        schema: None,
        about: About::default(),
    };
    let mut ignored = |_| {};
    let outgoing = endpoint.write(&request, None)?;
    let mut out = Collector::new(&request, &mut ignored);
    let limits = CallLimits::default();
    let done = http::read_body("body", &limits, outgoing, chunks, &mut out);
    endpoint.finish(done, &mut out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHAT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"好 a\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    const APIS: [Api; 5] = [Api::Anthropic, Api::Responses, Api::Chat, Api::Gemini, Api::Ollama];

    #[test]
    fn what_follows_the_end_marker_changes_nothing_wherever_the_network_cuts() {
        let mut body = CHAT.as_bytes().to_vec();
        body.extend_from_slice(b"data: \xff\xfe\n\n");
        let whole = answer_of_body(Api::Chat, [body.as_slice()]).unwrap();
        assert_eq!(whole.message.text(), "好 a");
        let pieces: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(answer_of_body(Api::Chat, pieces).unwrap(), whole);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error_and_the_same_however_they_are_cut(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just(CHAT.as_bytes().to_vec()),
                    Just(b"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n".to_vec()),
                    Just(b"{\"message\":{\"content\":\"a\"},\"done\":true,\"done_reason\":\"stop\"}\n".to_vec()),
                    Just(b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}]}\n\n".to_vec()),
                    proptest::collection::vec(any::<u8>(), 0..40),
                ],
                0..5,
            ),
            size in 1usize..17,
        ) {
            let body = pieces.concat();
            for api in APIS {
                let whole = answer_of_body(api, [body.as_slice()]);
                let cut = answer_of_body(api, body.chunks(size));
                prop_assert_eq!(whole.is_ok(), cut.is_ok(), "{:?} {:?} {:?}", api, whole, cut);
                if let (Ok(whole), Ok(cut)) = (whole, cut) {
                    prop_assert_eq!(whole, cut);
                }
            }
        }
    }
}

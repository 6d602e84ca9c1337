//! The mock model that real coding agents are tested with is one that our own providers understand too.

use super::test_server::{models, request};
use fugato_model::chat::StopReason;
use fugato_testkit::mock_model::{INPUT_TOKENS, MockModel, OUTPUT_TOKENS, Rule, Say};
use serde_json::json;

#[tokio::test]
async fn the_mock_model_speaks_what_our_providers_understand() {
    let arguments = json!({"path": "a b c", "limit": 3});
    let says = [Say::text("Hello, 世界 again"), Say::call("Read", arguments.clone())];
    let mock = MockModel::start(vec![Rule::on("read it", says).times(2), Rule::always([Say::Status(400)])]);
    let models = models(&mock.address());
    for model in ["anthropic/claude", "openai/gpt"] {
        let mut deltas = 0;
        let answer = models.call(model, request(), &mut |_| deltas += 1).await.unwrap();
        assert_eq!((answer.message.text().as_str(), answer.stop), ("Hello, 世界 again", StopReason::ToolUse));
        assert_eq!(answer.message.tool_calls().next().unwrap().arguments, arguments);
        assert!(deltas > 4, "{model} was not streamed");
        assert!(answer.usage.input_tokens >= Some(INPUT_TOKENS));
        assert_eq!(answer.usage.output_tokens, Some(OUTPUT_TOKENS));
    }
    assert!(models.call("openai/gpt", request(), &mut |_| {}).await.is_err());
    assert!(
        mock.asked().iter().all(|asked| asked.tools() == ["Read"] && asked.system().contains("be brief"))
    );
}

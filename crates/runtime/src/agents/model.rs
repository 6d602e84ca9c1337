//! Which model an agent gets: what its file names, as far as that means something beside its parent's model.

/// Claude Code's words for its models, by the model they mean here.
const ALIASES: [(&str, &str); 3] = [
    ("sonnet", "anthropic/claude-sonnet-5-5"),
    ("opus", "anthropic/claude-opus-5-5"),
    ("haiku", "anthropic/claude-haiku-5-5"),
];

/// The model of an agent whose kind asks for `wanted`, below a parent with this model.
///
/// Nothing and `inherit` are the parent's. `sonnet`, `opus`, `haiku` and `claude-…` are how files for Claude Code speak: they
/// mean Anthropic's model when the parent has one of Anthropic's, and the parent's own otherwise, because such a file says
/// "smaller" or "larger" and not which key you have. Anything else is taken at its word.
pub fn model_for(wanted: Option<&str>, parent: &str) -> String {
    let Some(wanted) = wanted.filter(|wanted| *wanted != "inherit") else { return parent.to_owned() };
    let alias = ALIASES.iter().find(|(word, _)| *word == wanted).map(|(_, model)| (*model).to_owned());
    let full = wanted.starts_with("claude-").then(|| format!("anthropic/{wanted}"));
    match alias.or(full) {
        Some(model) if parent.starts_with("anthropic/") => model,
        Some(_) => parent.to_owned(),
        None => wanted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::price::price_of;
    use std::collections::BTreeMap;

    #[test]
    fn words_of_claude_code_mean_something_only_beside_anthropic() {
        let anthropic = "anthropic/claude-sonnet-5-5";
        assert_eq!(model_for(None, anthropic), anthropic);
        assert_eq!(model_for(Some("inherit"), "echo"), "echo");
        assert_eq!(model_for(Some("opus"), anthropic), "anthropic/claude-opus-5-5");
        assert_eq!(model_for(Some("claude-opus-4-5"), anthropic), "anthropic/claude-opus-4-5");
        assert_eq!(model_for(Some("opus"), "openai/gpt-6-sol"), "openai/gpt-6-sol");
        assert_eq!(model_for(Some("claude-opus-4-5"), "script:x.json"), "script:x.json");
        assert_eq!(model_for(Some("ollama/qwen3"), anthropic), "ollama/qwen3");
    }

    #[test]
    fn every_word_means_a_model_with_a_known_price() {
        for (_, model) in ALIASES {
            assert!(price_of(model, &BTreeMap::new()).is_some(), "{model}");
        }
    }
}

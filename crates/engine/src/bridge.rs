//! Stand-in until the skill room has these.
use fugato_model::{Words, words};
use serde_json::Value;
use std::collections::BTreeMap;
pub fn render(template: &str, variables: &BTreeMap<String, Value>) -> Result<(String, Vec<Words>), Words> {
    let mut text = template.to_owned();
    for (k, v) in variables {
        let s = match v {
            Value::String(s) => s.clone(),
            v => v.to_string(),
        };
        text = text.replace(&format!("{{{{{k}}}}}"), &s);
    }
    if text.contains("{{") {
        return Err(words!("missing variable", "缺少变量"));
    }
    Ok((text, Vec::new()))
}
pub fn from_text(text: &str, _output: Option<&str>) -> Result<(Value, Vec<Words>), Words> {
    Ok((serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())), Vec::new()))
}
pub fn from_submitted(value: Value, _output: Option<&str>) -> Result<(Value, Vec<Words>), Words> {
    Ok((value, Vec::new()))
}
pub fn subagent_prompt(
    skill: &str,
    instructions: &str,
    args: &str,
    _relevant: &[String],
    _variables: &BTreeMap<String, Value>,
    _output: Option<&str>,
) -> String {
    format!("{skill}\n{instructions}\n{args}")
}

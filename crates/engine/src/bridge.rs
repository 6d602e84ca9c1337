//! The few functions of `skill` that decisions need, in the shapes decisions need them.

use crate::agent::AgentState;
use crate::event::Verdict;
use fugato_model::chat::{Part, Role};
use fugato_model::{RelPath, Words};
use fugato_skill::interpolate::Template;
use fugato_skill::phases::prompt;
use fugato_skill::{VarName, outcome, result_schema};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Renders a template over the variables of a run.
pub fn render(
    template: &Template,
    variables: &BTreeMap<String, Value>,
) -> Result<(String, Vec<Words>), Words> {
    let rendered = template.render(&|name| variables.get(name)).map_err(|error| error.message)?;
    Ok((rendered.text, rendered.warnings))
}

/// A result that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    pub message: Words,
    /// Whoever made it can do better when told: JSON that does not parse, a schema that is not met. A failure that the
    /// agent reports itself is an answer.
    pub can_be_repaired: bool,
}

/// Reads how an agent ended: what it submitted or said, held to its schema.
pub fn result_of(
    verdict: Verdict,
    output: Option<&str>,
    schema: Option<&Value>,
) -> Result<(Value, Vec<Words>), Unusable> {
    let output = output.and_then(|name| VarName::parse(name).ok());
    let parsed = match verdict {
        Verdict::Submitted { value } => outcome::from_submitted(value, output.as_ref()),
        Verdict::Answered { text } => outcome::from_text(&text, output.as_ref()),
        _ => return Ok((Value::Null, Vec::new())),
    };
    let parsed = parsed.map_err(|failure| Unusable {
        can_be_repaired: failure.kind == outcome::FailureKind::Unreadable,
        message: failure.message,
    })?;
    if let Some(schema) = schema {
        result_schema::meets(schema, &parsed.value)
            .map_err(|message| Unusable { message, can_be_repaired: true })?;
    }
    Ok((parsed.value, parsed.warnings))
}

/// The text of an inline phase, and what it is expected to give.
pub fn inline_prompt(section: String, sets: &[String]) -> String {
    if sets.is_empty() {
        return section;
    }
    let list = sets.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let section = section.trim_end();
    format!(
        "{section}\n\n## Output\n\nThis phase sets {list}. When it is done, call `submit_result` with an object that has \
         these keys. `ask_user` can set one of them to the person's answer: give its name as `variable`."
    )
}

/// Reads what a script printed.
pub fn from_program(stdout: &str, output: Option<&str>) -> Result<(Value, Vec<Words>), Words> {
    let output = output.and_then(|name| VarName::parse(name).ok());
    outcome::from_program(stdout, output.as_ref())
        .map(|parsed| (parsed.value, parsed.warnings))
        .map_err(|failure| failure.message)
}

/// Reads the result of an agent that called `submit_result`.
pub fn from_submitted(value: Value, output: Option<&str>) -> Result<(Value, Vec<Words>), Words> {
    let output = output.and_then(|name| VarName::parse(name).ok());
    outcome::from_submitted(value, output.as_ref())
        .map(|parsed| (parsed.value, parsed.warnings))
        .map_err(|failure| failure.message)
}

/// What an agent that is begun again had said, done and found, for whoever begins in its place.
pub fn so_far(state: &AgentState) -> String {
    // The first message is the task, which the next one has anyway.
    let parts = state
        .messages
        .iter()
        .skip(1)
        .flat_map(|message| message.parts.iter().map(|part| (message.role, part)));
    let lines = parts.filter_map(|(role, part)| match part {
        Part::Text { text } if role == Role::Assistant => Some(format!("You said: {}", head(text))),
        Part::Text { text } => Some(format!("You were told: {}", head(text))),
        Part::ToolCall(call) => {
            Some(format!("You called {} {}", call.name, head(&call.arguments.to_string())))
        }
        Part::ToolResult(result) => Some(format!("It gave: {}", head(&result.content))),
        Part::Reasoning { .. } | Part::Image { .. } => None,
    });
    let lines: Vec<String> = lines.collect();
    let newest = lines.get(lines.len().saturating_sub(KEPT_LINES)..).unwrap_or_default();
    if newest.is_empty() {
        return String::new();
    }
    format!(
        "\n\n## An earlier attempt\n\nThe operator had this task begin again. What the attempt before did, oldest \
         first; look before you repeat anything:\n\n- {}\n",
        newest.join("\n- ")
    )
}

/// Of an earlier attempt: enough to go on from, far less than a context.
const KEPT_LINES: usize = 40;
const KEPT_CHARS: usize = 400;

fn head(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(KEPT_CHARS).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
}

/// The seed's prompt of a subagent.
pub fn subagent_prompt(
    skill: &str,
    instructions: &str,
    args: &str,
    relevant: &[String],
    variables: &BTreeMap<String, Value>,
    output: Option<&str>,
) -> String {
    let shown = relevant.iter().filter_map(|name| {
        let (name, value) = (VarName::parse(name).ok()?, variables.get(name)?);
        let shown = prompt::by_reference(&name, value).map_or(Cow::Borrowed(value), Cow::Owned);
        Some((name, shown))
    });
    let shown: Vec<(VarName, Cow<'_, Value>)> = shown.collect();
    let shown: Vec<(VarName, &Value)> = shown.iter().map(|(name, value)| (name.clone(), &**value)).collect();
    let output = output.and_then(|name| VarName::parse(name).ok());
    match RelPath::parse(skill) {
        Ok(skill) => prompt::subagent(&skill, instructions, args, &shown, output.as_ref()),
        // A plan that names an impossible path was not made by us; its text is still its text.
        Err(_) => instructions.to_owned(),
    }
}

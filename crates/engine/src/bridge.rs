//! The few functions of `skill` that decisions need, in the shapes decisions need them.

use crate::event::Verdict;
use fugato_model::{RelPath, Words};
use fugato_skill::interpolate::Template;
use fugato_skill::{VarName, outcome, phases};
use serde_json::Value;
use std::collections::BTreeMap;

/// Renders a template over the variables of a run.
pub fn render(
    template: &Template,
    variables: &BTreeMap<String, Value>,
) -> Result<(String, Vec<Words>), Words> {
    let rendered = template.render(&|name| variables.get(name)).map_err(|error| error.message)?;
    Ok((rendered.text, rendered.warnings))
}

/// Reads the result of an agent that answered with text.
pub fn from_text(text: &str, output: Option<&str>) -> Result<(Value, Vec<Words>), Words> {
    let output = output.and_then(|name| VarName::parse(name).ok());
    outcome::from_text(text, output.as_ref())
        .map(|parsed| (parsed.value, parsed.warnings))
        .map_err(|failure| failure.message)
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

/// What a model should repair about its result: JSON that cannot be read, or a shape that was not declared. A failure
/// that the agent itself reports is a result, not a mistake.
pub fn problem(verdict: &Verdict, output: Option<&str>, schema: Option<&Value>) -> Option<String> {
    let output = output.and_then(|name| VarName::parse(name).ok());
    let parsed = match verdict {
        Verdict::Submitted { value } => outcome::from_submitted(value.clone(), output.as_ref()),
        Verdict::Answered { text } => outcome::from_text(text, output.as_ref()),
        _ => return None,
    };
    match parsed {
        Ok(parsed) => schema.and_then(|schema| crate::schema::problem(schema, &parsed.value)),
        Err(failure) => (failure.kind == outcome::FailureKind::Unreadable).then_some(failure.message.en),
    }
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
    let shown: Vec<(VarName, &Value)> =
        relevant.iter().filter_map(|name| Some((VarName::parse(name).ok()?, variables.get(name)?))).collect();
    let output = output.and_then(|name| VarName::parse(name).ok());
    match RelPath::parse(skill) {
        Ok(skill) => phases::prompt::subagent(&skill, instructions, args, &shown, output.as_ref()),
        // A plan that names an impossible path was not made by us; its text is still its text.
        Err(_) => instructions.to_owned(),
    }
}

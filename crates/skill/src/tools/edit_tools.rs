//! Policy editing as function tools. They only propose: the answer is the new text and its diff, and whoever holds the
//! file asks an operator before writing it. No agent is handed the profile it runs under.

use super::ToolError;
use super::call::Arguments;
use super::definitions::{ToolDefinition, arguments};
use crate::policy::edit::{self, EditError, Edited, List};
use crate::profile::{Entry, Mode};
use serde_json::{Value, json};

/// The three editing tools. The words are English: they are for models.
pub fn definitions() -> Vec<ToolDefinition> {
    let list =
        json!({ "enum": ["visible", "deny"], "default": "visible", "description": "Which list to edit." });
    let agent = json!({ "type": "string", "description": "Id of the agent, such as main." });
    let skill = json!({ "type": "string", "description": "Name of the skill, without a scope." });
    let one = || json!({ "agentId": agent, "skillName": skill, "list": list });
    let names = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    vec![
        ToolDefinition {
            name: "skill_bind_to_agent",
            description: "Propose to add a skill to an agent's visible or deny list. An operator approves the change.",
            parameters: arguments(one(), &["agentId", "skillName"]),
        },
        ToolDefinition {
            name: "skill_unbind_from_agent",
            description: "Propose to take a skill out of an agent's visible or deny list. An operator approves the change.",
            parameters: arguments(one(), &["agentId", "skillName"]),
        },
        ToolDefinition {
            name: "skill_set_mode_defaults",
            description: "Propose new lists for the whole mode. A list that is left out stays as it is. An operator approves the change.",
            parameters: arguments(
                json!({
                    "visible": names("Skills every agent of the mode sees; \"*\" is every installed skill."),
                    "deny": names("Skills no agent of the mode sees.")
                }),
                &[],
            ),
        },
    ]
}

/// Works out the edit a call asks for, on the text of a profile and its active mode. Writes nothing.
pub fn call(name: &str, arguments: &Value, text: &str, mode: Mode) -> Result<Edited, ToolError> {
    match name {
        "skill_bind_to_agent" | "skill_unbind_from_agent" => {
            let arguments = Arguments::new(arguments, &["agentId", "skillName", "list"])?;
            let (agent, skill) = (arguments.required("agentId")?, arguments.required("skillName")?);
            let list = match arguments.text("list")? {
                None | Some("visible") => List::Visible,
                Some("deny") => List::Deny,
                Some(_) => return Err(ToolError::argument("list", "expected `visible` or `deny`")),
            };
            let edit = if name == "skill_bind_to_agent" { edit::bind } else { edit::unbind };
            edit(text, mode, agent, skill, list).map_err(refused)
        }
        "skill_set_mode_defaults" => {
            let arguments = Arguments::new(arguments, &["visible", "deny"])?;
            let visible = entries(&arguments, "visible")?;
            let deny = entries(&arguments, "deny")?;
            if visible.is_none() && deny.is_none() {
                return Err(ToolError::argument("visible", "give `visible`, `deny` or both"));
            }
            edit::set_defaults(text, mode, visible, deny).map_err(refused)
        }
        other => Err(ToolError::UnknownTool(other.chars().take(80).collect())),
    }
}

fn entries(arguments: &Arguments<'_>, key: &str) -> Result<Option<Vec<Entry>>, ToolError> {
    let Some(texts) = arguments.texts(key)? else { return Ok(None) };
    let parsed: Result<Vec<Entry>, _> = texts.into_iter().map(Entry::parse).collect();
    parsed.map(Some).map_err(|error| ToolError::argument(key, error.words().en))
}

#[expect(clippy::needless_pass_by_value, reason = "shaped for map_err")]
fn refused(error: EditError) -> ToolError {
    let argument = match &error {
        EditError::UnknownAgent { .. } => "agentId",
        EditError::Entry(_) | EditError::NotForList { .. } => "skillName",
        EditError::Profile(_) | EditError::NoMode(_) => "profile",
    };
    let hint = error.hint().map(|hint| format!("; {}", hint.en)).unwrap_or_default();
    ToolError::argument(argument, format!("{}{hint}", error.words().en))
}

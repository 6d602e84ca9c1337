//! The tools with which a master delegates, as models are told of them.

use super::{AgentType, GENERAL_PURPOSE};
use fugato_model::chat::ToolSpec;
use serde_json::{Value, json};

/// Providers bound the size of an enumeration (500 values, 15,000 characters); past this the names are only in the guide,
/// and a wrong one is answered with the known ones.
const MAX_ENUMERATED: usize = 128;

/// `Agent`: starts a subagent of one of these types.
pub fn agent_tool(types: &[AgentType]) -> ToolSpec {
    let mut kind = json!({
        "type": "string",
        "description": format!("Who does it. Left out: {GENERAL_PURPOSE}."),
    });
    if types.len() <= MAX_ENUMERATED
        && let Some(fields) = kind.as_object_mut()
    {
        let names: Vec<Value> = types.iter().map(|agent| agent.name.as_str().into()).collect();
        fields.insert("enum".to_owned(), names.into());
    }
    ToolSpec {
        name: "Agent".to_owned(),
        description: "Hands a task of several steps to a subagent and waits for its result. Several calls in one answer \
                      run at the same time. The result says the agent's id, how it ended, and what it used."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "description": {
                    "type": "string",
                    "description": "The task in three to eight words; the person sees it as progress.",
                },
                "prompt": {
                    "type": "string",
                    "description": "The whole task. The subagent sees nothing of this conversation: goal, inputs (paths, \
                                    addresses, data), the form of the result, what not to touch.",
                },
                "subagent_type": kind,
                "run_in_background": {
                    "type": "boolean",
                    "description": "True: answer at once with the agent's id; its end arrives later as a message.",
                },
            },
            "required": ["description", "prompt"],
            "additionalProperties": false,
        }),
    }
}

/// `SendMessage`: tells a started agent something more.
pub fn send_message_tool() -> ToolSpec {
    ToolSpec {
        name: "SendMessage".to_owned(),
        description: "Tells an agent you started something more. A running one sees it at its next step; a finished one \
                      goes on with all it knows, however long ago it ended. A cancelled one is not woken. Give `toolCallId` \
                      or `to`."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "toolCallId": {
                    "type": "string",
                    "description": "The call of `Agent` that started it.",
                },
                "to": {
                    "type": "string",
                    "description": "Or the agent's id, as its result gave it.",
                },
                "message": {
                    "type": "string",
                    "description": "What it should do now, know or change.",
                },
            },
            "required": ["message"],
            "additionalProperties": false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::built_in_types;
    use super::*;

    #[test]
    fn the_types_are_enumerated_as_long_as_providers_take_it() {
        let spec = agent_tool(&built_in_types());
        let kinds = spec.parameters["properties"]["subagent_type"]["enum"].as_array().unwrap();
        assert_eq!(kinds.len(), 9);
        assert_eq!(spec.parameters["required"], json!(["description", "prompt"]));
        let many: Vec<_> = (0..129).map(|n| AgentType::named(&format!("t{n}"))).collect();
        assert!(agent_tool(&many).parameters["properties"]["subagent_type"].get("enum").is_none());
        assert!(agent_tool(&many[..128]).parameters["properties"]["subagent_type"].get("enum").is_some());
    }

    #[test]
    fn a_message_may_name_the_call_or_the_agent() {
        let spec = send_message_tool();
        let fields = spec.parameters["properties"].as_object().unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["toolCallId", "to", "message"]);
    }
}

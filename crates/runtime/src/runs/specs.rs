//! The tools of an agent as its model is told of them: of the world, of skills, and the engine's own.

use super::shelf;
use crate::tools;
use fugato_engine::{
    Access, AgentState, AgentType, Names, Run, agent_tool, send_message_tool, session_tools,
};
use fugato_model::chat::ToolSpec;
use serde_json::json;

/// Always in the same order, so that providers can keep what they have read.
pub(super) fn of(agent: &AgentState, run: &Run) -> Vec<ToolSpec> {
    if let Some(tools) = session_tools(agent, run) {
        return tools;
    }
    let mut specs = tools::specs(match agent.access {
        Access::ReadOnly => tools::Access::ReadOnly,
        Access::ReadWrite => tools::Access::ReadWrite,
    });
    let has_skills = agent.rights.as_ref().is_none_or(|rights| match &rights.skills {
        Names::All => true,
        Names::Only(names) => !names.is_empty(),
    });
    if has_skills && !run.spec.visible.is_empty() {
        specs.extend(shelf::specs());
    }
    specs.push(submit_result());
    specs.push(ask_user());
    match &agent.rights {
        // Without kinds of agents there is nobody to delegate to, and the set is the one every agent has had.
        None => specs.retain(|spec| !tools::comes_with_a_kind(&spec.name)),
        Some(rights) => {
            let types: Vec<AgentType> = run.spec.types.values().map(|kind| (**kind).clone()).collect();
            specs.push(agent_tool(&types));
            specs.push(send_message_tool());
            specs.retain(|spec| rights.has_tool(&spec.name));
        }
    }
    specs
}

fn submit_result() -> ToolSpec {
    ToolSpec {
        name: "submit_result".into(),
        description: "Give the result of your task, as any JSON. This ends your work.".into(),
        parameters: json!({
            "type": "object", "properties": {"result": {"description": "the result"}}, "required": ["result"],
        }),
    }
}

fn ask_user() -> ToolSpec {
    ToolSpec {
        name: "ask_user".into(),
        description: "Ask the person a question and wait for the answer, however long it takes.".into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "options": {"type": "array", "items": {"type": "string"}},
                "type": {
                    "enum": ["text", "number", "boolean", "json", "choice"],
                    "description": "The form of the answer (default text); choice: one of the options",
                },
                "variable": {
                    "type": "string",
                    "description": "In an inline phase: the variable that takes the answer",
                },
            },
            "required": ["question"],
        }),
    }
}

//! The tools of whoever works for a session, as models are told of them: one for each skill it may call, and how it ends.

use crate::agent::{AgentState, Duty};
use crate::driver::session;
use crate::run::Run;
use crate::tools::{ASK, CANNOT_COMPLETE, FINAL_ANSWER, SUBMIT_CONTEXT};
use fugato_model::chat::ToolSpec;
use serde_json::{Value, json};

/// All of them, always in the same order. `None`: this agent has a task, and the tools of the world.
pub fn session_tools(agent: &AgentState, run: &Run) -> Option<Vec<ToolSpec>> {
    let node = agent.node.filter(|_| agent.duty != Duty::Task)?;
    let mut tools = Vec::new();
    if agent.duty != Duty::Plan {
        let known = session::allowed(run, node).iter();
        tools.extend(known.filter_map(|name| Some(skill(name, &run.spec.skills.get(name)?.description))));
    }
    match agent.duty {
        Duty::Prepare => tools.extend([submit_context(), cannot_complete()]),
        Duty::Orchestrate => tools.extend([final_answer(), cannot_complete(), ask_user()]),
        Duty::Plan | Duty::Task => {}
    }
    Some(tools)
}

/// What providers take as the description of a tool, in characters.
const MOST: usize = 1_024;

fn skill(name: &str, description: &str) -> ToolSpec {
    let prompt = "What it is to do, with everything it needs to know: it sees nothing of this conversation.";
    ToolSpec {
        name: name.to_owned(),
        description: description.chars().take(MOST).collect(),
        parameters: object(&json!({"prompt": {"type": "string", "description": prompt}}), &["prompt"]),
    }
}

fn final_answer() -> ToolSpec {
    ToolSpec {
        name: FINAL_ANSWER.to_owned(),
        description: "Give the answer to the request. This ends the session.".to_owned(),
        parameters: object(&json!({"answer": {"type": "string"}}), &["answer"]),
    }
}

fn cannot_complete() -> ToolSpec {
    ToolSpec {
        name: CANNOT_COMPLETE.to_owned(),
        description: "Say that it cannot be done, and why. This ends your work as a failure.".to_owned(),
        parameters: object(&json!({"reason": {"type": "string"}}), &["reason"]),
    }
}

fn submit_context() -> ToolSpec {
    let entries = json!({
        "type": "object",
        "description": "What the session will need: names, each with its value",
        "additionalProperties": {"type": "string"},
    });
    ToolSpec {
        name: SUBMIT_CONTEXT.to_owned(),
        description: "Hand over what you have found. This ends the preparation.".to_owned(),
        parameters: object(&json!({"entries": entries}), &["entries"]),
    }
}

fn ask_user() -> ToolSpec {
    ToolSpec {
        name: ASK.to_owned(),
        description: "Ask the person a question and wait for the answer, however long it takes.".to_owned(),
        parameters: object(
            &json!({
                "question": {"type": "string"},
                "options": {"type": "array", "items": {"type": "string"}},
            }),
            &["question"],
        ),
    }
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

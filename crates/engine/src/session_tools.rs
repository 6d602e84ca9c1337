//! The tools of whoever works for a session, as models are told of them: one for each skill it may call, and how it ends.

use crate::agent::{AgentState, Duty};
use crate::driver::session;
use crate::run::Run;
use crate::tools::{ASK, CANNOT_COMPLETE, FINAL_ANSWER, SUBMIT_CONTEXT};
use fugato_model::chat::{ToolCall, ToolSpec};
use serde_json::{Value, json};

/// All of them, always in the same order. `None`: this agent has a task, and the tools of the world.
pub fn session_tools(agent: &AgentState, run: &Run) -> Option<Vec<ToolSpec>> {
    let node = agent.node.filter(|_| agent.duty != Duty::Task)?;
    let mut tools = Vec::new();
    if agent.duty != Duty::Plan {
        tools.extend(skills(session::allowed(run, node), run));
    }
    match agent.duty {
        Duty::Prepare => tools.extend([submit_context(), cannot_complete()]),
        Duty::Orchestrate => tools.extend([final_answer(), cannot_complete(), ask_user()]),
        Duty::Plan | Duty::Task => {}
    }
    Some(tools)
}

/// What providers take as the description of a tool, in characters, and how many tools.
const MOST: usize = 1_024;
const MOST_TOOLS: usize = 100;
/// Characters of the names of skills that are no tools of their own.
const MOST_NAMES: usize = 8_000;
/// The tool for all of those. No skill has an underscore in its name.
const CALL_SKILL: &str = "call_skill";
const ALIAS: &str = "skill_";

fn skills<'r>(allowed: &'r [String], run: &'r Run) -> impl Iterator<Item = ToolSpec> + use<'r> {
    let own = (1u32..).zip(allowed).take(MOST_TOOLS);
    let own = own.filter_map(|(at, name)| Some(skill(at, name, &run.spec.skills.get(name)?.description)));
    own.chain((allowed.len() > MOST_TOOLS).then(|| call_skill(allowed.get(MOST_TOOLS..).unwrap_or_default())))
}

/// The skill that a call means: by its name, by what stands for a name that providers do not take, or by `call_skill`.
pub(crate) fn skill_of<'c>(allowed: &'c [String], call: &'c ToolCall) -> &'c str {
    if call.name == CALL_SKILL {
        return call.arguments.get("skill").and_then(Value::as_str).unwrap_or_default();
    }
    let number = call.name.strip_prefix(ALIAS).and_then(|number| number.parse::<usize>().ok());
    let meant = number.and_then(|number| allowed.get(number.checked_sub(1)?));
    meant.map_or(&call.name, |name| name)
}

/// Providers take letters, digits, hyphens and underscores of ASCII.
fn tool_name(at: u32, name: &str) -> String {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.len() <= 64 && name.chars().all(is_taken) { name.to_owned() } else { format!("{ALIAS}{at}") }
}

fn prompt() -> Value {
    let about = "What it is to do, with everything it needs to know: it sees nothing of this conversation.";
    json!({"type": "string", "description": about})
}

fn skill(at: u32, name: &str, description: &str) -> ToolSpec {
    let tool = tool_name(at, name);
    let description = if tool == name { description.to_owned() } else { format!("{name}: {description}") };
    ToolSpec {
        name: tool,
        description: description.chars().take(MOST).collect(),
        parameters: object(&json!({"prompt": prompt()}), &["prompt"]),
    }
}

fn call_skill(others: &[String]) -> ToolSpec {
    let mut names = String::new();
    for name in others {
        if names.chars().count() + name.chars().count() > MOST_NAMES {
            names.push_str(", …");
            break;
        }
        if !names.is_empty() {
            names.push_str(", ");
        }
        names.push_str(name);
    }
    ToolSpec {
        name: CALL_SKILL.to_owned(),
        description: "Calls a skill that is not a tool of its own, by its name.".to_owned(),
        parameters: object(
            &json!({
                "skill": {"type": "string", "description": format!("One of: {names}")},
                "prompt": prompt(),
            }),
            &["skill", "prompt"],
        ),
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

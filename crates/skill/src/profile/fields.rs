//! Which keys each block of a profile may have: one list for reading, suggestions and the JSON Schema test.

use super::{AgentRole, Mode};
use fugato_model::nearest;

/// How an agent block appears in its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One object, with a fixed id when the file gives none.
    One { id: &'static str },
    /// An array of objects, each with an id.
    Many,
}

/// One agent key of a mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgentKey {
    pub key: &'static str,
    pub role: AgentRole,
    pub shape: Shape,
    pub required: bool,
}

const fn one(key: &'static str, role: AgentRole, id: &'static str, required: bool) -> AgentKey {
    AgentKey { key, role, shape: Shape::One { id }, required }
}

const fn many(key: &'static str, role: AgentRole, required: bool) -> AgentKey {
    AgentKey { key, role, shape: Shape::Many, required }
}

/// The agent keys of a mode, in the order agents are listed.
pub(super) const fn agent_keys(mode: Mode) -> &'static [AgentKey] {
    const SINGLE: &[AgentKey] = &[one("node", AgentRole::Single, "node", true)];
    const LOOP: &[AgentKey] = &[one("loopAgent", AgentRole::Loop, "loop", true)];
    const DIRECTOR: &[AgentKey] =
        &[one("mainAgent", AgentRole::Main, "main", true), many("subAgents", AgentRole::Sub, false)];
    const SPEC: &[AgentKey] = &[many("nodes", AgentRole::WorkerNode, true)];
    const AGENDA: &[AgentKey] = &[
        one("planner", AgentRole::Planner, "planner", true),
        many("workers", AgentRole::Worker, true),
        one("finalWorker", AgentRole::FinalWorker, "final", false),
    ];
    match mode {
        Mode::Single => SINGLE,
        Mode::Loop => LOOP,
        Mode::Director => DIRECTOR,
        Mode::Spec => SPEC,
        Mode::Agenda => AGENDA,
    }
}

/// Keys of a mode's block besides its agents.
pub(super) const MODE_KEYS: &[&str] = &["skills", "tools", "limits"];
/// Keys of the file itself, in either form.
pub(super) const FILE_KEYS: &[&str] = &["$schema", "mode", "preset", "character", "description"];
pub(super) const SKILLS_KEYS: &[&str] = &["visible", "deny", "none", "allowMissing"];
pub(super) const STAGE_KEYS: &[&str] = &["id", "mode", "nodes"];
const AGENT_KEYS: &[&str] =
    &["id", "description", "systemPrompt", "model", "tools", "skills", "maxRounds", "preset"];
const NODE_KEYS: &[&str] = &["type", "userPromptTemplate", "optional"];
/// spec only.
const SPEC_KEYS: &[&str] = &["stages", "onReviewLimit"];

pub(super) fn agent_fields(role: AgentRole) -> Vec<&'static str> {
    let mut keys = AGENT_KEYS.to_vec();
    if matches!(role, AgentRole::WorkerNode | AgentRole::ReviewNode) {
        keys.extend(NODE_KEYS);
    }
    keys
}

pub(super) fn mode_fields(mode: Mode) -> Vec<&'static str> {
    let mut keys = MODE_KEYS.to_vec();
    keys.extend(agent_keys(mode).iter().map(|key| key.key));
    if mode == Mode::Spec {
        keys.extend(SPEC_KEYS);
    }
    keys
}

/// The mode an agent key belongs to.
pub(super) fn owner_of(key: &str) -> Option<Mode> {
    Mode::ALL.into_iter().find(|mode| {
        agent_keys(*mode).iter().any(|agent| agent.key == key)
            || (*mode == Mode::Spec && SPEC_KEYS.contains(&key))
    })
}

/// Was this unknown key meant to be `skills`? What it would grant or deny is then not known.
pub(super) fn is_misspelt_skills(key: &str) -> bool {
    // Misspellings keep the first letter; comparing costs, and a file may have tens of thousands of keys.
    if !key.starts_with(['s', 'S']) || key == "skills" || key.len() > 16 {
        return false;
    }
    let known = [MODE_KEYS, FILE_KEYS, AGENT_KEYS, NODE_KEYS, SPEC_KEYS].concat();
    !known.contains(&key) && owner_of(key).is_none() && nearest(key, known) == Some("skills")
}

/// Keys that are for people or other programs: never reported.
pub(super) fn is_private(key: &str) -> bool {
    key.starts_with("x-")
}

//! A kind of agent as programs and tables see it.

use fugato_engine::{Access, AgentType, Executor};
use fugato_model::Lang;
use fugato_model::view::DiagnosticView;
use fugato_runtime::agents::{BrokenFile, Known, Machine, Obstacle, Weight};
use serde_json::{Map, Value, json};

/// Can it be started here?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    /// Some of its tools would answer with an error.
    Limited,
    /// This machine lacks what it cannot work without.
    Unusable,
    Shadowed,
    Invalid,
}

impl Status {
    pub(super) fn of(obstacles: &[Obstacle]) -> Self {
        match obstacles.iter().map(|obstacle| obstacle.weight).max() {
            None => Self::Ok,
            Some(Weight::Limits) => Self::Limited,
            Some(Weight::Prevents) => Self::Unusable,
        }
    }

    pub(super) const fn word(self, lang: Lang) -> &'static str {
        match (self, lang) {
            (Self::Ok, Lang::En) => "ok",
            (Self::Limited, Lang::En) => "limited",
            (Self::Unusable, Lang::En) => "unusable",
            (Self::Shadowed, Lang::En) => "shadowed",
            (Self::Invalid, Lang::En) => "invalid",
            (Self::Ok, Lang::Zh) => "正常",
            (Self::Limited, Lang::Zh) => "受限",
            (Self::Unusable, Lang::Zh) => "不可用",
            (Self::Shadowed, Lang::Zh) => "被遮蔽",
            (Self::Invalid, Lang::Zh) => "无效",
        }
    }
}

const fn access(agent: &AgentType) -> &'static str {
    match agent.access {
        Access::ReadOnly => "read-only",
        Access::ReadWrite => "read-write",
    }
}

pub(super) const fn executor(agent: &AgentType) -> &'static str {
    match agent.executor {
        Executor::Model => "model",
        Executor::Script { .. } => "script",
        Executor::Claude => "host:claude",
        Executor::Codex => "host:codex",
        Executor::Human => "human",
    }
}

/// As `--json` lists it. `is_shadowed`: another one counts in its place.
pub(super) fn of_known(
    known: &Known,
    is_shadowed: bool,
    machine: &Machine,
    lang: Lang,
) -> Map<String, Value> {
    let agent = &known.agent;
    let obstacles = machine.obstacles(known);
    let status = if is_shadowed { Status::Shadowed } else { Status::of(&obstacles) };
    let replaces: Vec<Value> = known
        .replaces
        .iter()
        .map(|(origin, shown)| json!({"source": origin.as_str(), "path": text_or_null(shown)}))
        .collect();
    let command = match &agent.executor {
        Executor::Script { command } => json!(command),
        _ => Value::Null,
    };
    let document = json!({
        "name": agent.name,
        "mark": agent.mark,
        "description": agent.description,
        "source": known.origin.as_str(),
        "path": text_or_null(&known.shown),
        "status": status.word(Lang::En),
        "access": access(agent),
        "steps": agent.steps,
        "tools": agent.tools,
        "disallowedTools": agent.disallowed,
        "only": agent.only,
        "deny": agent.deny,
        "effectiveTools": known.effective_tools(),
        "model": agent.model,
        "executor": executor(agent),
        "command": command,
        "skills": agent.skills,
        "mcpServers": agent.mcp_servers,
        "replaces": replaces,
        "obstacles": obstacles.iter().map(|obstacle| obstacle.words.in_lang(lang)).collect::<Vec<_>>(),
        "diagnostics": known.diagnostics.iter().map(|found| DiagnosticView::new(found, lang)).collect::<Vec<_>>(),
    });
    object(document)
}

pub(super) fn of_broken(broken: &BrokenFile, lang: Lang) -> Map<String, Value> {
    object(json!({
        "name": broken.name,
        "source": broken.origin.as_str(),
        "path": broken.shown,
        "status": Status::Invalid.word(Lang::En),
        "diagnostics": broken.diagnostics.iter().map(|found| DiagnosticView::new(found, lang)).collect::<Vec<_>>(),
    }))
}

fn object(document: Value) -> Map<String, Value> {
    match document {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}

//! Kinds of agents: what each is for, what it may use and how it works. The kinds a run may start are pinned in it, so
//! that a changed file changes later runs and never this one.

use crate::plan::Access;
use crate::tools;
use serde::{Deserialize, Serialize};

/// One kind of agent. What it may do is never more than what its parent may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentType {
    /// As `subagent_type` names it.
    pub name: String,
    /// When to delegate to it, for whoever decides that: a sentence or two.
    pub description: String,
    /// Its system text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Names of its tools, a `*` at the end stands for any rest; `None`: all that its parent has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Taken away again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disallowed: Vec<String>,
    pub access: Access,
    /// Model calls of one task; `None`: as the run's limits say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// `None`: the model of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Executor::is_model")]
    pub executor: Executor,
    /// Skills it may see, of those its parent sees; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
}

/// What does the work of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "snake_case")]
pub enum Executor {
    /// A model, asked step by step.
    #[default]
    Model,
    /// A program that gets the task on its standard input and answers on its standard output.
    Script { command: Vec<String> },
    /// Claude Code as a child process.
    Claude,
    /// Codex as a child process.
    Codex,
    /// A person, through a question.
    Human,
}

impl Executor {
    fn is_model(&self) -> bool {
        *self == Self::Model
    }
}

impl AgentType {
    /// The type of this name with everything its parent has.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            prompt: String::new(),
            tools: None,
            disallowed: Vec::new(),
            access: Access::ReadWrite,
            steps: None,
            model: None,
            executor: Executor::Model,
            skills: None,
        }
    }

    /// May it use the tool, as far as its own lists say?
    pub fn has_tool(&self, tool: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|name| matches(name, tool));
        self.tools.as_deref().is_none_or(listed) && !listed(&self.disallowed)
    }
}

impl AgentType {
    /// This kind below a parent: never more than the parent has.
    #[must_use]
    pub fn within(&self, parent: &Self) -> Self {
        let mut kind = self.clone();
        if parent.tools.is_some() || !parent.disallowed.is_empty() {
            let known = tools::TOOLS.iter().map(|(name, _)| *name);
            let both = known.filter(|tool| parent.has_tool(tool) && self.has_tool(tool));
            kind.tools = Some(both.map(str::to_owned).collect());
            kind.disallowed = Vec::new();
        }
        if parent.access == Access::ReadOnly {
            kind.access = Access::ReadOnly;
        }
        kind.skills = match (&self.skills, &parent.skills) {
            (Some(own), Some(above)) => {
                Some(own.iter().filter(|name| above.contains(name)).cloned().collect())
            }
            (own, above) => own.clone().or_else(|| above.clone()),
        };
        kind
    }
}

fn matches(pattern: &str, tool: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => pattern == tool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_the_tools_it_lists_less_those_it_forbids() {
        let mut browser = AgentType::named("browser");
        assert!(browser.has_tool("Bash"));
        browser.tools = Some(vec!["browser-*".into(), "WebSearch".into()]);
        browser.disallowed = vec!["browser-evaluate".into()];
        assert!(browser.has_tool("browser-click") && browser.has_tool("WebSearch"));
        assert!(
            !browser.has_tool("browser-evaluate") && !browser.has_tool("Bash") && !browser.has_tool("brows")
        );
    }
}

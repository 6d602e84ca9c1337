//! Kinds of agents: what each is for, what it may use and how it works. The kinds a run may start are pinned in it, so
//! that a changed file changes later runs and never this one.

mod built_in;
mod custom;
mod delegation_tools;
mod find;
mod guide;
mod profile;
mod rights;

pub use built_in::{GENERAL_PURPOSE, built_in_types};
pub use delegation_tools::{agent_tool, send_message_tool};
pub use find::{UnknownType, find_type};
pub use guide::{GUIDE_TOKENS, GuideFacts, Setting, delegation_guide};
pub use profile::types_of_profile;
pub use rights::{Names, Rights};

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
    /// MCP servers it may use, of those its parent may; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<String>>,
    /// Rules such as `Bash(git status:*)`: a call of a tool that is named here must fit one of its rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Rules in the same form: a call that fits one is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    #[serde(default, skip_serializing_if = "Asking::is_ask")]
    pub asking: Asking,
    /// A sign for displays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// What becomes of a call that a rule would put before a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// It is refused.
    Refuse,
    /// The person is asked.
    #[default]
    Ask,
}

impl Asking {
    fn is_ask(&self) -> bool {
        *self == Self::Ask
    }
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

    /// A coding agent with a conversation and tools of its own: it can be stopped and go on where it was.
    pub fn is_host(&self) -> bool {
        matches!(self, Self::Claude | Self::Codex)
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
            mcp_servers: None,
            only: Vec::new(),
            deny: Vec::new(),
            asking: Asking::Ask,
            mark: None,
        }
    }

    /// May it use the tool, as far as its own lists say? The way to give a result is never taken away, and reading
    /// skills comes with being an agent: which skills there are to read is decided elsewhere.
    pub fn has_tool(&self, tool: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|name| matches(name, tool));
        let granted = SKILL_TOOLS.contains(&tool) || self.tools.as_deref().is_none_or(listed);
        tool == tools::SUBMIT || (granted && !listed(&self.disallowed))
    }
}

const SKILL_TOOLS: [&str; 3] = ["skill_list", "skill_read", "skill_search"];

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

    #[test]
    fn skills_and_the_result_come_with_every_agent() {
        let mut agent = AgentType::named("x");
        agent.tools = Some(Vec::new());
        assert!(agent.has_tool("skill_read") && agent.has_tool("submit_result") && !agent.has_tool("Read"));
        agent.disallowed = vec!["*".into()];
        assert!(!agent.has_tool("skill_read") && agent.has_tool("submit_result"));
    }
}

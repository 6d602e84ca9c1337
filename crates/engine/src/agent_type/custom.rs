//! An agent file as a kind of agent: what the file asks for, in the words of the engine.

use super::{AgentType, Asking, Executor};
use crate::event::EffectClass;
use crate::plan::Access;
use crate::tools;
use fugato_skill::agent_file::{self, AgentFile, PermissionMode};

impl AgentType {
    /// `None`: the file gives no name.
    pub fn from_file(file: &AgentFile) -> Option<Self> {
        let name = file.name.as_ref()?;
        let tools = file.tools.as_ref().map(|tools| tools.names.clone());
        let is_reader =
            file.permission == PermissionMode::Plan || tools.as_ref().is_some_and(|names| only_read(names));
        Some(Self {
            description: file.description.clone(),
            prompt: file.prompt.clone(),
            only: file.tools.as_ref().map(|tools| tools.rules.clone()).unwrap_or_default(),
            tools,
            disallowed: file.disallowed.names.clone(),
            deny: file.disallowed.rules.clone(),
            access: if is_reader { Access::ReadOnly } else { Access::ReadWrite },
            steps: file.steps,
            model: file.model.clone(),
            executor: executor(&file.executor),
            skills: file.skills.clone(),
            mcp_servers: file.mcp_servers.clone(),
            asking: if file.permission == PermissionMode::DontAsk { Asking::Refuse } else { Asking::Ask },
            ..Self::named(name.as_str())
        })
    }
}

/// Nothing on the list changes anything. A pattern or a name that is not known here may.
fn only_read(names: &[String]) -> bool {
    names.iter().all(|name| tools::class_of(name) == Some(EffectClass::Read) || name == tools::ASK)
}

fn executor(executor: &agent_file::Executor) -> Executor {
    match executor {
        agent_file::Executor::Model => Executor::Model,
        agent_file::Executor::Script { command } => Executor::Script { command: command.clone() },
        agent_file::Executor::Claude => Executor::Claude,
        agent_file::Executor::Codex => Executor::Codex,
        agent_file::Executor::Human => Executor::Human,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_skill::agent_file::{AgentText, read};

    fn agent(lines: &str) -> AgentType {
        let source = format!("---\nname: x\ndescription: d\n{lines}\n---\nDo it.\n");
        let known_tools: Vec<&str> = tools::TOOLS.iter().map(|(name, _)| *name).collect();
        let reading =
            read(AgentText { stem: "x", path: "x.md", bytes: source.as_bytes(), known_tools: &known_tools });
        assert!(reading.usable, "{:#?}", reading.diagnostics);
        AgentType::from_file(&reading.agent).unwrap()
    }

    #[test]
    fn a_file_becomes_a_type() {
        let made = agent(
            "tools: Read, Bash(git:*)\ndisallowedTools: Bash(git push:*), Write\nmodel: opus\nmaxTurns: 7\nskills: a, b\nmcpServers: [db]\nexecutor: host:codex",
        );
        assert_eq!(made.tools.as_deref().unwrap(), ["Read", "Bash"]);
        assert_eq!(
            (made.only, made.deny),
            (vec!["Bash(git:*)".to_owned()], vec!["Bash(git push:*)".to_owned()])
        );
        assert_eq!((made.steps, made.model.as_deref()), (Some(7), Some("opus")));
        assert_eq!((made.prompt.as_str(), made.executor), ("Do it.", Executor::Codex));
        assert_eq!((made.skills.unwrap().len(), made.mcp_servers.unwrap().len()), (2, 1));
        assert_eq!(made.access, Access::ReadWrite);
    }

    #[test]
    fn a_type_that_lists_only_reading_tools_reads_only() {
        assert_eq!(agent("tools: Read, Grep").access, Access::ReadOnly);
        assert_eq!(agent("tools: Read, browser-*").access, Access::ReadWrite);
        assert_eq!(agent("tools: Read, db__query").access, Access::ReadWrite);
        assert_eq!(agent("permissionMode: plan").access, Access::ReadOnly);
        assert_eq!(agent("").access, Access::ReadWrite);
        assert_eq!(agent("permissionMode: dontAsk").asking, Asking::Refuse);
    }
}

//! Agents that people write: a Markdown file with frontmatter, as in `.claude/agents/` and `.agents/agents/`.
//!
//! Owns what such a file says and how gently it is read. Bytes in, a value and diagnostics out; knows neither where the
//! file was found nor what an agent does with its tools. A file grants nothing: what it asks for is cut to what the
//! parent of the agent may do.

mod executor;
mod keys;
mod name;
mod permission;
mod read;
#[cfg(test)]
mod tests;
mod tools;

pub use executor::Executor;
pub use permission::PermissionMode;
pub use read::{check, read};
pub use tools::Tools;

use fugato_model::{AgentId, Diagnostic};
use std::collections::BTreeMap;

/// One agent file. It is held in memory, and its text becomes the prompt of every agent of its kind and part of every
/// run that knows it: long material belongs in a skill. Past it the file is invalid (F0122).
pub const MAX_BYTES: usize = 128 * 1024;

/// Model calls of one task, at most: what a master has. More is cut to this, with a warning.
pub const MAX_STEPS: u32 = 200;

/// One agent file and what surrounds it.
#[derive(Clone, Copy, Debug)]
pub struct AgentText<'a> {
    /// Name of the file without `.md`: the agent's name when the file gives none.
    pub stem: &'a str,
    /// The file as diagnostics should name it.
    pub path: &'a str,
    pub bytes: &'a [u8],
    /// Names of the tools that exist here, for what a file misspells.
    pub known_tools: &'a [&'a str],
}

/// What an agent file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentFile {
    /// What it is called here. `None`: it cannot be used under any name.
    pub name: Option<AgentId>,
    /// What the file calls it, when that is not `name`.
    pub declared_name: Option<String>,
    pub description: String,
    /// The text below the frontmatter.
    pub prompt: String,
    /// `None`: all that its parent has.
    pub tools: Option<Tools>,
    /// Taken away again.
    pub disallowed: Tools,
    /// As written: `inherit` is `None`.
    pub model: Option<String>,
    pub steps: Option<u32>,
    /// `None`: all that its parent sees.
    pub skills: Option<Vec<String>>,
    /// Names of servers; `None`: all that its parent has.
    pub mcp_servers: Option<Vec<String>>,
    pub permission: PermissionMode,
    pub executor: Executor,
    /// Fields that are not read here, as they stand.
    pub others: BTreeMap<String, serde_json::Value>,
}

/// What a reading found. Always a value: a broken file has diagnostics and is not usable.
#[derive(Clone, Debug, Default)]
pub struct AgentReading {
    pub agent: AgentFile,
    pub diagnostics: Vec<Diagnostic>,
    pub usable: bool,
}

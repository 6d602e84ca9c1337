//! The three tools through which an agent reaches skills: list, read, search. Gated by its resolution, pure over bytes.
//!
//! Must not know where files are: [`SkillFiles`] brings them. What an agent may not see and what does not exist give
//! the same error, word for word.

mod call;
mod definitions;
pub mod edit_tools;

mod fold;
mod list;
mod read;
mod search;

pub use call::{SkillFiles, call};
pub use definitions::{ToolDefinition, definitions};
pub use list::{ListItem, list};
pub use read::{MAX_READ_BYTES, Offset, OffsetError, ReadOutput, read};
pub use search::{Hit, Search, SearchOutput, search};

use fugato_model::{Words, words};

/// Why a tool call gave no result. The words are for the agent that called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// Not installed, not visible, denied, broken: all the same to an agent.
    #[error("the skill `{name}` is not available")]
    NotAvailable { name: String },
    #[error("the skill `{name}` has no file `{path}`")]
    NoFile { name: String, path: String },
    #[error("`{path}` is binary: byte {offset} is not UTF-8 text")]
    Binary { path: String, offset: usize },
    #[error("`{argument}`: {problem}")]
    BadArgument { argument: String, problem: String },
    #[error("there is no tool `{0}`")]
    UnknownTool(String),
    /// The file exists and could not be read.
    #[error("`{path}` could not be read: {problem}")]
    Unreadable { path: String, problem: String },
}

impl ToolError {
    pub(crate) fn argument(argument: &str, problem: impl Into<String>) -> Self {
        Self::BadArgument { argument: argument.to_owned(), problem: problem.into() }
    }

    /// A stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NotAvailable { .. } => "not_available",
            Self::NoFile { .. } => "no_file",
            Self::Binary { .. } => "binary",
            Self::BadArgument { .. } => "bad_argument",
            Self::UnknownTool(_) => "unknown_tool",
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// The sentence for a person.
    pub fn words(&self) -> Words {
        let en = self.to_string();
        let zh = match self {
            Self::NotAvailable { name } => format!("技能 `{name}` 不可用"),
            Self::NoFile { name, path } => format!("技能 `{name}` 没有文件 `{path}`"),
            Self::Binary { path, offset } => {
                format!("`{path}` 是二进制文件：第 {offset} 字节不是 UTF-8 文本")
            }
            Self::BadArgument { argument, problem } => format!("`{argument}`：{problem}"),
            Self::UnknownTool(name) => format!("没有名为 `{name}` 的工具"),
            Self::Unreadable { path, problem } => format!("无法读取 `{path}`：{problem}"),
        };
        words!("{en}", "{zh}")
    }
}

#[cfg(test)]
mod tests;

//! What can be wrong with a SOP program. The English words are part of the language: planners are asked again with them.

use crate::place::Place;
use crate::problems::shorten;
use fugato_model::{Code, Diagnostic, Words, words};
use std::fmt;
use std::sync::Arc;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SopError {
    /// Counted from 1 in the file the program stands in.
    pub line: u32,
    /// Bytes of that file.
    pub place: Place,
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Text where only a declaration can stand.
    NotADeclaration,
    NameMissing,
    CommandMissing {
        name: Arc<str>,
    },
    UnterminatedString,
    InvalidEscape,
    HereDocNotClosed {
        tag: Arc<str>,
    },
    DeclaredTwice {
        name: Arc<str>,
        first_line: u32,
    },
    UndefinedVariable {
        name: Arc<str>,
        missing: Arc<str>,
        near: Option<Arc<str>>,
    },
    /// Each depends on the next, the last on the first. `more` members are left out.
    Cycle {
        names: Vec<Arc<str>>,
        more: usize,
    },
    UnknownCommand {
        name: Arc<str>,
        command: Arc<str>,
        near: Option<Arc<str>>,
    },
    TooLong {
        bytes: usize,
        limit: usize,
    },
}

impl fmt::Display for SopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line;
        match &self.problem {
            Problem::NotADeclaration => write!(f, "Line {line}: declaration must start with @"),
            Problem::NameMissing => write!(f, "Line {line}: variable name missing"),
            Problem::CommandMissing { name } => {
                write!(f, "Line {line}: command name missing for @{}", shorten(name))
            }
            Problem::UnterminatedString => write!(f, "Unterminated string literal at line {line}"),
            Problem::InvalidEscape => write!(f, "Invalid escape sequence at line {line}"),
            Problem::HereDocNotClosed { tag } => {
                write!(f, "Line {line}: missing --end-{}-- for here-doc", shorten(tag))
            }
            Problem::DeclaredTwice { name, .. } => {
                write!(f, "Variable {} declared multiple times", shorten(name))
            }
            Problem::UndefinedVariable { name, missing, .. } => {
                write!(f, "Variable {} depends on undefined variable {}", shorten(name), shorten(missing))
            }
            Problem::Cycle { names, more } => {
                write!(f, "Variables depend on each other in a cycle: {}", drawn(names, *more))
            }
            Problem::UnknownCommand { name, command, near } => {
                write!(f, "Line {line}: unknown command {} for @{}", shorten(command), shorten(name))?;
                near.as_ref().map_or(Ok(()), |near| write!(f, " (did you mean {}?)", shorten(near)))
            }
            Problem::TooLong { bytes, limit } => {
                write!(f, "The program has {bytes} bytes (limit {limit})")
            }
        }
    }
}

impl std::error::Error for SopError {}

impl SopError {
    pub fn words(&self) -> Words {
        Words { en: self.to_string(), zh: self.chinese() }
    }

    fn chinese(&self) -> String {
        let line = self.line;
        match &self.problem {
            Problem::NotADeclaration => format!("第 {line} 行：声明必须以 @ 开头"),
            Problem::NameMissing => format!("第 {line} 行：缺少变量名"),
            Problem::CommandMissing { name } => format!("第 {line} 行：@{} 缺少命令名", shorten(name)),
            Problem::UnterminatedString => format!("第 {line} 行的字符串没有结束"),
            Problem::InvalidEscape => format!("第 {line} 行的转义序列无效"),
            Problem::HereDocNotClosed { tag } => {
                format!("第 {line} 行：here-doc 缺少 --end-{}--", shorten(tag))
            }
            Problem::DeclaredTwice { name, .. } => format!("变量 {} 被多次声明", shorten(name)),
            Problem::UndefinedVariable { name, missing, .. } => {
                format!("变量 {} 依赖未定义的变量 {}", shorten(name), shorten(missing))
            }
            Problem::Cycle { names, more } => format!("变量循环依赖：{}", drawn(names, *more)),
            Problem::UnknownCommand { name, command, near } => {
                let near = near.as_ref().map(|near| format!("（是不是 {}？）", shorten(near)));
                let (command, name) = (shorten(command), shorten(name));
                format!("第 {line} 行：@{name} 的命令 {command} 不存在{}", near.unwrap_or_default())
            }
            Problem::TooLong { bytes, limit } => format!("程序有 {bytes} 字节（上限 {limit}）"),
        }
    }

    pub const fn code(&self) -> Code {
        match self.problem {
            Problem::NotADeclaration
            | Problem::NameMissing
            | Problem::CommandMissing { .. }
            | Problem::UnterminatedString
            | Problem::InvalidEscape
            | Problem::HereDocNotClosed { .. }
            | Problem::TooLong { .. } => Code::F1209,
            Problem::DeclaredTwice { .. } | Problem::UndefinedVariable { .. } | Problem::Cycle { .. } => {
                Code::F1210
            }
            Problem::UnknownCommand { .. } => Code::F1211,
        }
    }

    /// The error with its line drawn. `source` is the whole file the program stands in.
    pub fn diagnostic(&self, path: &str, source: &str) -> Diagnostic {
        Diagnostic::error(self.code(), path, self.words())
            .at(source, self.place.start, self.place.end)
            .hint(self.hint())
    }

    /// What to write instead.
    fn hint(&self) -> Words {
        match &self.problem {
            Problem::NotADeclaration | Problem::NameMissing | Problem::CommandMissing { .. } => {
                words!(
                    "@name command argument \"quoted argument\" $other",
                    "@变量名 命令 参数 \"带引号的参数\" $其他变量"
                )
            }
            Problem::UnterminatedString => words!(
                "close the string on its line; \\n stands for a line break",
                "在同一行结束字符串；换行写作 \\n"
            ),
            Problem::InvalidEscape => {
                words!("only \\n \\t \\r \\\\ \\\" \\' exist", "只能用 \\n \\t \\r \\\\ \\\" \\'")
            }
            Problem::HereDocNotClosed { tag } => {
                let tag = shorten(tag);
                words!("add a line --end-{tag}--", "加上一行 --end-{tag}--")
            }
            Problem::DeclaredTwice { first_line, .. } => words!(
                "give one of them another name; the first stands at line {first_line}",
                "给其中一个换个名称；第一个在第 {first_line} 行"
            ),
            Problem::UndefinedVariable { missing, near, .. } => {
                let missing = shorten(missing);
                match near.as_deref().map(shorten) {
                    Some(near) => words!("did you mean ${near}?", "是不是 ${near}？"),
                    None => words!(
                        "declare @{missing}, or quote the text: \"${missing}\"",
                        "声明 @{missing}，或给文字加引号：\"${missing}\""
                    ),
                }
            }
            Problem::Cycle { .. } => words!("take one of these references out", "去掉其中一个引用"),
            Problem::UnknownCommand { near, .. } => match near.as_deref().map(shorten) {
                Some(near) => words!("write {near}", "改成 {near}"),
                None => words!(
                    "commands are the allowed skills, assign, final_answer and cannot_complete",
                    "命令只能是允许的技能，以及 assign、final_answer、cannot_complete"
                ),
            },
            Problem::TooLong { .. } => {
                words!("read long texts with a command instead", "长文本请改用命令读取")
            }
        }
    }
}

/// `a -> b -> a`.
fn drawn(names: &[Arc<str>], more: usize) -> String {
    let mut shown: Vec<String> = names.iter().map(|name| shorten(name)).collect();
    if more > 0 {
        shown.push(format!("({more} more)"));
    }
    shown.extend(names.first().map(|name| shorten(name)));
    shown.join(" -> ")
}

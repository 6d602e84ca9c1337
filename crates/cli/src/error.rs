//! Errors at the boundary: kind → exit code, cause, and hints to type.

use fugato_model::view::DiagnosticView;
use fugato_model::{Code, Diagnostic, Exit, Lang, Words, words};
use std::path::Path;

/// Why a command did not do its work.
#[derive(Debug)]
pub struct CliError {
    pub exit: Exit,
    pub code: Option<Code>,
    pub message: Words,
    pub hints: Vec<Words>,
    /// Positions in files, shown as caret frames before the sentence.
    pub diagnostics: Vec<Diagnostic>,
    /// The reader of our output went away: end without a word.
    pub is_silent: bool,
}

impl CliError {
    pub fn new(exit: Exit, message: Words) -> Self {
        Self { exit, code: None, message, hints: Vec::new(), diagnostics: Vec::new(), is_silent: false }
    }

    pub fn failed(message: Words) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub fn usage(message: Words) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub fn not_found(message: Words) -> Self {
        Self::new(Exit::NotFound, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: Words) -> Self {
        self.hints.push(hint);
        self
    }

    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    #[must_use]
    pub fn diagnostics(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        self.diagnostics = diagnostics;
        self
    }

    /// What programs read instead of the sentences.
    pub fn document(&self, lang: Lang) -> serde_json::Value {
        let hints: Vec<_> = self.hints.iter().map(|hint| hint.in_lang(lang)).collect();
        let diagnostics: Vec<_> =
            self.diagnostics.iter().map(|diagnostic| DiagnosticView::new(diagnostic, lang)).collect();
        serde_json::json!({
            "schema": "fugato.error/v1",
            "exit": self.exit.code(),
            "code": self.code.map(Code::as_str),
            "message": self.message.in_lang(lang),
            "hints": hints,
            "diagnostics": diagnostics,
        })
    }

    /// A failed write to stdout. A closed pipe (`| head`) is how readers say "enough".
    pub fn output(error: &std::io::Error) -> Self {
        let is_silent = error.kind() == std::io::ErrorKind::BrokenPipe;
        let exit = if is_silent { Exit::Ok } else { Exit::Failed };
        Self {
            is_silent,
            ..Self::new(exit, words!("cannot write to stdout: {error}", "无法写入标准输出：{error}"))
        }
    }

    pub fn io(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        let path = fugato_model::escape_for_terminal(&path.to_string_lossy()).into_owned();
        let zh_doing = match doing {
            "read" => "读取",
            "write" => "写入",
            "create" => "创建",
            "check" => "检查",
            "enter" => "进入",
            _ => "处理",
        };
        let (why, zh_why) = match error.kind() {
            std::io::ErrorKind::NotFound => ("it does not exist".to_owned(), "它不存在".to_owned()),
            std::io::ErrorKind::PermissionDenied => ("permission denied".to_owned(), "没有权限".to_owned()),
            std::io::ErrorKind::NotADirectory => (
                "a file stands where a directory is needed".to_owned(),
                "路径中有一部分是文件而不是目录".to_owned(),
            ),
            std::io::ErrorKind::IsADirectory => ("it is a directory".to_owned(), "它是目录".to_owned()),
            std::io::ErrorKind::ReadOnlyFilesystem => {
                ("the file system is read-only".to_owned(), "文件系统只读".to_owned())
            }
            std::io::ErrorKind::StorageFull => ("the disk is full".to_owned(), "磁盘已满".to_owned()),
            _ => (error.to_string(), error.to_string()),
        };
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => Exit::Refused,
            _ => Exit::Failed,
        };
        Self::new(exit, words!("cannot {doing} `{path}`: {why}", "无法{zh_doing} `{path}`：{zh_why}"))
    }

    /// Something that cannot happen unless the program is wrong.
    pub fn internal(error: &dyn std::error::Error) -> Self {
        Self::failed(words!("internal error: {error}", "内部错误：{error}"))
    }

    /// "Not found", with the nearest of what exists.
    pub fn unknown<'a>(
        what: (&str, &str),
        name: &str,
        candidates: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let (en, zh) = what;
        let shown = fugato_model::escape_for_terminal(name);
        let error = Self::not_found(words!("no {en} `{shown}`", "没有{zh} `{shown}`"));
        match fugato_model::nearest(name, candidates.clone()) {
            Some(near) => error.hint(words!("did you mean `{near}`?", "是不是想用 `{near}`？")),
            None => {
                let all: Vec<_> = candidates.into_iter().collect();
                let known: Vec<_> = all.iter().take(12).copied().collect();
                if known.is_empty() {
                    return error;
                }
                let known = known.join(", ");
                let more = all.len().saturating_sub(12);
                let (more_en, more_zh) = match more {
                    0 => (String::new(), String::new()),
                    n => (format!(" and {n} more"), format!(" 等，另有 {n} 个")),
                };
                error.hint(words!("there are: {known}{more_en}", "现有：{known}{more_zh}"))
            }
        }
    }
}

pub type Outcome = Result<Exit, CliError>;

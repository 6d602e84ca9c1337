//! One rule: which tool, and what about the call. A rule is its text; reading it again gives the same rule.

use super::pattern::{Glob, PathPattern, host_of};
use super::{Here, shell};
use fugato_model::chat::ToolCall;
use fugato_model::{Words, words};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// A rule as it was written, understood.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    text: String,
    tool: Glob,
    about: About,
}

/// What about the call must fit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum About {
    Anything,
    /// The words a command begins with.
    Begins(Vec<String>),
    /// A command with `*` for any text.
    Command(Glob),
    Path(PathPattern),
    /// A host, and with a deny or an ask its subdomains too.
    Domain(Glob),
    /// An argument of this name.
    Argument(String, Glob),
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    pub message: Words,
    /// Byte offset in the text.
    pub at: usize,
}

/// Nobody writes a longer one by hand.
const LONGEST: usize = 1000;

/// Tools that read files, and tools that change them: a rule for `Read` is for all of the first, one for `Edit` or `Write`
/// for all of the second.
const READING: &[&str] = &["Read", "Glob", "Grep", "office-read", "image-ocr", "canvas-read"];
const CHANGING: &[&str] = &["Write", "Edit", "chart", "browser-screenshot", "canvas-*"];
/// Tools that change files and tell what was in them: a `Read` rule about a path keeps them from it too.
const READING_TOO: &[&str] = &["Edit", "chart", "canvas-*"];
/// Arguments that name a file.
const PATHS: &[&str] =
    &["path", "paths", "file", "file_path", "output", "out", "to", "target", "canvas", "data"];

/// A call, looked at once for all rules.
pub(super) struct Subject<'a> {
    call: &'a ToolCall,
    here: Here<'a>,
    /// Of a Bash call.
    command: Option<(&'a str, shell::Split)>,
}

impl<'a> Subject<'a> {
    pub fn of(call: &'a ToolCall, here: Here<'a>) -> Self {
        let command = call.arguments.get("command").and_then(Value::as_str).filter(|_| call.name == "Bash");
        Self { call, here, command: command.map(|text| (text.trim(), shell::split(text))) }
    }

    fn argument(&self, name: &str) -> Option<&'a str> {
        self.call.arguments.get(name).and_then(Value::as_str)
    }

    fn url(&self) -> Option<&'a str> {
        self.argument("url")
    }

    /// What surely is a path. Searches without one look through the project.
    fn paths(&self) -> Vec<&'a str> {
        let mut paths: Vec<&str> = Vec::new();
        for name in PATHS {
            match self.call.arguments.get(name) {
                Some(Value::String(path)) => paths.push(path),
                Some(Value::Array(many)) => paths.extend(many.iter().filter_map(Value::as_str)),
                _ => {}
            }
        }
        if paths.is_empty() && ["Glob", "Grep"].contains(&self.call.name.as_str()) {
            paths.push(".");
        }
        paths
    }

    /// What may be a path: every text that is not plainly content.
    fn texts(&self) -> Vec<&'a str> {
        let mut texts = self.paths();
        let mut left: Vec<&Value> = vec![&self.call.arguments];
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) if text.len() <= 4096 && !text.contains('\n') => texts.push(text),
                Value::Array(many) => left.extend(many),
                Value::Object(fields) => left.extend(fields.values()),
                _ => {}
            }
        }
        texts
    }
}

/// Whether the tool changes files of the project and nothing else.
pub(super) fn changes_files(tool: &str) -> bool {
    tool != "canvas-read" && CHANGING.iter().any(|name| is_named(name, tool))
}

/// Whether the rules together allow the whole call: of a command, each of its parts by some rule.
pub(super) fn cover(rules: &[Rule], subject: &Subject<'_>) -> bool {
    let named = |rule: &&Rule| rule.names(&subject.call.name);
    let Some((text, split)) = &subject.command else {
        return rules.iter().filter(named).any(|rule| rule.covers(subject));
    };
    let rules: Vec<&Rule> = rules.iter().filter(named).collect();
    let whole = |rule: &&Rule| match &rule.about {
        About::Anything => true,
        // Without a star it is that command and no other, however it is put together.
        About::Command(glob) => glob.is_literal() && glob.matches(text),
        About::Argument(name, glob) => subject.argument(name).is_some_and(|value| glob.matches(value)),
        _ => false,
    };
    if rules.iter().any(whole) {
        return true;
    }
    let part = |words: &Vec<String>| rules.iter().any(|rule| rule.covers_command(words));
    split.is_certain && !split.commands.is_empty() && split.commands.iter().all(part)
}

impl Rule {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// For a deny or an ask: whether any part of the call fits.
    pub(super) fn touches(&self, subject: &Subject<'_>) -> bool {
        let tool = &subject.call.name;
        let would_tell = || {
            let is_about_reading = self.tool.as_literal() == Some("Read");
            is_about_reading
                && matches!(self.about, About::Path(_))
                && READING_TOO.iter().any(|name| is_named(name, tool))
        };
        if !self.names(tool) && !would_tell() {
            return false;
        }
        match &self.about {
            About::Anything => true,
            About::Begins(_) | About::Command(_) => subject.command.as_ref().is_some_and(|(text, split)| {
                let literal = matches!(&self.about, About::Command(glob) if glob.matches(text));
                literal || split.is_beyond || split.ways().any(|words| self.covers_command(words))
            }),
            About::Path(pattern) => subject.texts().iter().any(|text| pattern.matches(text, subject.here)),
            About::Domain(glob) => subject.url().is_some_and(|url| match host_of(url) {
                Some(host) => glob.matches(&host) || parents(&host).any(|parent| glob.matches(parent)),
                // Who knows where that leads.
                None => true,
            }),
            About::Argument(name, glob) => self.fits_argument(subject, name, glob),
        }
    }

    pub(super) fn is_about_reading_a_path(&self) -> bool {
        matches!(self.about, About::Path(_)) && self.names("Grep")
    }

    pub(super) fn means_path(&self, path: &str, here: Here<'_>) -> bool {
        matches!(&self.about, About::Path(pattern) if pattern.matches(path, here))
    }

    /// For an allow: whether the whole call fits.
    fn covers(&self, subject: &Subject<'_>) -> bool {
        match &self.about {
            About::Anything => true,
            About::Begins(_) | About::Command(_) => false,
            About::Path(pattern) => {
                let paths = subject.paths();
                !paths.is_empty() && paths.iter().all(|path| pattern.matches(path, subject.here))
            }
            About::Domain(glob) => subject.url().and_then(host_of).is_some_and(|host| glob.matches(&host)),
            About::Argument(name, glob) => self.fits_argument(subject, name, glob),
        }
    }

    fn fits_argument(&self, subject: &Subject<'_>, name: &str, glob: &Glob) -> bool {
        let default = (name == "subagent_type").then_some("general-purpose");
        subject.argument(name).or(default).is_some_and(|value| glob.matches(value))
    }

    fn covers_command(&self, words: &[String]) -> bool {
        match &self.about {
            About::Begins(start) => words.starts_with(start),
            About::Command(glob) => glob.matches(&words.join(" ")),
            _ => false,
        }
    }

    fn names(&self, tool: &str) -> bool {
        let family: &[&str] = match self.tool.as_literal() {
            Some("Read") => READING,
            Some("Edit" | "Write") if tool != "canvas-read" => CHANGING,
            _ => &[],
        };
        self.tool.matches(tool) || family.iter().any(|name| is_named(name, tool))
    }
}

fn is_named(name: &str, tool: &str) -> bool {
    match name.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => name == tool,
    }
}

/// `b.c` and `c` of `a.b.c`.
fn parents(host: &str) -> impl Iterator<Item = &str> {
    host.match_indices('.').filter_map(|(at, _)| host.get(at + 1..))
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = |at: usize, message: Words| RuleError { message, at };
        let example = "`Bash(git status:*)`";
        if text.len() > LONGEST {
            return Err(wrong(LONGEST, words!("longer than {LONGEST} bytes", "超过 {LONGEST} 字节")));
        }
        if let Some(at) = text.find(char::is_control) {
            return Err(wrong(at, words!("a control character", "含有控制字符")));
        }
        let text = text.trim();
        let (tool, inner) = match text.find('(') {
            None => (text, None),
            Some(open) => {
                let (tool, rest) = text.split_at_checked(open).unwrap_or((text, ""));
                let inner = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
                let unclosed = || {
                    wrong(
                        text.len(),
                        words!(
                            "`(` without `)` at the end, expected e.g. {example}",
                            "`(` 之后末尾缺少 `)`，应形如 {example}"
                        ),
                    )
                };
                (tool.trim_end(), Some((open + 1, inner.ok_or_else(unclosed)?)))
            }
        };
        let is_name = |c: char| c.is_alphanumeric() || "_-.*".contains(c);
        if tool.is_empty() {
            return Err(wrong(
                0,
                words!("no name of a tool, expected e.g. {example}", "缺少工具名称，应形如 {example}"),
            ));
        }
        if let Some(at) = tool.find(|c| !is_name(c)) {
            let found = tool.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
            return Err(wrong(
                at,
                words!(
                    "`{found}` in the name of a tool, expected e.g. {example}",
                    "工具名称中有 `{found}`，应形如 {example}"
                ),
            ));
        }
        let tool = of_a_server(if tool == "Task" { "Agent" } else { tool });
        let about = match inner {
            None => About::Anything,
            Some((_, inner)) if ["", "*"].contains(&inner.trim()) => About::Anything,
            Some((at, inner)) => about(&tool, inner.trim()).map_err(|message| wrong(at, message))?,
        };
        Ok(Self { text: text.to_owned(), tool: Glob::new(&tool), about })
    }
}

/// `mcp__server__tool` is our `server__tool`, and `mcp__server` all of its tools.
fn of_a_server(tool: &str) -> String {
    match tool.strip_prefix("mcp__") {
        Some(rest) if rest.contains("__") || rest.contains('*') => rest.to_owned(),
        Some(server) => format!("{server}__*"),
        None => tool.to_owned(),
    }
}

fn about(tool: &str, inner: &str) -> Result<About, Words> {
    if let Some(domain) = inner.strip_prefix("domain:") {
        let domain = domain.trim().trim_end_matches('.').to_lowercase();
        let is_host = |c: char| c.is_alphanumeric() || "-.*:[]_".contains(c);
        if domain.is_empty() || !domain.chars().all(is_host) {
            return Err(words!(
                "found `{domain}` after `domain:`, expected a host such as example.com or *.example.com",
                "`domain:` 之后为 `{domain}`，应为主机名，例如 example.com 或 *.example.com"
            ));
        }
        return Ok(About::Domain(Glob::new(&domain)));
    }
    match tool {
        "Bash" => Ok(command(inner)),
        "Agent" => Ok(About::Argument("subagent_type".to_owned(), Glob::new(inner))),
        "Skill" | "skill_read" => Ok(About::Argument("name".to_owned(), Glob::new(inner))),
        "WebSearch" => Ok(About::Argument("query".to_owned(), Glob::new(inner))),
        tool if is_of_files(tool) => PathPattern::parse(inner).map(About::Path),
        _ => match inner.split_once(':') {
            Some((name, value)) => Ok(About::Argument(name.trim().to_owned(), Glob::new(value.trim()))),
            None => Err(words!(
                "what `{inner}` means for `{tool}` is not known; expected the bare name, or `{tool}(argument:value)`",
                "不清楚 `{inner}` 对 `{tool}` 的含义；应只写名称，或写 `{tool}(参数:值)`"
            )),
        },
    }
}

fn is_of_files(tool: &str) -> bool {
    READING.iter().chain(CHANGING).any(|name| is_named(name, tool) || *name == tool)
}

/// `git status:*` and `git status *` begin so, at the end of a word; another `*` stands for any text.
fn command(inner: &str) -> About {
    let start = inner.strip_suffix(":*").or_else(|| inner.strip_suffix(" *"));
    if let Some(start) = start.filter(|start| !start.contains('*')) {
        // Compared word by word, so the words are taken as a shell takes them.
        let split = shell::split(start);
        if let ([words], true) = (split.commands.as_slice(), split.is_certain) {
            return About::Begins(words.clone());
        }
    }
    About::Command(Glob::new(
        inner.strip_suffix(":*").map_or(inner.to_owned(), |start| format!("{start} *")).as_str(),
    ))
}

impl TryFrom<String> for Rule {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.text
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({})", self.text)
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message.en)
    }
}

impl std::error::Error for RuleError {}

//! Permissions: may this call happen, must a person be asked, or is it refused, and which rule says so.
//!
//! Rules read like Claude Code's: `Bash(git status:*)`, `Write(src/**)`, `WebFetch(domain:example.com)`, `browser-*`.
//! Deny wins over ask, ask over allow; what no rule names is decided by the mode. Paths are compared as text: what links
//! on a disk lead to is the business of the tools, which keep to the project, and of the sandbox around commands.

mod pattern;
mod rule;
mod shell;
#[cfg(test)]
mod tests;

pub use rule::{Rule, RuleError};

use crate::agent_type::{Asking, Rights};
use crate::event::EffectClass;
use fugato_model::chat::ToolCall;
use fugato_model::{Words, words};
use serde::{Deserialize, Serialize};

/// What a run goes by, pinned in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    #[serde(default)]
    pub mode: Mode,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Rule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<Rule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Rule>,
}

/// The rules of a run, and the places their paths mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    #[serde(default)]
    pub rules: Rules,
    #[serde(default)]
    pub project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}

impl Permissions {
    /// Nothing is asked and nothing refused: the places do not matter then, and need not stand in every log.
    pub fn is_ordinary(&self) -> bool {
        self.rules == Rules::default()
    }

    /// Decides about a call of an agent with these rights.
    pub fn decide(&self, call: &ToolCall, class: Option<EffectClass>, rights: Option<&Rights>) -> Decision {
        let here = Here { project: &self.project, home: self.home.as_deref() };
        if let Some(rights) = rights {
            let parsed = |rule: &String| rule.parse::<Rule>().ok();
            let subject = rule::Subject::of(call, here);
            // What was meant to forbid a part of a tool and cannot be read forbids the tool.
            let read = |rule: &String| parsed(rule).or_else(|| rule.split('(').next()?.parse().ok());
            let denied = rights.deny.iter().filter_map(read).find(|rule| rule.touches(&subject));
            if let Some(rule) = denied {
                return Decision::Deny { why: Why::Rule(rule) };
            }
            for layer in &rights.only {
                let rules: Vec<Rule> = layer.iter().filter_map(parsed).collect();
                // A layer speaks about the tools it names, and those only.
                let names = |rule: &&String| {
                    rule.split_once('(').map_or(rule.as_str(), |(name, _)| name) == call.name
                };
                let own: Vec<&str> = layer.iter().filter(names).map(String::as_str).collect();
                if !own.is_empty() && !rule::cover(&rules, &subject) {
                    return Decision::Deny { why: Why::Kind(own.join(", ")) };
                }
            }
        }
        match decide(&self.rules, call, class, here) {
            Decision::Ask { why } if rights.is_some_and(|rights| rights.asking == Asking::Refuse) => {
                Decision::Deny { why }
            }
            decision => decision,
        }
    }
}

/// Paths that rules keep an agent from reading: searches through directories leave them out, because nobody is asked about
/// each file.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    rules: Vec<Rule>,
    project: String,
    home: Option<String>,
}

impl Permissions {
    /// `None`: nothing is kept from it.
    pub fn unread(&self, rights: Option<&Rights>) -> Option<Unread> {
        let own = rights.into_iter().flat_map(|rights| &rights.deny).filter_map(|rule| rule.parse().ok());
        let all = self.rules.deny.iter().chain(&self.rules.ask).cloned().chain(own);
        let rules: Vec<Rule> = all.filter(Rule::is_about_reading_a_path).collect();
        (!rules.is_empty()).then(|| Unread { rules, project: self.project.clone(), home: self.home.clone() })
    }
}

impl Unread {
    pub fn has(&self, path: &str) -> bool {
        let here = Here { project: &self.project, home: self.home.as_deref() };
        self.rules.iter().any(|rule| rule.means_path(path, here))
    }
}

/// What happens to calls that no rule names. The later one is the stricter one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// They happen, inside the sandbox.
    #[default]
    Default,
    /// Reading and changing files happens; a person is asked about the rest.
    AcceptEdits,
    /// Reading happens; a person is asked about the rest.
    Ask,
    /// Reading happens; the rest is refused, and so is what would have to be asked: nobody is there.
    DontAsk,
    /// Only reading happens, whatever a rule allows.
    ReadOnly,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Allow,
    Ask { why: Why },
    Deny { why: Why },
}

/// What decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A rule, as it was written.
    Rule(Rule),
    Mode(Mode),
    /// The kind of the agent has this tool for these calls only.
    Kind(String),
}

/// Where a call would happen: how its paths and those of rules are understood.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// Relative paths start here.
    pub project: &'a str,
    /// What `~` stands for.
    pub home: Option<&'a str>,
}

/// Decides about a call. `class`: what the tool does; an unknown tool may do anything.
pub fn decide(rules: &Rules, call: &ToolCall, class: Option<EffectClass>, here: Here<'_>) -> Decision {
    let subject = rule::Subject::of(call, here);
    let rule = |rule: &Rule| Why::Rule(rule.clone());
    let any = |list: &[Rule]| list.iter().find(|rule| rule.touches(&subject)).map(rule);
    let by_mode = Why::Mode(rules.mode);
    if let Some(why) = any(&rules.deny) {
        return Decision::Deny { why };
    }
    let reads = class == Some(EffectClass::Read);
    if rules.mode == Mode::ReadOnly && !reads {
        return Decision::Deny { why: by_mode };
    }
    if let Some(why) = any(&rules.ask) {
        return match rules.mode {
            Mode::DontAsk | Mode::ReadOnly => Decision::Deny { why },
            Mode::Default | Mode::AcceptEdits | Mode::Ask => Decision::Ask { why },
        };
    }
    if reads || rule::cover(&rules.allow, &subject) {
        return Decision::Allow;
    }
    match rules.mode {
        Mode::Default => Decision::Allow,
        Mode::AcceptEdits if rule::changes_files(&call.name) => Decision::Allow,
        Mode::AcceptEdits | Mode::Ask => Decision::Ask { why: by_mode },
        Mode::DontAsk | Mode::ReadOnly => Decision::Deny { why: by_mode },
    }
}

impl Rules {
    /// For a child with rules of its own: never more than the parent has. What the child would allow counts only as far as
    /// the parent allows it too, which is decided by the parent's own list.
    #[must_use]
    pub fn narrowed(&self, child: &Self) -> Self {
        let joined = |own: &[Rule], more: &[Rule]| {
            let mut all = own.to_vec();
            all.extend(more.iter().filter(|rule| !own.contains(rule)).cloned());
            all
        };
        Self {
            mode: self.mode.max(child.mode),
            allow: self.allow.clone(),
            ask: joined(&self.ask, &child.ask),
            deny: joined(&self.deny, &child.deny),
        }
    }
}

impl Mode {
    pub const ALL: [Self; 5] = [Self::Default, Self::AcceptEdits, Self::Ask, Self::DontAsk, Self::ReadOnly];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "accept-edits",
            Self::Ask => "ask",
            Self::DontAsk => "dont-ask",
            Self::ReadOnly => "read-only",
        }
    }

    /// Our own word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

impl Why {
    /// The end of a sentence: "refused …", "asked …".
    pub fn words(&self) -> Words {
        match self {
            Self::Kind(only) => {
                words!("because agents of its kind may call only {only}", "因为该类代理只能调用 {only}")
            }
            Self::Rule(rule) => words!("by the rule `{rule}`", "依据规则 `{rule}`"),
            Self::Mode(mode) => {
                let mode = mode.as_str();
                words!("by the permission mode `{mode}`", "依据权限模式 `{mode}`")
            }
        }
    }
}

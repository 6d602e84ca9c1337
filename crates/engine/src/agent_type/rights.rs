//! What an agent may do, and how that shrinks on the way down: a child has what its parent has, less what its own kind leaves
//! out. One function computes it for every way an agent comes into being.

use super::{AgentType, Asking};
use crate::event::EffectClass;
use crate::plan::Access;
use crate::tools;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The rights of one agent. Each part can only shrink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// By their full names.
    pub tools: BTreeSet<String>,
    pub access: Access,
    pub skills: Names,
    pub servers: Names,
    /// Layers of rules: of each layer that names a tool, a call of that tool must fit one rule.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub only: BTreeSet<BTreeSet<String>>,
    /// A call that fits one of these is refused.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deny: BTreeSet<String>,
    pub asking: Asking,
    /// Levels of agents it may have below it.
    pub levels: u32,
}

/// Some names, or all there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    All,
    Only(BTreeSet<String>),
}

/// Tools that start or reach other agents.
const DELEGATING: [&str; 2] = ["Agent", "SendMessage"];

impl Rights {
    /// The rights of a master: these tools, as far as the access goes.
    pub fn of_master<Name: Into<String>>(
        tools: impl IntoIterator<Item = Name>,
        access: Access,
        levels: u32,
    ) -> Self {
        Self {
            tools: tools.into_iter().map(Into::into).collect(),
            access,
            skills: Names::All,
            servers: Names::All,
            only: BTreeSet::new(),
            deny: BTreeSet::new(),
            asking: Asking::Ask,
            levels,
        }
        .settled()
    }

    /// The rights of a child of this kind: never more than these in any part, and one level less to delegate.
    #[must_use]
    pub fn for_child(&self, kind: &AgentType) -> Self {
        let mut child = self.narrowed(kind);
        child.levels = self.levels.saturating_sub(1);
        child.settled()
    }

    /// These rights as an agent of this kind has them: for a master that is of some kind itself.
    #[must_use]
    pub fn narrowed(&self, kind: &AgentType) -> Self {
        let only: BTreeSet<String> = kind.only.iter().cloned().collect();
        let wanted = Self {
            tools: self.tools.iter().filter(|tool| kind.has_tool(tool)).cloned().collect(),
            access: kind.access,
            skills: Names::of(kind.skills.as_deref()),
            servers: Names::of(kind.mcp_servers.as_deref()),
            only: if only.is_empty() { BTreeSet::new() } else { BTreeSet::from([only]) },
            deny: kind.deny.iter().cloned().collect(),
            asking: kind.asking,
            levels: u32::MAX,
        };
        self.meet(&wanted)
    }

    /// What both allow. Neither order nor grouping nor repetition matters.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let access = match (self.access, other.access) {
            (Access::ReadWrite, Access::ReadWrite) => Access::ReadWrite,
            _ => Access::ReadOnly,
        };
        Self {
            tools: self.tools.intersection(&other.tools).cloned().collect(),
            access,
            skills: self.skills.meet(&other.skills),
            servers: self.servers.meet(&other.servers),
            only: self.only.union(&other.only).cloned().collect(),
            deny: self.deny.union(&other.deny).cloned().collect(),
            asking: self.asking.min(other.asking),
            levels: self.levels.min(other.levels),
        }
        .settled()
    }

    /// Is nothing of `other` outside of these rights?
    pub fn covers(&self, other: &Self) -> bool {
        other.tools.is_subset(&self.tools)
            && (self.access == Access::ReadWrite || other.access == Access::ReadOnly)
            && self.skills.covers(&other.skills)
            && self.servers.covers(&other.servers)
            && self.only.is_subset(&other.only)
            && self.deny.is_subset(&other.deny)
            && other.asking <= self.asking
            && other.levels <= self.levels
    }

    pub fn has_tool(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    /// A tool stays only if its access and its server, and the levels below, allow it, and if it may ask.
    fn settled(mut self) -> Self {
        let (access, levels, servers, asking) = (self.access, self.levels, self.servers.clone(), self.asking);
        self.tools.retain(|tool| {
            let may_ask = asking == Asking::Ask || tool != tools::ASK;
            let may_delegate = levels > 0 || !DELEGATING.contains(&tool.as_str());
            let may_change = access == Access::ReadWrite || changes_nothing(tool);
            let server = tool.split_once("__").map(|(server, _)| server);
            may_ask && may_delegate && may_change && server.is_none_or(|server| servers.has(server))
        });
        self
    }
}

/// Engine tools change nothing themselves; of a tool that is not known here nobody knows.
fn changes_nothing(tool: &str) -> bool {
    tool == tools::SUBMIT
        || tool == tools::ASK
        || DELEGATING.contains(&tool)
        || tools::class_of(tool) == Some(EffectClass::Read)
}

impl Names {
    /// `None` and a list with `*` are all.
    pub fn of(names: Option<&[String]>) -> Self {
        match names {
            Some(names) if !names.iter().any(|name| name == "*") => {
                Self::Only(names.iter().cloned().collect())
            }
            _ => Self::All,
        }
    }

    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }

    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, names) | (names, Self::All) => names.clone(),
            (Self::Only(one), Self::Only(two)) => Self::Only(one.intersection(two).cloned().collect()),
        }
    }

    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(outer), Self::Only(inner)) => inner.is_subset(outer),
        }
    }
}

#[cfg(test)]
mod tests;

//! What changes for each agent between two states of a profile or of what is installed.

use super::resolve::{Resolution, resolve};
use crate::profile::{Mode, Profile};
use crate::{Installed, Inventory};
use fugato_model::{AgentId, SkillName, Words, words};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// What happened to the agent itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    Added,
    Removed,
    Changed,
}

/// What one agent gains and loses. Names are in policy order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentChange {
    pub mode: Mode,
    pub agent: AgentId,
    pub change: Change,
    pub gained: Vec<SkillName>,
    pub lost: Vec<SkillName>,
    /// Visible before and after, but another scope or other content.
    pub replaced: Vec<SkillName>,
}

impl AgentChange {
    /// One line for a person.
    pub fn words(&self) -> Words {
        let agent = &self.agent;
        let (gained, lost, replaced) = (self.gained.len(), self.lost.len(), self.replaced.len());
        match self.change {
            Change::Added => {
                words!("`{agent}` is new and sees {gained} skills", "新增 `{agent}`，可见 {gained} 个技能")
            }
            Change::Removed => {
                words!("`{agent}` is gone; it saw {lost} skills", "`{agent}` 已移除，原可见 {lost} 个技能")
            }
            Change::Changed => words!(
                "`{agent}` gains {gained}, loses {lost}, {replaced} have new content",
                "`{agent}` 增加 {gained} 个，减少 {lost} 个，{replaced} 个内容有变"
            ),
        }
    }

    /// Does the agent see more than before?
    pub fn widens(&self) -> bool {
        !self.gained.is_empty()
    }
}

/// The agents of every mode for which something changes, in the order of the file after, then those that are gone.
pub fn diff(before: (&Profile, &Inventory), after: (&Profile, &Inventory)) -> Vec<AgentChange> {
    let mut changes = Vec::new();
    let old = agents_of(before);
    let new = agents_of(after);
    let old_by_id: HashMap<_, _> =
        old.iter().map(|resolution| ((resolution.mode(), &resolution.agent().id), resolution)).collect();
    let mut kept = HashSet::new();
    for resolution in &new {
        let id = (resolution.mode(), &resolution.agent().id);
        kept.insert(id);
        match old_by_id.get(&id) {
            Some(before) if before.key() == resolution.key() => {}
            Some(before) => changes.extend(changed(before, resolution)),
            None => changes.push(alone(resolution, Change::Added)),
        }
    }
    for resolution in old.iter().filter(|old| !kept.contains(&(old.mode(), &old.agent().id))) {
        changes.push(alone(resolution, Change::Removed));
    }
    changes
}

fn agents_of<'a>((profile, inventory): (&'a Profile, &'a Inventory)) -> Vec<Resolution<'a>> {
    let modes = profile.policies().iter();
    modes
        .flat_map(|policy| policy.agents.iter().map(|agent| resolve(profile, policy.mode, agent, inventory)))
        .collect()
}

fn alone(resolution: &Resolution<'_>, change: Change) -> AgentChange {
    let names: Vec<SkillName> = resolution.visible().filter_map(|skill| skill.head.name.clone()).collect();
    let (gained, lost) = if change == Change::Added { (names, Vec::new()) } else { (Vec::new(), names) };
    AgentChange {
        mode: resolution.mode(),
        agent: resolution.agent().id.clone(),
        change,
        gained,
        lost,
        replaced: Vec::new(),
    }
}

fn changed(before: &Resolution<'_>, after: &Resolution<'_>) -> Option<AgentChange> {
    let by_name =
        |resolution: &Resolution<'_>| -> HashMap<SkillName, (Option<fugato_model::Digest>, String)> {
            resolution
                .visible()
                .filter_map(|skill| Some((skill.head.name.clone()?, content(skill))))
                .collect()
        };
    let (old, new) = (by_name(before), by_name(after));
    let names = |resolution: &Resolution<'_>, keep: &dyn Fn(&SkillName) -> bool| -> Vec<SkillName> {
        resolution.visible().filter_map(|skill| skill.head.name.clone()).filter(|name| keep(name)).collect()
    };
    let change = AgentChange {
        mode: after.mode(),
        agent: after.agent().id.clone(),
        change: Change::Changed,
        gained: names(after, &|name| !old.contains_key(name)),
        lost: names(before, &|name| !new.contains_key(name)),
        replaced: names(after, &|name| old.get(name).is_some_and(|content| new.get(name) != Some(content))),
    };
    let is_empty = change.gained.is_empty() && change.lost.is_empty() && change.replaced.is_empty();
    (!is_empty).then_some(change)
}

fn content(skill: &Installed) -> (Option<fugato_model::Digest>, String) {
    (skill.digest, skill.scope.to_string())
}

//! The one function that decides visibility, and the answer it gives.
//!
//! Rules (spec page 1): the mode's list is `["*"]` without a skills block and `[]` without `visible`; an agent's list
//! that is absent or empty means the mode's, a leading `+` means the mode's and then its own, anything else replaces
//! the mode's; deny is the union of both levels and always wins; names that are not installed are dropped.
//!
//! The cost follows the policy, not the inventory: `*` stays a flag until somebody iterates.
//!
//! Fail closed: when the profile, the mode's block or the agent's block has an error, or the file does not have the
//! mode at all, the answer is nothing, and every [`Why`] says so ([`Why::Closed`]).

use super::why::{By, Level, Why};
use crate::profile::{Agent, AgentRole, Entry, Mode, Profile, SkillsBlock, Standing};
use crate::{Installed, Inventory};
use fugato_model::{AgentId, SkillName};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Resolves one agent of one mode.
pub fn resolve<'a>(
    profile: &'a Profile,
    mode: Mode,
    agent: &'a Agent,
    inventory: &'a Inventory,
) -> Resolution<'a> {
    let mode_block = profile.mode_skills(mode);
    let mut resolution = Resolution {
        inventory,
        mode,
        agent,
        mode_block,
        state: state(profile, mode, agent),
        granted: Vec::new(),
        by_name: HashMap::new(),
        star: None,
        denied: HashMap::new(),
        deny_all: None,
        replaced: HashMap::new(),
        surface: Surface::Agents,
    };
    if resolution.state == State::Open {
        resolution.grant_all_levels();
        resolution.deny(Level::Mode, mode_block);
        resolution.deny(Level::Agent, agent.skills.as_ref());
    }
    resolution
}

/// What an agent sees when no policy speaks of it: everything.
pub fn unrestricted(inventory: &Inventory) -> Resolution<'_> {
    static AGENT: LazyLock<Agent> = LazyLock::new(|| Agent {
        id: AgentId::main(),
        role: AgentRole::Single,
        description: None,
        system_prompt: None,
        user_prompt_template: None,
        model: None,
        preset: None,
        tools: None,
        max_rounds: None,
        optional: false,
        pointer: String::new(),
        skills: None,
        standing: Standing::Sound,
        place: Default::default(),
    });
    Resolution {
        inventory,
        mode: Mode::Single,
        agent: &AGENT,
        mode_block: None,
        state: State::Open,
        granted: Vec::new(),
        by_name: HashMap::new(),
        star: Some((Level::Mode, None)),
        denied: HashMap::new(),
        deny_all: None,
        replaced: HashMap::new(),
        surface: Surface::Agents,
    }
}

/// What an agent sees when it was decided before: exactly the skills of this inventory, each as if named.
pub fn decided(inventory: &Inventory) -> Resolution<'_> {
    let mut resolution = unrestricted(inventory);
    resolution.star = None;
    let effective = inventory.all().iter().filter(|skill| skill.usable && !inventory.is_shadowed(skill));
    for (index, name) in effective.filter_map(|skill| skill.head.name.as_ref()).enumerate() {
        resolution.granted.push(name);
        resolution.by_name.insert(name.as_str(), (Level::Mode, index));
    }
    resolution
}

/// What one agent may see. Cheap to make, lazy to iterate.
#[derive(Clone, Debug)]
pub struct Resolution<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) mode: Mode,
    pub(super) agent: &'a Agent,
    pub(super) mode_block: Option<&'a SkillsBlock>,
    pub(super) state: State,
    /// Names that are granted as such, in policy order, each once; installed or not, denied or not.
    granted: Vec<&'a SkillName>,
    by_name: HashMap<&'a str, (Level, usize)>,
    star: Option<(Level, Option<usize>)>,
    denied: HashMap<&'a str, (Level, usize)>,
    deny_all: Option<(Level, usize)>,
    /// The mode's names, when the agent's own list replaces them: for the reason only.
    replaced: HashMap<&'a str, usize>,
    surface: Surface,
}

/// Who asks. Skills that orchestrators own are not on the surface of agents, and are on that of orchestrators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surface {
    Agents,
    Orchestrators,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Nothing,
    Closed(Option<Level>),
}

/// One line of a trace.
#[derive(Clone, Debug)]
pub struct TraceLine<'a> {
    pub name: SkillName,
    pub why: Why,
    /// The effective skill of that name, visible or not.
    pub skill: Option<&'a Installed>,
}

fn state(profile: &Profile, mode: Mode, agent: &Agent) -> State {
    let refused = |block: Option<&SkillsBlock>| block.is_some_and(|block| block.standing.is_refused());
    if profile.standing == Standing::Refused || profile.policy(mode).is_none() {
        State::Closed(None)
    } else if refused(profile.mode_skills(mode)) {
        State::Closed(Some(Level::Mode))
    } else if agent.standing.is_refused() || refused(agent.skills.as_ref()) {
        State::Closed(Some(Level::Agent))
    } else if agent.skills.as_ref().is_some_and(SkillsBlock::is_nothing) {
        State::Nothing
    } else {
        State::Open
    }
}

impl<'a> Resolution<'a> {
    fn grant_all_levels(&mut self) {
        let agent_block = self.agent.skills.as_ref();
        let inherits = agent_block.is_none_or(SkillsBlock::inherits);
        match self.mode_block {
            None if inherits => self.star = Some((Level::Mode, None)),
            Some(block) if inherits && !block.is_nothing() => self.grant(Level::Mode, block),
            Some(block) if !inherits => {
                for listed in block.visible.iter().flatten() {
                    if let Entry::Name(name) = &listed.entry {
                        self.replaced.entry(name.as_str()).or_insert(listed.index);
                    }
                }
            }
            _ => {}
        }
        if let Some(block) = agent_block {
            self.grant(Level::Agent, block);
        }
    }

    fn grant(&mut self, level: Level, block: &'a SkillsBlock) {
        for listed in block.visible.iter().flatten() {
            match &listed.entry {
                Entry::Name(name) => {
                    self.by_name.entry(name.as_str()).or_insert_with(|| {
                        self.granted.push(name);
                        (level, listed.index)
                    });
                }
                Entry::All => {
                    self.star.get_or_insert((level, Some(listed.index)));
                }
                Entry::Inherit | Entry::Nothing => {}
            }
        }
    }

    fn deny(&mut self, level: Level, block: Option<&'a SkillsBlock>) {
        for listed in block.into_iter().flat_map(|block| &block.deny) {
            match &listed.entry {
                Entry::Name(name) => {
                    self.denied.entry(name.as_str()).or_insert((level, listed.index));
                }
                Entry::All => {
                    self.deny_all.get_or_insert((level, listed.index));
                }
                Entry::Inherit | Entry::Nothing => {}
            }
        }
    }

    /// The same policy for an orchestrator that works for this agent: it may call what orchestrators own.
    #[must_use]
    pub fn for_orchestrators(mut self) -> Self {
        self.surface = Surface::Orchestrators;
        self
    }

    /// May an orchestrator that names this skill call it? As [`Resolution::can_read`], and `*` also grants what is internal:
    /// that is for other skills to start.
    pub fn can_call(&self, name: &str) -> Option<&'a Installed> {
        let is_granted = self.by_name.contains_key(name) || self.star.is_some();
        if self.is_denied(name) || !is_granted { None } else { self.inventory.get(name) }
    }

    /// Does `*` leave this skill to its orchestrators?
    fn is_owned(&self, name: &str) -> bool {
        self.surface == Surface::Agents && self.inventory.owners(name).next().is_some()
    }

    fn is_denied(&self, name: &str) -> bool {
        self.deny_all.is_some() || self.denied.contains_key(name)
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn agent(&self) -> &'a Agent {
        self.agent
    }

    /// The visible skills in policy order: the mode's names, the agent's names, then what `*` adds in name order.
    pub fn visible(&self) -> impl Iterator<Item = &'a Installed> + '_ {
        let named = self
            .granted
            .iter()
            .filter(|name| !self.is_denied(name.as_str()))
            .filter_map(|name| self.inventory.get(name.as_str()));
        let star = self.star.is_some() && self.deny_all.is_none();
        let added = star.then(|| self.starred()).into_iter().flatten().filter(|skill| {
            name_of(skill)
                .is_some_and(|name| !self.by_name.contains_key(name) && !self.denied.contains_key(name))
        });
        named.chain(added)
    }

    /// What `*` means to whoever asks.
    fn starred(&self) -> impl Iterator<Item = &'a Installed> + use<'a> {
        let owned = (self.surface == Surface::Orchestrators).then(|| self.inventory.owned());
        self.inventory.listed().chain(owned.into_iter().flatten())
    }

    /// What a catalog shows: the visible skills that are not internal or hidden from models.
    pub fn catalog_entries(&self) -> impl Iterator<Item = &'a Installed> + '_ {
        self.visible().filter(|skill| !skill.head.is_unlisted())
    }

    /// The skill, if this agent may read it.
    pub fn can_read(&self, name: &str) -> Option<&'a Installed> {
        if self.is_denied(name) {
            return None;
        }
        let skill = self.inventory.get(name)?;
        let by_name = self.by_name.contains_key(name);
        let by_star = self.star.is_some() && !skill.head.is_unlisted() && !self.is_owned(name);
        (by_name || by_star).then_some(skill)
    }

    /// Names that a list or `*` would have granted and a deny took away, in policy order.
    pub fn denied(&self) -> Vec<SkillName> {
        let mut denied: Vec<SkillName> = self
            .granted
            .iter()
            .filter(|name| self.is_denied(name.as_str()))
            .map(|name| (*name).clone())
            .collect();
        if self.star.is_none() {
            return denied;
        }
        let by_star =
            |skill: &&Installed| name_of(skill).is_some_and(|name| !self.by_name.contains_key(name));
        if self.deny_all.is_some() {
            denied.extend(self.starred().filter(by_star).filter_map(|skill| skill.head.name.clone()));
            return denied;
        }
        let blocks = self.mode_block.into_iter().chain(self.agent.skills.as_ref());
        let mut seen = HashSet::new();
        for name in blocks.flat_map(|block| &block.deny).filter_map(|listed| listed.entry.name()) {
            let is_starred = |skill: &&Installed| !skill.head.is_unlisted() && !self.is_owned(name.as_str());
            let skill = self.inventory.get(name.as_str()).filter(is_starred);
            if skill.as_ref().is_some_and(by_star) && seen.insert(name.as_str()) {
                denied.push(name.clone());
            }
        }
        denied
    }

    /// Names that are granted and not denied, but that no usable skill has, in policy order. Includes
    /// [`Resolution::broken`].
    pub fn missing(&self) -> Vec<SkillName> {
        self.granted
            .iter()
            .filter(|name| !self.is_denied(name.as_str()) && self.inventory.get(name.as_str()).is_none())
            .map(|name| (*name).clone())
            .collect()
    }

    /// The missing names under which something is installed that could not be loaded.
    pub fn broken(&self) -> Vec<SkillName> {
        let mut missing = self.missing();
        missing.retain(|name| self.inventory.broken(name.as_str()).is_some());
        missing
    }

    /// Nothing is given out because the policy has an error.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed(_))
    }

    /// Why a name, any name, is visible or not.
    pub fn why(&self, name: &str) -> Why {
        match self.state {
            State::Closed(level) => return Why::Closed { level },
            State::Nothing => return Why::Nothing,
            State::Open => {}
        }
        if let Some((level, index)) = self.denied.get(name) {
            return denied_by(*level, By::Name(*index));
        }
        let listed = self.by_name.get(name).copied();
        let Some(skill) = self.inventory.get(name) else {
            return match self.inventory.broken(name) {
                Some(broken) => Why::Broken { listed, code: first_error(broken) },
                None => Why::NotInstalled { listed },
            };
        };
        match (self.deny_all, listed, self.star) {
            (Some((level, index)), ..) => denied_by(level, By::Star(index)),
            (_, Some((Level::Mode, index)), _) => Why::GrantedByMode { index },
            (_, Some((Level::Agent, index)), _) => Why::GrantedByAgent { index },
            (_, _, Some(_)) if skill.head.is_unlisted() => Why::Unlisted,
            (_, _, Some(_)) if self.is_owned(name) => Why::Owned {
                by: self.inventory.owners(name).filter_map(|owner| owner.head.name.clone()).collect(),
            },
            (_, _, Some((level, index))) => Why::GrantedByStar { level, index },
            _ => Why::NotListed { replaced: self.replaced.get(name).copied() },
        }
    }

    /// The JSON pointer of the list element a reason rests on.
    pub fn pointer(&self, why: &Why) -> Option<String> {
        let block = |level| match level {
            Level::Mode => self.mode_block,
            Level::Agent => self.agent.skills.as_ref(),
        };
        let deny = |level, by| {
            let (By::Name(index) | By::Star(index)) = by;
            block(level).map(|block| block.deny_pointer(index))
        };
        let visible = |level, index| block(level).map(|block| block.visible_pointer(index));
        match *why {
            Why::GrantedByMode { index } | Why::NotListed { replaced: Some(index) } => {
                visible(Level::Mode, index)
            }
            Why::GrantedByAgent { index } => visible(Level::Agent, index),
            Why::GrantedByStar { level, index: Some(index) } => visible(level, index),
            Why::DeniedByMode { by } => deny(Level::Mode, by),
            Why::DeniedByAgent { by } => deny(Level::Agent, by),
            Why::NotInstalled { listed: Some((level, index)) }
            | Why::Broken { listed: Some((level, index)), .. } => visible(level, index),
            _ => None,
        }
    }

    /// Every name of the policy, in policy order: what is visible, then what is denied.
    pub fn trace(&self) -> Vec<TraceLine<'a>> {
        let mut seen = HashSet::new();
        let blocks = || self.mode_block.into_iter().chain(self.agent.skills.as_ref());
        let visible = blocks().flat_map(|block| block.visible.iter().flatten());
        let deny = blocks().flat_map(|block| &block.deny);
        visible
            .chain(deny)
            .filter_map(|listed| listed.entry.name())
            .filter(|name| seen.insert(name.as_str()))
            .map(|name| self.line(name))
            .collect()
    }

    /// [`Resolution::trace`], and then every installed skill the policy does not name.
    pub fn trace_all(&self) -> Vec<TraceLine<'a>> {
        let mut lines = self.trace();
        let mut seen: HashSet<SkillName> = lines.iter().map(|line| line.name.clone()).collect();
        for name in self.inventory.all().iter().filter_map(|skill| skill.head.name.as_ref()) {
            if seen.insert(name.clone()) {
                lines.push(self.line(name));
            }
        }
        lines
    }

    fn line(&self, name: &SkillName) -> TraceLine<'a> {
        TraceLine {
            name: name.clone(),
            why: self.why(name.as_str()),
            skill: self.inventory.get(name.as_str()),
        }
    }

    /// Does `*` apply, so that the answer (what is visible, or what was denied) depends on the whole inventory?
    pub(super) fn depends_on_inventory(&self) -> bool {
        self.star.is_some()
    }

    pub(super) fn granted_names(&self) -> &[&'a SkillName] {
        &self.granted
    }
}

fn name_of(skill: &Installed) -> Option<&str> {
    skill.head.name.as_ref().map(SkillName::as_str)
}

fn denied_by(level: Level, by: By) -> Why {
    match level {
        Level::Mode => Why::DeniedByMode { by },
        Level::Agent => Why::DeniedByAgent { by },
    }
}

fn first_error(skill: &Installed) -> Option<fugato_model::Code> {
    skill.diagnostics.iter().find(|diagnostic| diagnostic.is_error()).map(|diagnostic| diagnostic.code)
}

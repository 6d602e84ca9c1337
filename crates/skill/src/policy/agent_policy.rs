//! The policy of one agent as a value that can be kept: the profile, the mode and whose part of it.

use super::{Resolution, resolve};
use crate::Inventory;
use crate::profile::{Mode, Profile};

/// One agent of one mode of a profile.
#[derive(Clone, Debug)]
pub struct AgentPolicy {
    pub profile: Profile,
    pub mode: Mode,
    /// Its id.
    pub agent: String,
}

impl AgentPolicy {
    /// What it sees of an inventory. `None`: the profile has no such agent.
    pub fn resolve<'a>(&'a self, inventory: &'a Inventory) -> Option<Resolution<'a>> {
        let agent = self.profile.agents(self.mode).iter().find(|agent| agent.id.as_str() == self.agent)?;
        Some(resolve(&self.profile, self.mode, agent, inventory))
    }
}

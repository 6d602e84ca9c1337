//! What the settings say of agents.

use super::Config;
use std::time::Duration;

impl Config {
    /// How long a subagent that ended stays in memory.
    pub fn memory_of_agents(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.integer("agents.memory_seconds")).unwrap_or(0))
    }
}

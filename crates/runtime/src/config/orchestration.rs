//! What sessions of orchestrators may use.

use super::{Config, Value};
use crate::runs::{OpenLists, Orchestration};
use fugato_engine::SopBudget;

impl Config {
    pub fn orchestration(&self) -> Orchestration {
        let number = |key| u32::try_from(self.integer(key)).unwrap_or(u32::MAX);
        let is_open = !matches!(
            self.get("orchestration.open_lists").map(|entry| &entry.value),
            Some(Value::Boolean(false))
        );
        Orchestration {
            steps: number("orchestration.loop_steps"),
            sop: SopBudget {
                commands: number("orchestration.sop_commands"),
                prompt_chars: number("orchestration.sop_prompt_chars"),
                failures: number("orchestration.sop_failures"),
                plans: number("orchestration.plans"),
            },
            open_lists: if is_open { OpenLists::Allowed } else { OpenLists::Refused },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_table_are_those_of_the_engine() {
        assert_eq!(Config::default().orchestration(), Orchestration::default());
    }
}

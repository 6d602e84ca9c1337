//! How much a program may do before it is stopped.

use fugato_model::{Words, words};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The bounds of one program. Past one of them nothing more is started; what runs may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Commands started. A planner that needs more than the default has usually unrolled a loop.
    pub commands: usize,
    /// Characters of all prompts (a command's arguments joined by spaces) together.
    pub prompt_chars: usize,
    /// Failures of one command: it will not start to work.
    pub failures: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { commands: 100, prompt_chars: 1_000_000, failures: 10 }
    }
}

/// Which bound stopped the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    Commands { limit: usize },
    PromptChars { limit: usize },
    Failures { command: Arc<str>, limit: usize },
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().en)
    }
}

impl Halt {
    pub fn words(&self) -> Words {
        match self {
            Self::Commands { limit } => {
                words!("the program may run {limit} commands", "程序最多运行 {limit} 个命令")
            }
            Self::PromptChars { limit } => words!(
                "the prompts of the program may have {limit} characters together",
                "程序的提示词总共最多 {limit} 个字符"
            ),
            Self::Failures { command, limit } => {
                let command = crate::problems::shorten(command);
                words!("command {command} failed {limit} times", "命令 {command} 失败了 {limit} 次")
            }
        }
    }
}

/// What was used of a budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Used {
    pub commands: usize,
    pub prompt_chars: usize,
    failures: HashMap<Arc<str>, usize>,
}

impl Used {
    /// Takes one command out of the budget, or says which bound it meets.
    pub(super) fn start(
        &mut self,
        budget: &Budget,
        command: &Arc<str>,
        prompt_chars: usize,
    ) -> Result<(), Halt> {
        if self.failures.get(command).is_some_and(|failures| *failures >= budget.failures) {
            return Err(Halt::Failures { command: Arc::clone(command), limit: budget.failures });
        }
        if self.commands >= budget.commands {
            return Err(Halt::Commands { limit: budget.commands });
        }
        let chars = self.prompt_chars.saturating_add(prompt_chars);
        if chars > budget.prompt_chars {
            return Err(Halt::PromptChars { limit: budget.prompt_chars });
        }
        self.commands += 1;
        self.prompt_chars = chars;
        Ok(())
    }

    pub(super) fn fail(&mut self, budget: &Budget, command: &Arc<str>) -> Option<Halt> {
        let failures = self.failures.entry(Arc::clone(command)).or_default();
        *failures += 1;
        (*failures >= budget.failures)
            .then(|| Halt::Failures { command: Arc::clone(command), limit: budget.failures })
    }
}

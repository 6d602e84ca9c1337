//! Which of the seed's rules an agent's list falls under, and the trace a person reads: what is visible first, then what
//! the policy names and does not show.

use super::resolve::{Resolution, State, TraceLine};
use crate::Installed;
use crate::profile::SkillsBlock;
use fugato_model::{Words, words};
use std::collections::HashSet;

impl<'a> Resolution<'a> {
    /// The rule that applies, as a sentence.
    pub fn rule(&self) -> Words {
        match self.state {
            State::Closed(_) => words!(
                "the policy has an error, so this agent gets nothing until it is repaired",
                "策略有错误，修复之前该代理得不到任何技能"
            ),
            State::Nothing => words!("this agent is given no skills", "该代理没有任何技能"),
            State::Open => match self.agent.skills.as_ref() {
                None => words!(
                    "rule 1: no list of its own, so the mode's list applies",
                    "规则 1：没有自己的列表，使用模式列表"
                ),
                Some(block) if block.visible.as_ref().is_none_or(Vec::is_empty) => words!(
                    "rule 1: its list is empty or absent, so the mode's list applies",
                    "规则 1：自己的列表为空或缺省，使用模式列表"
                ),
                Some(block) if SkillsBlock::inherits(block) => words!(
                    "rule 2: its list starts with \"+\", so the mode's list comes first, then its own",
                    "规则 2：列表以 \"+\" 开头，先是模式列表，再加自己的列表"
                ),
                Some(_) => {
                    words!("rule 3: its own list replaces the mode's", "规则 3：自己的列表取代模式列表")
                }
            },
        }
    }

    /// The effective skill of a name, visible or not: for the operator's eyes, never for an agent's.
    pub fn installed(&self, name: &str) -> Option<&'a Installed> {
        self.inventory.get(name).or_else(|| self.inventory.broken(name))
    }

    /// What is visible in the order the agent sees it, `*` included; then the names of the policy that are not visible.
    pub fn trace_visible(&self) -> Vec<TraceLine<'a>> {
        let mut lines: Vec<TraceLine<'a>> = self
            .visible()
            .filter_map(|skill| {
                let name = skill.head.name.clone()?;
                Some(TraceLine { why: self.why(name.as_str()), name, skill: Some(skill) })
            })
            .collect();
        let seen: HashSet<_> = lines.iter().map(|line| line.name.clone()).collect();
        lines.extend(self.trace().into_iter().filter(|line| !seen.contains(&line.name)));
        lines
    }
}

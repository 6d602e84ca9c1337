//! What is said about lists when they are resolved: what is left out and why, and what is refused.

use super::{Descriptor, Failure, OFFERED, OpenLists, Pinning};
use fugato_model::{Code, Diagnostic, Words, words};
use fugato_skill::orchestrator::{Allowed, OrchestratorSkill};
use fugato_skill::policy::Why;

impl Pinning<'_> {
    pub(super) fn refuse_open(
        &self,
        skill: &OrchestratorSkill,
        descriptor: &Descriptor,
    ) -> Result<(), Failure> {
        if skill.allowed != Allowed::Unstated || self.started.orchestration.open_lists == OpenLists::Allowed {
            return Ok(());
        }
        let message = words!(
            "there is no `## Allowed Skills` section, and `orchestration.open_lists` is false",
            "缺少 `## Allowed Skills` 小节，而 `orchestration.open_lists` 为 false"
        );
        let hint = words!("## Allowed Skills\n- my-skill", "## Allowed Skills\n- my-skill");
        Err(Failure::Itself(vec![Diagnostic::error(Code::F1201, &descriptor.path, message).hint(hint)]))
    }

    /// What is not installed has been told with its line.
    pub(super) fn tell_left_out(&mut self, name: &str, why: &Why, path: &str) {
        if matches!(why, Why::NotInstalled { .. } | Why::Broken { .. })
            || !self.unusable.insert(name.to_owned())
        {
            return;
        }
        let (name, why) = (fugato_model::escape_for_terminal(name).into_owned(), why.words());
        let (en, zh) = (why.en, why.zh);
        let message = words!(
            "skill `{name}` is listed, but the policy does not allow it: {en}",
            "列表中的技能 `{name}` 不被策略允许：{zh}"
        );
        self.warnings.push(Diagnostic::warning(Code::F1212, path, message));
    }

    pub(super) fn left_out(&mut self, name: &str, path: &str, why: &Words) {
        if self.unusable.insert(name.to_owned()) {
            let (en, zh) = (&why.en, &why.zh);
            let message = words!("skill `{name}` cannot be called: {en}", "技能 `{name}` 无法调用：{zh}");
            self.warnings.push(Diagnostic::warning(Code::F1213, path, message));
        }
    }

    pub(super) fn tell_more(&mut self, skill: &OrchestratorSkill, more: usize, path: &str) {
        let name = &skill.name;
        let message = words!(
            "`{name}` has no list of names: the first {OFFERED} skills are offered, {more} are not",
            "`{name}` 没有列出技能名称：只提供前 {OFFERED} 个技能，另有 {more} 个未提供"
        );
        let hint = words!("## Allowed Skills\n- my-skill", "## Allowed Skills\n- my-skill");
        self.warnings.push(Diagnostic::warning(Code::F1213, path, message).hint(hint));
    }
}

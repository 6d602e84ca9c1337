//! What a person should know about a policy that reads well: stale names, empty lists, entries without effect.
//!
//! Reading errors are in [`crate::profile::Parsed`]; here is what needs the inventory or both levels at once.

use crate::Inventory;
use crate::profile::{Agent, Entry, Listed, Place, Profile, Report, SkillsBlock};
use fugato_model::{Code, Diagnostic, SkillName, nearest, words};
use jsonc_parser::common::Range;
use std::collections::{HashMap, HashSet};

/// Looking for the nearest of ten thousand names costs milliseconds; a file with more stale names than this was
/// written for another machine, and suggestions would not help.
const MAX_SUGGESTIONS: usize = 32;

/// All findings for every mode of the file, in the order of the file.
pub fn lint(profile: &Profile, inventory: &Inventory) -> Vec<Diagnostic> {
    let mut lint = Lint {
        report: Report::new(&profile.path, profile.source(), 0),
        inventory,
        suggestions: HashMap::new(),
    };
    for policy in profile.policies() {
        let mode = ModeLists::of(policy.skills.as_ref());
        if let Some(block) = &policy.skills {
            lint.block(block, None);
        }
        for agent in &policy.agents {
            if let Some(block) = &agent.skills {
                lint.block(block, Some(&mode));
                lint.agent(agent, block, &mode);
            }
        }
    }
    lint.report.finish()
}

/// The mode's lists, looked up once per agent entry.
#[derive(Default)]
struct ModeLists<'a> {
    visible: HashSet<&'a SkillName>,
    deny: HashMap<&'a SkillName, String>,
}

impl<'a> ModeLists<'a> {
    fn of(block: Option<&'a SkillsBlock>) -> Self {
        let visible = block.into_iter().flat_map(|block| block.visible.iter().flatten());
        Self {
            visible: visible.filter_map(|listed| listed.entry.name()).collect(),
            deny: block.map(denied_names).unwrap_or_default(),
        }
    }
}

fn denied_names(block: &SkillsBlock) -> HashMap<&SkillName, String> {
    let named = |listed: &Listed| block.deny_pointer(listed.index);
    block.deny.iter().filter_map(|listed| Some((listed.entry.name()?, named(listed)))).collect()
}

struct Lint<'a> {
    report: Report<'a>,
    inventory: &'a Inventory,
    suggestions: HashMap<String, Option<String>>,
}

impl Lint<'_> {
    /// What can be said of a block at either level. `mode`: the lists above an agent's block.
    fn block(&mut self, block: &SkillsBlock, mode: Option<&ModeLists<'_>>) {
        self.redundant(block);
        let own = denied_names(block);
        for listed in block.visible.iter().flatten() {
            if let Some(name) = listed.entry.name() {
                self.stale_visible(name, listed, &block.visible_pointer(listed.index));
                if let Some(deny) = own.get(name).or_else(|| mode.and_then(|mode| mode.deny.get(name))) {
                    self.denied_at_once(name, listed, &block.visible_pointer(listed.index), deny);
                }
            }
        }
        for listed in &block.deny {
            let pointer = block.deny_pointer(listed.index);
            match &listed.entry {
                Entry::Name(name) if !block.allow_missing => self.stale_deny(name, listed, &pointer),
                Entry::All => self.deny_all(listed, &pointer, mode.is_none()),
                _ => {}
            }
        }
    }

    /// What only makes sense at agent level.
    fn agent(&mut self, agent: &Agent, block: &SkillsBlock, mode: &ModeLists<'_>) {
        if block.visible.as_ref().is_some_and(Vec::is_empty) && !block.none && !block.standing.is_refused() {
            let id = &agent.id;
            let diagnostic = self.report.warning(
                Code::F0219,
                &format!("{}/visible", block.pointer),
                range(block.visible_place),
                words!(
                    "the empty list of `{id}` inherits the mode's skills",
                    "`{id}` 的空列表会继承模式的技能"
                ),
            );
            if let Some(diagnostic) = diagnostic {
                diagnostic.hint = Some(words!(
                    "write [\"+\"] to inherit, [\"-\"] for no skills",
                    "继承请写 [\"+\"]，不要任何技能请写 [\"-\"]"
                ));
            }
        }
        if !block.inherits() {
            return;
        }
        for listed in block.visible.iter().flatten() {
            if let Some(name) = listed.entry.name().filter(|name| mode.visible.contains(name)) {
                self.report.warning(
                    Code::F0206,
                    &block.visible_pointer(listed.index),
                    range(listed.place),
                    words!("`{name}` is already inherited from the mode", "`{name}` 已从模式继承"),
                );
            }
        }
    }

    /// Repeated entries, names beside `*`, anything beside `-`.
    fn redundant(&mut self, block: &SkillsBlock) {
        let list = block.visible.as_deref().unwrap_or_default();
        if block.none && !list.is_empty() {
            self.report.warning(
                Code::F0206,
                &format!("{}/visible", block.pointer),
                range(block.visible_place),
                words!("`none` is set: the list has no effect", "已设置 `none`：该列表不起作用"),
            );
            return;
        }
        let has = |entry: &Entry| list.iter().any(|listed| listed.entry == *entry);
        let (all, nothing) = (has(&Entry::All), has(&Entry::Nothing));
        let mut seen = HashSet::new();
        for listed in list {
            let pointer = block.visible_pointer(listed.index);
            let entry = &listed.entry;
            if !seen.insert(entry) {
                self.twice(entry, listed, &pointer);
            } else if nothing && *entry != Entry::Nothing {
                self.report.warning(
                    Code::F0206,
                    &pointer,
                    range(listed.place),
                    words!("`{entry}` has no effect beside `-`", "列表中有 `-`，`{entry}` 不起作用"),
                );
            } else if all && self.is_covered_by_star(entry) {
                self.report.warning(
                    Code::F0206,
                    &pointer,
                    range(listed.place),
                    words!("`{entry}` is redundant beside `*`", "列表中有 `*`，`{entry}` 是多余的"),
                );
            }
        }
        let mut seen = HashSet::new();
        for listed in block.deny.iter().filter(|listed| !seen.insert(&listed.entry)) {
            self.twice(&listed.entry, listed, &block.deny_pointer(listed.index));
        }
    }

    fn twice(&mut self, entry: &Entry, listed: &Listed, pointer: &str) {
        self.report.warning(
            Code::F0206,
            pointer,
            range(listed.place),
            words!("`{entry}` is listed twice", "`{entry}` 重复出现"),
        );
    }

    /// Naming an internal skill beside `*` does grant something.
    fn is_covered_by_star(&self, entry: &Entry) -> bool {
        match entry {
            Entry::Inherit => true,
            Entry::Name(name) => {
                self.inventory.get(name.as_str()).is_none_or(|skill| !skill.head.is_unlisted())
            }
            Entry::All | Entry::Nothing => false,
        }
    }

    fn stale_visible(&mut self, name: &SkillName, listed: &Listed, pointer: &str) {
        if self.inventory.get(name.as_str()).is_some() {
            return;
        }
        if let Some(broken) = self.inventory.broken(name.as_str()) {
            let place = broken.dir.to_string_lossy().into_owned();
            let diagnostic = self.report.warning(
                Code::F0221,
                pointer,
                range(listed.place),
                words!("`{name}` is installed but could not be loaded", "`{name}` 已安装，但无法加载"),
            );
            if let Some(diagnostic) = diagnostic {
                diagnostic.hint =
                    Some(words!("fugato skill check {place}", "运行 fugato skill check {place}"));
            }
            return;
        }
        let diagnostic = self.report.warning(
            Code::F0211,
            pointer,
            range(listed.place),
            words!("`{name}` is not installed: agents do not see it", "`{name}` 未安装：代理看不到它"),
        );
        let wanted = diagnostic.is_some();
        self.suggest(name, wanted);
    }

    fn stale_deny(&mut self, name: &SkillName, listed: &Listed, pointer: &str) {
        let known =
            self.inventory.get(name.as_str()).is_some() || self.inventory.broken(name.as_str()).is_some();
        if known {
            return;
        }
        let diagnostic = self.report.error(
            Code::F0210,
            pointer,
            range(listed.place),
            words!(
                "`{name}` is denied but not installed: a misspelt name denies nothing",
                "`{name}` 被禁止但未安装：拼错的名称起不到禁止作用"
            ),
        );
        let wanted = diagnostic.is_some();
        if let Some(diagnostic) = diagnostic {
            diagnostic.hint = Some(words!(
                "if that is intended, add \"allowMissing\": true beside `deny`",
                "若确实如此，请在 `deny` 旁加上 \"allowMissing\": true"
            ));
        }
        self.suggest(name, wanted);
    }

    /// Puts the nearest installed name in the last finding's hint.
    fn suggest(&mut self, name: &SkillName, wanted: bool) {
        let room = self.suggestions.len() < MAX_SUGGESTIONS;
        if !wanted || !(room || self.suggestions.contains_key(name.as_str())) {
            return;
        }
        let inventory = self.inventory;
        let near = self
            .suggestions
            .entry(name.to_string())
            .or_insert_with(|| nearest(name.as_str(), inventory.names()).map(str::to_owned));
        if let (Some(near), Some(diagnostic)) = (near, self.report.last()) {
            diagnostic.hint = Some(words!("did you mean `{near}`?", "是否想写 `{near}`？"));
        }
    }

    fn denied_at_once(&mut self, name: &SkillName, listed: &Listed, pointer: &str, deny: &str) {
        self.report.warning(
            Code::F0206,
            pointer,
            range(listed.place),
            words!("`{name}` has no effect: `{deny}` denies it", "`{name}` 不起作用：已被 `{deny}` 禁止"),
        );
    }

    fn deny_all(&mut self, listed: &Listed, pointer: &str, whole_mode: bool) {
        let message = if whole_mode {
            words!(
                "`*` in deny: no agent of this mode sees any skill",
                "deny 中有 `*`：本模式的代理看不到任何技能"
            )
        } else {
            words!("`*` in deny: the agent sees nothing", "deny 中有 `*`：该代理看不到任何技能")
        };
        let diagnostic = self.report.warning(Code::F0208, pointer, range(listed.place), message);
        if let Some(diagnostic) = diagnostic {
            diagnostic.hint = Some(words!(
                "if that is meant, \"none\": true says it plainly",
                "若本意如此，写 \"none\": true 更清楚"
            ));
        }
    }
}

fn range(place: Place) -> Range {
    Range::new(place.start, place.end)
}

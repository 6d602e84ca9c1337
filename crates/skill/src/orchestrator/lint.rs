//! A descriptor against what is installed, and calls against each other.

use super::report::Report;
use super::{Allowed, ListedSkill, OrchestratorSkill, PrepAllowed, fixed};
use crate::limits::REPORTED_KEYS;
use crate::{Inventory, SkillText};
use fugato_model::{Code, Diagnostic, SkillName, Words, nearest, words};

/// What is only wrong here: listed skills that are not installed, commands that no skill has.
///
/// `source` is the file the descriptor was read from, `path` how diagnostics should name it.
pub fn lint(skill: &OrchestratorSkill, path: &str, source: &str, inventory: &Inventory) -> Vec<Diagnostic> {
    let mut report = Report::new(path, source, Vec::new());
    let prep = match &skill.prep_allowed {
        PrepAllowed::Own(allowed) => Some(allowed),
        PrepAllowed::AsMain => None,
    };
    let mut looked = 0;
    for allowed in std::iter::once(&skill.allowed).chain(prep) {
        for listed in allowed.names().iter().filter(|listed| inventory.get(&listed.name).is_none()) {
            looked += 1;
            let candidates = inventory.names().filter(|name| *name != skill.name.as_str());
            let near = (looked <= REPORTED_KEYS).then(|| nearest(&listed.name, candidates)).flatten();
            missing(listed, near, inventory, &mut report);
        }
    }
    if let (Some(program), Allowed::Unstated | Allowed::All) = (&skill.program, &skill.allowed) {
        let names = inventory.names().filter(|name| *name != skill.name.as_str());
        let names: Vec<&str> = names.collect();
        fixed::tell(&program.unknown_commands(&names), &mut report);
    }
    report.finish()
}

/// [`lint`] of a descriptor's file. Nothing for one that has errors: those come first.
pub fn lint_text(text: SkillText<'_>, inventory: &Inventory) -> Vec<Diagnostic> {
    let source = std::str::from_utf8(text.bytes).unwrap_or_default();
    let skill = super::read_descriptor(text).0;
    skill.map(|skill| lint(&skill, text.path, source, inventory)).unwrap_or_default()
}

fn missing(listed: &ListedSkill, near: Option<&str>, inventory: &Inventory, report: &mut Report<'_>) {
    let name = crate::problems::shorten(&listed.name);
    let message = match inventory.broken(&listed.name) {
        Some(_) => words!("skill `{name}` is installed but broken", "技能 `{name}` 已安装但无法使用"),
        None => words!("skill `{name}` is not installed", "技能 `{name}` 未安装"),
    };
    let hint = match near {
        Some(near) => words!("did you mean `{near}`?", "是不是 `{near}`？"),
        None => words!("fugato skill ls", "fugato skill ls"),
    };
    report.warning(Code::F1204, listed.place, message, hint);
}

/// An orchestrator that would be called while it is on the way to itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("orchestrators call each other in a circle: {}", drawn(path))]
pub struct CallCycle {
    /// From the first call of the orchestrator to the refused one.
    pub path: Vec<SkillName>,
}

impl CallCycle {
    pub const CODE: Code = Code::F1205;

    pub fn words(&self) -> Words {
        let path = drawn(&self.path);
        words!("orchestrators call each other in a circle: {path}", "编排器循环调用：{path}")
    }
}

/// May the last of `callers` call this skill? Callers are the orchestrators that are waiting, outermost first.
pub fn refuse_cycle(callers: &[SkillName], callee: &SkillName) -> Result<(), CallCycle> {
    match callers.iter().position(|caller| caller == callee) {
        None => Ok(()),
        Some(first) => {
            let path = callers.iter().skip(first).chain(std::iter::once(callee)).cloned().collect();
            Err(CallCycle { path })
        }
    }
}

fn drawn(path: &[SkillName]) -> String {
    path.iter().map(SkillName::as_str).collect::<Vec<_>>().join(" -> ")
}

//! Reading the phases of sub-skills that have their own, each file once however often it is named.

use super::{FoundSkill, Origin, ReadPhases, read_with};
use crate::SkillDir;
use fugato_model::{Diagnostic, RelPath};
use fugato_skill::Inventory;
use fugato_skill::phases::AgentType;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// What every level of reading shares.
pub(super) struct Reading<'r> {
    pub installed: &'r Inventory,
    pub is_type: &'r dyn Fn(&str) -> bool,
    /// Ways that come back to themselves have been refused before anything is read here.
    pub read: RefCell<HashMap<PathBuf, Arc<ReadPhases>>>,
}

impl Reading<'_> {
    /// The phases of those sub-skills that run them: a script is its program.
    pub fn inner(
        &self,
        outer: &ReadPhases,
        phased: &BTreeSet<RelPath>,
        show: &dyn Fn(&RelPath) -> String,
    ) -> BTreeMap<RelPath, Arc<ReadPhases>> {
        let scripts: BTreeSet<&RelPath> = outer.phased.iter().flat_map(script_only).collect();
        let wanted = phased.iter().filter(|path| !scripts.contains(path));
        let found = wanted.filter_map(|path| {
            let sub = outer.sub_skills.get(path)?;
            Some((path.clone(), self.of(path, sub, show)?))
        });
        found.collect()
    }

    fn of(
        &self,
        path: &RelPath,
        sub: &FoundSkill,
        show: &dyn Fn(&RelPath) -> String,
    ) -> Option<Arc<ReadPhases>> {
        let file = sub.dir.join(&sub.file);
        if let Some(known) = self.read.borrow().get(&file) {
            return Some(known.clone());
        }
        let dir = SkillDir::open(&sub.dir).ok()?;
        let above = match (sub.origin, sub.names_a_file) {
            (Origin::Installed, _) => None,
            (Origin::Part, false) => Some(path.as_str()),
            (Origin::Part, true) => Some(path.as_str().rsplit_once('/').map_or("", |(above, _)| above)),
        };
        let show_inner = |inner: &RelPath| match above.map(|above| format!("{above}/{inner}")) {
            Some(joined) => RelPath::parse(joined.trim_start_matches('/')).map_or(joined, |path| show(&path)),
            None => sub.dir.join(inner).display().to_string(),
        };
        let read = Arc::new(read_with(self, &dir, &sub.file, &show_inner));
        self.read.borrow_mut().insert(file, read.clone());
        Some(read)
    }
}

/// Sub-skills that no subagent of another type runs.
fn script_only(phased: &fugato_skill::phases::Phased) -> impl Iterator<Item = &RelPath> {
    let all = || phased.phases.iter().filter(|phase| phase.enabled).flat_map(|phase| &phase.subagents);
    let is_script = |agent_type: &AgentType| *agent_type == AgentType::Script;
    let others: BTreeSet<&RelPath> =
        all().filter(|one| !is_script(&one.agent_type)).map(|one| &one.skill).collect();
    all().map(|one| &one.skill).filter(move |skill| !others.contains(skill))
}

/// How far one looks for problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Into parts of the skill alone: installed skills are looked at on their own.
    Parts,
    Everything,
}

impl ReadPhases {
    /// Everything that is wrong with these phases and with those inside of them, each file once.
    pub fn all_diagnostics(&self, inside: Inside) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics.clone();
        let (mut seen, mut open) = (BTreeSet::new(), self.inner_of(inside).collect::<Vec<_>>());
        while let Some(read) = open.pop() {
            if seen.insert(Arc::as_ptr(read)) {
                diagnostics.extend(read.diagnostics.iter().cloned());
                open.extend(read.inner_of(inside));
            }
        }
        diagnostics
    }

    fn inner_of(&self, inside: Inside) -> impl Iterator<Item = &Arc<Self>> {
        let is_part =
            |path: &RelPath| self.sub_skills.get(path).is_some_and(|sub| sub.origin == Origin::Part);
        let chosen = self.inner.iter().filter(move |(path, _)| inside == Inside::Everything || is_part(path));
        chosen.map(|(_, read)| read)
    }
}

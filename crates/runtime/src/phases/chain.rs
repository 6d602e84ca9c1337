//! Where a sub-skill leads: it may have phases of its own that name further skills, and some day one that is under way.

use super::{FoundSkill, find, side_file};
use crate::SkillDir;
use fugato_model::RelPath;
use fugato_skill::Inventory;
use fugato_skill::phases::{Source, named_skills};
use std::collections::HashSet;
use std::path::PathBuf;

/// Where it leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// It has no phases.
    Nowhere,
    /// It has phases, and they come to an end.
    On,
    /// Back to a skill that is under way: the names of all on the way, that skill first and last.
    Back(Vec<String>),
    TooDeep(Vec<String>),
}

/// Skills that start skills: nobody follows more than a few levels, and each level multiplies the work.
const MAX_DEPTH: usize = 8;

/// Follows the phases of a sub-skill that `path` names in the skill `dir`.
pub(super) fn follow(
    dir: &SkillDir,
    file: &RelPath,
    path: &RelPath,
    found: &FoundSkill,
    installed: &Inventory,
) -> Leads {
    let root = dir.dir().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut walk =
        Walk { way: vec![(identity(&dir.dir().join(file)), root)], ended: HashSet::new(), installed };
    walk.visit(path, found)
}

struct Walk<'i> {
    /// What is under way, outermost first.
    way: Vec<(PathBuf, String)>,
    /// Skills that lead to nothing wrong; each is followed once.
    ended: HashSet<PathBuf>,
    installed: &'i Inventory,
}

impl Walk<'_> {
    fn visit(&mut self, path: &RelPath, found: &FoundSkill) -> Leads {
        let here = identity(&found.dir.join(&found.file));
        if let Some(at) = self.way.iter().position(|(under_way, _)| *under_way == here) {
            let back = self.way.get(at).map(|(_, name)| name.clone());
            let names = self.way.iter().skip(at).map(|(_, name)| name.clone()).chain(back);
            return Leads::Back(names.collect());
        }
        let Some(named) = self.named_by(found) else { return Leads::Nowhere };
        if self.ended.contains(&here) {
            return Leads::On;
        }
        self.way.push((here.clone(), path.to_string()));
        if self.way.len() > MAX_DEPTH {
            return Leads::TooDeep(self.way.iter().map(|(_, name)| name.clone()).collect());
        }
        let Ok(dir) = SkillDir::open(&found.dir) else { return Leads::Nowhere };
        for next in &named {
            // What is missing there is told when its own phases are read.
            let Ok(Some(found)) = find(&dir, next, self.installed) else { continue };
            match self.visit(next, &found) {
                Leads::Nowhere | Leads::On => {}
                wrong => return wrong,
            }
        }
        self.way.pop();
        self.ended.insert(here);
        Leads::On
    }

    fn named_by(&self, found: &FoundSkill) -> Option<Vec<RelPath>> {
        let dir = SkillDir::open(&found.dir).ok()?;
        let side = side_file(&dir, &found.text).ok().flatten();
        let side_file = side.as_ref().map(|(file, text)| (file.as_str(), text.as_str()));
        named_skills(Source { path: found.file.as_str(), text: &found.text, side_file })
    }
}

/// One file has one identity, whatever links lead to it.
fn identity(file: &std::path::Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

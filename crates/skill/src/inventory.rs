//! Everything installed, and which of several skills of one name is the effective one.
//!
//! Built once per discovery; look-ups cost the same with ten skills or ten thousand.

use crate::SkillHead;
use fugato_model::view::SkillStatus;
use fugato_model::{Diagnostic, Digest, Scope};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// One skill directory that was found, good or broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    pub head: SkillHead,
    pub scope: Scope,
    /// Precedence of the root it was found in: the higher rank wins. Roots of a later scope have a higher rank.
    pub rank: u32,
    /// The skill's directory.
    pub dir: PathBuf,
    /// Name of the file that describes it: `SKILL.md`, `skill.md` or `oskill.md`.
    pub file: String,
    /// SHA-256 over its sorted files; `None` when they could not all be read.
    pub digest: Option<Digest>,
    pub diagnostics: Vec<Diagnostic>,
    /// Loaded: it has a name, a description and readable frontmatter.
    pub usable: bool,
}

impl Installed {
    /// A usable skill in a directory named after it, with nothing known against it.
    pub fn sound(head: SkillHead, scope: Scope, dir: impl Into<PathBuf>) -> Self {
        Self {
            head,
            scope,
            rank: 0,
            dir: dir.into(),
            file: "SKILL.md".into(),
            digest: None,
            diagnostics: Vec::new(),
            usable: true,
        }
    }

    /// The canonical name; else what it calls itself; else its directory's name.
    pub fn label(&self) -> String {
        match (&self.head.name, &self.head.declared_name) {
            (Some(name), _) => name.to_string(),
            (None, Some(declared)) => declared.clone(),
            (None, None) => {
                self.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
            }
        }
    }

    pub fn status(&self) -> SkillStatus {
        match (self.usable, self.diagnostics.is_empty()) {
            (false, _) => SkillStatus::Invalid,
            (true, false) => SkillStatus::Warning,
            (true, true) => SkillStatus::Ok,
        }
    }
}

/// All installed skills in name order, with the effective one of each name.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    skills: Vec<Installed>,
    /// Name → the effective skill.
    effective: HashMap<String, usize>,
    /// Effective and listed skills that no orchestrator owns, in name order: what `*` means.
    listed: Vec<usize>,
    /// Effective and listed skills that orchestrators own, in name order.
    owned: Vec<usize>,
    /// Name → the effective orchestrators that list it, in name order.
    owners: HashMap<String, Vec<usize>>,
    stamp: OnceLock<Digest>,
}

impl Inventory {
    /// Later scopes win; inside one root a skill whose directory has its name wins, then the first path.
    /// A broken skill never shadows a good one.
    pub fn new(mut skills: Vec<Installed>) -> Self {
        // Labels are allocated once, not per comparison.
        skills.sort_by_cached_key(|skill| {
            let label = skill.label();
            let named_after_dir = skill.dir.file_name().is_some_and(|dir| dir.to_str() == Some(&label));
            (label, std::cmp::Reverse((skill.usable, skill.rank, named_after_dir)), skill.dir.clone())
        });
        let mut effective = HashMap::with_capacity(skills.len());
        let mut unhidden = Vec::with_capacity(skills.len());
        let mut owners: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, skill) in skills.iter().enumerate() {
            let Some(name) = skill.head.name.as_ref().filter(|_| skill.usable) else { continue };
            if let std::collections::hash_map::Entry::Vacant(entry) =
                effective.entry(name.as_str().to_owned())
            {
                entry.insert(at);
                if !skill.head.is_unlisted() {
                    unhidden.push((at, name.as_str()));
                }
                for owned in &skill.head.owns {
                    owners.entry(owned.clone()).or_default().push(at);
                }
            }
        }
        let (owned, listed): (Vec<_>, Vec<_>) =
            unhidden.into_iter().partition(|(_, name)| owners.contains_key(*name));
        let places = |skills: Vec<(usize, &str)>| skills.into_iter().map(|(at, _)| at).collect();
        let (owned, listed) = (places(owned), places(listed));
        Self { skills, effective, listed, owned, owners, stamp: OnceLock::new() }
    }

    /// The effective, usable skill of a name.
    pub fn get(&self, name: &str) -> Option<&Installed> {
        self.effective.get(name).and_then(|at| self.skills.get(*at))
    }

    /// Found under that name but not loadable, and no good one instead.
    pub fn broken(&self, name: &str) -> Option<&Installed> {
        let from = self.skills.partition_point(|skill| skill.label().as_str() < name);
        let skill = self.skills.get(from)?;
        (!skill.usable && skill.label() == name).then_some(skill)
    }

    /// What `*` means: every effective skill that is not internal, hidden or owned by an orchestrator, in name order.
    pub fn listed(&self) -> impl Iterator<Item = &Installed> + Clone {
        self.listed.iter().filter_map(|at| self.skills.get(*at))
    }

    /// What `*` leaves to the orchestrators that own it, in name order.
    pub fn owned(&self) -> impl Iterator<Item = &Installed> + Clone {
        self.owned.iter().filter_map(|at| self.skills.get(*at))
    }

    /// The orchestrators that list a skill by name, in name order.
    pub fn owners(&self, name: &str) -> impl Iterator<Item = &Installed> + Clone {
        let owners = self.owners.get(name).map(Vec::as_slice).unwrap_or_default();
        owners.iter().filter_map(|at| self.skills.get(*at))
    }

    /// How many skills `*` means.
    pub fn listed_len(&self) -> usize {
        self.listed.len()
    }

    /// Everything found, in name order, the effective one of each name first.
    pub fn all(&self) -> &[Installed] {
        &self.skills
    }

    pub fn is_shadowed(&self, skill: &Installed) -> bool {
        let effective = skill.head.name.as_ref().and_then(|name| self.get(name.as_str()));
        skill.usable && effective.is_some_and(|winner| winner.dir != skill.dir)
    }

    /// Names that can be used, in name order: for "did you mean" and completion.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.skills
            .iter()
            .filter(|skill| !self.is_shadowed(skill) && skill.usable)
            .filter_map(|skill| skill.head.name.as_ref().map(fugato_model::SkillName::as_str))
    }

    /// A digest of everything installed, computed once: part of the key of whatever depends on all of it.
    pub fn stamp(&self) -> Digest {
        *self.stamp.get_or_init(|| crate::policy::stamp_of(&self.skills))
    }

    pub fn len(&self) -> usize {
        self.skills.len()
    }

    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::SkillName;

    fn skill(name: &str, scope: &str, rank: u32, usable: bool) -> Installed {
        let head = SkillHead { name: SkillName::parse(name).ok(), ..SkillHead::default() };
        let sound = Installed::sound(head, scope.parse().unwrap(), format!("/{scope}/{name}"));
        Installed { rank, usable, ..sound }
    }

    #[test]
    fn the_later_scope_wins_and_the_other_is_shadowed() {
        let inventory = Inventory::new(vec![
            skill("voice", "global", 0, true),
            skill("voice", "character:Ada", 3, true),
            skill("voice", "project", 1, true),
        ]);
        assert_eq!(inventory.get("voice").unwrap().scope.to_string(), "character:Ada");
        assert_eq!(inventory.all().iter().filter(|s| inventory.is_shadowed(s)).count(), 2);
        assert_eq!(inventory.names().collect::<Vec<_>>(), ["voice"]);
    }

    #[test]
    fn a_broken_skill_shadows_nobody_and_is_still_listed() {
        let inventory =
            Inventory::new(vec![skill("voice", "global", 0, true), skill("voice", "project", 1, false)]);
        assert_eq!(inventory.get("voice").unwrap().scope, Scope::Global);
        assert_eq!(inventory.len(), 2);
        let broken = Inventory::new(vec![skill("voice", "project", 1, false)]);
        assert!(broken.get("voice").is_none() && broken.broken("voice").is_some());
    }

    #[test]
    fn star_means_listed_skills_in_name_order() {
        let mut internal = skill("inner", "global", 0, true);
        internal.head.internal = true;
        let inventory =
            Inventory::new(vec![skill("b", "global", 0, true), internal, skill("a", "project", 1, true)]);
        let names: Vec<_> = inventory.listed().map(Installed::label).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(inventory.get("inner").is_some());
    }

    #[test]
    fn what_an_orchestrator_lists_by_name_is_its_own_and_what_is_shadowed_owns_nothing() {
        let owner = |scope: &str, rank: u32, owns: &[&str]| {
            let mut desk = skill("desk", scope, rank, true);
            desk.head.owns = owns.iter().map(|name| (*name).to_owned()).collect();
            desk
        };
        let skills = |desk: Vec<Installed>| {
            let plain = ["a", "b", "c"].map(|name| skill(name, "global", 0, true));
            Inventory::new(plain.into_iter().chain(desk).collect())
        };
        let names = |skills: Vec<&Installed>| skills.into_iter().map(Installed::label).collect::<Vec<_>>();
        let one = skills(vec![owner("global", 0, &["a", "b", "gone"])]);
        assert_eq!(names(one.listed().collect()), ["c", "desk"]);
        assert_eq!(names(one.owned().collect()), ["a", "b"]);
        assert_eq!(names(one.owners("b").collect()), ["desk"]);
        assert!(one.get("a").is_some());
        let shadowed = skills(vec![owner("global", 0, &["a"]), owner("project", 1, &["b"])]);
        assert_eq!(names(shadowed.listed().collect()), ["a", "c", "desk"]);
    }
}

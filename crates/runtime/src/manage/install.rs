//! Bundled skills → installed skills. Several at once are installed together or not at all.

use super::disk::{Disk, DiskError, missing, taken};
use super::error::ManageError;
use super::stage::{Stage, clean_on};
use super::trash;
use super::tree::{digest_of, write_tree};
use crate::Places;
use fugato_model::{Code, Diagnostic, Digest, Scope, SkillName, escape_for_terminal, words};
use fugato_skill::archive::BundledSkill;
use fugato_skill::lock::{FileDrift, LockFile, LockedSkill, changed_files};
use std::path::{Path, PathBuf};

/// What to do when a different skill of the name is installed in the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    Fail,
    Skip,
    /// The installed one moves to the trash.
    Replace,
}

/// What installing a skill would meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    pub name: SkillName,
    pub state: State,
    pub digest: Digest,
    /// Warnings of the skill file.
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    New,
    Same,
    Different { changed: Vec<FileDrift> },
}

/// What became of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub name: SkillName,
    pub dir: PathBuf,
    pub digest: Digest,
    pub done: Done,
    /// Warnings of the skill file.
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    Installed,
    /// The same bytes were there already.
    Same,
    /// A different one is there and stays.
    Skipped,
    /// The old one is in `backup`.
    Replaced {
        backup: PathBuf,
    },
}

/// Compares skills with what is in a directory of skills. Reads only.
pub fn preview(skills: &[&BundledSkill], target_dir: &Path) -> Result<Vec<Preview>, ManageError> {
    let planned = plan(skills)?;
    planned
        .into_iter()
        .map(|planned| {
            let state = planned.state(&target_dir.join(planned.name.as_str()));
            Ok(Preview {
                name: planned.name,
                state,
                digest: planned.digest,
                diagnostics: planned.diagnostics,
            })
        })
        .collect()
}

/// Installs skills into a scope.
pub fn install(
    places: &Places,
    scope: &Scope,
    skills: &[&BundledSkill],
    on_conflict: OnConflict,
) -> Result<Vec<Outcome>, ManageError> {
    install_on(&Disk::real(), places, scope, skills, on_conflict)
}

/// As [`install`], on a given disk.
pub fn install_on(
    disk: &Disk,
    places: &Places,
    scope: &Scope,
    skills: &[&BundledSkill],
    on_conflict: OnConflict,
) -> Result<Vec<Outcome>, ManageError> {
    let root = places.scope_dir(scope);
    let planned = plan(skills)?;
    // Everything that can be refused is refused before anything is written.
    for plan in planned.iter().filter(|_| on_conflict == OnConflict::Fail) {
        let dir = root.join(plan.name.as_str());
        if matches!(plan.state(&dir), State::Different { .. }) {
            return Err(ManageError::Conflict { name: plan.name.to_string(), dir });
        }
    }
    disk.create_dirs(&root)?;
    clean_on(disk, places, &root)?;
    if on_conflict == OnConflict::Replace {
        trash::open(disk, places)?;
    }
    let stage = Stage::create(disk, &root)?;
    let mut publisher = Publisher { disk, root: &root, stage, on_conflict, published: Vec::new() };
    match publisher.all(&planned) {
        Ok(()) => Ok(publisher.finish(places, planned)),
        Err(error) => {
            publisher.undo();
            Err(error)
        }
    }
}

/// Refuses skills whose digest is not the pinned one. Skills without a pin pass.
pub fn check_pins(lock: &LockFile, skills: &[&BundledSkill]) -> Result<(), ManageError> {
    for plan in plan(skills)? {
        if let Some(pin) = lock.get(plan.name.as_str())
            && pin.digest != plan.digest
        {
            return Err(ManageError::PinDiffers {
                name: plan.name,
                expected: pin.digest,
                found: plan.digest,
            });
        }
    }
    Ok(())
}

/// A skill that may be installed, under its name.
struct Planned<'a> {
    name: SkillName,
    skill: &'a BundledSkill,
    digest: Digest,
    diagnostics: Vec<Diagnostic>,
}

fn plan<'a>(skills: &[&'a BundledSkill]) -> Result<Vec<Planned<'a>>, ManageError> {
    let mut names = std::collections::BTreeSet::new();
    let mut planned = Vec::with_capacity(skills.len());
    for skill in skills {
        let plan = plan_one(skill)?;
        if !names.insert(plan.name.clone()) {
            let name = &plan.name;
            let why = words!("two of these skills are called `{name}`", "其中有两个技能都叫 `{name}`");
            return Err(ManageError::invalid(Diagnostic::error(Code::F0304, skill.dir_name.clone(), why)));
        }
        planned.push(plan);
    }
    Ok(planned)
}

/// A skill is installed under the name it declares; its directory in the source only helps when that is unusable.
fn plan_one(skill: &BundledSkill) -> Result<Planned<'_>, ManageError> {
    let first = skill.reading(&skill.dir_name);
    let declared = first.head.declared_name.as_deref().and_then(|name| SkillName::parse(name).ok());
    let Some(name) = declared.or_else(|| first.head.name.clone()).filter(|_| first.usable) else {
        let mut reasons = first.diagnostics;
        // Errors first: the first one is the answer.
        reasons.sort_by_key(|reason| !reason.is_error());
        if reasons.is_empty() {
            let shown = escape_for_terminal(&skill.dir_name);
            let why = words!("`{shown}` is not a usable skill", "`{shown}` 不是可用的技能");
            reasons.push(Diagnostic::error(Code::F0305, skill.dir_name.clone(), why));
        }
        return Err(ManageError::Invalid(reasons));
    };
    let reading = if skill.dir_name == name.as_str() { first } else { skill.reading(name.as_str()) };
    Ok(Planned { name, skill, digest: skill.digest(), diagnostics: reading.diagnostics })
}

impl Planned<'_> {
    fn state(&self, dir: &Path) -> State {
        if dir.symlink_metadata().is_err() {
            return State::New;
        }
        // What cannot be read is certainly not the same.
        let Ok((digest, entries)) = digest_of(dir) else { return State::Different { changed: Vec::new() } };
        if digest == self.digest {
            return State::Same;
        }
        let before = entries.into_iter().map(|entry| (entry.path, entry.digest)).collect();
        let files = self.skill.files.iter().map(|(path, file)| (path, file.bytes.as_slice()));
        State::Different { changed: changed_files(&before, &LockedSkill::hash_files(files)) }
    }
}

/// Makes staged skills visible, and remembers how to take that back.
struct Publisher<'a> {
    disk: &'a Disk,
    root: &'a Path,
    stage: Stage,
    on_conflict: OnConflict,
    published: Vec<Published>,
}

/// One skill that was dealt with, and how to take that back.
struct Published {
    how: How,
    target: PathBuf,
    staged: PathBuf,
    digest: Digest,
}

enum How {
    Fresh,
    Same,
    Skipped,
    /// The stage's copy and the installed one swapped places: the old one is at `old`.
    Swapped {
        old: PathBuf,
    },
    /// The old one was moved aside first, on file systems that cannot swap.
    Aside {
        old: PathBuf,
    },
}

impl Publisher<'_> {
    fn all(&mut self, planned: &[Planned<'_>]) -> Result<(), ManageError> {
        for plan in planned {
            let staged = self.stage.path(plan.name.as_str());
            write_tree(self.disk, &staged, &plan.skill.files)?;
            // What is on the disk is what was checked.
            let (found, _) = digest_of(&staged)?;
            if found != plan.digest {
                return Err(ManageError::PinDiffers {
                    name: plan.name.clone(),
                    expected: plan.digest,
                    found,
                });
            }
        }
        for plan in planned {
            let staged = self.stage.path(plan.name.as_str());
            let target = self.root.join(plan.name.as_str());
            let how = self.publish(plan, &staged, &target)?;
            self.published.push(Published { how, target, staged, digest: plan.digest });
        }
        Ok(self.disk.sync_dir(self.root)?)
    }

    fn publish(&mut self, plan: &Planned<'_>, staged: &Path, target: &Path) -> Result<How, ManageError> {
        let conflict = || ManageError::Conflict { name: plan.name.to_string(), dir: target.to_owned() };
        // Others may install and remove meanwhile; each turn of the loop lost a race that someone else won.
        for _ in 0..100 {
            match self.disk.rename_new(staged, target) {
                Ok(()) => return Ok(How::Fresh),
                Err(error) if taken(&error) => {}
                Err(error) => return Err(error.into()),
            }
            match (plan.state(target), self.on_conflict) {
                (State::New, _) => continue,
                (State::Same, _) => return Ok(How::Same),
                (State::Different { .. }, OnConflict::Skip) => return Ok(How::Skipped),
                (State::Different { .. }, OnConflict::Fail) => return Err(conflict()),
                (State::Different { .. }, OnConflict::Replace) => {}
            }
            self.stage.keep()?;
            match self.replace(plan.name.as_str(), staged, target) {
                Ok(Some(how)) => return Ok(how),
                Ok(None) => {}
                Err(error) if missing(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(conflict())
    }

    /// `None`: someone else was quicker; look again.
    fn replace(&self, name: &str, staged: &Path, target: &Path) -> Result<Option<How>, DiskError> {
        if self.disk.exchange(staged, target)? {
            return Ok(Some(How::Swapped { old: staged.to_owned() }));
        }
        let old = self.stage.old_path(name);
        self.disk.rename_new(target, &old)?;
        match self.disk.rename_new(staged, target) {
            Ok(()) => Ok(Some(How::Aside { old })),
            Err(error) => {
                // Put the old one back; if its place was taken meanwhile, recovery moves it to the trash.
                let _ = self.disk.rename_new(&old, target);
                if taken(&error) { Ok(None) } else { Err(error) }
            }
        }
    }

    /// Moves the replaced skills to the trash and reports.
    fn finish(self, places: &Places, planned: Vec<Planned<'_>>) -> Vec<Outcome> {
        let mut stranded = false;
        let mut outcomes = Vec::with_capacity(planned.len());
        for (plan, published) in planned.into_iter().zip(self.published) {
            let mut diagnostics = plan.diagnostics;
            let done = match published.how {
                How::Fresh => Done::Installed,
                How::Same => Done::Same,
                How::Skipped => Done::Skipped,
                How::Swapped { old } | How::Aside { old } => {
                    match trash::put(self.disk, places, &old, plan.name.as_str()) {
                        Ok(backup) => Done::Replaced { backup },
                        Err(error) => {
                            // The change is made; the old skill waits in the stage until the trash works again.
                            stranded = true;
                            let why = words!(
                                "the old skill could not be moved to the trash: {error}",
                                "旧技能无法移到回收处：{error}"
                            );
                            diagnostics.push(Diagnostic::warning(Code::F0404, old.to_string_lossy(), why));
                            Done::Replaced { backup: old }
                        }
                    }
                }
            };
            outcomes.push(Outcome {
                name: plan.name,
                dir: published.target,
                digest: plan.digest,
                done,
                diagnostics,
            });
        }
        if stranded {
            self.stage.abandon();
        } else {
            self.stage.discard();
        }
        outcomes
    }

    /// Takes back what was published, last first. Each single skill stays whole whatever fails here.
    fn undo(self) {
        let mut is_clean = true;
        for published in self.published.iter().rev() {
            let Published { how, target, staged, digest } = published;
            // Someone may have changed or replaced it since: then it is no longer ours to take back.
            let is_ours = digest_of(target).is_ok_and(|(found, _)| found == *digest);
            let undone = match how {
                How::Same | How::Skipped => true,
                How::Fresh => !is_ours || self.disk.rename_new(target, staged).is_ok(),
                How::Swapped { old } => is_ours && matches!(self.disk.exchange(old, target), Ok(true)),
                How::Aside { old } => {
                    is_ours
                        && self.disk.rename_new(target, staged).is_ok()
                        && self.disk.rename_new(old, target).is_ok()
                }
            };
            is_clean &= undone;
        }
        if is_clean {
            self.stage.discard();
        } else {
            self.stage.abandon();
        }
    }
}

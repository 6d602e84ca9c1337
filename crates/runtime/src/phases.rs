//! Reading the phases of a skill from its directory. Finds the files, here or among the installed skills; what they say is
//! judged in `skill`.

mod chain;
mod inner;

use crate::{FileError, SkillDir};
use fugato_model::{Diagnostic, RelPath};
use fugato_skill::phases::{self, Phased, Source, SubSkill};
use fugato_skill::{Inventory, SkillText, problems, read_skill};
pub use inner::Inside;
use inner::Reading;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// What the phases of a skill are, and everything that is wrong with them.
#[derive(Clone, Debug, Default)]
pub struct ReadPhases {
    /// `None` without an error among the diagnostics: the skill has no phases.
    pub phased: Option<Phased>,
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the SKILL.md that was read.
    pub skill_text: String,
    /// The side file that was read, and how diagnostics call it.
    pub side_file: Option<(RelPath, String)>,
    /// The sub-skills that were found, by what the phases call them.
    pub sub_skills: BTreeMap<RelPath, FoundSkill>,
    /// Those among them that run phases of their own.
    pub inner: BTreeMap<RelPath, Arc<ReadPhases>>,
}

/// A sub-skill: a part of the skill, or an installed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSkill {
    pub origin: Origin,
    /// The directory its own paths start from.
    pub dir: PathBuf,
    /// Its file, relative to `dir`.
    pub file: RelPath,
    /// It was named by its file (`_sub/x/SKILL.md`), not by its directory.
    pub names_a_file: bool,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Beneath the skill that names it.
    Part,
    /// Found by its name.
    Installed,
}

/// Reads the phases of the skill in `dir`. `file` is its SKILL.md; `installed` answers for names that are no path here;
/// `is_type` for kinds of agents that are not built in; `show` makes a path of the skill what a person would call it.
pub fn read_phases(
    dir: &SkillDir,
    file: &RelPath,
    installed: &Inventory,
    is_type: &dyn Fn(&str) -> bool,
    show: &dyn Fn(&RelPath) -> String,
) -> ReadPhases {
    read_with(&Reading { installed, is_type, read: RefCell::new(HashMap::new()) }, dir, file, show)
}

fn read_with(
    reading: &Reading<'_>,
    dir: &SkillDir,
    file: &RelPath,
    show: &dyn Fn(&RelPath) -> String,
) -> ReadPhases {
    let path = show(file);
    let skill_text = match read_text(dir, file) {
        Ok(text) => text,
        Err(error) => {
            let diagnostics = vec![problems::unreadable(&path, &error.to_string())];
            return ReadPhases { diagnostics, ..ReadPhases::default() };
        }
    };
    let side = match side_file(dir, &skill_text) {
        Ok(side) => side,
        Err((file, error)) => {
            let diagnostics = vec![problems::unreadable(&show(&file), &error.to_string())];
            return ReadPhases { diagnostics, skill_text, ..ReadPhases::default() };
        }
    };
    let side_path = side.as_ref().map(|(file, _)| show(file)).unwrap_or_default();
    let side_file = side.as_ref().map(|(_, text)| (side_path.as_str(), text.as_str()));
    let source = Source { path: &path, text: &skill_text, side_file };
    let sub_skills = RefCell::new(BTreeMap::new());
    let phased_skills = RefCell::new(BTreeSet::new());
    let look = |path: &RelPath| {
        let found = find(dir, path, reading.installed);
        let answer = answer(dir, file, path, &found, reading.installed, show);
        if matches!(answer, SubSkill::Phased { .. }) {
            phased_skills.borrow_mut().insert(path.clone());
        }
        if let Ok(Some(found)) = found {
            sub_skills.borrow_mut().insert(path.clone(), found);
        }
        answer
    };
    let (phased, diagnostics) = phases::read_knowing(source, &look, reading.is_type);
    let side_file = side.map(|(file, _)| (file, side_path));
    let sub_skills = sub_skills.into_inner();
    let mut read =
        ReadPhases { phased, diagnostics, skill_text, side_file, sub_skills, inner: BTreeMap::new() };
    read.inner = reading.inner(&read, &phased_skills.into_inner(), show);
    read
}

/// The side file a SKILL.md names, if it is there. One that is not is told by `skill`, at the place that names it.
fn side_file(dir: &SkillDir, skill_text: &str) -> Result<Option<(RelPath, String)>, (RelPath, FileError)> {
    let head = read_skill(SkillText { dir_name: "", path: "", bytes: skill_text.as_bytes() }).head;
    let Some(file) = head.phases_file.as_deref().and_then(|file| RelPath::parse(file).ok()) else {
        return Ok(None);
    };
    match read_text(dir, &file) {
        Ok(text) => Ok(Some((file, text))),
        Err(FileError::NotFound(_)) => Ok(None),
        Err(error) => Err((file, error)),
    }
}

/// The SKILL.md of a sub-skill: beneath the skill, or else an installed skill of that name. A path may name the file
/// itself. The error names the file that cannot be used.
fn find(
    dir: &SkillDir,
    path: &RelPath,
    installed: &Inventory,
) -> Result<Option<FoundSkill>, (RelPath, FileError)> {
    for file in files_of(path) {
        match read_text(dir, &file) {
            Ok(text) => return Ok(Some(part(dir, path, &file, text))),
            Err(FileError::NotFound(_)) => {}
            Err(error) => return Err((file, error)),
        }
    }
    let Some(skill) = installed.get(path.as_str()) else { return Ok(None) };
    let Ok(file) = RelPath::parse(&skill.file) else { return Ok(None) };
    let text = SkillDir::open(&skill.dir).and_then(|dir| read_text(&dir, &file));
    let text = text.map_err(|error| (file.clone(), error))?;
    let dir = skill.dir.clone();
    Ok(Some(FoundSkill { origin: Origin::Installed, dir, file, names_a_file: false, text }))
}

fn files_of(path: &RelPath) -> impl Iterator<Item = RelPath> {
    let own = path.file_name().ends_with(".md").then(|| path.clone());
    let inner = ["SKILL.md", "skill.md"].map(|name| RelPath::parse(&format!("{path}/{name}")).ok());
    own.into_iter().chain(inner.into_iter().flatten())
}

fn part(dir: &SkillDir, path: &RelPath, file: &RelPath, text: String) -> FoundSkill {
    let (above, name) = file.as_str().rsplit_once('/').unwrap_or(("", file.as_str()));
    let own = RelPath::parse(name).unwrap_or_else(|_| file.clone());
    let names_a_file = path == file;
    FoundSkill { origin: Origin::Part, dir: dir.dir().join(above), file: own, names_a_file, text }
}

fn answer(
    dir: &SkillDir,
    own_file: &RelPath,
    path: &RelPath,
    found: &Result<Option<FoundSkill>, (RelPath, FileError)>,
    installed: &Inventory,
    show: &dyn Fn(&RelPath) -> String,
) -> SubSkill {
    let found = match found {
        Ok(Some(found)) => found,
        Ok(None) => {
            // The second spelling says nothing a person would not expect.
            let looked_at = files_of(path).take(1).map(|file| show(&file)).collect();
            return SubSkill::Missing { looked_at, nearest: nearest(dir, path, installed) };
        }
        Err((file, error)) => return SubSkill::Unusable { path: show(file), why: error.words() },
    };
    let shown = match found.origin {
        Origin::Part => files_of(path).find(|file| file.file_name() == found.file.as_str()),
        Origin::Installed => None,
    };
    let shown = shown.map_or_else(|| found.dir.join(&found.file).display().to_string(), |file| show(&file));
    let is_own = found.origin == Origin::Part && shown == show(own_file);
    match chain::follow(dir, own_file, path, found, installed) {
        // A skill that names its own file is told so in plainer words.
        chain::Leads::Back(names) if !is_own => SubSkill::Recursive { names },
        chain::Leads::TooDeep(names) => SubSkill::TooDeep { names },
        chain::Leads::On => SubSkill::Phased { path: shown, text: found.text.clone() },
        _ => SubSkill::Found { path: shown, text: found.text.clone() },
    }
}

/// As many names as a message lists.
const NEAREST: usize = 3;

fn nearest(dir: &SkillDir, path: &RelPath, installed: &Inventory) -> Vec<String> {
    let files = dir.list();
    let parts = files.iter().filter_map(|file| {
        let (above, name) = file.as_str().rsplit_once('/')?;
        matches!(name, "SKILL.md" | "skill.md").then_some(above)
    });
    let mut candidates: Vec<&str> = parts.chain(installed.names()).collect();
    let mut near = Vec::new();
    // The whole path first, then its last component: the directory may be right and the name not, or the reverse.
    let last = path.file_name();
    while near.len() < NEAREST {
        let best = fugato_model::nearest(path.as_str(), candidates.iter().copied()).or_else(|| {
            let ends = |candidate: &&&str| candidate.rsplit('/').next().is_some_and(|end| end == last);
            candidates.iter().find(ends).copied()
        });
        let Some(best) = best.map(str::to_owned) else { break };
        candidates.retain(|candidate| **candidate != best);
        near.push(best);
    }
    near
}

fn read_text(dir: &SkillDir, path: &RelPath) -> Result<String, FileError> {
    String::from_utf8(dir.read(path)?).map_err(|_| {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8");
        FileError::Io { path: path.to_string(), error }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::Code;
    use std::path::Path;

    fn write(root: &Path, path: &str, text: &str) {
        let full = root.join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    fn read(root: &Path) -> ReadPhases {
        let dir = SkillDir::open(root).unwrap();
        let file = RelPath::parse("SKILL.md").unwrap();
        read_phases(&dir, &file, &Inventory::default(), &|_| false, &|path| format!("daily/{path}"))
    }

    #[test]
    fn a_side_file_and_its_sub_skills_are_found_inside_of_the_skill() {
        let root = tempfile::tempdir().unwrap();
        let skill = "---\nname: daily\ndescription: d\nmetadata:\n  fugato-phases: phases.yaml\n---\n";
        write(root.path(), "SKILL.md", skill);
        assert_eq!(read(root.path()).diagnostics[0].code, Code::F0125);
        let phases = "phases:\n  - name: a\n    subagents:\n      - {skill: _sub/x, type: explore}\n";
        write(root.path(), "phases.yaml", phases);
        let missing = read(root.path());
        assert_eq!((missing.diagnostics.len(), missing.diagnostics[0].code), (1, Code::F0807));
        assert_eq!(missing.diagnostics[0].path, "daily/phases.yaml");
        assert!(missing.diagnostics[0].message.en.contains("`daily/_sub/x/SKILL.md`"));
        write(root.path(), "_sub/x/SKILL.md", "# x\n");
        let found = read(root.path());
        assert_eq!(found.diagnostics, []);
        assert_eq!(found.phased.unwrap().phases[0].subagents[0].id, "x");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        write(outside.path(), "SKILL.md", "# x\n");
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            "SKILL.md",
            "---\nname: daily\ndescription: d\nphases:\n  - name: a\n    subagents:\n      - {skill: x, type: explore}\n---\n",
        );
        std::os::unix::fs::symlink(outside.path(), root.path().join("x")).unwrap();
        let read = read(root.path());
        assert!(read.phased.is_none());
        assert_eq!(read.diagnostics[0].code, Code::F0807);
        assert!(read.diagnostics[0].message.en.contains("leads out of the skill"));
    }

    /// `name` with phases that start each of `names`.
    fn phased(name: &str, names: &[&str]) -> String {
        let subagents: String =
            names.iter().map(|skill| format!("      - {{skill: {skill}, type: explore}}\n")).collect();
        format!("---\nname: {name}\ndescription: d\nphases:\n  - name: a\n    subagents:\n{subagents}---\n")
    }

    fn installed(root: &Path) -> Inventory {
        crate::discover_paths(&[root.to_owned()]).inventory
    }

    fn read_installed(root: &Path, name: &str) -> ReadPhases {
        let dir = SkillDir::open(&root.join(name)).unwrap();
        let file = RelPath::parse("SKILL.md").unwrap();
        read_phases(&dir, &file, &installed(root), &|_| false, &|path| format!("{name}/{path}"))
    }

    #[test]
    fn a_name_that_is_no_path_here_is_an_installed_skill_also_an_internal_one() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "daily/SKILL.md", &phased("daily", &["get-calendar", "_sub/x", "file.md"]));
        write(root.path(), "daily/_sub/x/SKILL.md", "# x\n");
        write(root.path(), "daily/file.md", "# file\n");
        let calendar = "---\nname: get-calendar\ndescription: d\ninternal: true\n---\n# c\n";
        write(root.path(), "get-calendar/SKILL.md", calendar);
        let read = read_installed(root.path(), "daily");
        assert_eq!(read.diagnostics, []);
        let at = |name: &str| &read.sub_skills[&RelPath::parse(name).unwrap()];
        assert_eq!(at("get-calendar").origin, Origin::Installed);
        assert!(at("get-calendar").dir.ends_with("get-calendar"));
        assert_eq!((at("_sub/x").origin, at("_sub/x").text.as_str()), (Origin::Part, "# x\n"));
        assert_eq!((at("file.md").file.as_str(), at("file.md").text.as_str()), ("file.md", "# file\n"));
        // A path beneath the skill comes first.
        write(root.path(), "daily/get-calendar/SKILL.md", "# mine\n");
        let read = read_installed(root.path(), "daily");
        assert_eq!(read.sub_skills[&RelPath::parse("get-calendar").unwrap()].text, "# mine\n");
    }

    #[test]
    fn what_is_missing_is_told_with_what_is_nearly_called_so() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "daily/SKILL.md", &phased("daily", &["get-calender"]));
        write(root.path(), "daily/_sub/fetch/get-calender/SKILL.md", "# x\n");
        write(root.path(), "get-calendar/SKILL.md", "---\nname: get-calendar\ndescription: d\n---\n# c\n");
        let read = read_installed(root.path(), "daily");
        let hint = &read.diagnostics[0].hint.as_ref().unwrap().en;
        assert!(hint.contains("`get-calendar`, `_sub/fetch/get-calender`"), "{hint}");
    }

    #[test]
    fn a_way_back_is_refused_with_the_whole_way() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "a/SKILL.md", &phased("a", &["b"]));
        write(root.path(), "b/SKILL.md", &phased("b", &["_sub/c"]));
        write(root.path(), "b/_sub/c/SKILL.md", &phased("c", &["a"]));
        let message = |name: &str| {
            let read = read_installed(root.path(), name);
            assert!(read.phased.is_none());
            assert_eq!((read.diagnostics.len(), read.diagnostics[0].code), (1, Code::F0807));
            read.diagnostics[0].message.en.clone()
        };
        assert_eq!(message("a"), "the sub-skill leads back to itself: a ──→ b ──→ _sub/c ──→ a");
        // Also when the way back does not touch the skill one asked about.
        write(root.path(), "outer/SKILL.md", &phased("outer", &["a"]));
        assert!(message("outer").ends_with("a ──→ b ──→ _sub/c ──→ a"), "{}", message("outer"));
        write(root.path(), "self/SKILL.md", &phased("self", &["self"]));
        assert_eq!(message("self"), "the sub-skill leads back to itself: self ──→ self");
    }

    #[test]
    fn phases_inside_phases_have_a_depth_and_are_told() {
        let root = tempfile::tempdir().unwrap();
        for at in 0..12 {
            write(
                root.path(),
                &format!("s{at}/SKILL.md"),
                &phased(&format!("s{at}"), &[&format!("s{}", at + 1)]),
            );
        }
        write(root.path(), "s12/SKILL.md", "---\nname: s12\ndescription: d\n---\n");
        let deep = read_installed(root.path(), "s0");
        assert!(deep.diagnostics[0].is_error() && deep.diagnostics[0].message.en.contains("deep"));
        let near = read_installed(root.path(), "s9");
        assert!(near.phased.is_some());
        assert_eq!(near.diagnostics, []);
        let inner = |read: &ReadPhases, name: &str| read.inner[&RelPath::parse(name).unwrap()].clone();
        let s11 = inner(&inner(&near, "s10"), "s11");
        assert!(s11.phased.is_some() && s11.inner.is_empty());
        assert_eq!(read_installed(root.path(), "s11").diagnostics, []);
    }
}

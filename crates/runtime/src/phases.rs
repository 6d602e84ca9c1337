//! Reading the phases of a skill from its directory. Finds the files; what they say is judged in `skill`.

use crate::{FileError, SkillDir};
use fugato_model::{Diagnostic, RelPath};
use fugato_skill::phases::{self, Phased, Source, SubSkill};
use fugato_skill::{SkillText, problems, read_skill};

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
}

/// Reads the phases of the skill in `dir`. `file` is its SKILL.md; `show` makes a path of the skill what a person would call it.
pub fn read_phases(dir: &SkillDir, file: &RelPath, show: &dyn Fn(&RelPath) -> String) -> ReadPhases {
    let path = show(file);
    let skill_text = match read_text(dir, file) {
        Ok(text) => text,
        Err(error) => {
            let diagnostics = vec![problems::unreadable(&path, &error.to_string())];
            return ReadPhases { diagnostics, ..ReadPhases::default() };
        }
    };
    let head = read_skill(SkillText { dir_name: "", path: &path, bytes: skill_text.as_bytes() }).head;
    let named = head.phases_file.as_deref().and_then(|file| RelPath::parse(file).ok());
    // A side file that is not there is told by `skill`, at the place that names it.
    let side = match named.map(|file| (read_text(dir, &file), file)) {
        Some((Ok(text), file)) => Some((file, text)),
        Some((Err(FileError::NotFound(_)), _)) | None => None,
        Some((Err(error), file)) => {
            let diagnostics = vec![problems::unreadable(&show(&file), &error.to_string())];
            return ReadPhases { diagnostics, skill_text, ..ReadPhases::default() };
        }
    };
    let side_path = side.as_ref().map(|(file, _)| show(file)).unwrap_or_default();
    let side_file = side.as_ref().map(|(_, text)| (side_path.as_str(), text.as_str()));
    let source = Source { path: &path, text: &skill_text, side_file };
    let (phased, diagnostics) = phases::read(source, &|path| sub_skill(dir, path, show));
    let side_file = side.map(|(file, _)| (file, side_path));
    ReadPhases { phased, diagnostics, skill_text, side_file }
}

/// The SKILL.md of a sub-skill, which lies inside of the skill. A path may name the file itself.
fn sub_skill(dir: &SkillDir, path: &RelPath, show: &dyn Fn(&RelPath) -> String) -> SubSkill {
    let mut looked_at = Vec::new();
    let own = path.file_name().ends_with(".md").then(|| path.clone());
    let inner =
        ["SKILL.md", "skill.md"].iter().filter_map(|name| RelPath::parse(&format!("{path}/{name}")).ok());
    for file in own.into_iter().chain(inner) {
        match read_text(dir, &file) {
            Ok(text) => return SubSkill::Found { path: show(&file), text },
            Err(FileError::NotFound(_)) => looked_at.push(show(&file)),
            Err(error) => return SubSkill::Unusable { path: show(&file), why: error.words() },
        }
    }
    // The second spelling says nothing a person would not expect.
    looked_at.truncate(1);
    SubSkill::Missing { looked_at }
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
        read_phases(&dir, &RelPath::parse("SKILL.md").unwrap(), &|path| format!("daily/{path}"))
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
}

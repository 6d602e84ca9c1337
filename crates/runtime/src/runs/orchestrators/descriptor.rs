//! A descriptor as it is read from its file, with its text, so that problems can be shown where they are.

use crate::SkillDir;
use fugato_model::{Diagnostic, RelPath};
use fugato_skill::orchestrator::{OrchestratorSkill, Stage, read_descriptor};
use fugato_skill::{Installed, SkillText};

/// A descriptor that was read.
pub(super) struct Descriptor {
    pub skill: Option<OrchestratorSkill>,
    pub diagnostics: Vec<Diagnostic>,
    pub path: String,
    pub source: String,
}

pub(super) fn read(installed: &Installed, path: &str) -> Descriptor {
    let bytes = RelPath::parse(&installed.file).map_err(|error| error.words()).and_then(|file| {
        SkillDir::open(&installed.dir).and_then(|dir| dir.read(&file)).map_err(|error| error.words())
    });
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(why) => {
            let diagnostics = vec![fugato_skill::problems::unreadable(path, &why.en)];
            return Descriptor { skill: None, diagnostics, path: path.to_owned(), source: String::new() };
        }
    };
    let dir_name = installed.dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (skill, diagnostics) = read_descriptor(SkillText { dir_name, path, bytes: &bytes });
    let source = String::from_utf8_lossy(&bytes).into_owned();
    Descriptor { skill, diagnostics, path: path.to_owned(), source }
}

/// Where a list names a skill.
pub(super) fn listed_at(descriptor: &Descriptor, name: &str) -> Option<(usize, usize)> {
    let skill = descriptor.skill.as_ref()?;
    let mut lists = [Stage::Main, Stage::Preparation].into_iter().flat_map(|stage| skill.list(stage).names());
    lists.find(|listed| listed.name == name).map(|listed| (listed.place.start, listed.place.end))
}

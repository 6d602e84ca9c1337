//! The repairs of `fugato skill check --fix`: each file atomically, nothing written over that is somebody's.

use super::check::{FixLevel, phases_of, read_skill_file};
use crate::app::App;
use crate::error::CliError;
use fugato_model::{Diagnostic, Digest, Exit, Fix, RelPath, words};
use fugato_runtime::agents::AgentTypes;
use fugato_runtime::{ReadPhases, SkillDir, manage};
use fugato_skill::{Installed, Inventory, digest_bytes, fix, phases};

/// Applies fixes file by file, each atomically. Returns how many files changed.
pub(super) fn repair(
    skills: &[Installed],
    installed: &Inventory,
    types: &AgentTypes,
    level: FixLevel,
    app: &App,
) -> Result<usize, CliError> {
    let mut changed = 0;
    for skill in skills {
        let mut fixes: Vec<Fix> = skill.diagnostics.iter().filter_map(|d| d.fix.clone()).collect();
        let phases = phases_of(skill, installed, types, app).unwrap_or_default();
        let side = phases.side_file.as_ref().map(|(_, shown)| shown.as_str());
        let (of_side, of_skill): (Vec<_>, Vec<_>) =
            phases.diagnostics.iter().partition(|found| Some(found.path.as_str()) == side);
        fixes.extend(of_skill.into_iter().filter_map(|found| found.fix.clone()));
        changed += repair_side_file(skill, &phases, &of_side, app)?;
        let Some(source) = read_skill_file(skill).and_then(|bytes| String::from_utf8(bytes).ok()) else {
            continue;
        };
        let mut text = fix::apply(&source, &fixes);
        let mut side_file = None;
        if level == FixLevel::Portable
            && let Some(portable) = fix::make_portable(&text)
            && is_same(&text, &portable)
        {
            keep_other_phases(skill, &portable, app)?;
            text = portable.skill_md;
            side_file = Some(portable.phases_yaml);
        }
        if text == source {
            continue;
        }
        let write = |name: &str, content: &str, expected: Option<Digest>| -> Result<(), CliError> {
            let path = RelPath::parse(name).map_err(|error| CliError::internal(&error))?;
            manage::write_file(&app.places, skill, &path, content.as_bytes(), expected)
                .map(|_| ())
                .map_err(|error| super::manage_error(&error))
        };
        // The side file first: a crash in between leaves a skill that still has its phases inline.
        if let Some(phases) = side_file {
            write(fix::PHASES_FILE, &phases, None)?;
        }
        write(&skill.file, &text, Some(digest_bytes(source.as_bytes())))?;
        changed += 1;
    }
    Ok(changed)
}

/// Do the moved phases mean what they meant? Places differ, nothing else may.
fn is_same(before: &str, after: &fix::Portable) -> bool {
    let read = |text, side_file| {
        let source = phases::Source { path: "SKILL.md", text, side_file };
        let found = |path: &RelPath| phases::SubSkill::Found { path: path.to_string(), text: String::new() };
        let (phased, _) = phases::read_knowing(source, &found, &|_| true);
        phased.map(phases::Phased::meaning)
    };
    read(before, None) == read(&after.skill_md, Some((fix::PHASES_FILE, &after.phases_yaml)))
}

/// A file of that name with other content is somebody's: it is not written over.
fn keep_other_phases(skill: &Installed, portable: &fix::Portable, app: &App) -> Result<(), CliError> {
    let path = skill.dir.join(fix::PHASES_FILE);
    match std::fs::read(&path) {
        Ok(bytes) if bytes != portable.phases_yaml.as_bytes() => {
            let (shown, name) = (app.show_path(&path), skill.label());
            Err(CliError::new(
                Exit::Refused,
                words!(
                    "the phases of `{name}` would be written to {shown}, which says something else",
                    "`{name}` 的阶段要写入 {shown}，但该文件已有其他内容"
                ),
            )
            .hint(words!("rename or delete {shown}", "请重命名或删除 {shown}")))
        }
        _ => Ok(()),
    }
}

/// Applies the fixes of the file the phases stand in. Returns how many files changed.
fn repair_side_file(
    skill: &Installed,
    phases: &ReadPhases,
    problems: &[&Diagnostic],
    app: &App,
) -> Result<usize, CliError> {
    let fixes: Vec<Fix> = problems.iter().filter_map(|found| found.fix.clone()).collect();
    let Some((file, _)) = phases.side_file.as_ref().filter(|_| !fixes.is_empty()) else { return Ok(0) };
    let bytes = SkillDir::open(&skill.dir).and_then(|dir| dir.read(file)).ok();
    let Some(source) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else { return Ok(0) };
    let text = fix::apply(&source, &fixes);
    if text == source {
        return Ok(0);
    }
    let expected = Some(digest_bytes(source.as_bytes()));
    manage::write_file(&app.places, skill, file, text.as_bytes(), expected)
        .map_err(|error| super::manage_error(&error))?;
    Ok(1)
}

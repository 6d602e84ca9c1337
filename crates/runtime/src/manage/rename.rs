//! A skill under another name: directory and `name:` change together.
//!
//! The renamed copy is complete before it appears, and the old one leaves only then. A crash between the two leaves both,
//! each whole.

use super::disk::{Disk, at};
use super::error::ManageError;
use super::relocate::in_the_way;
use super::remove::{refuse_link, root_and_name};
use super::stage::{Stage, clean_on};
use super::tree::{copy_tree, open_file, read_all};
use crate::Places;
use fugato_model::{Code, Diagnostic, RelPath, SkillName, words};
use fugato_skill::{Installed, SkillText, read_named, rename_in_frontmatter};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    pub from: PathBuf,
    pub to: PathBuf,
    pub name: SkillName,
}

/// Renames an installed skill: its directory and the `name:` in its skill file.
pub fn rename(places: &Places, installed: &Installed, new: &SkillName) -> Result<Renamed, ManageError> {
    rename_on(&Disk::real(), places, installed, new)
}

/// As [`rename`], on a given disk.
pub fn rename_on(
    disk: &Disk,
    places: &Places,
    installed: &Installed,
    new: &SkillName,
) -> Result<Renamed, ManageError> {
    let from = installed.dir.clone();
    let (root, _) = root_and_name(&from)?;
    refuse_link(&from)?;
    let to = root.join(new.as_str());
    let text = renamed_text(installed, new)?;
    if to == from {
        // The directory already has the name; only the file lags behind.
        super::file::replace_file(disk, &from, &skill_file(installed)?, text.as_bytes())?;
        return Ok(Renamed { from, to, name: new.clone() });
    }
    if to.symlink_metadata().is_ok() {
        return Err(ManageError::Conflict { name: new.to_string(), dir: to });
    }
    clean_on(disk, places, root)?;
    let stage = Stage::create(disk, root)?;
    let done = swap(disk, &stage, installed, text.as_bytes(), &to, new);
    stage.discard();
    done?;
    disk.sync_dir(root)?;
    Ok(Renamed { from, to, name: new.clone() })
}

fn swap(
    disk: &Disk,
    stage: &Stage,
    installed: &Installed,
    text: &[u8],
    to: &Path,
    new: &SkillName,
) -> Result<(), ManageError> {
    let staged = stage.path(new.as_str());
    copy_tree(disk, &installed.dir, &staged)?;
    super::file::replace_file(disk, &staged, &skill_file(installed)?, text)?;
    disk.rename_new(&staged, to).map_err(|error| in_the_way(error, new.to_string(), to.to_owned()))?;
    if let Err(error) = disk.rename_new(&installed.dir, &stage.path("renamed.from")) {
        // The old one cannot leave: then the new one does.
        let _ = disk.rename_new(to, &staged);
        return Err(error.into());
    }
    Ok(())
}

fn skill_file(installed: &Installed) -> Result<RelPath, ManageError> {
    RelPath::parse(&installed.file).map_err(|_| ManageError::NotInstalled { dir: installed.dir.clone() })
}

/// The skill file with its new name, proven to read as that name.
fn renamed_text(installed: &Installed, new: &SkillName) -> Result<String, ManageError> {
    let file = skill_file(installed)?;
    let path = installed.dir.join(&file);
    let opened = match open_file(&installed.dir, &file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(ManageError::NotInstalled { dir: installed.dir.clone() });
        }
        opened => at(&path, opened)?,
    };
    let bytes = at(&path, read_all(opened, fugato_skill::limits::SKILL_FILE_BYTES as u64))?.bytes;
    let shown = path.to_string_lossy().into_owned();
    let refuse = |code, why| {
        ManageError::invalid(Diagnostic::error(code, shown.clone(), why).field("name").hint(words!(
            "set `name: {new}` by hand, then rename again",
            "请手动改为 `name: {new}`，再重新执行"
        )))
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| refuse(Code::F0103, words!("the file is not UTF-8", "文件不是 UTF-8")))?;
    let renamed = rename_in_frontmatter(&text, new).map_err(|error| refuse(Code::F0109, error.words()))?;
    let given = SkillText { dir_name: new.as_str(), path: &shown, bytes: renamed.as_bytes() };
    let reading = read_named(&installed.file, given);
    let reads_as_new = reading.head.name.as_ref() == Some(new) && reading.head.declared_name.is_none();
    if reads_as_new {
        Ok(renamed)
    } else {
        Err(refuse(Code::F0109, words!("the name could not be replaced safely", "无法安全地替换名称")))
    }
}

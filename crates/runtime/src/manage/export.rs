//! An installed skill → `.zip` bytes that this and every other machine can import.

use super::error::ManageError;
use super::tree::read_tree;
use fugato_model::{Code, Diagnostic, words};
use fugato_skill::Installed;
use fugato_skill::archive::{read_zip, write_zip};

/// Packs an installed skill. The same content always gives the same bytes.
pub fn export(installed: &Installed) -> Result<Vec<u8>, ManageError> {
    let (digest, files) = read_tree(&installed.dir)?;
    let name = match &installed.head.name {
        Some(name) => name.to_string(),
        None => installed.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
    };
    let bytes = write_zip(&name, &files);
    // Read back before anyone relies on it: a name that is not portable, or a limit, shows here and not at the receiver.
    let back = read_zip(&format!("{name}.zip"), &bytes).map_err(ManageError::Invalid)?;
    match back.skills.first() {
        Some(skill) if skill.digest() == digest => Ok(bytes),
        _ => {
            let why = words!(
                "`{name}` has files that no archive keeps; remove them and export again",
                "`{name}` 含有归档不会保留的文件；请删除后再导出"
            );
            Err(ManageError::invalid(Diagnostic::error(Code::F0306, installed.dir.to_string_lossy(), why)))
        }
    }
}

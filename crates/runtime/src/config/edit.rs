//! Changing one value in a configuration file, keeping everything else as it was written.

use super::layer::{text_of, unparsable};
use super::{Setting, Value, not_writable, unknown_key, wrong_value};
use fugato_model::Diagnostic;
use std::io::Write as _;
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, Table, value};

/// Sets `key` in `file` to a value as typed on a command line. The file is created if missing, replaced atomically,
/// and its comments stay. A file that does not parse is refused: rewriting it would lose what is in it.
pub fn set(file: &Path, key: &str, text: &str) -> Result<(), Box<Diagnostic>> {
    let setting = known(file, key)?;
    let shown = file.to_string_lossy();
    let new = setting.kind.read(text).ok_or_else(|| Box::new(wrong_value(setting, text, &shown)))?;
    let mut document = open(file)?;
    let (group, name) = key.split_once('.').map_or((None, key), |(group, name)| (Some(group), name));
    let table = match group {
        None => document.as_table_mut(),
        Some(group) => {
            let item = document.entry(group).or_insert_with(|| Item::Table(Table::new()));
            match item.as_table_like_mut() {
                Some(table) => {
                    put(table, name, &new);
                    return write(file, &document);
                }
                None => return Err(Box::new(wrong_value(setting, group, &shown))),
            }
        }
    };
    put(table, name, &new);
    write(file, &document)
}

/// Removes `key` from `file`, so that the layers below decide. `false`: it was not there.
pub fn unset(file: &Path, key: &str) -> Result<bool, Box<Diagnostic>> {
    known(file, key)?;
    let mut document = open(file)?;
    let removed = match key.split_once('.') {
        None => document.remove(key),
        Some((group, name)) => {
            document.get_mut(group).and_then(Item::as_table_like_mut).and_then(|table| table.remove(name))
        }
    };
    if removed.is_some() {
        write(file, &document)?;
    }
    Ok(removed.is_some())
}

fn known(file: &Path, key: &str) -> Result<&'static Setting, Box<Diagnostic>> {
    Setting::find(key).ok_or_else(|| Box::new(unknown_key(key, &file.to_string_lossy())))
}

fn open(file: &Path) -> Result<DocumentMut, Box<Diagnostic>> {
    let text = text_of(file).map_err(|error| Box::new(not_writable(file, &error)))?.unwrap_or_default();
    text.parse::<DocumentMut>()
        .map_err(|error| Box::new(unparsable(&text, &file.to_string_lossy(), error.message(), error.span())))
}

fn put(table: &mut dyn toml_edit::TableLike, name: &str, new: &Value) {
    let mut item = match new {
        Value::Unset => return,
        Value::Text(text) => value(text),
        Value::Integer(number) => value(*number),
        Value::Directories(dirs) => {
            value(dirs.iter().map(|dir| dir.to_string_lossy().into_owned()).collect::<Array>())
        }
    };
    // A remark behind the old value stays behind the new one.
    if let (Some(old), Some(new)) = (table.get(name).and_then(Item::as_value), item.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    match table.get_mut(name) {
        Some(old) => *old = item,
        None => {
            table.insert(name, item);
        }
    }
}

fn write(file: &Path, document: &DocumentMut) -> Result<(), Box<Diagnostic>> {
    let failed = |error: std::io::Error| Box::new(not_writable(file, &error));
    // Through a link to the file it means: dotfiles are often linked into a repository.
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(failed)?;
    let mut temp = tempfile::Builder::new().prefix(".config.").tempfile_in(dir).map_err(failed)?;
    temp.write_all(document.to_string().as_bytes()).map_err(failed)?;
    if let Ok(meta) = std::fs::metadata(&target) {
        std::fs::set_permissions(temp.path(), meta.permissions()).map_err(failed)?;
    }
    temp.as_file().sync_all().map_err(failed)?;
    temp.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

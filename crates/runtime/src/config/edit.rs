//! Changing one value in a configuration file, keeping everything else as it was written.

use super::layer::{text_of, unparsable};
use super::section::field_of;
use super::{Kind, Setting, Value, not_writable, unknown_key, wrong_value};
use fugato_model::Diagnostic;
use std::path::Path;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

/// Sets `key` in `file` to a value as typed on a command line. The file is created if missing, replaced atomically,
/// and its comments stay. A file that does not parse is refused: rewriting it would lose what is in it.
pub fn set(file: &Path, key: &str, text: &str) -> Result<(), Box<Diagnostic>> {
    let (kind, path) = known(file, key)?;
    let shown = file.to_string_lossy();
    let new = kind.read(text).ok_or_else(|| Box::new(wrong_value(key, kind, text, &shown)))?;
    let mut document = open(file)?;
    let Some((name, groups)) = path.split_last() else { return Ok(()) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for group in groups {
        // An implicit table prints no header of its own: `[providers.mine]` needs no `[providers]` before it.
        let is_last = groups.last() == Some(group);
        let item = table.entry(group).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(!is_last);
            Item::Table(table)
        });
        match item.as_table_like_mut() {
            Some(inner) => table = inner,
            None => return Err(Box::new(wrong_value(key, kind, group, &shown))),
        }
    }
    put(table, name, &new);
    write(file, &document)
}

/// Removes `key` from `file`, so that the layers below decide. `false`: it was not there.
pub fn unset(file: &Path, key: &str) -> Result<bool, Box<Diagnostic>> {
    let (_, path) = known(file, key)?;
    let mut document = open(file)?;
    let Some((name, groups)) = path.split_last() else { return Ok(false) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for group in groups {
        match table.get_mut(group).and_then(Item::as_table_like_mut) {
            Some(inner) => table = inner,
            None => return Ok(false),
        }
    }
    let removed = table.remove(name).is_some();
    if removed {
        write(file, &document)?;
    }
    Ok(removed)
}

/// What a key accepts, and its path in a file.
fn known(file: &Path, key: &str) -> Result<(Kind, Vec<String>), Box<Diagnostic>> {
    if let Some(setting) = Setting::find(key) {
        return Ok((setting.kind, key.split('.').map(str::to_owned).collect()));
    }
    match field_of(key) {
        Some((section, name, field)) => {
            Ok((field.kind, vec![section.name.to_owned(), name, field.key.to_owned()]))
        }
        None => Err(Box::new(unknown_key(key, &file.to_string_lossy()))),
    }
}

fn open(file: &Path) -> Result<DocumentMut, Box<Diagnostic>> {
    let text = text_of(file).map_err(|error| Box::new(not_writable(file, &error)))?.unwrap_or_default();
    text.parse::<DocumentMut>()
        .map_err(|error| Box::new(unparsable(&text, &file.to_string_lossy(), error.message(), error.span())))
}

fn put(table: &mut dyn TableLike, name: &str, new: &Value) {
    let mut item = match new {
        Value::Unset => return,
        Value::Text(text) => value(text),
        Value::Integer(number) => value(*number),
        Value::Boolean(is) => value(*is),
        Value::Money(_) => match new.to_string().parse::<toml_edit::Value>() {
            Ok(number) => value(number),
            Err(_) => return,
        },
        Value::Texts(texts) => {
            // One more text joins those that are there.
            let mut all =
                table.get(name).and_then(Item::as_inline_table).cloned().unwrap_or_else(InlineTable::new);
            all.extend(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())));
            value(all)
        }
        Value::Rules(rules) => {
            // As with texts: one more rule joins those that are there.
            let mut all = table.get(name).and_then(Item::as_array).cloned().unwrap_or_else(Array::new);
            let is_new = |rule: &&String| !all.iter().any(|old| old.as_str() == Some(rule.as_str()));
            let new: Vec<&String> = rules.iter().filter(is_new).collect();
            all.extend(new);
            value(all)
        }
        Value::Hosts(hosts) => value(hosts.iter().map(String::as_str).collect::<Array>()),
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
    crate::write_atomically(file, document.to_string().as_bytes())
        .map_err(|error| Box::new(not_writable(file, &error)))
}

//! Our hook in the settings of other coding agents: where they keep them, what is written there, and how it is undone.
//!
//! Plans are values ([`Change`]): a file as it is and as it would be. Nothing is written before [`Change::apply`]. Knows
//! no runs; what the hook does when it is called is told elsewhere.

mod calls;
mod json;
mod place;
mod program;
mod shelf;
mod switch;
mod toml;
mod trust;

pub use calls::{Abilities, Call, abilities, calls};
pub use place::{Dirs, Place, Scope, Syntax};
pub use program::Program;
pub use shelf::{Shelf, Undo};
pub use switch::{Switch, switch};
pub use trust::is_trusted;

use crate::atomic::{ReplaceError, replace_unchanged, write_atomically};
use crate::hosts::Host;
use fugato_model::{Code, Diagnostic, words};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Settings are written by people: past this it is some other file.
const MAX_BYTES: u64 = 4 << 20;

/// One entry of ours that stands in a file of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub event: String,
    /// As it stands there, arguments included.
    pub command: String,
    pub timeout: Option<u64>,
    /// Whether the host is told to block when the hook itself fails.
    pub blocks_on_failure: bool,
    /// Its place among the groups of its event, and in its group: how Codex names it.
    pub at: (usize, usize),
}

impl Entry {
    /// The program it names.
    pub fn program(&self) -> Option<PathBuf> {
        program::ours(&self.command, &[])
    }
}

/// A file as it is and as it would be. `None`: no such file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub file: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    undo: shelf::Kept,
}

impl Change {
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// Writes it, if the file is still as it was read. The way back is kept first.
    pub fn apply(&self, shelf: &Shelf) -> Result<(), Box<Diagnostic>> {
        if !self.is_change() {
            return Ok(());
        }
        let failed = |error: &std::io::Error| not_written(&self.file, error);
        if let shelf::Kept::Keep(undo) = &self.undo {
            shelf.keep(&self.file, undo).map_err(|error| failed(&error))?;
        }
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                replace_unchanged(&self.file, before.as_bytes(), after.as_bytes()).map_err(|error| {
                    match error {
                        ReplaceError::Changed(_) => changed(&self.file),
                        ReplaceError::Io { error, .. } => failed(&error),
                    }
                })?;
            }
            (None, Some(after)) => {
                if self.file.exists() {
                    return Err(changed(&self.file));
                }
                write_atomically(&self.file, after.as_bytes()).map_err(|error| failed(&error))?;
            }
            (Some(before), None) => {
                if read(&self.file)?.as_ref() != Some(before) {
                    return Err(changed(&self.file));
                }
                std::fs::remove_file(&self.file).map_err(|error| failed(&error))?;
                self.remove_what_we_made();
            }
            (None, None) => {}
        }
        if self.undo == shelf::Kept::Forget {
            shelf.forget(&self.file);
        }
        Ok(())
    }

    /// The directory that was made for the file, when nothing else came to lie in it.
    fn remove_what_we_made(&self) {
        if let Some(dir) = self.file.parent() {
            // One with something in it stays, and that is no failure.
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// Whether a hook is also recorded as trusted, where a host asks for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The host asks the person.
    Asked,
    /// The person says so here: it is recorded in this file, Codex's `config.toml`.
    Given(PathBuf),
}

/// What would be written so that the host calls our hook. Doing it twice changes nothing; entries of others stay.
pub fn install(
    place: &Place,
    program: &Program,
    trust: &Trust,
    shelf: &Shelf,
) -> Result<Vec<Change>, Box<Diagnostic>> {
    let before = read(&place.file)?;
    let shown = place.file.to_string_lossy();
    let text = before.as_deref().unwrap_or_default();
    let mut after = match place.syntax {
        Syntax::Json => json::install(text, place.host, program, &shown)?,
        Syntax::Toml => toml::install(text, place.host, program, &shown)?,
    };
    let mut second = None;
    if let (Trust::Given(config), Host::Codex) = (trust, place.host) {
        let entries = entries(place, &after)?;
        if *config == place.file {
            after = trust::record(&after, place, &entries, &shown)?;
        } else {
            let before = read(config)?;
            let text = before.clone().unwrap_or_default();
            let after = trust::record(&text, place, &entries, &config.to_string_lossy())?;
            let rest = || trust::forget(&text, place, &entries, &config.to_string_lossy());
            second = Some(edited(config, before, after, rest, shelf)?);
        }
    }
    let first = edited(&place.file, before.clone(), after, || without(place, text), shelf)?;
    Ok(std::iter::once(first).chain(second).collect())
}

/// An edit, and the way back from it: `rest` is the text without anything of ours.
fn edited(
    file: &Path,
    before: Option<String>,
    after: String,
    rest: impl Fn() -> Result<String, Box<Diagnostic>>,
    shelf: &Shelf,
) -> Result<Change, Box<Diagnostic>> {
    let text = before.as_deref().unwrap_or_default();
    let undo = match shelf.undo(file) {
        _ if before.as_ref() == Some(&after) => shelf::Kept::AsItIs,
        // Nobody wrote since: the way back is still the same.
        Some(undo) if undo.is_untouched(text) => shelf::Kept::Keep(Undo::new(undo.before, &after)),
        // Ours may stand there from another time: the way back is without it.
        undo => {
            let rest = before.as_deref().map(|_| rest()).transpose()?;
            shelf::Kept::Keep(Undo::new(rest.filter(|rest| !is_nobodys(rest, undo.as_ref())), &after))
        }
    };
    Ok(Change { file: file.to_owned(), before, after: Some(after), undo })
}

/// What would be written so that nothing of ours is left: the bytes from before when nobody edited the file since, else
/// the file without our entries. `config`: Codex's `config.toml`, where trust is recorded.
pub fn uninstall(
    place: &Place,
    config: Option<&Path>,
    shelf: &Shelf,
) -> Result<Vec<Change>, Box<Diagnostic>> {
    let text = read(&place.file)?;
    let ours = text.as_deref().map(|text| entries(place, text)).transpose()?.unwrap_or_default();
    let untrusted = |text: &str, file: &Path| trust::forget(text, place, &ours, &file.to_string_lossy());
    let config = config.filter(|_| place.host == Host::Codex);
    let is_same_file = config == Some(&place.file);
    let first = undone(&place.file, text, shelf, |text| {
        let rest = without(place, text)?;
        if is_same_file { untrusted(&rest, &place.file) } else { Ok(rest) }
    })?;
    let second = match config {
        Some(config) if !is_same_file => {
            Some(undone(config, read(config)?, shelf, |text| untrusted(text, config))?)
        }
        _ => None,
    };
    Ok(std::iter::once(first).chain(second).collect())
}

fn undone(
    file: &Path,
    before: Option<String>,
    shelf: &Shelf,
    rest: impl Fn(&str) -> Result<String, Box<Diagnostic>>,
) -> Result<Change, Box<Diagnostic>> {
    let after = match (before.as_deref(), shelf.undo(file)) {
        (None, _) => None,
        (Some(text), Some(undo)) if undo.is_untouched(text) => undo.before,
        (Some(text), undo) => {
            let rest = rest(text)?;
            Some(rest).filter(|rest| !is_nobodys(rest, undo.as_ref()))
        }
    };
    Ok(Change { file: file.to_owned(), before, after, undo: shelf::Kept::Forget })
}

/// A file that we made, and in which nobody else has written anything.
fn is_nobodys(rest: &str, undo: Option<&Undo>) -> bool {
    undo.is_some_and(|undo| undo.before.is_none()) && matches!(rest.trim(), "" | "{}")
}

/// Our entries in this file.
pub fn installed(place: &Place) -> Result<Vec<Entry>, Box<Diagnostic>> {
    entries(place, &read(&place.file)?.unwrap_or_default())
}

fn entries(place: &Place, text: &str) -> Result<Vec<Entry>, Box<Diagnostic>> {
    let shown = place.file.to_string_lossy();
    match place.syntax {
        Syntax::Json => json::entries(text, &shown),
        Syntax::Toml => toml::entries(text, &shown),
    }
}

/// What a host is started with so that it asks before each tool call, in this session only.
pub fn arguments(host: Host, program: &Program) -> [std::ffi::OsString; 2] {
    use crate::hosts::gate;
    // Before each call it asks, and after it words for the agent are taken in; the rest is told by the host's stream.
    let is_needed = |call: &&Call| call.is_guard || gate::AFTER.contains(&call.event);
    let needed: Vec<&Call> = calls(host).iter().filter(is_needed).collect();
    match host {
        Host::Claude => {
            let mut all = json::object(host, program);
            if let Some(events) = all.as_object_mut() {
                events.retain(|event, _| needed.iter().any(|call| call.event == event));
            }
            ["--settings".into(), serde_json::json!({"hooks": all}).to_string().into()]
        }
        Host::Codex => ["-c".into(), trust::session_flag(program, &needed).into()],
    }
}

/// The hooks that a plugin or a hosted run brings: the same entries as an object.
pub fn as_json(host: Host, program: &Program) -> serde_json::Value {
    json::object(host, program)
}

fn without(place: &Place, text: &str) -> Result<String, Box<Diagnostic>> {
    let shown = place.file.to_string_lossy();
    match place.syntax {
        Syntax::Json => json::remove(text, &shown),
        Syntax::Toml => toml::remove(text, &shown),
    }
}

/// `None` when there is no such file. Never blocks: what is no regular file is refused before it is opened.
fn read(file: &Path) -> Result<Option<String>, Box<Diagnostic>> {
    let unreadable = |error: &std::io::Error| {
        let message =
            words!("cannot be read, so nothing was written: {error}", "无法读取，因此没有写入：{error}");
        Box::new(Diagnostic::error(Code::F0407, file.to_string_lossy(), message))
    };
    let meta = match std::fs::metadata(file) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    if !meta.is_file() {
        return Err(unreadable(&std::io::Error::other("not a regular file")));
    }
    let mut text = String::new();
    let file = std::fs::File::open(file).map_err(|error| unreadable(&error))?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| unreadable(&error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(unreadable(&std::io::Error::other(format!("larger than {MAX_BYTES} bytes"))));
    }
    Ok(Some(text))
}

fn not_written(file: &Path, error: &std::io::Error) -> Box<Diagnostic> {
    let message = words!("cannot be written: {error}", "无法写入：{error}");
    Box::new(Diagnostic::error(Code::F0407, file.to_string_lossy(), message))
}

fn changed(file: &Path) -> Box<Diagnostic> {
    let message = words!(
        "somebody else wrote to it just now, so nothing was written",
        "刚刚有其他程序写入了该文件，因此没有写入"
    );
    let hint = words!("run the command again", "请重新运行该命令");
    Box::new(Diagnostic::error(Code::F0313, file.to_string_lossy(), message).hint(hint))
}

#[cfg(test)]
mod tests;

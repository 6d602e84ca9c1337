//! Which hooks a person trusts, as Codex records it: by the place of the hook and a digest of what it says. Codex skips a
//! hook that is not trusted without a word. Measured with 0.166.0.

use super::calls::Call;
use super::program::Program;
use super::{Entry, Place, toml};
use fugato_model::{Code, Diagnostic, words};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toml_edit::{Item, Table, value};

/// Where the settings of the command line stand, in Codex's own words.
const SESSION_FLAGS: &str = "/<session-flags>/config.toml";

/// Does the person trust this entry? `config`: the person's `config.toml`, whole.
pub fn is_trusted(config: &str, place: &Place, entry: &Entry) -> bool {
    let Ok(document) = toml::open(config, "") else { return false };
    let state = document.get("hooks").and_then(|hooks| hooks.get("state"));
    let one = state.and_then(|state| state.get(key_of(place, entry)));
    let recorded = one.and_then(|one| one.get("trusted_hash")).and_then(Item::as_str);
    recorded == Some(hash_of(entry).as_str())
}

/// The text of `config.toml` with these entries trusted.
pub(super) fn record(
    config: &str,
    place: &Place,
    entries: &[Entry],
    shown: &str,
) -> Result<String, Box<Diagnostic>> {
    if entries.iter().all(|entry| is_trusted(config, place, entry)) {
        return Ok(config.to_owned());
    }
    let mut document = toml::open(config, shown)?;
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let hooks = document.entry("hooks").or_insert_with(implicit);
    let state = hooks.as_table_like_mut().map(|hooks| hooks.entry("state").or_insert_with(implicit));
    let Some(state) = state.and_then(Item::as_table_like_mut) else {
        let message = words!(
            "`hooks.state` is not a table, so nothing was written",
            "`hooks.state` 不是表，因此没有写入"
        );
        return Err(Box::new(Diagnostic::error(Code::F0407, shown, message).field("hooks.state")));
    };
    for entry in entries {
        let one = state.entry(&key_of(place, entry)).or_insert_with(|| Item::Table(Table::new()));
        if let Some(one) = one.as_table_like_mut() {
            one.insert("trusted_hash", value(hash_of(entry)));
        }
    }
    Ok(document.to_string())
}

/// The text without the trust in these entries.
pub(super) fn forget(
    config: &str,
    place: &Place,
    entries: &[Entry],
    shown: &str,
) -> Result<String, Box<Diagnostic>> {
    let mut document = toml::open(config, shown)?;
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_like_mut) else {
        return Ok(config.to_owned());
    };
    let Some(state) = hooks.get_mut("state").and_then(Item::as_table_like_mut) else {
        return Ok(config.to_owned());
    };
    let before = state.len();
    for entry in entries {
        state.remove(&key_of(place, entry));
    }
    if state.len() == before {
        return Ok(config.to_owned());
    }
    if state.is_empty() {
        hooks.remove("state");
    }
    if hooks.is_empty() {
        document.remove("hooks");
    }
    Ok(document.to_string())
}

/// One argument of `codex` that makes it call the hook in this session, trusted, and changes nothing on disk.
pub(super) fn session_flag(program: &Program, calls: &[&Call]) -> String {
    let command = program.command();
    let (mut events, mut state) = (Vec::new(), Vec::new());
    for call in calls {
        let text = Value::from(command.as_str());
        let seconds = call.timeout;
        events.push(format!(
            "{}=[{{hooks=[{{type=\"command\",command={text},timeout={seconds}}}]}}]",
            call.event
        ));
        let key = Value::from(key(SESSION_FLAGS, call.event, (0, 0)));
        let hash = hash(call.event, &command, seconds);
        state.push(format!("{key}={{trusted_hash=\"{hash}\"}}"));
    }
    format!("hooks={{{},state={{{}}}}}", events.join(","), state.join(","))
}

fn key_of(place: &Place, entry: &Entry) -> String {
    key(&place.file.to_string_lossy(), &entry.event, entry.at)
}

fn hash_of(entry: &Entry) -> String {
    // What Codex takes when a hook names no time.
    let seconds = entry.timeout.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(600);
    hash(&entry.event, &entry.command, seconds)
}

fn key(file: &str, event: &str, (group, handler): (usize, usize)) -> String {
    format!("{file}:{}:{group}:{handler}", snake(event))
}

/// The digest of a hook as Codex takes it: sorted keys, no spaces.
fn hash(event: &str, command: &str, timeout: u32) -> String {
    // Written here in their order.
    let identity = json!({
        "event_name": snake(event),
        "hooks": [{"async": false, "command": command, "timeout": timeout, "type": "command"}],
    });
    let digest = Sha256::digest(identity.to_string().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn snake(event: &str) -> String {
    let mut word = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(c.to_ascii_lowercase());
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_one_codex_shows() {
        let shown = "sha256:981e232c472c5b73933a8740c151ca72892b18b717b500d42c596e4bcf35c308";
        assert_eq!(hash("PreToolUse", "/bin/true", 60), shown);
        assert_eq!(key("/x/hooks.json", "PreToolUse", (0, 1)), "/x/hooks.json:pre_tool_use:0:1");
    }
}

//! What other programs write into a run's files, on its way to the run: a command in the store like any other, which also
//! says where it stood. The store's row is the memory of what was taken.

use crate::exports::{Import, Taken};
use crate::store::{ImportedCommand, Store};
use serde_json::{Value, json};

/// Records what was found in the files of a run.
pub(super) fn importer(store: Store, run: &str) -> Import {
    let run = run.to_owned();
    Box::new(move |found| {
        let rows = found.into_iter().map(row).collect();
        store.import(&run, rows).is_ok()
    })
}

fn row(taken: Taken) -> ImportedCommand {
    let is_only_remembered = taken.command.is_none();
    let command = taken.command.and_then(|command| serde_json::to_value(command).ok());
    let mut body = command.unwrap_or_else(|| json!({}));
    if let Some(fields) = body.as_object_mut() {
        fields.insert("origin".to_owned(), serde_json::to_value(taken.origin).unwrap_or_default());
    }
    ImportedCommand { body: body.to_string(), is_only_remembered }
}

/// The file a command stood in, if it stood in one.
pub(super) fn file_of(body: &str) -> Option<String> {
    if !body.contains("\"origin\":") {
        return None;
    }
    let body: Value = serde_json::from_str(body).ok()?;
    body.get("origin")?.get("file")?.as_str().map(str::to_owned)
}

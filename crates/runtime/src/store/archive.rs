//! One run as one JSONL file, with everything its events name: a first line about the run, its events, its blobs, and a
//! last line that proves the file is whole.

use super::row::{NewRun, RunStatus, is_run_id};
use super::{Lookup, Reader, Store, StoreError, blobs};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use fugato_model::Digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Read as _, Write};
use std::ops::ControlFlow;

const SCHEMA: &str = "fugato.run-archive/v1";
/// A line longer than this is not one of ours: blobs are written in parts of this order at most.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

/// Why an archive could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Lookup(#[from] Lookup),
    #[error("the archive cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// What an import brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub id: String,
    pub events: u64,
    pub blobs: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line<'a> {
    Run(Head),
    #[serde(borrow)]
    Event(&'a RawValue),
    Blob(Content),
    End(End),
}

#[derive(Serialize, Deserialize)]
struct Head {
    schema: String,
    id: String,
    status: String,
    skill: Option<String>,
    title: Option<String>,
    created_at: i64,
    parent: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    digest: Digest,
    base64: String,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct End {
    events: u64,
    blobs: u64,
}

/// Writes a run as it stands. Blobs that are lost are left out; the events still name them.
pub fn export_run(reader: &Reader, run: &str, out: &mut dyn Write) -> Result<(), ExportError> {
    let row = reader.run(run)?;
    write_line(
        out,
        &Line::Run(Head {
            schema: SCHEMA.to_owned(),
            status: row.effective_status().as_str().to_owned(),
            id: row.id.clone(),
            skill: row.skill,
            title: row.title,
            created_at: row.created_at,
            parent: row.parent,
        }),
    )?;
    let mut named = BTreeSet::new();
    let mut failed = None;
    let events = reader.events(&row.id, 1, row.last_seq).map_err(Lookup::Store)?;
    let next = events
        .visit(|_, event| {
            named.extend(blobs::mentioned(event));
            let written = out.write_all(b"{\"event\":").and_then(|()| out.write_all(event));
            match written.and_then(|()| out.write_all(b"}\n")) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
        .map_err(Lookup::Store)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let mut count = 0;
    for digest in named.into_iter().filter(|digest| reader.has_blob(digest)) {
        let base64 = STANDARD.encode(reader.blob(&digest).map_err(Lookup::Store)?);
        write_line(out, &Line::Blob(Content { digest, base64 }))?;
        count += 1;
    }
    write_line(out, &Line::End(End { events: next - 1, blobs: count }))?;
    Ok(out.flush()?)
}

fn write_line(out: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Brings a run in. The run appears whole or not at all; a run of the same id is never overwritten.
pub fn import_run(store: &Store, archive: &mut dyn BufRead) -> Result<Imported, StoreError> {
    let mut line = Vec::new();
    let mut number = 0;
    let (mut new, mut found) = (None::<NewRun>, End { events: 0, blobs: 0 });
    loop {
        number += 1;
        let wrong = |detail: &str| StoreError::Archive { line: number, detail: detail.to_owned() };
        line.clear();
        archive.take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|error| wrong(&error.to_string()))?;
        if line.pop() != Some(b'\n') {
            return Err(wrong("the file ends too early"));
        }
        let parsed = serde_json::from_slice(&line).map_err(|error| wrong(&error.to_string()))?;
        match (parsed, &mut new) {
            (Line::Run(head), None) => new = Some(head.into_run().map_err(|detail| wrong(&detail))?),
            (Line::Event(event), Some(new)) if found.blobs == 0 => {
                new.events.push(event.get().as_bytes().to_vec());
                found.events += 1;
            }
            (Line::Blob(content), Some(_)) => {
                let bytes = STANDARD.decode(&content.base64).map_err(|error| wrong(&error.to_string()))?;
                if fugato_skill::digest_bytes(&bytes) != content.digest {
                    return Err(wrong("the content does not have its digest"));
                }
                store.put_blob(&bytes)?;
                found.blobs += 1;
            }
            (Line::End(end), Some(_)) if end == found => break,
            (Line::End(_), _) => return Err(wrong("lines are missing")),
            _ => return Err(wrong("the lines are not in order")),
        }
    }
    let Some(new) = new else {
        return Err(StoreError::Archive { line: number, detail: "no run".to_owned() });
    };
    let id = new.id.clone();
    store.create_run(new)?;
    Ok(Imported { id, events: found.events, blobs: found.blobs })
}

impl Head {
    fn into_run(self) -> Result<NewRun, String> {
        if self.schema != SCHEMA {
            return Err(format!("schema is `{}`, expected `{SCHEMA}`", self.schema));
        }
        if !is_run_id(&self.id) {
            return Err("the id of the run is not valid".to_owned());
        }
        Ok(NewRun {
            status: RunStatus::from(self.status.as_str()),
            id: self.id,
            skill: self.skill,
            title: self.title,
            created_at: self.created_at,
            parent: self.parent,
            events: Vec::new(),
        })
    }
}

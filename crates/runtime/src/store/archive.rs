//! One run as one JSONL file, with everything its events name: a first line about the run, its events, its blobs, and a
//! last line that proves the file is whole.

use super::row::{NewRun, RunStatus, is_run_id};
use super::{Lookup, Reader, Store, StoreError, blobs};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use fugato_model::{Digest, Words, words};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Read as _, Write};
use std::ops::ControlFlow;

const SCHEMA: &str = "fugato.run-archive/v1";
/// A line longer than this is not one of ours: blobs are written in parts of this order at most.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;
/// Names, a title and times: ours is far shorter.
const FIRST_LINE: u64 = 1024 * 1024;

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

/// A part of an archive, in the order it is read: the run, its events, its blobs.
#[derive(Debug)]
pub enum Part<'a> {
    Run(Box<NewRun>),
    Event(&'a [u8]),
    Blob(Vec<u8>),
}

/// Reads an archive to its end. `each` gets every part with the number of its line.
pub fn read_archive(
    archive: &mut dyn BufRead,
    each: &mut dyn FnMut(u64, Part<'_>) -> Result<(), StoreError>,
) -> Result<Imported, StoreError> {
    let mut line = Vec::new();
    let mut number = 0;
    let (mut id, mut found) = (None::<String>, End { events: 0, blobs: 0 });
    loop {
        number += 1;
        let wrong = |detail: Words| StoreError::Archive { line: number, detail };
        read_line(archive, number, &mut line).map_err(wrong)?;
        let parsed = serde_json::from_slice(&line).map_err(|error| match number {
            1 => wrong(foreign()),
            _ => wrong(words!("{error}", "{error}")),
        })?;
        match (parsed, &id) {
            (Line::Run(head), None) => {
                let new = head.into_run().map_err(wrong)?;
                id = Some(new.id.clone());
                each(number, Part::Run(Box::new(new)))?;
            }
            (Line::Event(event), Some(_)) if found.blobs == 0 => {
                each(number, Part::Event(event.get().as_bytes()))?;
                found.events += 1;
            }
            (Line::Blob(content), Some(_)) => {
                let bytes =
                    STANDARD.decode(&content.base64).map_err(|error| wrong(words!("{error}", "{error}")))?;
                if fugato_skill::digest_bytes(&bytes) != content.digest {
                    return Err(wrong(words!("the content does not have its digest", "内容与其摘要不符")));
                }
                each(number, Part::Blob(bytes))?;
                found.blobs += 1;
            }
            (Line::End(end), Some(id)) if end == found => {
                return Ok(Imported { id: id.clone(), events: found.events, blobs: found.blobs });
            }
            (Line::End(_), Some(_)) => return Err(wrong(words!("lines are missing", "缺少若干行"))),
            _ => return Err(wrong(words!("the lines are not in order", "行的顺序不对"))),
        }
    }
}

fn read_line(archive: &mut dyn BufRead, number: u64, line: &mut Vec<u8>) -> Result<(), Words> {
    // The first line is about the run: somebody's huge file is known by it and not read any further.
    let longest = if number == 1 { FIRST_LINE } else { LONGEST_LINE };
    line.clear();
    archive.take(longest).read_until(b'\n', line).map_err(|error| words!("{error}", "{error}"))?;
    match (line.pop(), number) {
        (Some(b'\n'), _) => Ok(()),
        (_, 1) => Err(foreign()),
        (Some(_), _) if line.len() as u64 + 1 == longest => Err(words!("the line is too long", "这一行过长")),
        _ => Err(words!("the file ends too early", "文件不完整，过早结束")),
    }
}

fn foreign() -> Words {
    words!(
        "found something else, expected the archive of a run as `fugato runs export` writes it",
        "内容不符，应为 `fugato runs export` 写出的运行归档"
    )
}

/// Brings a run in. The run appears whole or not at all; a run of the same id is never overwritten.
pub fn import_run(store: &Store, archive: &mut dyn BufRead) -> Result<Imported, StoreError> {
    let mut new = None::<Box<NewRun>>;
    let imported = read_archive(archive, &mut |_, part| {
        match (part, &mut new) {
            (Part::Run(run), _) => new = Some(run),
            (Part::Event(event), Some(new)) => new.events.push(event.to_vec()),
            (Part::Event(_), None) => {}
            (Part::Blob(bytes), _) => drop(store.put_blob(&bytes)?),
        }
        Ok(())
    })?;
    if let Some(new) = new {
        store.create_run(*new)?;
    }
    Ok(imported)
}

impl Head {
    fn into_run(self) -> Result<NewRun, Words> {
        if self.schema != SCHEMA {
            let found: String = self.schema.chars().take(80).collect();
            return Err(words!(
                "schema is `{found}`, expected `{SCHEMA}`",
                "schema 为 `{found}`，应为 `{SCHEMA}`"
            ));
        }
        if !is_run_id(&self.id) {
            return Err(words!("the id of the run is not valid", "运行的编号无效"));
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

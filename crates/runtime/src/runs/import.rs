//! Bringing in a run that was exported elsewhere: the whole file is judged before anything is kept.
//!
//! The store takes any numbered documents; that these are the events of a run which can be looked at and run again is
//! checked here.

use super::journal::decode_shape;
use crate::store::{Imported, Part, Store, StoreError, import_run, read_archive};
use fugato_engine::{EventKind, Run};
use fugato_model::{Words, words};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

/// Imports the run of an archive. A file that is foreign, damaged or cut off leaves no trace, not even an empty store.
pub fn import(state: &Path, archive: &mut (impl Read + Seek)) -> Result<Imported, StoreError> {
    let unreadable = |error: io::Error| StoreError::Archive { line: 0, detail: words!("{error}", "{error}") };
    archive.rewind().map_err(unreadable)?;
    check(&mut BufReader::new(&mut *archive))?;
    archive.rewind().map_err(unreadable)?;
    let store = Store::open(state)?;
    import_run(&store, &mut BufReader::new(archive))
}

/// Something that can be read only once (a pipe), as a file that disappears by itself.
pub fn spool(from: &mut impl Read) -> io::Result<std::fs::File> {
    let mut file = tempfile::tempfile()?;
    io::copy(from, &mut file)?;
    Ok(file)
}

fn check(archive: &mut dyn BufRead) -> Result<(), StoreError> {
    let mut id = String::new();
    let mut seq = 0;
    let imported = read_archive(archive, &mut |line, part| match part {
        Part::Run(run) => {
            id = run.id;
            Ok(())
        }
        Part::Event(bytes) => {
            seq += 1;
            check_event(&id, seq, bytes).map_err(|detail| StoreError::Archive { line, detail })
        }
        Part::Blob(_) => Ok(()),
    })?;
    if imported.events == 0 {
        return Err(StoreError::Archive {
            line: 2, detail: words!("the run has no events", "运行没有事件")
        });
    }
    Ok(())
}

fn check_event(run: &str, seq: u64, bytes: &[u8]) -> Result<(), Words> {
    let event = decode_shape(seq, bytes).map_err(|error| words!("{error}", "事件无法读取：{error}"))?;
    if event.seq != seq {
        let found = event.seq;
        return Err(words!("found event {found}, expected {seq}", "事件编号为 {found}，应为 {seq}"));
    }
    match &event.kind {
        EventKind::RunCreated { spec } if seq == 1 => {
            if spec.id != run {
                return Err(words!("the log is that of another run", "日志属于另一个运行"));
            }
            spec.plan.check().map_err(|error| words!("{error}", "计划无法使用：{error}"))?;
            Run::created(&event).map(drop).ok_or_else(|| words!("the plan cannot be read", "计划无法读取"))
        }
        _ if seq == 1 => {
            Err(words!("the log does not begin with `run.created`", "日志不是以 `run.created` 开始"))
        }
        _ => Ok(()),
    }
}

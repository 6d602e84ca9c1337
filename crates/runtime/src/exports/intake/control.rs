//! `control.json`: one slot that anybody may write. Each content that is not ours is taken once.

use super::super::files::Displaced;
use super::super::foreign::{Foreign, ReadError, read_control_json};
use super::super::record::Record;
use super::super::{Action, tail};
use super::{PATIENCE, hash, problem, targets};
use fugato_engine::{Command, Verb};
use fugato_model::{Words, escape_for_terminal, words};
use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(super) struct Slot {
    pub is_stale: bool,
    /// What stood there when it was last looked at, and was dealt with.
    pub seen: Option<u64>,
    /// Something unreadable, and since when it stands there.
    torn: Option<(u64, Instant)>,
    /// Files that ours took the place of. Somebody may still be writing into them.
    pub displaced: Vec<Displaced>,
}

/// A directive is one line; a file larger than this is something else.
const LARGEST: u64 = 1 << 20;
/// For so long after ours took the place of a file that was empty or half written, its writer may still finish it. Later it
/// is taken for dead.
const UNFINISHED: Duration = Duration::from_secs(60);

/// Something that is not ours and was not dealt with.
#[derive(Debug)]
pub(super) struct Found {
    pub place: Place,
    pub bytes: Vec<u8>,
    pub says: Result<Vec<Foreign>, Words>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Slot,
    /// A file that ours took the place of.
    Displaced,
}

type Looked = Vec<Found>;

impl Slot {
    pub fn look(&mut self, dir: &Path, own: &HashSet<u64>) -> Looked {
        let mut looked = Looked::new();
        for at in (0..self.displaced.len()).rev() {
            let Some(displaced) = self.displaced.get_mut(at) else { continue };
            let found = read(displaced.path());
            let age = displaced.since.elapsed();
            let mut is_over = age > PATIENCE;
            if let Ok(bytes) = &found
                && !own.contains(&hash(bytes))
            {
                let is_new = displaced.seen != Some(hash(bytes));
                let (place, bytes) = (Place::Displaced, bytes.clone());
                match read_control_json(&bytes) {
                    Err(error) => {
                        if is_over && is_new && !bytes.is_empty() {
                            displaced.seen = Some(hash(&bytes));
                            looked.push(Found { place, bytes, says: Err(problem(&error)) });
                        }
                        is_over = age > UNFINISHED;
                    }
                    Ok(found) if is_new => {
                        displaced.seen = Some(hash(&bytes));
                        looked.push(Found { place, bytes, says: Ok(found) });
                    }
                    Ok(_) => {}
                }
            }
            if is_over {
                self.displaced.remove(at);
            }
        }
        if self.is_stale || self.torn.is_some() {
            self.look_at_slot(dir, own, &mut looked);
        }
        looked
    }

    fn look_at_slot(&mut self, dir: &Path, own: &HashSet<u64>, looked: &mut Looked) {
        self.is_stale = false;
        let bytes = match read(&dir.join("control.json")) {
            Ok(bytes) => bytes,
            Err(Unread::Missing) => return self.torn = None,
            Err(Unread::TooLarge(size)) => {
                let mark = hash(&size.to_le_bytes());
                if self.seen != Some(mark) {
                    let error = ReadError::TooLarge(usize::try_from(size).unwrap_or(usize::MAX));
                    let (place, bytes) = (Place::Slot, size.to_le_bytes().to_vec());
                    looked.push(Found { place, bytes, says: Err(problem(&error)) });
                }
                return;
            }
        };
        let mark = hash(&bytes);
        if own.contains(&mark) || self.seen == Some(mark) {
            return self.torn = None;
        }
        match read_control_json(&bytes) {
            Ok(found) => {
                self.torn = None;
                looked.push(Found { place: Place::Slot, bytes, says: Ok(found) });
            }
            // Its writer may be at it.
            Err(error) => match self.torn {
                Some((torn, since)) if torn == mark && since.elapsed() > PATIENCE => {
                    self.torn = None;
                    looked.push(Found { place: Place::Slot, bytes, says: Err(problem(&error)) });
                }
                Some((torn, _)) if torn == mark => {}
                _ => self.torn = Some((mark, Instant::now())),
            },
        }
    }
}

enum Unread {
    Missing,
    TooLarge(u64),
}

/// Neither through a link nor into a pipe.
fn read(path: &Path) -> Result<Vec<u8>, Unread> {
    let file = tail::open_carefully(path).map_err(|_| Unread::Missing)?;
    let mut bytes = Vec::new();
    let size = file.metadata().map_err(|_| Unread::Missing)?.len();
    if size > LARGEST {
        return Err(Unread::TooLarge(size));
    }
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|_| Unread::Missing)?;
    Ok(bytes)
}

/// What a content of the slot asks of the run. What is not understood is said, not dropped.
pub(super) fn commands(found: Vec<Foreign>, records: &[Record]) -> Vec<Command> {
    let unknown = |what: &str| {
        let what = escape_for_terminal(what).into_owned();
        let problem = words!(
            "there is no action `{what}`; there are: pause, resume, cancel, redirect",
            "没有操作 `{what}`；可用：pause、resume、cancel、redirect"
        );
        vec![Command::Skipped { file: "control.json".to_owned(), problem }]
    };
    let of = |found: Foreign| match found {
        Foreign::Directive { action, target, message, .. } => {
            let verb = match action {
                Action::Pause => Verb::Pause,
                Action::Resume => Verb::Resume,
                Action::Cancel => Verb::Cancel,
                Action::Redirect => Verb::Redirect,
                Action::Other(word) => return unknown(&word),
            };
            let text = (!message.is_empty()).then_some(message);
            let direct = |target| Command::Direct { verb, target, text: text.clone() };
            targets(target, records).into_iter().map(direct).collect()
        }
        _ => unknown(""),
    };
    found.into_iter().flat_map(of).collect()
}

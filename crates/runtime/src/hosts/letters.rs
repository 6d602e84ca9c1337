//! Letters for a hosted agent, handed over after its next tool call: whoever runs the host puts them beside the door, the
//! hook inside the host takes them. A letter is taken by renaming it, so it is taken once, however many hooks come at once;
//! what nobody took stays unread and is told when the turn ends.
//!
//! Nothing is recorded here. Marks of what was taken stay until that is recorded, for whoever takes over after a crash.

use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Words that fit into one answer of a hook; hosts cut longer ones.
const MOST_BYTES: usize = 8 * 1024;
/// The end of the name of a letter that was taken.
const READ: &str = "read";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// `None`: nobody knows any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub text: String,
}

impl Letter {
    /// For the model, which reads English.
    fn shown(&self) -> String {
        let text = &self.text;
        match self.from.as_deref() {
            Some("user") => format!("The operator sends you a message while you work:\n\n{text}"),
            Some(from) => format!("A message from `{from}` while you work:\n\n{text}"),
            None => format!("A message for you, while you work:\n\n{text}"),
        }
    }
}

/// The owner's side: the letters of one turn of one agent.
#[derive(Debug)]
pub struct Letterbox {
    dir: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Letters that were put there.
    put: u32,
    /// Of these, known to have been taken.
    taken: u32,
    /// Of these, recorded.
    recorded: u32,
    /// One did not fit, or the turn is over: whatever comes now waits for the turn's end, so that the order is kept.
    is_closed: bool,
    /// What was there when the turn was taken over, and may yet be told of.
    known: Vec<String>,
}

impl Letterbox {
    /// `unread`: what came in this very turn under an owner that died. Returns how many of these its hook had taken.
    pub fn open(dir: PathBuf, unread: &[String]) -> (Self, u32) {
        let heard = heard_before(&dir, unread);
        // What earlier turns left says nothing any more.
        forget_turns(&dir);
        let letters = Self { dir, state: Mutex::default() };
        for text in unread.iter().skip(heard) {
            letters.put(&Letter { from: None, text: text.clone() });
        }
        letters.state().known = unread.iter().skip(heard).cloned().collect();
        (letters, u32::try_from(heard).unwrap_or(u32::MAX))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn put(&self, letter: &Letter) {
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        // It was decided before this turn was taken over, and is stored only now.
        if let Some(known) = state.known.iter().position(|text| *text == letter.text) {
            state.known.remove(known);
            return;
        }
        let is_written = letter.shown().len() <= MOST_BYTES && self.write(state.put, letter).is_ok();
        match is_written {
            true => state.put += 1,
            false => state.is_closed = true,
        }
    }

    /// Is there something that may be taken at any moment?
    pub fn is_waiting(&self) -> bool {
        let state = self.state();
        state.taken < state.put
    }

    /// How many were taken since this was last asked.
    pub fn newly_taken(&self) -> u32 {
        let mut state = self.state();
        let before = state.taken;
        while state.taken < state.put && self.mark(state.taken).exists() {
            state.taken += 1;
        }
        state.taken - before
    }

    /// That these were taken stands in the log: their marks are of no use any more.
    pub fn recorded(&self, count: u32) {
        let mut state = self.state();
        for _ in 0..count.min(state.taken.saturating_sub(state.recorded)) {
            // A mark that stays does no harm but when the same words come again.
            let _ = fs::remove_file(self.mark(state.recorded));
            state.recorded += 1;
        }
    }

    /// From here on nothing is taken. How many were, since that was last asked.
    pub fn close(&self) -> u32 {
        self.state().is_closed = true;
        let taken = self.newly_taken();
        let left = {
            let state = self.state();
            state.taken..state.put
        };
        for number in left {
            // One that is taken in this very moment is gone from here, and its mark is there.
            let _ = fs::remove_file(self.dir.join(name(number)));
        }
        taken + self.newly_taken()
    }

    fn write(&self, number: u32, letter: &Letter) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let staged = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.dir)?;
        serde_json::to_writer(staged.as_file(), letter)?;
        staged.persist(self.dir.join(name(number))).map_err(|error| error.error)?;
        Ok(())
    }

    fn mark(&self, number: u32) -> PathBuf {
        self.dir.join(name(number)).with_extension(READ)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Numbers and a flag are whole whatever panicked beside them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(number: u32) -> String {
    format!("{number:06}")
}

/// Of what is unread by the log, as many of the first as were taken under an owner that could not record it any more.
fn heard_before(dir: &Path, unread: &[String]) -> usize {
    let mut waiting = unread.iter().peekable();
    for letter in files(dir, |name| name.ends_with(READ)).iter().filter_map(|file| read(file)) {
        waiting.next_if(|text| **text == letter.text);
    }
    unread.len() - waiting.count()
}

/// The places of all turns of an agent are called the same up to the number of the step.
fn forget_turns(dir: &Path) {
    let (Some(place), Some(name)) = (dir.parent(), dir.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    let agent = name.rsplit_once('-').map_or(name, |(agent, _)| agent);
    let is_turn = |name: &str| name.rsplit_once('-').map_or(name, |(agent, _)| agent) == agent;
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_turn) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The hook's side: takes the oldest letters, as many as fit into one answer. Words for the agent.
pub fn take(dir: &Path) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for file in files(dir, |name| !name.starts_with('.') && !name.ends_with(READ)) {
        let Some(letter) = read(&file).map(|letter| letter.shown()) else { continue };
        let so_far: usize = words.iter().map(|word| word.len() + 2).sum();
        if so_far + letter.len() > MOST_BYTES {
            break;
        }
        if fs::rename(&file, file.with_extension(READ)).is_ok() {
            words.push(letter);
        }
    }
    (!words.is_empty()).then(|| words.join("\n\n"))
}

fn files(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| is_wanted(name)).collect();
    names.sort_unstable();
    names.into_iter().map(|name| dir.join(name)).collect()
}

fn read(file: &Path) -> Option<Letter> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(text: &str) -> Letter {
        Letter { from: Some("user".into()), text: text.into() }
    }

    fn opened(dir: &Path) -> Letterbox {
        Letterbox::open(dir.join("letters-a-1"), &[]).0
    }

    #[test]
    fn letters_are_taken_once_in_order_and_what_nobody_took_is_not_counted() {
        let place = tempfile::tempdir().unwrap();
        let letters = opened(place.path());
        assert_eq!(take(letters.dir()), None, "nobody wrote");
        letters.put(&letter("one"));
        letters.put(&Letter { from: Some("builder".into()), text: "二".into() });
        assert_eq!((letters.is_waiting(), letters.newly_taken()), (true, 0));
        let words = take(letters.dir()).unwrap();
        assert!(words.find("operator").unwrap() < words.find("`builder`").unwrap(), "{words}");
        assert_eq!(take(letters.dir()), None);
        assert_eq!((letters.newly_taken(), letters.newly_taken(), letters.is_waiting()), (2, 0, false));
        letters.put(&letter("three"));
        assert_eq!(letters.close(), 0);
        assert_eq!(take(letters.dir()), None, "the turn is over");
        letters.put(&letter("four"));
        assert_eq!(take(letters.dir()), None);
    }

    #[test]
    fn hooks_that_come_at_once_share_the_letters() {
        let place = tempfile::tempdir().unwrap();
        let letters = opened(place.path());
        (0..40).for_each(|n| letters.put(&letter(&format!("<{n}>"))));
        let all: Vec<String> = std::thread::scope(|scope| {
            let hooks: Vec<_> =
                (0..8).map(|_| scope.spawn(|| take(letters.dir()).unwrap_or_default())).collect();
            hooks.into_iter().map(|hook| hook.join().unwrap()).collect()
        });
        let all = all.concat();
        (0..40).for_each(|n| assert_eq!(all.matches(&format!("<{n}>")).count(), 1, "{n}"));
        assert_eq!(letters.newly_taken(), 40);
    }

    #[test]
    fn a_long_letter_waits_for_the_end_and_keeps_those_after_it_waiting() {
        let place = tempfile::tempdir().unwrap();
        let letters = opened(place.path());
        letters.put(&letter("short"));
        letters.put(&letter(&"x".repeat(MOST_BYTES)));
        letters.put(&letter("later"));
        assert!(take(letters.dir()).unwrap().ends_with("short"));
        assert_eq!(take(letters.dir()), None);
        assert_eq!(letters.close(), 1);
    }

    #[test]
    fn whoever_takes_over_knows_what_was_taken_and_not_recorded() {
        let place = tempfile::tempdir().unwrap();
        let first = opened(place.path());
        ["a", "b", "c"].into_iter().for_each(|text| first.put(&letter(text)));
        take(first.dir()).unwrap();
        first.newly_taken();
        first.recorded(1);
        first.put(&letter("d"));
        let other = place.path().join("letters-b-1");
        fs::create_dir(&other).unwrap();
        // It died: by the log b, c and d are unread, and b and c were taken.
        let unread = ["b", "c", "d"].map(str::to_owned);
        let (second, heard) = Letterbox::open(first.dir().to_owned(), &unread);
        assert_eq!(heard, 2);
        second.put(&letter("d"));
        assert!(take(second.dir()).unwrap().ends_with('d'));
        assert_eq!(second.close(), 1);
        Letterbox::open(place.path().join("letters-a-2"), &[]);
        assert!(
            !second.dir().exists() && other.exists(),
            "only the earlier turns of this agent are forgotten"
        );
    }
}

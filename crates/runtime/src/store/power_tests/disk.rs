//! A disk that forgets: from calls to what may be found after the power went out.
//!
//! Promised is only what POSIX promises. Of a file: what was written before its last sync. Of a directory: the names it
//! had at its last sync; syncing a file keeps its content, not its name.

use super::recording::Call;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A stream of numbers from a seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
}

/// A file, whatever it is called: what surely is in it, and what was written since.
#[derive(Clone, Debug, Default)]
struct Content {
    durable: Vec<u8>,
    pending: Vec<Change>,
    length: usize,
    position: usize,
}

#[derive(Clone, Debug)]
enum Naming {
    Give { name: PathBuf, file: usize },
    Take(PathBuf),
    MakeDir(PathBuf),
}

/// The names beneath one directory.
#[derive(Clone, Debug, Default)]
struct Names {
    durable: Vec<Naming>,
    pending: Vec<Naming>,
}

pub struct Disk {
    root: PathBuf,
    files: Vec<Content>,
    /// The names as running programs see them.
    live: BTreeMap<PathBuf, usize>,
    directories: BTreeMap<PathBuf, Names>,
}

/// What is found afterwards.
pub struct Survived {
    files: BTreeMap<PathBuf, Vec<u8>>,
    directories: Vec<PathBuf>,
    /// How often what was not synced met which end.
    pub fates: BTreeMap<&'static str, u64>,
}

impl Disk {
    /// The disk after these calls, with everything beneath `root`, which is there from the beginning.
    pub fn after(calls: &[Call], root: &Path) -> Self {
        let directories = BTreeMap::from([(PathBuf::new(), Names::default())]);
        let mut disk = Self { root: root.to_owned(), files: Vec::new(), live: BTreeMap::new(), directories };
        calls.iter().for_each(|call| disk.apply(call));
        disk
    }

    fn within(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap().to_owned()
    }

    fn name(&mut self, path: &Path, naming: Naming) {
        let above = path.parent().unwrap_or(Path::new("")).to_owned();
        self.directories.entry(above).or_default().pending.push(naming);
    }

    fn apply(&mut self, call: &Call) {
        match call {
            Call::Open { path, truncates } => {
                let path = self.within(path);
                let known = self.live.get(&path).copied();
                let file = known.unwrap_or_else(|| {
                    self.files.push(Content::default());
                    let file = self.files.len() - 1;
                    self.live.insert(path.clone(), file);
                    self.name(&path.clone(), Naming::Give { name: path, file });
                    file
                });
                if *truncates {
                    self.files[file].change(Change::Truncate(0));
                }
                self.files[file].position = 0;
            }
            Call::Write { path, at, bytes } => {
                let Some(file) = self.live.get(&self.within(path)).copied() else { return };
                let content = &mut self.files[file];
                let at = at.map_or(content.position, |at| usize::try_from(at).unwrap());
                content.position = at + bytes.len();
                content.change(Change::Write { at, bytes: bytes.clone() });
            }
            Call::Truncate { path, length } => {
                if let Some(file) = self.live.get(&self.within(path)).copied() {
                    self.files[file].change(Change::Truncate(usize::try_from(*length).unwrap()));
                }
            }
            Call::Sync(path) => {
                let path = self.within(path);
                match self.live.get(&path).copied() {
                    Some(file) => self.files[file].sync(),
                    None => {
                        let names = self.directories.entry(path).or_default();
                        let synced = std::mem::take(&mut names.pending);
                        names.durable.extend(synced);
                    }
                }
            }
            Call::Rename { from, to } => {
                let (from, to) = (self.within(from), self.within(to));
                let Some(file) = self.live.remove(&from) else { return };
                self.live.insert(to.clone(), file);
                self.name(&to.clone(), Naming::Give { name: to, file });
                self.name(&from.clone(), Naming::Take(from));
            }
            Call::Link { from, to } => {
                let (from, to) = (self.within(from), self.within(to));
                let Some(file) = self.live.get(&from).copied() else { return };
                self.live.insert(to.clone(), file);
                self.name(&to.clone(), Naming::Give { name: to, file });
            }
            Call::Unlink(path) => {
                let path = self.within(path);
                self.live.remove(&path);
                self.name(&path.clone(), Naming::Take(path));
            }
            Call::MakeDir(path) => {
                let path = self.within(path);
                self.directories.entry(path.clone()).or_default();
                self.name(&path.clone(), Naming::MakeDir(path));
            }
            Call::Said(_) => {}
        }
    }

    /// The power goes out.
    pub fn survive(mut self, dice: &mut Dice) -> Survived {
        let mut fates = BTreeMap::new();
        let mut names: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut there = vec![PathBuf::new()];
        // From the top down: in a directory that is lost, everything is.
        let mut above = vec![PathBuf::new()];
        while let Some(directory) = above.pop() {
            let Some(found) = self.directories.remove(&directory) else { continue };
            let mut kept = found.durable;
            // In order up to some moment, as journals of file systems do it, or any of them, as nobody forbids.
            let until = dice.below(found.pending.len() + 1);
            let in_order = dice.below(2) == 0;
            for (at, naming) in found.pending.into_iter().enumerate() {
                let survives = if in_order { at < until } else { dice.below(2) == 0 };
                *fates.entry(if survives { "name kept" } else { "name lost" }).or_default() += 1;
                if survives {
                    kept.push(naming);
                }
            }
            for naming in kept {
                match naming {
                    Naming::Give { name, file } => drop(names.insert(name, file)),
                    Naming::Take(name) => drop(names.remove(&name)),
                    Naming::MakeDir(name) => {
                        there.push(name.clone());
                        above.push(name);
                    }
                }
            }
        }
        let contents: Vec<Vec<u8>> =
            self.files.into_iter().map(|content| content.survive(dice, &mut fates)).collect();
        let files = names.into_iter().map(|(name, file)| (name, contents[file].clone())).collect();
        Survived { files, directories: there, fates }
    }
}

impl Content {
    fn change(&mut self, change: Change) {
        self.length = match &change {
            Change::Write { at, bytes } => self.length.max(at + bytes.len()),
            Change::Truncate(length) => *length,
        };
        self.pending.push(change);
    }

    fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            apply(&mut self.durable, &change);
        }
        self.durable.resize(self.length, 0);
    }

    fn survive(self, dice: &mut Dice, fates: &mut BTreeMap<&'static str, u64>) -> Vec<u8> {
        let Self { mut durable, pending, length, .. } = self;
        let habit = dice.below(4);
        for change in pending {
            let fate = match habit {
                0 => 0,
                1 => 1,
                _ => dice.below(3),
            };
            match (fate, change) {
                (0, _) => *fates.entry("dropped").or_default() += 1,
                (2, Change::Write { at, bytes }) if bytes.len() > 1 => {
                    *fates.entry("torn").or_default() += 1;
                    tear(&mut durable, at, &bytes, dice);
                }
                (_, change) => {
                    *fates.entry("kept").or_default() += 1;
                    apply(&mut durable, &change);
                }
            }
        }
        // The length may have become durable before what fills it.
        if dice.below(3) == 0 && durable.len() < length {
            durable.resize(length, 0);
        }
        durable
    }
}

/// Sectors of a write arrive one by one, some of them; in the last one, perhaps, not even all bytes.
fn tear(durable: &mut Vec<u8>, at: usize, bytes: &[u8], dice: &mut Dice) {
    const SECTOR: usize = 512;
    for (number, sector) in bytes.chunks(SECTOR).enumerate() {
        if dice.below(2) == 0 {
            continue;
        }
        let arrived = if dice.below(8) == 0 { dice.below(sector.len() + 1) } else { sector.len() };
        let sector = sector.get(..arrived).unwrap();
        apply(durable, &Change::Write { at: at + number * SECTOR, bytes: sector.to_vec() });
    }
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { at, bytes } => {
            if content.len() < at + bytes.len() {
                content.resize(at + bytes.len(), 0);
            }
            content[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        Change::Truncate(length) => content.resize(*length, 0),
    }
}

impl Survived {
    /// As files. The index of the log (`-shm`) is memory of running processes and gone with them.
    pub fn write_to(&self, root: &Path) {
        for directory in &self.directories {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for (name, content) in &self.files {
            let path = root.join(name);
            if name.to_string_lossy().ends_with("-shm") || !path.parent().unwrap().is_dir() {
                continue;
            }
            std::fs::write(path, content).unwrap();
        }
    }
}

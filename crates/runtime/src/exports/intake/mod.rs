//! What other programs write into a run's files, as commands: `control.json` and lines added to inboxes.
//!
//! Noticed by the system's own notification, so a look costs nothing while nobody writes. What this program wrote is known
//! by its bytes and never read back. Everything else is taken once: what was taken stands in the store, in the same
//! transaction as the command it became. What cannot be taken is said in the run's log, and its bytes stay.

mod control;
mod inbox;
mod listen;

use super::foreign::Target as ForeignTarget;
use super::record::Record;
use super::writer::Writer;
use fugato_engine::{AgentPath, Command, MessageKind, Target, Verb};
use fugato_model::{Words, escape_for_terminal, words};
use listen::{Heard, Listener};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Something another program wrote, taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Taken {
    /// `None`: it says the same as another one, and is only remembered.
    pub command: Option<Command>,
    pub origin: Origin,
}

/// Where it stood, and what it was: taken once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Origin {
    pub file: String,
    pub digest: String,
    /// The writer's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Records what was taken; `false`: it could not be, and is to be tried again.
pub(crate) type Import = Box<dyn FnMut(Vec<Taken>) -> bool + Send>;

/// What this program wrote, by its bytes.
#[derive(Debug, Default)]
pub(super) struct Own {
    control: HashSet<u64>,
    lines: HashSet<u64>,
}

impl Own {
    pub fn wrote_control(&mut self, bytes: &[u8]) {
        self.control.insert(hash(bytes));
    }

    pub fn wrote_line(&mut self, line: &[u8]) {
        self.lines.insert(hash(line.trim_ascii()));
    }
}

/// A writer that stops in the middle is waited for this long before that is said.
const PATIENCE: Duration = Duration::from_secs(1);
/// Within this time the two places that a redirect is written to are one redirect.
const TOGETHER: Duration = Duration::from_secs(10);

pub(super) struct Intake {
    dir: PathBuf,
    listener: Option<Listener>,
    import: Import,
    control: control::Slot,
    inboxes: BTreeMap<PathBuf, inbox::Cursor>,
    /// Agents whose directories are listened to already.
    followed: usize,
    /// Agents without a directory so far.
    unborn: Vec<u32>,
    /// How often each content was taken, of all that were ever taken.
    taken: HashMap<(String, String), usize>,
    /// Messages that have names are taken once by name.
    named: HashSet<(String, String)>,
    redirects: Vec<Redirected>,
}

/// A redirect that was taken from one of its two places.
struct Redirected {
    agent: String,
    text: String,
    file: String,
    at: Instant,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Intake {
    /// `before`: what was taken from this run's files earlier, by whomever.
    pub fn new(dir: &Path, before: Vec<Origin>, import: Import) -> Self {
        let mut intake = Self {
            dir: dir.to_owned(),
            // Without it foreign writes are found when the run is taken over.
            listener: Listener::on(dir),
            import,
            control: control::Slot::default(),
            inboxes: BTreeMap::new(),
            followed: 0,
            unborn: Vec::new(),
            taken: HashMap::new(),
            named: HashSet::new(),
            redirects: Vec::new(),
        };
        for origin in before {
            intake.remember(origin);
        }
        intake.control.is_stale = true;
        intake
    }

    /// Looks at what changed since the last look, and takes it.
    pub fn look(&mut self, writer: &Writer) {
        self.follow(writer);
        match self.listener.as_mut().map(Listener::heard) {
            Some(Heard::These(changed)) => {
                for path in changed {
                    self.changed(&path);
                }
            }
            // More than the system kept: everything is looked at once.
            Some(Heard::TooMuch) => {
                self.control.is_stale = true;
                self.inboxes.values_mut().for_each(|cursor| cursor.is_stale = true);
            }
            Some(Heard::Nothing) | None => {}
        }
        self.take_control(writer);
        self.take_inboxes(writer);
    }

    /// Our own file is about to take the place of what stands there: it is looked at first, whatever was heard.
    pub fn before_control(&mut self, writer: &Writer) {
        self.control.is_stale = true;
        self.take_control(writer);
    }

    /// What our own file has taken the place of, should somebody have been faster.
    pub fn displaced(&mut self, writer: &Writer, mut file: super::files::Displaced) {
        // Mostly it is what was just looked at.
        file.seen = self.control.seen;
        self.control.displaced.push(file);
        self.take_control(writer);
    }

    /// Is this content of `control.json` dealt with?
    pub fn is_settled(&self, bytes: &[u8]) -> bool {
        self.control.seen == Some(hash(bytes))
    }

    fn changed(&mut self, path: &Path) {
        if path.file_name().is_some_and(|name| name == "control.json") {
            self.control.is_stale = true;
        } else if let Some(cursor) = self.inboxes.get_mut(path) {
            cursor.is_stale = true;
        }
    }

    /// Agents that are new are listened to as soon as they have a directory.
    fn follow(&mut self, writer: &Writer) {
        let records = writer.records();
        let new = self.followed..records.len();
        self.followed = records.len();
        let new = new.filter_map(|at| u32::try_from(at).ok());
        let waiting: Vec<u32> = std::mem::take(&mut self.unborn).into_iter().chain(new).collect();
        for at in waiting {
            let Some(record) = records.get(at as usize).filter(|record| record.speaks) else { continue };
            let path = self.dir.join(record.file("inbox.jsonl"));
            let place = path.parent().unwrap_or(&self.dir);
            if !self.listener.as_mut().is_none_or(|listener| listener.add(place)) {
                self.unborn.push(at);
                continue;
            }
            let cursor = inbox::Cursor::new(record.id.to_string(), record.file("inbox.jsonl"));
            self.inboxes.insert(path, cursor);
        }
    }

    fn take_control(&mut self, writer: &Writer) {
        let looked = self.control.look(&self.dir, &writer.own.control);
        for control::Found { place, bytes, says } in looked {
            let digest = digest(&bytes);
            let origin = Origin { file: "control.json".to_owned(), digest, id: None };
            // Taken by an owner that died before it could put its own file there.
            let is_known = self.control.seen.is_none()
                && self.taken.contains_key(&(origin.file.clone(), origin.digest.clone()));
            let taken = match says {
                _ if is_known => Vec::new(),
                Ok(found) => control::commands(found, writer.records())
                    .into_iter()
                    .map(|command| self.once(command, &origin))
                    .collect(),
                Err(problem) => vec![skipped(&origin, problem)],
            };
            if taken.is_empty() || (self.import)(taken) {
                if place == control::Place::Slot {
                    self.control.seen = Some(hash(&bytes));
                }
                self.remember(origin);
            } else {
                self.control.is_stale = true;
            }
        }
    }

    fn take_inboxes(&mut self, writer: &Writer) {
        let stale: Vec<PathBuf> = self
            .inboxes
            .iter()
            .filter(|(_, cursor)| cursor.wants_a_look())
            .map(|(path, _)| path.clone())
            .collect();
        for path in stale {
            let Some(mut cursor) = self.inboxes.remove(&path) else { continue };
            let mut taken = Vec::new();
            let before = cursor.clone();
            for (line, read) in cursor.read(&path, &writer.own.lines) {
                let (id, read) = inbox::command(read, &cursor.agent);
                let origin = Origin { file: cursor.file.clone(), digest: digest(&line), id };
                let count =
                    self.taken.get(&(origin.file.clone(), origin.digest.clone())).copied().unwrap_or(0);
                if !cursor.is_new(&origin.digest, count) || self.is_named(&origin) {
                    continue;
                }
                taken.push(match read {
                    Ok(command) => self.once(command, &origin),
                    Err(problem) => skipped(&origin, problem),
                });
                self.remember(origin);
            }
            if !taken.is_empty() && !(self.import)(taken.clone()) {
                taken.into_iter().for_each(|taken| self.forget(&taken.origin));
                cursor = before;
            }
            self.inboxes.insert(path, cursor);
        }
    }

    /// A redirect is written to two places; whichever is seen second says nothing new.
    fn once(&mut self, command: Command, origin: &Origin) -> Taken {
        let origin = origin.clone();
        let Command::Direct { verb: Verb::Redirect, target: Target::Agent(agent), text: Some(text) } =
            &command
        else {
            return Taken { command: Some(command), origin };
        };
        self.redirects.retain(|one| one.at.elapsed() < TOGETHER);
        let is_same =
            |one: &Redirected| one.agent == agent.as_str() && one.text == *text && one.file != origin.file;
        if let Some(at) = self.redirects.iter().position(is_same) {
            self.redirects.remove(at);
            return Taken { command: None, origin };
        }
        let (agent, text, file) = (agent.to_string(), text.clone(), origin.file.clone());
        self.redirects.push(Redirected { agent, text, file, at: Instant::now() });
        Taken { command: Some(command), origin }
    }

    fn is_named(&self, origin: &Origin) -> bool {
        origin.id.as_ref().is_some_and(|id| self.named.contains(&(origin.file.clone(), id.clone())))
    }

    fn remember(&mut self, origin: Origin) {
        let Origin { file, digest, id } = origin;
        if let Some(id) = id {
            self.named.insert((file.clone(), id));
        }
        *self.taken.entry((file, digest)).or_default() += 1;
    }

    fn forget(&mut self, origin: &Origin) {
        if let Some(id) = &origin.id {
            self.named.remove(&(origin.file.clone(), id.clone()));
        }
        if let Some(count) = self.taken.get_mut(&(origin.file.clone(), origin.digest.clone())) {
            *count = count.saturating_sub(1);
        }
    }
}

fn skipped(origin: &Origin, problem: Words) -> Taken {
    let command = Some(Command::Skipped { file: origin.file.clone(), problem });
    Taken { command, origin: origin.clone() }
}

/// Whom another program means: by the id, or by its last part where that is only one agent's.
fn targets(target: ForeignTarget, records: &[Record]) -> Vec<Target> {
    let named = |name: &String| {
        let exact = records.iter().find(|record| *record.id == **name);
        let mut last =
            records.iter().filter(|record| record.id.rsplit_once('/').is_some_and(|(_, last)| last == name));
        let only = || last.next().filter(|_| last.next().is_none());
        let id = exact.or_else(only).map_or(name.as_str(), |record| &record.id);
        Target::Agent(AgentPath::new(id))
    };
    match target {
        ForeignTarget::All => vec![Target::All],
        ForeignTarget::Agents(names) => names.iter().map(named).collect(),
    }
}

fn message_kind(kind: &super::MessageType) -> MessageKind {
    match kind {
        super::MessageType::Question => MessageKind::Question,
        super::MessageType::Blocked => MessageKind::Blocked,
        super::MessageType::Result => MessageKind::Result,
        super::MessageType::Redirect => MessageKind::Redirect,
        // Words of others are kept in the file; here they are news like any other.
        super::MessageType::Handoff | super::MessageType::Other(_) => MessageKind::Handoff,
    }
}

fn problem(error: &super::foreign::ReadError) -> Words {
    let error = escape_for_terminal(&error.to_string()).into_owned();
    words!("{error}", "{error}")
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn digest(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

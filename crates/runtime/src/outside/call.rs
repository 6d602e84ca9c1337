//! One call of the hook against the store: which run it belongs to, the decision, the files, and the wait while paused.

use super::bind::{self, bind};
use super::foreign;
use super::step::{Imported, Written, finish, record};
use crate::runs::{new_id, wall};
use crate::store::leaves::Patience;
use crate::store::outside::{self as stored, Found, Lean, Rows};
use crate::store::{LeaseRow, NewRun, Owner, Place, RunStatus, StoreError};
use fugato_engine::outside::{
    Answer, Denial, Desk, Guard, Input, Look as _, Who, decide, key_of, lose, refers_to,
};
use fugato_engine::{By, Event, EventKind, Limits, Origin, RunSpec, SkillPin};
use fugato_model::words;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A call, understood.
#[derive(Debug)]
pub struct Call {
    pub state: PathBuf,
    /// The run somebody named.
    pub run: Option<String>,
    pub who: Who,
    pub at: i64,
}

/// How often a paused agent looks whether it may go on.
const LOOK: Duration = Duration::from_millis(50);

impl Call {
    /// Decides and records; does not wait.
    pub fn once(&self, lean: &mut Option<Lean>, input: &Input) -> Result<Answer, StoreError> {
        if lean.is_none() {
            *lean = Lean::open(&self.state)?;
        }
        if lean.is_none() {
            if !refers_to(&self.who, input) {
                return Ok(Answer::default());
            }
            *lean = Some(Lean::make(&self.state)?);
        }
        let Some(lean) = lean else { return Ok(Answer::default()) };
        let (answer, written) = lean.transact(|connection, place| self.decide(connection, place, input))?;
        finish(&self.state, written);
        Ok(answer)
    }

    /// The same for a guard: an agent that is paused waits here, for as long as `patience` says, and is then refused.
    pub fn guarded(
        &self,
        lean: &mut Option<Lean>,
        input: &Input,
        patience: impl FnOnce() -> Duration,
    ) -> Result<Answer, StoreError> {
        let mut answer = self.once(lean, input)?;
        let (Guard::Hold, Input::Asks { call, tool, .. }) = (&answer.guard, input) else { return Ok(answer) };
        let until = Instant::now() + patience();
        let parent = std::os::unix::process::parent_id();
        while answer.guard == Guard::Hold {
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
            let patience_is_over = Instant::now() >= until;
            // Nobody waits for the answer any more.
            let is_alone = std::os::unix::process::parent_id() != parent;
            if !patience_is_over && !is_alone && !self.may_have_changed(lean, answer.agent) {
                continue;
            }
            let held = Input::Held {
                call: call.clone(),
                tool: tool.clone(),
                patience_is_over: patience_is_over || is_alone,
            };
            match self.once(lean, &held) {
                Ok(decided) => answer = decided,
                // The call is recorded: an error here must not have it put aside and recorded once more. By what was last
                // known the agent is paused.
                Err(_) if patience_is_over || is_alone => answer.guard = Guard::Deny(Denial::Paused),
                Err(_) => {}
            }
        }
        Ok(answer)
    }

    /// A look without a transaction: is the agent still paused, and nothing new in `control.json`?
    fn may_have_changed(&self, lean: &Option<Lean>, agent: Option<u32>) -> bool {
        let (Some(lean), Some(agent)) = (lean, agent) else { return true };
        let key = key_of(&self.who.host, &self.who.session, self.who.subagent.as_deref());
        let Ok(Some(found)) = stored::find_by_key(&lean.connection, &key) else { return true };
        let rows = Rows::new(&lean.connection, found.no);
        let is_held = rows.agent(agent).is_some_and(|row| row.paused && row.is_live());
        let control = crate::exports::outside::read_control(&self.dir(&found));
        !is_held || control.is_some_and(|control| !found.control.has(&control))
    }

    fn dir(&self, found: &Found) -> PathBuf {
        self.state.join("runs").join(&found.id)
    }

    fn decide(
        &self,
        connection: &Connection,
        place: &Place,
        input: &Input,
    ) -> Result<(Answer, Vec<Written>), StoreError> {
        let (mut written, token) = (Vec::new(), bind::token());
        // What was put aside belongs before what happens now.
        let waiting = super::spool::waiting(&self.state);
        for (spooled, what) in &waiting.calls {
            let (_, more) = spooled.one(connection, place, &token, what)?;
            written.extend(more);
        }
        let (answer, more) = self.one(connection, place, &token, input)?;
        written.extend(more);
        waiting.done(&self.state);
        Ok((answer, written))
    }

    /// One input in one run.
    pub fn one(
        &self,
        connection: &Connection,
        place: &Place,
        token: &str,
        input: &Input,
    ) -> Result<(Answer, Vec<Written>), StoreError> {
        let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
        let mut written = Vec::new();
        let Some(mut found) = self.find(connection, place, token, input, &mut written)? else {
            return Ok((Answer::default(), written));
        };
        bind(connection, place, &mut found, token, Patience::Short)?;
        let rows = Rows::new(connection, found.no);
        let mut desk = Desk::new(&rows, found.run.clone(), By::Host, self.at);
        let key = key_of(&self.who.host, &self.who.session, self.who.subagent.as_deref());
        let agent = desk.by_key(&key);
        let imported = if self.who.is_late {
            Imported::default()
        } else {
            foreign::import(&mut desk, &rows, &found, &self.dir(&found), agent)
        };
        desk.speak_as(By::Host);
        let is_new = agent.is_none();
        let who = if is_new { Who { process: host_process(), ..self.who.clone() } } else { self.who.clone() };
        self.keep_alive(connection, &mut found, &mut desk, agent, &who).map_err(sql)?;
        let answer = decide(&mut desk, &who, input.clone());
        written.push(record(connection, place, &found, &rows, desk, imported)?);
        Ok((answer, written))
    }

    /// The run belongs to a program that lives: if the one it belonged to is gone, its agents are too.
    fn keep_alive(
        &self,
        connection: &Connection,
        found: &mut Found,
        desk: &mut Desk<'_>,
        agent: Option<u32>,
        who: &Who,
    ) -> rusqlite::Result<()> {
        let own = match agent.and_then(|agent| desk.agent(agent)) {
            Some(row) => row.origin.process,
            None => who.process,
        };
        let Some((pid, started)) = own.filter(|_| found.run.ended.is_none()) else { return Ok(()) };
        let holder = found.lease.as_ref();
        if holder.is_some_and(|lease| lease.owner.pid == pid && lease.owner.started == started)
            || holder.is_some_and(LeaseRow::is_alive)
        {
            return Ok(());
        }
        if holder.is_some() {
            lose(desk, |origin| origin.process != own && is_gone(origin));
        }
        found.lease = Some(stored::hand_over(connection, found, &Owner::of_process(pid, started))?);
        Ok(())
    }

    fn find(
        &self,
        connection: &Connection,
        place: &Place,
        token: &str,
        input: &Input,
        written: &mut Vec<Written>,
    ) -> Result<Option<Found>, StoreError> {
        let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
        let (host, session) = (&self.who.host, &self.who.session);
        let keys = [Some(key_of(host, session, self.who.subagent.as_deref())), {
            self.who.subagent.as_ref().map(|_| key_of(host, session, None))
        }];
        for key in keys.into_iter().flatten() {
            let Some(found) = stored::find_by_key(connection, &key).map_err(sql)? else { continue };
            let rows = Rows::new(connection, found.no);
            let is_cancelled = || {
                rows.by_key(&key).and_then(|agent| rows.agent(agent)).is_some_and(|row| row.is_cancelled())
            };
            if found.run.ended.is_none() || is_cancelled() {
                return Ok(Some(found));
            }
        }
        if !works(input) {
            return Ok(None);
        }
        if let Some(run) = &self.run
            && let Some(found) = stored::find(connection, run).map_err(sql)?
            && found.run.ended.is_none()
        {
            return Ok(Some(found));
        }
        while let Some(mut found) = stored::find_open(connection).map_err(sql)? {
            if found.lease.as_ref().is_some_and(LeaseRow::is_alive) {
                return Ok(Some(found));
            }
            // Nobody has said that it is over, and nobody is there.
            bind(connection, place, &mut found, token, Patience::Short)?;
            let rows = Rows::new(connection, found.no);
            let mut desk = Desk::new(&rows, found.run.clone(), By::Engine, self.at);
            lose(&mut desk, is_gone);
            let goes_on = desk.run.ended.is_none();
            if !desk.events().is_empty() {
                written.push(record(connection, place, &found, &rows, desk, Imported::default())?);
            }
            if goes_on {
                return stored::find(connection, &found.id).map_err(sql);
            }
        }
        if refers_to(&self.who, input) { self.create(connection, place).map(Some) } else { Ok(None) }
    }

    fn create(&self, connection: &Connection, place: &Place) -> Result<Found, StoreError> {
        let id = self.run.clone().unwrap_or_else(|| new_id(self.at));
        let host = &self.who.host;
        let spec = RunSpec {
            id: id.clone(),
            skill: SkillPin { name: host.clone(), ..SkillPin::default() },
            title: words!("agents of {host}", "{host} 的代理").en,
            limits: Limits::default(),
            model: host.clone(),
            ..RunSpec::default()
        };
        let title = spec.title.clone();
        let kind = EventKind::RunCreated { spec: Arc::new(spec) };
        let first = Event { v: Event::VERSION, seq: 1, at: self.at, by: By::Host, kind };
        let bytes = serde_json::to_vec(&first).unwrap_or_default();
        let new = NewRun {
            id,
            status: RunStatus::Running,
            skill: Some(host.clone()),
            title: Some(title),
            created_at: self.at,
            parent: None,
            events: vec![bytes],
        };
        let (found, is_active) = stored::create(connection, place, &new)?;
        if is_active {
            // A link is a view too.
            let _ = std::fs::create_dir_all(self.dir(&found));
            let _ = crate::exports::point_at(&self.state, &found.id);
        }
        Ok(found)
    }
}

/// Whoever does this is at work, and so an agent of the run that is going on.
fn works(input: &Input) -> bool {
    matches!(
        input,
        Input::Prompted { .. }
            | Input::Asks { .. }
            | Input::Used { .. }
            | Input::SubagentStarted
            | Input::Held { .. }
    )
}

/// Is the program of an agent gone? One that is not known is only missed with its run.
pub fn is_gone(origin: &Origin) -> bool {
    origin.process.is_none_or(|(pid, started)| !Owner::of_process(pid, started).lives_here())
}

/// The program that calls the hook: the nearest ancestor that is not a shell.
fn host_process() -> Option<(u32, u64)> {
    const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ash", "fish", "ksh"];
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..4 {
        let Some((name, parent)) = crate::store::name_and_parent(pid) else { break };
        if !SHELLS.contains(&name.as_str()) || parent <= 1 {
            break;
        }
        pid = parent;
    }
    crate::store::started(pid).map(|started| (pid, started))
}

/// Where the state of the project is that the host works on.
pub fn state_of(cwd: &Path) -> PathBuf {
    let places = crate::Places::from_env(cwd.to_owned(), |name| std::env::var_os(name));
    crate::state_dir(&places, std::env::var_os("HARNESS_DIR").as_deref())
}

/// Now, as events tell it.
pub fn now() -> i64 {
    wall()
}

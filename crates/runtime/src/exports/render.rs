//! The files that are replaced as a whole: `run.json`, `status.json`, `control.json`.

use super::fold::{Fold, Owner, Recent};
use super::lines::Directive;
use super::moment::{Stamps, timestamp};
use super::record::{Record, Stage};
use super::status::{AgentWord, RunWord};
use serde::Serialize;
use serde::ser::{SerializeSeq as _, Serializer};
use serde_json::value::RawValue;

pub(super) fn run_json(fold: &Fold, owner: Owner) -> Vec<u8> {
    #[derive(Serialize)]
    struct Document<'a> {
        id: &'a str,
        status: RunWord,
        started_at: String,
        updated_at: String,
        generation: u64,
        seq: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason_zh: Option<&'a str>,
        agents: Agents<'a>,
        dependencies: &'a RawValue,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        recent: Vec<Newest<'a>>,
    }
    let (status, reason) = fold.standing(owner);
    document(&Document {
        id: &fold.id,
        status,
        started_at: timestamp(fold.started_at),
        updated_at: timestamp(fold.clock),
        generation: fold.generation,
        seq: fold.seq,
        reason: reason.map(|words| words.en.as_str()),
        reason_zh: reason.map(|words| words.zh.as_str()),
        agents: Agents { fold, owner },
        dependencies: &fold.dependencies(),
        recent: fold.recent.iter().rev().map(|recent| Newest::of(recent, fold)).collect(),
    })
}

/// Whoever wants to know what happened last need not open the streams of all agents.
#[derive(Serialize)]
struct Newest<'a> {
    seq: u64,
    timestamp: String,
    agent: &'a str,
    r#type: &'a str,
    message: &'a str,
    message_zh: &'a str,
}

impl<'a> Newest<'a> {
    fn of(recent: &'a Recent, fold: &'a Fold) -> Self {
        let agent = fold.records.get(recent.record as usize).map_or("", |record| &*record.id);
        Self {
            seq: recent.seq,
            timestamp: timestamp(recent.at),
            agent,
            r#type: recent.sentence.kind,
            message: &recent.sentence.words.en,
            message_zh: &recent.sentence.words.zh,
        }
    }
}

/// Written straight from the records: a copy of ten thousand of them every time would be waste.
struct Agents<'a> {
    fold: &'a Fold,
    owner: Owner,
}

impl Serialize for Agents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Entry<'a> {
            id: &'a str,
            role: &'a str,
            task: &'a str,
            status: AgentWord,
            #[serde(skip_serializing_if = "Option::is_none")]
            started_at: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            completed_at: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            dir: Option<&'a str>,
        }
        let around = self.fold.around(self.owner);
        let mut stamps = Stamps::default();
        let mut agents = serializer.serialize_seq(Some(self.fold.records.len()))?;
        for record in &self.fold.records {
            agents.serialize_element(&Entry {
                id: &record.id,
                role: &record.role,
                task: &record.task,
                status: record.shown(around),
                started_at: record.started_at.map(|at| stamps.of(at)),
                completed_at: record.shown_completed_at(around).map(|at| stamps.of(at)),
                dir: record.dir.as_deref(),
            })?;
        }
        agents.end()
    }
}

pub(super) fn status_json(fold: &Fold, record: &Record, owner: Owner) -> Vec<u8> {
    #[derive(Serialize)]
    struct Document<'a> {
        agent_id: &'a str,
        status: AgentWord,
        phase: &'a str,
        progress: &'a str,
        last_heartbeat: Option<String>,
        acked_generation: u64,
        unread: u64,
    }
    document(&Document {
        agent_id: &record.id,
        status: record.shown(fold.around(owner)),
        phase: fold.phase_of(record),
        progress: &record.progress,
        last_heartbeat: heartbeat(fold, record, owner).map(timestamp),
        acked_generation: record.acked,
        unread: record.unread,
    })
}

/// The last sign of life: of the agent, or of the owner on its behalf while a call of it takes its time.
fn heartbeat(fold: &Fold, record: &Record, owner: Owner) -> Option<i64> {
    let is_at_work = owner == Owner::Here && record.stage == Stage::Working;
    record.heartbeat.map(|heard| if is_at_work { heard.max(fold.beat) } else { heard })
}

pub(super) fn control_json(directive: &Directive) -> Vec<u8> {
    document(directive)
}

fn document(value: &impl Serialize) -> Vec<u8> {
    // Structures of strings and numbers always serialise.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

//! What each event makes of the rows. The only function that changes them.

use super::desk::Desk;
use super::rows::{AgentRow, Due, DueStage, Stopped, Unread};
use crate::event::{Event, EventKind, Report, Target, Verb, Verdict};

/// Lists show less of a task, on one line.
const TASK: usize = 400;

/// More calls than this that never became an agent are forgotten, oldest first.
const MOST_ANNOUNCED: usize = 64;

impl Desk<'_> {
    pub fn fold(&mut self, event: &Event) {
        self.run.seq = event.seq;
        self.run.at = self.run.at.max(event.at);
        let now = self.run.at;
        match &event.kind {
            EventKind::AgentStarted { agent, agent_type, prompt, .. } => self.add(AgentRow {
                path: agent.to_string(),
                role: agent_type.clone(),
                task: prompt.chars().take(TASK).collect(),
                started_at: now,
                ..AgentRow::default()
            }),
            EventKind::AgentJoined { agent, origin, parent, call, after, .. } => {
                let open: Vec<_> = after.iter().filter(|on| !self.is_done(on)).cloned().collect();
                self.change(*agent, |row, run| {
                    row.origin = (**origin).clone();
                    row.parent = *parent;
                    row.after.clone_from(after);
                    if run.held && !row.paused {
                        row.paused = true;
                        run.paused += 1;
                    }
                    run.waits.extend(open.into_iter().map(|on| (on, *agent)));
                });
                self.changed().run = true;
                self.forget_call(call);
            }
            EventKind::AgentAnnounced { agent, announced } => {
                self.run.announced.push((*agent, (**announced).clone()));
                let surplus = self.run.announced.len().saturating_sub(MOST_ANNOUNCED);
                self.run.announced.drain(..surplus);
                self.changed().run = true;
            }
            EventKind::AgentReported { agent, report } => {
                self.change(*agent, |row, _| row.report = Some(*report));
            }
            EventKind::AgentStopped { agent, verdict } => self.stopped(*agent, verdict, now),
            EventKind::AgentContinued { agent, .. } => {
                self.change(*agent, |row, run| {
                    row.waiting = false;
                    if row.stopped.take().is_some() {
                        run.live += 1;
                        (row.stopped_at, row.report) = (None, None);
                        row.paused = run.held;
                        run.paused += u32::from(run.held);
                    }
                });
                self.changed().run = true;
            }
            EventKind::AgentWaiting { agent } => self.change(*agent, |row, _| row.waiting = true),
            EventKind::ToolAsked { agent, files, .. } => {
                let agent = *agent;
                self.change(agent, |row, _| row.waiting = false);
                let written = files.iter().map(|file| (file.clone(), agent));
                self.changed().files.extend(written);
            }
            EventKind::ToolDenied { agent, call, .. } | EventKind::ToolAnswered { agent, call, .. } => {
                // It was heard of.
                self.change(*agent, |_, _| {});
                self.forget_call(call);
            }
            EventKind::MessageSent { to, from, text, .. } => {
                let unread = Unread { from: from.clone(), text: text.clone() };
                self.change(*to, |row, _| row.unread.push(unread));
            }
            EventKind::MessageDelivered { agent, count } => self.change(*agent, |row, _| {
                let count = (*count as usize).min(row.unread.len());
                row.unread.drain(..count);
            }),
            EventKind::DirectiveRecorded { generation, verb, target, text } => {
                self.directed(*generation, *verb, target, text.as_deref());
            }
            EventKind::DirectiveRefused { generation, .. } => {
                self.run.generation = *generation;
                self.changed().run = true;
            }
            EventKind::DirectiveDelivered { generation, agent } => self.change(*agent, |row, _| {
                let due = row.due.iter_mut().find(|due| due.generation == *generation);
                due.into_iter().for_each(|due| due.stage = DueStage::Delivered);
            }),
            EventKind::DirectiveApplied { generation, agent } => self.change(*agent, |row, _| {
                row.due.retain(|due| due.generation != *generation);
                row.acked = row.acked.max(*generation);
            }),
            EventKind::DirectiveExpired { generation, agent } => self.change(*agent, |row, _| {
                row.due.retain(|due| due.generation != *generation);
            }),
            EventKind::RunEnded { outcome, reason, .. } => {
                (self.run.ended, self.run.reason) = (Some(*outcome), Some(reason.clone()));
                self.run.announced.clear();
                (self.changed().run, self.changed().shown) = (true, true);
            }
            // The rest leaves no trace in the rows, or belongs to runs that somebody owns.
            _ => {}
        }
    }

    fn stopped(&mut self, agent: u32, verdict: &Verdict, now: i64) {
        let stopped = match verdict {
            Verdict::Cancelled => Stopped::Cancelled,
            Verdict::Failed { .. } => Stopped::Failed,
            Verdict::Submitted { .. } | Verdict::Answered { .. } | Verdict::LimitReached { .. } => {
                Stopped::Done
            }
        };
        let mut done = None;
        self.change(agent, |row, run| {
            if row.stopped.is_none() {
                run.live = run.live.saturating_sub(1);
            }
            run.paused -= u32::from(row.paused).min(run.paused);
            (row.paused, row.waiting) = (false, false);
            (row.stopped, row.stopped_at) = (Some(stopped), Some(now));
            if stopped == Stopped::Done && row.report.is_none_or(Report::is_done) {
                done = Some(row.path.clone());
            }
        });
        self.run.announced.retain(|(by, _)| *by != agent);
        self.run.waits.retain(|(on, waiting)| Some(on) != done.as_ref() && *waiting != agent);
        self.changed().run = true;
    }

    fn directed(&mut self, generation: u64, verb: Verb, target: &Target, text: Option<&str>) {
        self.run.generation = generation;
        self.changed().run = true;
        let agents = match target {
            Target::All => self.live(),
            Target::Agent(path) => self.by_path(path.as_str()).into_iter().collect(),
        };
        match (verb, target) {
            (Verb::Pause, Target::All) => self.run.held = true,
            (Verb::Resume, Target::All) => self.run.held = false,
            _ => {}
        }
        for agent in agents {
            self.change(agent, |row, run| {
                if !row.is_live() {
                    return;
                }
                let pauses = match verb {
                    Verb::Pause => true,
                    Verb::Resume => false,
                    Verb::Cancel | Verb::Redirect | Verb::Restart => row.paused,
                };
                run.paused = (run.paused + u32::from(pauses)).saturating_sub(u32::from(row.paused));
                row.paused = pauses;
                let text = text.unwrap_or_default().to_owned();
                row.due.push(Due { generation, verb, text, stage: DueStage::Recorded });
            });
        }
    }

    /// Need nobody wait for this agent?
    fn is_done(&mut self, path: &str) -> bool {
        let row = self.by_path(path).and_then(|agent| self.agent(agent));
        row.is_some_and(|row| row.stopped == Some(Stopped::Done) && row.report.is_none_or(Report::is_done))
    }

    fn forget_call(&mut self, call: &str) {
        let before = self.run.announced.len();
        self.run.announced.retain(|(_, announced)| announced.call != call);
        self.changed().run |= self.run.announced.len() != before;
    }
}

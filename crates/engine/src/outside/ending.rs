//! How agents outside end, who is told, and when the run is over. Nobody is left behind as a ghost.

use super::desk::Desk;
use super::report::report_of;
use super::rows::{AgentRow, DueStage};
use crate::event::{EventKind, Origin, Outcome, Report, Verb, Verdict};
use fugato_model::words;

/// What whoever waited is told of the last message.
const NEWS: usize = 1000;

/// An agent has said its last words.
pub(super) fn stop(desk: &mut Desk<'_>, agent: u32, text: &str) {
    let Some(row) = desk.agent(agent).filter(|row| row.is_live()) else { return };
    let path = row.path.clone();
    let report = report_of(text);
    expire(desk, agent, &[]);
    if let Some(report) = report {
        desk.emit(EventKind::AgentReported { agent, report });
    }
    // Whoever waited is looked up before the fold forgets that it did.
    let waiting = waiting_for(desk, &path);
    desk.emit(EventKind::AgentStopped { agent, verdict: Verdict::Answered { text: text.to_owned() } });
    let word = report.unwrap_or(Report::Done).as_str().to_uppercase();
    let said: String = text.chars().take(NEWS).collect();
    tell(
        desk,
        &waiting,
        &path,
        &format!("Agent `{path}`, for which you wait, is {word}. It says:\n\n{said}"),
    );
}

/// An agent ended without a word.
pub(super) fn fail(desk: &mut Desk<'_>, agent: u32, message: &str) {
    let Some(row) = desk.agent(agent).filter(|row| row.is_live()) else { return };
    let path = row.path.clone();
    expire(desk, agent, &[]);
    desk.emit(EventKind::AgentStopped { agent, verdict: Verdict::Failed { message: message.to_owned() } });
    let waiting = waiting_for(desk, &path);
    tell(desk, &waiting, &path, &format!("Agent `{path}`, for which you wait, has ended: {message}"));
}

/// Marked at once, and refused everything from now on; those it started, too.
pub(super) fn cancel(desk: &mut Desk<'_>, agent: u32) {
    let mut gone = vec![agent];
    for other in desk.live() {
        let parent = desk.agent(other).and_then(|row| row.parent);
        // Parents come before their children.
        if parent.is_some_and(|parent| gone.contains(&parent)) {
            gone.push(other);
        }
    }
    for agent in gone {
        let Some(row) = desk.agent(agent).filter(|row| row.is_live()) else { continue };
        let path = row.path.clone();
        expire(desk, agent, &[Verb::Cancel]);
        desk.emit(EventKind::AgentStopped { agent, verdict: Verdict::Cancelled });
        let waiting = waiting_for(desk, &path);
        tell(desk, &waiting, &path, &format!("Agent `{path}`, for which you wait, was cancelled."));
    }
}

/// What it was to do and never will.
pub(super) fn expire(desk: &mut Desk<'_>, agent: u32, but: &[Verb]) {
    let due = desk.agent(agent).map(|row| row.due.clone()).unwrap_or_default();
    for due in due.into_iter().filter(|due| !but.contains(&due.verb)) {
        let generation = due.generation;
        desk.emit(match (due.verb, due.stage) {
            // It was told, and then ended by it.
            (Verb::Redirect, DueStage::Delivered) => EventKind::DirectiveApplied { generation, agent },
            _ => EventKind::DirectiveExpired { generation, agent },
        });
    }
}

fn waiting_for(desk: &Desk<'_>, path: &str) -> Vec<u32> {
    let waits = desk.run.waits.iter().filter(|(on, _)| on == path);
    waits.map(|(_, waiting)| *waiting).collect()
}

fn tell(desk: &mut Desk<'_>, waiting: &[u32], from: &str, news: &str) {
    for to in waiting {
        if !desk.agent(*to).is_some_and(AgentRow::is_live) {
            continue;
        }
        let is_free = !desk.run.waits.iter().any(|(_, waiting)| waiting == to);
        let go_on = if is_free { "\n\nAll agents you waited for are done: go on." } else { "" };
        let text = format!("{news}{go_on}");
        desk.emit(EventKind::MessageSent { to: *to, from: from.to_owned(), text });
    }
}

/// Ends the run when nobody is left. `last` ended just now.
pub(super) fn end_if_over(desk: &mut Desk<'_>, last: u32) {
    if desk.run.live > 0 || desk.run.ended.is_some() {
        return;
    }
    let last = desk.agent(last).cloned().unwrap_or_default();
    let path = &last.path;
    let (outcome, reason) = match (last.is_cancelled(), last.report) {
        (true, _) => (Outcome::Aborted, words!("cancelled by the operator", "已被操作者取消")),
        (false, Some(report)) if !report.is_done() => {
            let word = report.as_str().to_uppercase();
            (Outcome::Failed, words!("`{path}` is {word}", "`{path}` 报告 {word}"))
        }
        _ => (Outcome::Complete, words!("all agents are done", "所有代理都已完成")),
    };
    desk.emit(EventKind::RunEnded { outcome, reason, result: None });
}

/// Hosts that are gone take their agents along; the last one ends the run.
pub fn lose(desk: &mut Desk<'_>, is_gone: impl Fn(&Origin) -> bool) {
    for agent in desk.live() {
        if desk.agent(agent).is_some_and(|row| is_gone(&row.origin)) {
            fail(desk, agent, "its program ended without a word");
        }
    }
    if desk.run.live == 0 && desk.run.ended.is_none() {
        let reason = words!("its programs ended without a word", "相关程序已经结束，没有留下消息");
        desk.emit(EventKind::RunEnded { outcome: Outcome::Aborted, reason, result: None });
    }
}

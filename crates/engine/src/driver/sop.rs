//! Sessions that run a program: the planner, and commands as calls of skills.

use super::session;
use crate::decide::Recorder;
use crate::event::Verdict;
use fugato_model::words;

/// Decides the next thing of a session whose program is due. `false`: nothing can be decided now.
pub fn advance(recorder: &mut Recorder<'_>, node: u32, _has_room: bool) -> bool {
    session::fail(recorder, node, words!("there is no planner here yet", "这里还没有规划器"));
    true
}

/// Its planner has ended.
pub fn agent_ended(recorder: &mut Recorder<'_>, node: u32, _verdict: Verdict) {
    session::fail(recorder, node, words!("there is no planner here yet", "这里还没有规划器"));
}

//! The clock reached a moment the run waits for.

use super::Recorder;
use crate::event::{EventKind, Timer};

pub fn tick(recorder: &mut Recorder<'_>) {
    let is_due = recorder.run.deadline().is_some_and(|at| recorder.now >= at);
    if is_due {
        recorder.emit(EventKind::TimerFired { timer: Timer::Wall });
        crate::driver::exhaust(recorder, "wall time");
    }
}

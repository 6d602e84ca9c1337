//! Ending a set of processes: ask, wait for the grace, force, wait until they are gone.

use super::procfs::{self, Stat};
use rustix::process::{Pid, Signal};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long a killed process may take to vanish. Only one stuck inside the kernel (a dead network disk) takes longer;
/// then it is left to the kernel, which ends it as soon as it can.
const STUCK: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Ends what `find` finds until it finds nothing; gives what resisted. `is_hurried` cuts the grace short.
pub(super) fn end_all(
    find: impl Fn() -> Vec<Stat>,
    grace: Duration,
    is_hurried: impl Fn() -> bool,
    pause: impl Fn(Duration),
) -> Vec<Stat> {
    let (began, mut asked, mut forced_since) = (Instant::now(), HashSet::new(), None);
    loop {
        let found = find();
        if found.is_empty() {
            return found;
        }
        let force = is_hurried() || began.elapsed() >= grace;
        if force && forced_since.get_or_insert_with(Instant::now).elapsed() > STUCK {
            return found;
        }
        for stat in &found {
            if force {
                signal(stat, Signal::KILL);
            } else if asked.insert((stat.pid, stat.start)) {
                signal(stat, Signal::TERM);
                signal(stat, Signal::CONT);
            }
        }
        pause(LOOK_EVERY);
    }
}

/// Signals the process that was looked at, not one that got its number meanwhile.
pub(super) fn signal(stat: &Stat, signal: Signal) {
    let Some(pid) = i32::try_from(stat.pid).ok().and_then(Pid::from_raw) else { return };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        // The handle is taken first and the start compared after, so handle and process belong together.
        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) {
            if procfs::stat(stat.pid).is_some_and(|now| now.start == stat.start) {
                let _ = pidfd_send_signal(handle, signal);
            }
            return;
        }
    }
    if procfs::stat(stat.pid).is_some_and(|now| now.start == stat.start) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

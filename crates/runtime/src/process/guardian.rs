//! A small process beside this one that outlives it by a moment: when its pipe closes, whatever way this program ended,
//! it ends everything this program had started and then itself.
//!
//! The kernel's death signal reaches children only, not what they started. The guardian is our own program under another
//! argument: a fork alone would keep copies of our memory and of our locks. It stands in a group of its own, so whoever
//! kills us with our whole group does not reach it.

use super::ledger::Owner;
use super::sweep::sweep_within;
use std::io::{PipeWriter, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The first argument of a guardian; the second is its owner.
const ARGUMENT: &str = "__guard-processes-of";
/// For what is in the middle of writing a file. Then it is killed.
const GRACE: Duration = Duration::from_millis(200);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
/// Held open as long as we live; never read.
static PIPE: Mutex<Option<PipeWriter>> = Mutex::new(None);

/// From now on the first process that is started has a guardian started before it. `program` is one that calls
/// [`guard_if_asked`] before anything else.
pub fn appoint_guardian(program: PathBuf) {
    // Named once; a second name would be the same program.
    let _ = PROGRAM.set(program);
}

/// When this process was started as a guardian: does its work and gives true. Then there is nothing else to do.
pub fn guard_if_asked() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != ARGUMENT) {
        return false;
    }
    let owner = arguments.next().and_then(|name| Owner::parse(name.to_str()?));
    if let Some(owner) = owner {
        // Nobody writes: what comes is the end, when the owner is gone.
        let mut nothing = [0_u8; 64];
        while std::io::stdin().read(&mut nothing).is_ok_and(|count| count > 0) {}
        sweep_within(&[owner.everything()], GRACE);
    }
    true
}

/// Starts the guardian unless there is one or none was appointed. Without one, what a killed owner leaves is ended by
/// the next start.
pub(super) fn is_there() {
    let Some(program) = PROGRAM.get() else { return };
    let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
    if pipe.is_some() {
        return;
    }
    let Ok((reader, writer)) = std::io::pipe() else { return };
    let mut command = Command::new(program);
    command.args([ARGUMENT, &Owner::this_process().name()]).env_clear().current_dir("/");
    // Of an outer fugato it is one process among others.
    command.envs(std::env::var_os(super::launch::MARK).map(|outer| (super::launch::MARK, outer)));
    command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    if command.spawn().is_ok() {
        *pipe = Some(writer);
    }
}

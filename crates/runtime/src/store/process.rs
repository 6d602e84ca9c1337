//! Which process is this, and does that one still live? A pid alone is reused; with its start time and the boot it
//! belongs to it names one process for ever.
//!
//! Knows nothing of runs. Wall time plays no part, so a clock that jumps kills nobody.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The machine as the running process sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    pub host: String,
    /// Changes with every boot.
    pub boot: String,
    /// The process-id namespace: pids of another container mean nothing here.
    pub namespace: String,
}

/// What can be said about a process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It runs, and started then (in ticks that only compare with others of the same boot).
    Started(u64),
    Gone,
}

pub fn this_machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| Machine { host: host(), boot: boot(), namespace: namespace() })
}

/// Looks at one process. A zombie is gone: it will never write again.
pub fn look(pid: u32) -> Seen {
    if fs::exists("/proc/self/stat").unwrap_or(false) { from_proc(pid) } else { from_ps(pid) }
}

/// When a process was started; `None`: it is gone.
pub fn started(pid: u32) -> Option<u64> {
    match look(pid) {
        Seen::Started(at) => Some(at),
        Seen::Gone => None,
    }
}

/// The name of a process and its parent. `None` where that cannot be looked up quickly.
pub fn name_and_parent(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let parent = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some((name.to_owned(), parent))
}

fn from_proc(pid: u32) -> Seen {
    let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { return Seen::Gone };
    let stat = String::from_utf8_lossy(&stat);
    // The name in brackets may itself hold brackets and blanks; what follows the last one has a fixed shape.
    let Some((_, rest)) = stat.rsplit_once(')') else { return Seen::Gone };
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next(), None | Some("Z" | "X" | "x")) {
        return Seen::Gone;
    }
    // State was field 3 of the whole line; the start time is field 22.
    fields.nth(18).and_then(|ticks| ticks.parse().ok()).map_or(Seen::Gone, Seen::Started)
}

/// Systems without `/proc`: the start time as text, folded to a number that is only ever compared for equality.
fn from_ps(pid: u32) -> Seen {
    let output = Command::new("ps")
        .args(["-o", "stat=,lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { return Seen::Gone };
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().split_once(char::is_whitespace) {
        Some((state, started)) if !state.starts_with('Z') => Seen::Started(fold(started.trim())),
        _ => Seen::Gone,
    }
}

/// FNV-1a, kept below the sign bit because SQLite's integers are signed.
fn fold(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash >> 1
}

fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Changes with every boot.
pub fn boot() -> String {
    if let Ok(id) = fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        return id.trim().to_owned();
    }
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    if let Some(seconds) = stat.lines().find_map(|line| line.strip_prefix("btime ")) {
        return format!("btime-{seconds}");
    }
    let output = Command::new("sysctl").args(["-n", "kern.boottime"]).stdin(Stdio::null()).output();
    output.map_or_else(|_| "unknown".to_owned(), |out| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_and_keeps_its_start_time() {
        let me = std::process::id();
        assert!(matches!(look(me), Seen::Started(_)));
        assert_eq!(look(me), look(me));
        assert!(!this_machine().boot.is_empty() && !this_machine().host.is_empty());
    }

    #[test]
    fn a_dead_process_is_gone_even_before_it_is_reaped() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while look(pid) != Seen::Gone {
            assert!(std::time::Instant::now() < until, "a zombie counts as alive");
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(look(pid), Seen::Gone);
    }

    #[test]
    fn ps_tells_processes_apart_too() {
        if Command::new("ps").arg("-V").output().is_err() {
            return; // a machine with neither /proc nor ps is not one we run on; one without ps has /proc
        }
        assert!(matches!(from_ps(std::process::id()), Seen::Started(_)));
        assert_eq!(from_ps(u32::MAX / 4), Seen::Gone);
    }
}

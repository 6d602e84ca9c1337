//! What Linux says about processes. Elsewhere every answer is "unknown", and endings rely on process groups alone.

use super::launch::MARK;
use super::tag;
use std::io::Read as _;

/// A line of `/proc/PID/stat`, as far as we need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub pid: u32,
    pub state: u8,
    pub group: u32,
    pub session: u32,
    pub start: u64,
    pub threads: u64,
}

impl Stat {
    /// Ended and waiting for its parent: it does nothing any more and cannot be killed.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

pub(super) fn stat(pid: u32) -> Option<Stat> {
    parse(pid, &read(&format!("/proc/{pid}/stat"), 4096)?)
}

fn parse(pid: u32, line: &[u8]) -> Option<Stat> {
    // The name stands in brackets and may contain anything, brackets and line ends included.
    let after_name = line.iter().rposition(|byte| *byte == b')')?.checked_add(1)?;
    let text = std::str::from_utf8(line.get(after_name..)?).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    Some(Stat {
        pid,
        state: *fields.first()?.as_bytes().first()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
        threads: fields.get(17)?.parse().ok()?,
    })
}

/// Every process there is.
pub(super) fn all() -> impl Iterator<Item = Stat> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(stat)
}

/// Threads of everything this user runs.
pub(super) fn tasks_of_user() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let own = rustix::process::getuid().as_raw();
    let is_own =
        |stat: &Stat| std::fs::metadata(format!("/proc/{}", stat.pid)).is_ok_and(|about| about.uid() == own);
    all().filter(is_own).map(|stat| stat.threads).sum()
}

/// Bytes of memory that are a process's own and in use.
pub(super) fn private_memory(pid: u32) -> u64 {
    let text = read(&format!("/proc/{pid}/statm"), 256).unwrap_or_default();
    let pages: Vec<u64> = String::from_utf8_lossy(&text)
        .split_ascii_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    let own = match pages.as_slice() {
        [_, resident, shared, ..] => resident.saturating_sub(*shared),
        _ => 0,
    };
    own.saturating_mul(rustix::param::page_size() as u64)
}

/// The marks a process carries, if it may be asked: those of other users may not.
pub(super) fn marks(pid: u32) -> Vec<String> {
    // Argument and environment space together are at most a quarter of the stack limit, usually 2 MiB.
    let Some(environment) = read(&format!("/proc/{pid}/environ"), 4 << 20) else { return Vec::new() };
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")));
    let value = String::from_utf8_lossy(value.unwrap_or_default());
    value.split(':').filter(|mark| !mark.is_empty()).map(str::to_owned).collect()
}

/// The tag in its limits, which everybody may read.
pub(super) fn tag(pid: u32) -> Option<u64> {
    tag::read(&String::from_utf8_lossy(&read(&format!("/proc/{pid}/limits"), 4096)?))
}

/// Changes with every start of the machine.
pub(super) fn boot_id() -> String {
    let text = read("/proc/sys/kernel/random/boot_id", 64).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_owned()
}

fn read(path: &str, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_confuse() {
        let line = b"7 (a) b (c) S 1 7 6 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        let expected = Stat { pid: 7, state: b'S', group: 7, session: 6, start: 4242, threads: 1 };
        assert_eq!(parse(7, line), Some(expected));
        assert_eq!(parse(7, b"7 (a"), None);
        assert_eq!(parse(7, b"7 (a) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn we_are_among_all_processes() {
        let own = std::process::id();
        assert!(all().any(|stat| stat.pid == own && stat.start > 0 && !stat.is_ended()));
        assert!(!boot_id().is_empty());
    }
}

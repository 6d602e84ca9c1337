//! Standard input, which may be empty, endless, a terminal, or never closed.

use std::io::{IsTerminal as _, Read as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

/// Why there is nothing to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    Empty,
    Terminal,
    /// Nobody closed it in time.
    Open,
    TooLarge,
    Broken,
}

impl Silence {
    pub fn reason(self) -> &'static str {
        match self {
            Self::Empty => "standard input is empty, one JSON object is expected",
            Self::Terminal => "standard input is a terminal, one JSON object is expected",
            Self::Open => "standard input was not closed within 2 seconds",
            Self::TooLarge => "standard input is larger than 100 MiB",
            Self::Broken => "standard input cannot be read",
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(2);
/// A host that sends more is not one.
const LARGEST: usize = 100 * 1024 * 1024;

pub fn standard_input() -> Result<Vec<u8>, Silence> {
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        return Err(Silence::Terminal);
    }
    let until = Instant::now() + PATIENCE;
    let mut bytes = Vec::with_capacity(8 * 1024);
    let mut part = vec![0; 64 * 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_ready(&input, left) {
            return Err(Silence::Open);
        }
        match input.read(&mut part) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(part.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Silence::Broken),
        }
        if bytes.len() > LARGEST {
            return Err(Silence::TooLarge);
        }
    }
    if bytes.trim_ascii().is_empty() { Err(Silence::Empty) } else { Ok(bytes) }
}

/// Something to read, or the end, within this time.
fn is_ready(input: &std::io::StdinLock<'_>, left: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let fd = input.as_fd();
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 2, tv_nsec: 0 });
    loop {
        match poll(&mut fds, Some(&timeout)) {
            Ok(count) => return count > 0,
            Err(rustix::io::Errno::INTR) => {}
            // What cannot be waited for (a file) can be read at once.
            Err(_) => return true,
        }
    }
}

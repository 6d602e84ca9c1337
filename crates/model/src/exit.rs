//! Exit codes are API: scripts branch on them, so each has one meaning for ever.

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    /// The work failed, or the input has errors.
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    NoActiveRun = 4,
    /// A run ended BLOCKED or NEEDS_CONTEXT.
    Blocked = 5,
    /// A run is paused or awaits input.
    Waiting = 6,
    Conflict = 7,
    /// Trust, authorisation, permission or budget said no.
    Refused = 8,
    Timeout = 124,
    Interrupted = 130,
}

impl Exit {
    pub const fn code(self) -> u8 {
        self as u8
    }
}

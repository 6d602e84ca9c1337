//! Times of events: the machine's clock as it was when the session began, carried on by one that never jumps.
//!
//! Somebody setting the clock changes neither the order of a log nor the length of anything in it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began_at: i64,
    began: Instant,
}

impl Clock {
    /// Starts at the machine's time, or at `not_before` if that is later: the last event of a log may have been written
    /// by a clock that was ahead.
    pub fn start(not_before: i64) -> Self {
        Self { began_at: wall().max(not_before), began: Instant::now() }
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> i64 {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.began_at.saturating_add(passed)
    }

    /// How long until then; nothing if it has passed.
    pub fn until(&self, at: i64) -> Duration {
        Duration::from_millis(u64::try_from(at.saturating_sub(self.now())).unwrap_or(0))
    }
}

/// The machine's time in milliseconds since 1970.
pub fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_goes_back_behind_the_last_event() {
        let future = wall() + 1_000_000_000;
        let clock = Clock::start(future);
        assert!(clock.now() >= future);
        assert_eq!(clock.until(future - 5), Duration::ZERO);
        assert!(Clock::start(0).now() >= wall() - 1000);
    }
}

//! When to stop: a cancel from outside, or the end of the time that was given.

use super::Trouble;
use std::time::{Duration, Instant};

pub struct Watch<'a> {
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
    until: Option<Instant>,
}

impl<'a> Watch<'a> {
    pub fn new(is_cancelled: &'a (dyn Fn() -> bool + Sync), time: Duration) -> Self {
        Self { is_cancelled, until: Instant::now().checked_add(time) }
    }

    pub fn check(&self) -> Result<(), Trouble> {
        if (self.is_cancelled)() {
            return Err(Trouble::Cancelled);
        }
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(Trouble::OutOfTime);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watch({:?})", self.until)
    }
}

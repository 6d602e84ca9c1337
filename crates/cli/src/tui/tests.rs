//! Keys and events in, effects out; and that nothing is ever sent which nobody asked for.

mod hands;
mod long;
mod property;
pub mod sample;
mod updates;

//! Throw-away worlds for tests: a home, a project and the real binary, none of which can see the machine's own.

mod env;
mod skills;
pub mod web;

pub use env::{Ran, TestEnv};
pub use skills::write_many_skills;

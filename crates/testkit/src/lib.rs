//! Throw-away worlds for tests: a home, a project and the real binary, none of which can see the machine's own.

mod cases;
mod env;
mod hosts;
pub mod mock_model;
mod skills;
pub mod web;

pub use cases::cases;
pub use env::{Ran, TestEnv};
pub use hosts::host_program;
pub use skills::write_many_skills;

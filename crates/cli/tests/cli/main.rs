//! The built binary, run as people and programs run it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets what it does not expect should fail loudly"
)]

mod agents;
mod bad_input;
mod chat;
mod control;
mod display;
mod exports;
mod go;
mod go_examples;
mod go_faults;
mod go_memory;
mod go_rights;
mod ground;
mod history;
mod hosted;
mod hosted_control;
mod hostile;
mod hosts;
mod kills;
mod live;
mod manage;
mod manners;
mod models;
mod orchestration;
mod orchestration_examples;
mod outside;
mod outside_input;
mod outside_quick;
mod phases;
mod policy;
mod runs;
mod sandbox;
mod skills;
mod sop;
mod sop_run;
mod sop_sessions;
mod steered;
mod terminal;
mod watch;
mod wired;
mod wiring;

use fugato_testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_fugato"))
}

/// The workspace's own files, for the examples.
fn workspace() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

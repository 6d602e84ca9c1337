//! Every scenario works at its smallest size. No time is looked at: a busy machine is not a defect.

#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect should fail loudly")]

use fugato_bench::{Bench, SCENARIOS, Sizes, document, table};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The real program lies beside ours. `cargo test --workspace` has built it already; then this only looks.
fn fugato() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_fugato-bench"));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args([
        "build",
        "--quiet",
        "--locked",
        "--package",
        "fugato",
        "--bin",
        "fugato",
        "--bin",
        "fugato-hook",
    ]);
    let directory = own.parent().unwrap();
    if directory.ends_with("release") {
        build.arg("--release");
    }
    build.env("CARGO_TARGET_DIR", directory.parent().unwrap());
    assert!(build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    directory.join("fugato")
}

#[test]
fn every_scenario_measures_something_and_says_what() {
    let own = Path::new(env!("CARGO_BIN_EXE_fugato-bench"));
    let bare = Path::new(env!("CARGO_BIN_EXE_fugato-bare"));
    let bench = Bench::new(Sizes::SMALL, &fugato(), own, bare).unwrap();
    let mut figures = Vec::new();
    for scenario in SCENARIOS {
        let found = (scenario.measure)(&bench).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
        assert!(!found.is_empty(), "{}", scenario.name);
        figures.extend(found);
    }
    for figure in &figures {
        assert!(figure.median.is_finite() && figure.samples > 0, "{figure:?}");
        // Four agents weigh less than what one process differs from the next.
        let may_be_nothing = figure.unit == "KiB";
        assert!(figure.ratio.is_none_or(|ratio| ratio > 0.0 || may_be_nothing), "{figure:?}");
    }
    assert_eq!(table(&figures).lines().count(), figures.len() + 1);
    assert_eq!(document(&figures)["figures"].as_array().unwrap().len(), figures.len());
    assert!(bench.requests().unwrap() > 0, "nobody asked the model");
}

//! The shape of the workspace, as tests: who may use whom, and what the pure rooms must not touch.

#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect should fail loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// "May use", as ARCHITECTURE.md draws it. What is not here is forbidden.
const MAY_USE: &[(&str, &[&str])] = &[
    ("fugato-model", &[]),
    ("fugato-skill", &["fugato-model"]),
    ("fugato-engine", &["fugato-model", "fugato-skill"]),
    ("fugato-world", &[]),
    ("fugato-runtime", &["fugato-model", "fugato-skill", "fugato-engine", "fugato-world"]),
    ("fugato", &["fugato-model", "fugato-skill", "fugato-engine", "fugato-runtime"]),
    ("fugato-testkit", &["fugato-model"]),
    ("fugato-bench", &["fugato-model", "fugato-skill", "fugato-engine", "fugato-runtime"]),
    ("xtask", &[]),
];

/// Rooms that take everything as an argument.
const PURE: &[&str] = &["model", "skill", "engine"];

/// What a pure room must not depend on, however indirectly.
const IMPURE_CRATES: &[&str] = &[
    "tokio",
    "async-std",
    "rand",
    "getrandom",
    "fastrand",
    "chrono",
    "time",
    "reqwest",
    "rusqlite",
    "notify",
    "rustix",
];

/// What a pure room must not name.
const IMPURE_WORDS: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "SystemTime",
    "Instant::now",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "thread_rng",
    "tokio",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The machine this runs on: packages of other systems need not be here.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    line.to_owned()
}

fn metadata(arguments: &[&str]) -> serde_json::Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &host()])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn rooms_use_only_the_rooms_below_them() {
    let allowed: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeSet<_> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let allowed = allowed.get(name).unwrap_or_else(|| panic!("room `{name}` is not in MAY_USE"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let is_dev = dependency["kind"].as_str() == Some("dev");
            if !ours.contains(used) || (is_dev && used == "fugato-testkit") {
                continue;
            }
            assert!(allowed.contains(&used), "`{name}` must not use `{used}`");
        }
    }
}

#[test]
fn pure_rooms_reach_no_impure_crate() {
    let metadata = metadata(&[]);
    let resolve = metadata["resolve"]["nodes"].as_array().unwrap();
    let nodes: BTreeMap<_, _> = resolve.iter().map(|node| (node["id"].as_str().unwrap(), node)).collect();
    let names: BTreeMap<_, _> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    for room in PURE {
        let crate_name = format!("fugato-{room}");
        let start = names.iter().find(|(_, name)| **name == crate_name).unwrap().0;
        let mut seen = BTreeSet::from([*start]);
        let mut open = vec![*start];
        while let Some(id) = open.pop() {
            for dependency in nodes[id]["deps"].as_array().unwrap() {
                let kinds = dependency["dep_kinds"].as_array().unwrap();
                // Normal dependencies that are built for this kind of machine.
                let is_linked =
                    kinds.iter().any(|kind| kind["kind"].is_null() && is_for_unix(&kind["target"]));
                let next = dependency["pkg"].as_str().unwrap();
                if is_linked && seen.insert(next) {
                    open.push(next);
                }
            }
        }
        for id in &seen {
            assert!(!IMPURE_CRATES.contains(&names[id]), "`{crate_name}` reaches `{}`", names[id]);
        }
        assert!(seen.len() > 3, "the walk over dependencies found nothing");
    }
}

fn is_for_unix(target: &serde_json::Value) -> bool {
    target.as_str().is_none_or(|target| !target.contains("windows") && !target.contains("wasm"))
}

#[test]
fn pure_rooms_name_no_file_system_clock_environment_or_randomness() {
    let mut looked_at = 0;
    for room in PURE {
        for file in sources(&root().join("crates").join(room).join("src")) {
            if is_test_only(&file) {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            // Tests may look at the environment (the number of cases).
            let code = text.split("#[cfg(test)]").next().unwrap();
            for (number, line) in code.lines().enumerate() {
                let line = line.split("//").next().unwrap();
                for word in IMPURE_WORDS {
                    assert!(
                        !line.contains(word),
                        "{}:{}: `{word}` in a pure room",
                        file.display(),
                        number + 1
                    );
                }
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 10, "the walk over sources found nothing");
}

#[test]
fn every_source_file_says_what_it_owns() {
    for folder in ["crates", "benches", "xtask"] {
        for file in sources(&root().join(folder)).iter().filter(|file| !is_test_only(file)) {
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.starts_with("//!"), "{} has no opening `//!`", file.display());
        }
    }
}

/// Items of the catalogue of malformed input that are this far promised.
const CATALOGUE: &[(&str, u32)] = &[("SK", 22), ("PR", 16), ("AR", 10), ("CL", 8), ("PH", 14)];

/// `CL3–CL6` stands for all four.
fn items(cell: &str) -> Vec<String> {
    let number = |item: &str| item.trim_start_matches(char::is_alphabetic).parse::<u32>().unwrap();
    let parts = cell.split(", ").map(|part| part.split_once('–').unwrap_or((part, part)));
    parts
        .flat_map(|(from, to)| {
            let kind = from.trim_end_matches(char::is_numeric);
            (number(from)..=number(to)).map(move |n| format!("{kind}{n}"))
        })
        .collect()
}

#[test]
fn the_page_of_tests_has_every_item_and_names_tests_that_exist() {
    let page = std::fs::read_to_string(root().join("docs/testing.md")).unwrap();
    let code: String =
        sources(&root().join("crates")).iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let (catalogue, promises) = page.split_once("## Promises").unwrap();
    let cells = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        (cells.next().unwrap_or_default(), cells.next().unwrap_or_default())
    };
    let mut found = BTreeSet::new();
    let rows = catalogue
        .lines()
        .filter(|line| CATALOGUE.iter().any(|(kind, _)| line.starts_with(&format!("| {kind}"))));
    let mut tests = Vec::new();
    for (item, named) in rows.map(cells) {
        assert!(named.starts_with('`') || named.starts_with("later, "), "{item} has no test");
        found.extend(items(&item));
        tests.push(named);
    }
    for item in CATALOGUE.iter().flat_map(|(kind, count)| (1..=*count).map(move |n| format!("{kind}{n}"))) {
        assert!(found.contains(&item), "{item} is not on the page of tests");
    }
    tests.extend(promises.lines().filter(|line| line.contains("`")).map(|line| cells(line).1));
    for test in tests.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
        assert!(
            code.contains(&format!("fn {test}(")),
            "docs/testing.md names `{test}`, which is no test any more"
        );
    }
}

/// Modules that are compiled for tests only, by the names we give them.
fn is_test_only(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with("tests.rs")
        || name == "fixture.rs"
        || file.components().any(|part| part.as_os_str() == "tests")
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

//! `cargo xtask soak`: what the tests show with a few cases, with the numbers that the promises name.
//!
//! Each part has its own size, counted in what it does: properties, kills, power cuts. `--share 1/N` makes all of them
//! smaller alike.

use crate::fuzz;
use crate::shell::{self, Outcome, cargo, say};

/// The same tests, once more, with a number.
struct Part {
    name: &'static str,
    about: &'static str,
    /// Arguments of `cargo test`: which packages, which kinds of tests.
    of: &'static [&'static str],
    /// The tests, by their names; none: all that `of` names.
    tests: &'static [&'static str],
    /// The variables that carry the number, and the number that is promised.
    sizes: &'static [(&'static str, u64)],
}

const PARTS: [Part; 8] = [
    Part {
        name: "properties",
        about: "properties of files, policies, rights, templates, programs, documents",
        of: &[
            "-p",
            "fugato-model",
            "-p",
            "fugato-skill",
            "-p",
            "fugato-engine",
            "-p",
            "fugato-world",
            "--lib",
        ],
        tests: &[],
        sizes: &[("FUGATO_CASES", 1_000_000), ("PROPTEST_CASES", 100_000)],
    },
    Part {
        name: "streams",
        about: "properties of settings, stores, streams of models and hosts, and of the terminal",
        of: &["-p", "fugato-runtime", "-p", "fugato", "--lib", "--bins"],
        tests: &[
            "no_text_makes_reading_or_setting_panic",
            "any_json_is_read_or_refused",
            "any_id_has_a_safe_directory_that_leads_back",
            "no_stream_harms_and_every_call_that_began_ends_once",
            "any_bytes_are_an_answer_or_an_error_and_the_same_however_they_are_cut",
            "where_chunks_are_cut_does_not_matter",
            "documents_come_back_by_number",
            "documents_stay_valid_and_secrets_leave",
            "both_ways_make_the_same_log_and_give_the_same_answers",
            "any_bytes_in_any_pieces_end",
            "any_keys_and_events_never_panic_and_never_send_what_was_not_asked_for",
        ],
        sizes: &[("FUGATO_CASES", 100_000), ("PROPTEST_CASES", 100_000)],
    },
    Part {
        name: "simulation",
        about: "simulated runs with faults of every kind",
        of: &["-p", "fugato-engine", "--lib"],
        tests: &["every_simulated_run_keeps_its_promises_and_comes_to_an_end"],
        sizes: &[("FUGATO_SEEDS", 100_000)],
    },
    Part {
        name: "power",
        about: "power cuts, from recorded system calls",
        of: &["-p", "fugato-runtime", "--lib"],
        tests: &["a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged"],
        sizes: &[("FUGATO_POWER_CUTS", 20_000)],
    },
    Part {
        name: "kills",
        about: "`kill -9` of runs, stores, exporters and hooks",
        of: &["-p", "fugato-runtime", "-p", "fugato", "--lib", "--tests"],
        tests: &[
            "killed_processes_lose_nothing_they_were_promised",
            "a_process_killed_while_exporting_leaves_nothing_that_the_next_does_not_set_right",
            "kill_9_at_random_moments_completes_every_run_repeats_nothing_finished_and_leaves_nobody",
            "kill_9_at_any_moment_loses_nothing_and_repeats_nothing_finished",
        ],
        sizes: &[("FUGATO_KILLS", 10_000)],
    },
    Part {
        name: "cancels",
        about: "long calls that are broken off, and the processes below them",
        of: &["-p", "fugato-runtime", "--lib"],
        tests: &[
            "calls_of_ten_minutes_are_broken_off_at_once_and_nobody_survives",
            "many_cancels_leave_neither_zombies_nor_orphans",
        ],
        sizes: &[("FUGATO_CANCEL_TRIALS", 1_000)],
    },
    Part {
        name: "order",
        about: "64 processes that speak to one run, so many words each",
        of: &["-p", "fugato-runtime", "--lib"],
        tests: &["many_processes_at_once_are_all_heard_in_one_order"],
        sizes: &[("FUGATO_WORDS", 1_000)],
    },
    Part {
        name: "races",
        about: "links that are swapped in under a reader",
        of: &["-p", "fugato-runtime", "--lib"],
        tests: &[
            "a_link_swapped_in_while_reading_never_leads_out",
            "a_directory_swapped_for_a_link_meanwhile_leads_nowhere",
        ],
        sizes: &[("FUGATO_RACE_TRIALS", 100_000)],
    },
];

/// The last part: every fuzz target, ten million inputs or an hour each.
const FUZZ: &str = "fuzz";
const FUZZ_RUNS: u64 = 10_000_000;
const FUZZ_SECONDS: u64 = 3_600;

pub fn run(args: &[&str]) -> Outcome {
    let (mut share, mut names) = (1, Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match *arg {
            "--share" => share = read_share(rest.next().copied())?,
            name if name == FUZZ || PARTS.iter().any(|part| part.name == name) => names.push(name),
            other => return Err(format!("no part `{other}` of the soak; there are:\n{}", known())),
        }
    }
    if names.is_empty() {
        names.extend(PARTS.iter().map(|part| part.name).chain([FUZZ]));
    }
    // All of them, also after one that failed: the next would take another night.
    let mut failed = Vec::new();
    for name in names {
        let outcome = match PARTS.iter().find(|part| part.name == name) {
            Some(part) => soak(part, share),
            None => fuzz::targets(
                &fuzz::TARGETS,
                fuzz::Length { seconds: (FUZZ_SECONDS / share).max(1), runs: Some(FUZZ_RUNS / share) },
            ),
        };
        if let Err(error) = outcome {
            say(&error);
            failed.push(name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// `1/50` is 50.
fn read_share(given: Option<&str>) -> Result<u64, String> {
    let number = given.and_then(|text| text.strip_prefix("1/")).and_then(|text| text.parse().ok());
    number.filter(|share| *share > 0).ok_or_else(|| "--share needs a share like 1/50".to_owned())
}

fn known() -> String {
    let parts = PARTS.iter().map(|part| {
        let sizes: Vec<_> = part.sizes.iter().map(|(variable, size)| format!("{variable}={size}")).collect();
        format!("  {:<11} {} ({})\n", part.name, part.about, sizes.join(" "))
    });
    parts.chain([format!("  {FUZZ:<11} every fuzz target, {FUZZ_RUNS} inputs or an hour each\n")]).collect()
}

fn soak(part: &Part, share: u64) -> Outcome {
    let mut command = cargo();
    command.args(["test", "--release", "--locked", "--no-fail-fast"]).args(part.of);
    let mut told = Vec::new();
    for (variable, size) in part.sizes {
        // What a person set stays.
        let size = std::env::var(variable).unwrap_or_else(|_| (size / share).max(1).to_string());
        told.push(format!("{variable}={size}"));
        command.env(variable, size);
    }
    command.args(["--", "--nocapture"]).args(part.tests);
    shell::run(&format!("{}: {} ({})", part.name, part.about, told.join(" ")), &mut command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn sources(dir: &Path) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                text.push_str(&sources(&path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
        text
    }

    /// A name that no test has would run nothing, and nothing never fails.
    #[test]
    fn every_part_runs_tests_that_exist_and_heed_its_size() {
        let code = sources(&shell::root().join("crates"));
        for part in &PARTS {
            for test in part.tests {
                assert!(code.contains(&format!("fn {test}(")), "{}: no test `{test}`", part.name);
            }
            for (variable, size) in part.sizes {
                let is_heeded = *variable == "PROPTEST_CASES" || code.contains(&format!("\"{variable}\""));
                assert!(is_heeded && *size > 0, "{}: no test heeds {variable}", part.name);
            }
        }
    }

    #[test]
    fn every_fuzz_target_is_built_and_has_its_file() {
        let room = shell::root().join("fuzz");
        let manifest = std::fs::read_to_string(room.join("Cargo.toml")).unwrap();
        let files = std::fs::read_dir(room.join("fuzz_targets")).unwrap();
        let mut found: Vec<String> = files
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let mut known = fuzz::TARGETS.map(str::to_owned).to_vec();
        found.sort();
        known.sort();
        assert_eq!(found, known);
        for name in known {
            assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name} is not in the manifest");
        }
    }

    #[test]
    fn a_share_is_a_fraction_of_one() {
        assert_eq!(read_share(Some("1/50")), Ok(50));
        for wrong in [None, Some("50"), Some("1/0"), Some("1/x")] {
            assert!(read_share(wrong).is_err(), "{wrong:?}");
        }
    }
}

//! The examples of orchestration, with their scripted models and their own scripts, as their READMEs say to run them.

use crate::go::{events, lines, newest};
use crate::{env, workspace};
use fugato_testkit::TestEnv;
use std::path::Path;

/// The example as the project, with its sample beside it.
fn example(name: &str) -> TestEnv {
    let env = env();
    let from = workspace().join("examples").join(name);
    copy(&from, &env.project());
    copy(&from.join("sample"), &env.project());
    // What is shipped is beyond reproach.
    env.fugato("skill check").exits(0).says(&["5 ok, 0 with problems, 0 invalid"]);
    env
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// The commands of a README, one line each; what prepares the directory is done here.
fn typed(env: &TestEnv, starts: &str) -> Vec<Vec<String>> {
    let readme = env.read("README.md");
    let lines = readme.lines().filter(|line| line.starts_with(starts));
    lines.map(|line| shlex(line).into_iter().skip(1).collect()).collect()
}

/// Words, with double quotes.
fn shlex(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn the_support_desk_prepares_asks_refunds_once_and_remembers() {
    let env = example("support-desk");
    env.run(&typed(&env, "fugato plan")[0]).exits(0).says(&["preparation  customer-record", "loop session"]);
    let said = typed(&env, "fugato chat support-desk");
    assert_eq!(said.len(), 3);
    env.run(&said[0]).exits(6).says(&["Refund it? [yes / no]"]);
    env.run(&typed(&env, "fugato chat --list")[0]).exits(0).says(&["awaiting_input"]);
    assert!(!env.project().join("refunds.csv").exists());
    env.run(&said[1]).exits(0).says(&["give you back 31.50 EUR"]);
    assert_eq!(env.read("refunds.csv"), "A-1042,31.50\n");
    let log = events(&env);
    let prompt = lines(&log, "agent.started").nth(1).unwrap()["prompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("customer: Mei Lin, customer since 2021"), "{prompt}");
    assert_eq!(lines(&log, "tool.completed").filter(|line| line["is_error"] == true).count(), 0);
    env.run(&said[2]).exits(0).says(&["It was A-1042"]);
    assert_eq!(env.read("refunds.csv"), "A-1042,31.50\n");
}

#[test]
fn a_refund_that_nobody_agreed_to_is_not_made() {
    let env = example("support-desk");
    env.run(&typed(&env, "fugato chat support-desk")[0]).exits(6);
    env.run(["chat", "support-desk", "no"]).exits(1).says(&["did not agree to a refund"]);
    assert!(!env.project().join("refunds.csv").exists());
}

#[test]
fn the_same_job_as_a_loop_and_as_a_program() {
    let env = example("loop-vs-sop");
    let mut asked = Vec::new();
    for run in typed(&env, "fugato run") {
        env.run(&run).exits(0).says(&["Sales rose from 1500 in January to 1950 in February, by 30 %."]);
        let log = events(&env);
        let calls = lines(&log, "skill.called").count();
        assert_eq!(calls, 4, "both call the same skills");
        asked.push(lines(&log, "model.requested").count());
    }
    assert_eq!(asked, [5, 2], "a loop is asked after every result, a planner once");
    assert_eq!(env.read("calls.log").lines().count(), 6);
    std::fs::remove_file(env.project().join("calls.log")).unwrap();
    for said in typed(&env, "fugato chat") {
        env.run(&said).exits(0);
    }
    env.run(["runs", "show", &newest(&env)]).says(&["from 1950 to 2010: +3.1 %"]);
    let calls = env.read("calls.log");
    let mut calls: Vec<&str> = calls.lines().collect();
    calls.sort_unstable();
    let expected = [
        "compare 1500 1950",
        "compare 1950 2010",
        "month-total 2026-01",
        "month-total 2026-02",
        "month-total 2026-03",
    ];
    assert_eq!(calls, expected);
}

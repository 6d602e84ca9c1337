//! An owner that is killed in the middle of a real host's command, and the sweep that follows.

use super::real_claude::claude;
use super::real_codex::codex;
use super::*;
use crate::process::{record_in, sweep_dead_owners};
use fugato_testkit::mock_model::{MockModel, Rule, Say};
use serde_json::json;
use std::time::Instant;

/// What the owner is told: a room, a host and the model's address.
const TOLD: &str = "FUGATO_TEST_HOST_OWNER";

#[tokio::test]
#[ignore = "a part of the next test, which starts it as a process of its own and kills it"]
async fn owner() {
    let told = std::env::var(TOLD).expect("started by the test below");
    let told: Vec<String> = serde_json::from_str(&told).unwrap();
    let [root, host, address] = told.as_slice() else { panic!("{told:?}") };
    let room = Room::at(root.into());
    let mut task = match Host::parse(host).unwrap() {
        Host::Claude => claude(&room, address, "a quokka waits"),
        Host::Codex => codex(&room, address, "a quokka waits"),
    };
    task.tools.approved = vec!["Bash".to_owned()];
    task.log = record_in(&room.path("state"));
    run_all(task).await;
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(120), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn when_the_owner_of_a_real_host_is_killed_a_sweep_ends_what_it_left() {
    for host in Host::ALL {
        let room = Room::new();
        let time = unusual_time(313);
        let command = format!("sh -c 'echo > begun; sleep {time} & sleep {time}'");
        let call = match host {
            Host::Claude => Say::call("Bash", json!({"command": command, "description": "wait"})),
            Host::Codex => Say::call("exec_command", json!({"cmd": command})),
        };
        let model = MockModel::start(vec![Rule::on("quokka", [call]).after(0), Rule::always([Say::Hang])]);
        let told = json!([room.path(""), host.as_str(), model.address()]);
        let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "hosts::tests::owned::owner", "--ignored"])
            .env(TOLD, told.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        until("the command begins", || room.path("project/begun").exists());
        owner.kill().unwrap();
        owner.wait().unwrap();
        let swept = sweep_dead_owners(&room.path("state"));
        assert!(swept.left.is_empty(), "{swept:?}");
        until("everything is gone", || in_room(&room).is_empty() && started_with(&time) == 0);
        assert_eq!(std::fs::read_dir(room.path("state/processes")).unwrap().count(), 0);
    }
}

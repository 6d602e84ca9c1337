//! Bash.

use super::*;
use crate::process::Spec;
use fugato_model::words;

#[tokio::test]
async fn a_command_runs_in_the_project_with_its_output_in_order() {
    let project = Project::new();
    project.put("文件.txt", "内容");
    let text = project
        .done(
            "Bash",
            json!({"command": "cat *.txt; echo; echo err >&2; echo out; pwd", "description": "look"}),
        )
        .await;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..3], ["内容", "err", "out"]);
    assert_eq!(PathBuf::from(lines[3]).canonicalize().unwrap(), project.path(".").canonicalize().unwrap());
    assert_eq!(project.done("Bash", json!({"command": "true"})).await, "[no output]");
}

#[tokio::test]
async fn bash_is_understood_and_interactive_start_files_are_not_run() {
    let mut project = Project::new();
    project.put("evil", "echo evil");
    project.context.env.push(("BASH_ENV".into(), project.path("evil").into()));
    assert_eq!(project.done("Bash", json!({"command": "[[ abc == a* ]] && echo yes"})).await, "yes\n");
}

#[tokio::test]
async fn a_bad_end_is_an_error_that_keeps_the_output() {
    let mut project = Project::new();
    let failed = project.refused("Bash", json!({"command": "echo before; exit 7"})).await;
    assert_eq!(failed, "before\n[exit code 7]");
    assert_eq!(
        project.refused("Bash", json!({"command": "printf x; kill -9 $$"})).await,
        "x\n[ended by signal 9]"
    );
    let late =
        project.refused("Bash", json!({"command": "echo begun; sleep 60", "timeout_seconds": 1})).await;
    assert_eq!(late, "begun\n[ended: the time limit of 1 s was met]");
    project.context.limits.output_bytes = 100_000;
    let outcome = project.call("Bash", json!({"command": "yes"})).await;
    assert!(
        outcome.is_error
            && outcome.truncated
            && outcome.content.ends_with("[ended: it wrote more than 100000 bytes]")
    );
    assert!(outcome.content.len() <= 16 << 10 && outcome.full.is_some_and(|full| full.len() > 100_000));
    for bad in ["", "  ", "echo \0"] {
        assert!(project.call("Bash", json!({"command": bad})).await.is_error);
    }
}

#[tokio::test]
async fn a_wish_for_more_time_has_a_bound() {
    let mut project = Project::new();
    project.context.limits.longest_time = Duration::from_millis(300);
    let late = project.refused("Bash", json!({"command": "sleep 60", "timeout_seconds": 99_999})).await;
    assert_eq!(late, "[ended: the time limit of 0.3 s was met]");
}

#[tokio::test]
async fn long_output_keeps_both_ends_and_the_whole_beside() {
    let project = Project::new();
    let outcome = project.call("Bash", json!({"command": "seq 100000"})).await;
    assert!(outcome.content.starts_with("1\n2\n") && outcome.content.ends_with("99999\n100000\n"));
    assert!(
        outcome.truncated
            && outcome.content.contains("bytes left out here")
            && outcome.content.len() <= 16 << 10
    );
    assert_eq!(outcome.full.unwrap().len(), 588_895);
}

#[tokio::test]
async fn output_that_is_not_text_is_shown_as_well_as_can_be() {
    let project = Project::new();
    let mut heard = String::new();
    let call = tool_call("Bash", json!({"command": "printf '\\344\\275'; sleep 0.1; printf '\\240\\377ok'"}));
    let outcome =
        perform(&call, &project.context, CancelToken::new(), &mut |text| heard.push_str(text)).await;
    assert_eq!((outcome.content.as_str(), heard.as_str()), ("你\u{fffd}ok", "\u{4f60}\u{fffd}ok"));
}

#[tokio::test]
async fn there_is_nothing_to_read_from() {
    let project = Project::new();
    assert_eq!(project.done("Bash", json!({"command": "cat; read x || echo none"})).await, "none\n");
}

#[tokio::test]
async fn temporary_files_go_to_the_scratch_directory() {
    let project = Project::new();
    project.done("Bash", json!({"command": "mktemp"})).await;
    assert_eq!(std::fs::read_dir(&project.context.scratch).unwrap().count(), 1);
}

#[tokio::test]
async fn cancel_ends_a_command_and_everything_below_it_within_200_ms() {
    let project = Project::new();
    let call = tool_call("Bash", json!({"command": "sleep 300 & (sleep 301 &) ; echo ready; sleep 302"}));
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let cancel = CancelToken::new();
        let (token, mut at) = (cancel.clone(), None);
        let outcome = perform(&call, &project.context, cancel, &mut |_| {
            at.get_or_insert_with(std::time::Instant::now);
            token.cancel();
        })
        .await;
        fastest = fastest.min(at.unwrap().elapsed());
        assert!(outcome.is_error && outcome.content == "ready\n[cancelled]", "{outcome:?}");
    }
    assert!(fastest < Duration::from_millis(200), "{fastest:?}");
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_command() {
    let project = Project::new();
    let text = project.done("Bash", json!({"command": "nohup sleep 300 >/dev/null 2>&1 & echo $!"})).await;
    let pid = text.trim();
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

/// The place of a sandbox: it sees every command before it runs, and can refuse it.
#[tokio::test]
async fn a_wrapper_is_put_around_every_command() {
    let mut project = Project::new();
    project.context.wrapper = Some(Wrapper::new(|mut spec: Spec, _: &ToolContext, _: &[&Path]| {
        let inner = std::mem::replace(&mut spec.program, "env".into());
        spec.args.splice(0..0, ["WRAPPED=yes".into(), inner]);
        Ok(spec)
    }));
    assert_eq!(project.done("Bash", json!({"command": "echo $WRAPPED"})).await, "yes\n");
    project.context.wrapper = Some(Wrapper::new(|_: Spec, _: &ToolContext, _: &[&Path]| {
        Err(words!("no sandbox here", "此处没有沙箱"))
    }));
    assert_eq!(project.refused("Bash", json!({"command": "touch x"})).await, "no sandbox here");
    assert!(!project.path("x").exists());
}

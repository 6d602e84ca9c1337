//! What every command shares: usage errors, languages, pipes, directories, help, completion.

use crate::env;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

#[test]
fn unknown_commands_flags_and_values_are_usage_errors_with_a_suggestion() {
    let env = env();
    for (line, near) in [
        ("skil ls", "skill"),
        ("skill lss", "ls"),
        ("skill ls --jsom", "--json"),
        ("skill ls --lang fr", "en"),
        ("skill search x --limit -5", "--limit"),
        ("skill search x --limit 1e30", "--limit"),
        ("skill search x --limit parsecs", "--limit"),
    ] {
        env.fugato(line).exits(2).says(&[near]);
    }
}

#[test]
fn arguments_that_are_not_text_are_refused_where_text_is_needed_and_work_as_paths() {
    let env = env();
    let odd = std::ffi::OsStr::from_bytes(b"sk\xffill");
    let ran = env.run([std::ffi::OsStr::new("skill"), "show".as_ref(), odd]);
    assert_eq!(ran.code, 2);
    let dir = env.project().join(odd).join("good");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("SKILL.md"), "---\nname: good\ndescription: Fine.\n---\n").unwrap();
    let ran = env.run([std::ffi::OsStr::new("skill"), "check".as_ref(), odd]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_two_megabyte_argument_is_an_answer_not_a_crash() {
    // One argument may have 128 KiB on Linux; several make up the rest.
    let env = env();
    let long = "x".repeat(120 * 1024);
    env.run(["skill", "search", &long]).exits(2).says(&["bytes"]);
    let ran = env.run(["skill", "show", &long]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let env = env();
    for number in 0..300 {
        env.skill(
            &format!("skill-{number}"),
            &format!("name: skill-{number}\ndescription: {}", "long ".repeat(80)),
        );
    }
    let mut child = env
        .command()
        .args(["skill", "ls", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_deleted_working_directory_is_named() {
    let env = env();
    let gone = env.project().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let script = format!(
        "cd '{0}' && rmdir '{0}' && exec '{1}' skill ls",
        gone.display(),
        env!("CARGO_BIN_EXE_fugato")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("HOME", env.user_home())
        .env("FUGATO_HOME", env.home())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("directory") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn nothing_is_coloured_off_a_terminal_and_always_means_always() {
    let env = env();
    env.skill("plain", "name: plain\ndescription: Plain.");
    let mut command = env.command();
    let plain = command.env_remove("NO_COLOR").args(["skill", "ls"]).output().unwrap();
    assert!(!plain.stdout.contains(&0x1b) && !plain.stderr.contains(&0x1b));
    let mut command = env.command();
    let always = command.env_remove("NO_COLOR").args(["skill", "ls", "--color", "always"]).output().unwrap();
    assert!(always.stdout.contains(&0x1b));
}

#[test]
fn messages_and_help_speak_chinese() {
    let env = env().chinese();
    env.fugato("skill ls").exits(0).says(&["这里还没有技能", "fugato skill new"]);
    env.fugato("skill --help").exits(0).says(&["列出这里的技能"]);
    env.fugato("skill show 没有").exits(3).says(&["错误", "没有技能"]);
    // A locale is enough.
    let output = env
        .command()
        .env_remove("FUGATO_LANG")
        .env("LANG", "zh_CN.UTF-8")
        .args(["skill", "ls"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("这里还没有技能"));
}

#[test]
fn completion_knows_the_skills_of_this_place() {
    let env = env();
    env.skill("写作", "name: 写作\ndescription: Writing.");
    env.fugato("completions bash").exits(0).says(&["COMPLETE"]);
    let output = env
        .command()
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "3")
        .env("_CLAP_IFS", "\n")
        .args(["--", "fugato", "skill", "show", ""])
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("写作"), "{stdout}");
}

#[test]
fn manual_pages_are_written() {
    let env = env();
    env.fugato("man").exits(0).says(&[".TH", "fugato"]);
    env.fugato("man pages").exits(0);
    assert!(env.read("pages/fugato-skill-check.1").contains("strict"));
}

#[test]
fn settings_have_an_origin_and_bad_ones_are_named() {
    let env = env();
    env.fugato("config set catalog.budget_bytes 1000").exits(0);
    env.fugato("config list --origin").exits(0).says(&["catalog.budget_bytes", "1000", "fugato.toml"]);
    env.fugato("config get catalog.budget_bytes").exits(0).says(&["1000"]);
    env.fugato("config get catalog.budget").exits(3).says(&["catalog.budget_bytes"]);
    env.fugato("config set catalog.budget_bytes many").exits(1);
    env.write("fugato.toml", "[catalog]\nbudget_byts = 5\n");
    env.fugato("config list").exits(0).says(&["budget_byts", "budget_bytes"]);
    env.write("fugato.toml", "[catalog\n");
    env.fugato("skill ls").exits(0).says(&["F0401", "fugato.toml"]);
}

#[test]
fn the_state_directory_is_shared_by_worktrees_and_outside_the_project() {
    let env = env();
    let here = env.fugato("path").exits(0).stdout;
    assert!(here.contains("projects/project-"), "{here}");
    let mut command = env.command();
    let given = command.env("HARNESS_DIR", env.project().join("state")).arg("path").output().unwrap();
    assert!(String::from_utf8_lossy(&given.stdout).trim().ends_with("project/state"));
}

#[test]
fn error_codes_are_explained() {
    let env = env();
    env.fugato("explain f0105").exits(0).says(&["# F0105"]);
    env.fugato("explain F0199").exits(3).says(&["F01"]);
    let all = env.fugato("explain --json").exits(0).json();
    assert!(all["codes"].as_array().unwrap().len() > 50);
}

#[test]
fn doctor_lists_what_is_broken_and_init_prepares_a_project() {
    let env = env();
    env.fugato("init").exits(0).says(&["fugato.toml"]);
    env.fugato("init").exits(0).says(&["there already"]);
    env.fugato("doctor").exits(0).says(&["0 skills"]);
    env.write(".agents/skills/bad/SKILL.md", "no frontmatter");
    env.fugato("doctor").exits(1).says(&["1 invalid", "bad/SKILL.md:1:1", "F0101"]);
}

#[test]
fn the_tour_runs_offline_and_leaves_nothing_behind() {
    let env = env();
    let ran = env.fugato("demo").exits(0);
    ran.says(&["director-turn-workflow-zh", "<available_skills>", "F0109", "fugato skill new"]);
    assert_eq!(std::fs::read_dir(env.project()).unwrap().count(), 0);
}

//! Glob and Grep.

use super::*;
use std::os::unix::fs::symlink;

fn tree() -> Project {
    let project = Project::new();
    project.put("src/main.rs", "fn main() {\n    hello();\n}\n");
    project.put("src/lib/Deep.rs", "// HELLO\nfn hello() {}\n");
    project.put("docs/说明.md", "hello 你好\n");
    project.put(".github/ci.yml", "hello\n");
    project.put("target/out.rs", "hello\n");
    project.put("src/skip.rs", "hello\n");
    project.put("src/keep.rs", "nothing\n");
    project.put(".gitignore", "target/\n*.log\n");
    project.put("src/.gitignore", "s*.rs\n!keep.rs\n/lib/*.txt\n");
    project.put("src/lib/a.txt", "hello");
    project.put("a.log", "hello\n");
    project.put(".git/config", "hello\n");
    project
}

#[tokio::test]
async fn globs_find_names_anywhere_and_paths_where_they_say() {
    let project = tree();
    let glob = |pattern: &str| project.done("Glob", json!({"pattern": pattern}));
    assert_eq!(glob("*.rs").await, "src/keep.rs\nsrc/lib/Deep.rs\nsrc/main.rs");
    assert_eq!(glob("src/*.rs").await, "src/keep.rs\nsrc/main.rs");
    assert_eq!(glob("./src/**/*.rs").await, "src/keep.rs\nsrc/lib/Deep.rs\nsrc/main.rs");
    assert_eq!(glob("**/*.{md,yml}").await, ".github/ci.yml\ndocs/说明.md");
    assert_eq!(glob("*.log").await, "no file matches `*.log`");
    let below = project.done("Glob", json!({"pattern": "lib/*", "path": "src"})).await;
    assert_eq!(below, "src/lib/Deep.rs");
    for bad in ["", "/etc/*", "../*", "a/../../*", "[", "{a"] {
        let refusal = project.refused("Glob", json!({"pattern": bad})).await;
        assert!(refusal.contains("not usable"), "{bad}: {refusal}");
    }
    let not_dir = project.refused("Glob", json!({"pattern": "*", "path": "src/main.rs"})).await;
    assert!(not_dir.contains("is not a directory"), "{not_dir}");
}

#[tokio::test]
async fn an_ignored_directory_can_be_asked_for_by_name() {
    let project = tree();
    assert_eq!(project.done("Glob", json!({"pattern": "*.rs", "path": "target"})).await, "target/out.rs");
}

#[tokio::test]
async fn rules_above_the_project_hold_within_its_repository() {
    let mut project = tree();
    project.put("src/lib/b.log", "x");
    project.context.roots = vec![project.path("src")];
    assert_eq!(
        project.done("Glob", json!({"pattern": "*"})).await,
        ".gitignore\nkeep.rs\nlib/Deep.rs\nmain.rs"
    );
}

#[tokio::test]
async fn a_glob_stops_at_its_limit_and_says_so() {
    let mut project = Project::new();
    for n in 0..30 {
        project.put(&format!("f{n:02}"), "");
    }
    project.context.limits.results = 10;
    let outcome = project.call("Glob", json!({"pattern": "*"})).await;
    assert!(outcome.truncated && outcome.content.contains("f09\n[these are the first 10"), "{outcome:?}");
    project.context.limits.results = 30;
    assert!(!project.call("Glob", json!({"pattern": "*"})).await.truncated);
}

#[tokio::test]
async fn links_are_named_and_not_followed() {
    let project = Project::new();
    project.put("real/a.md", "hello\n");
    symlink("real", project.path("linked-dir")).unwrap();
    symlink("real/a.md", project.path("linked.md")).unwrap();
    symlink(project.outside(), project.path("out")).unwrap();
    assert_eq!(
        project.done("Glob", json!({"pattern": "**/*"})).await,
        "linked-dir\nlinked.md\nout\nreal/a.md"
    );
    let found = project.done("Grep", json!({"pattern": "hello|secret"})).await;
    assert_eq!(found, "real/a.md:1:hello\n[1 matches in 1 files]");
    let through = project.done("Grep", json!({"pattern": "hello", "path": "linked-dir"})).await;
    assert_eq!(through, "linked-dir/a.md:1:hello\n[1 matches in 1 files]");
}

#[tokio::test]
async fn grep_gives_lines_with_their_places() {
    let project = tree();
    let grep = |arguments: Value| project.done("Grep", arguments);
    assert_eq!(
        grep(json!({"pattern": "hello"})).await,
        ".github/ci.yml:1:hello\ndocs/说明.md:1:hello 你好\nsrc/lib/Deep.rs:2:fn hello() {}\n\
         src/main.rs:2:    hello();\n[4 matches in 4 files]"
    );
    assert_eq!(
        grep(json!({"pattern": "^// hello$", "-i": true})).await,
        "src/lib/Deep.rs:1:// HELLO\n[1 matches in 1 files]"
    );
    assert_eq!(
        grep(json!({"pattern": "hello", "glob": "main.*", "context": 1})).await,
        "src/main.rs-1-fn main() {\nsrc/main.rs:2:    hello();\nsrc/main.rs-3-}\n[1 matches in 1 files]"
    );
    assert!(!grep(json!({"pattern": "hello", "glob": "!*.rs"})).await.contains(".rs"));
    assert_eq!(grep(json!({"pattern": "你.", "path": "docs/说明.md"})).await.lines().count(), 2);
    assert_eq!(grep(json!({"pattern": "absent"})).await, "no match for `absent`");
    // A file that was named is searched even if the rules leave it out.
    assert!(grep(json!({"pattern": "hello", "path": "a.log"})).await.starts_with("a.log:1:hello"));
    assert!(project.refused("Grep", json!({"pattern": "foo("})).await.contains("not usable"));
    assert!(project.refused("Grep", json!({"pattern": "(?:a{1000}){1000}"})).await.contains("not usable"));
    assert!(project.refused("Grep", json!({"pattern": "a", "path": "no"})).await.contains("does not exist"));
}

#[tokio::test]
async fn grep_is_bounded_in_matches_lines_and_answer() {
    let project = Project::new();
    project.put("many", "match me\n".repeat(5000));
    let outcome = project.call("Grep", json!({"pattern": "match", "limit": 3})).await;
    assert_eq!(outcome.content.lines().count(), 4);
    assert!(outcome.truncated && outcome.content.contains("the first 3 matches"), "{outcome:?}");
    let outcome = project.call("Grep", json!({"pattern": "match", "limit": 100_000})).await;
    assert!(outcome.content.contains("the first 1000 matches") && outcome.content.len() <= 16 << 10);
    assert!(outcome.full.is_some_and(|full| full.len() > 16 << 10));
    project.put("long", format!("{}needle{}\n", "a".repeat(10 << 20), "b".repeat(1 << 20)));
    let found = project.done("Grep", json!({"pattern": "needle", "path": "long"})).await;
    assert!(found.len() < 700 && found.contains("aneedleb") && found.contains("[line of "), "{found}");
}

#[tokio::test]
async fn binary_files_and_pipes_are_passed_over() {
    let project = Project::new();
    project.put("bin", b"hello\0hello\n");
    project.put("text", "hello\n");
    rustix::fs::mkfifoat(rustix::fs::CWD, project.path("pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
    let found = project.done("Grep", json!({"pattern": "hello"})).await;
    assert!(found.contains("text:1:hello") && !found.contains("pipe"), "{found}");
    assert_eq!(project.done("Glob", json!({"pattern": "*"})).await, "bin\ntext");
}

#[tokio::test]
async fn a_rule_file_that_is_a_pipe_or_endless_is_no_rule_file() {
    let project = Project::new();
    project.put("a/x", "hello");
    project.put("b/x", "hello");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        project.path("a/.gitignore"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    symlink("/dev/zero", project.path("b/.gitignore")).unwrap();
    let looking = project.done("Glob", json!({"pattern": "x"}));
    let found = tokio::time::timeout(Duration::from_secs(20), looking).await.expect("it must not block");
    assert_eq!(found, "a/x\nb/x");
}

#[tokio::test]
async fn a_name_cannot_pretend_to_be_two() {
    let project = Project::new();
    project.put("a\nb:1:fake", "hello\n");
    assert_eq!(project.done("Glob", json!({"pattern": "*"})).await, "a\\nb:1:fake");
    assert!(project.done("Grep", json!({"pattern": "hello"})).await.starts_with("a\\nb:1:fake:1:hello"));
}

#[tokio::test]
async fn very_deep_trees_end_and_say_so() {
    let project = Project::new();
    std::fs::create_dir_all(project.path(&"d/".repeat(300))).unwrap();
    project.put("d/x", "");
    let outcome = project.call("Glob", json!({"pattern": "x"})).await;
    assert!(outcome.content.starts_with("d/x\n[not everything was looked at: "), "{outcome:?}");
}

#[tokio::test]
async fn a_search_hears_a_cancel_and_a_clock() {
    let mut project = Project::new();
    for n in 0..300 {
        project.put(&format!("{n}/f"), "x\n".repeat(2_000));
    }
    for (tool, arguments) in [("Grep", json!({"pattern": "(x|y)+z$"})), ("Glob", json!({"pattern": "f"}))] {
        let cancel = CancelToken::new();
        let (call, token, mut ignored) = (tool_call(tool, arguments.clone()), cancel.clone(), |_: &str| {});
        project.context.limits.time = Duration::from_secs(60);
        let searching = perform(&call, &project.context, cancel, &mut ignored);
        // The search is polled first, so it has begun when the cancel comes.
        let (outcome, ()) = tokio::join!(searching, async move { token.cancel() });
        assert!(outcome.is_error && outcome.content == "cancelled", "{outcome:?}");
        project.context.limits.time = Duration::ZERO;
        let late = project.call(tool, arguments).await;
        assert!(late.content.contains("the time limit was met"), "{late:?}");
    }
}

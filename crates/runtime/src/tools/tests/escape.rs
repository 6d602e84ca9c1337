//! No path of any tool leads outside, whatever links, special files and races do.

use super::*;
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

/// A project full of traps, and the paths that step on them.
fn traps(project: &Project) -> Vec<String> {
    let outside = project.outside();
    project.put("a/file.txt", "inside\n");
    symlink("../outside/secret.txt", project.path("out")).unwrap();
    symlink("../outside", project.path("outdir")).unwrap();
    symlink(&outside, project.path("absolute-dir")).unwrap();
    symlink(outside.join("secret.txt"), project.path("absolute")).unwrap();
    symlink("outdir", project.path("chain")).unwrap();
    symlink("../../outside/secret.txt", project.path("a/climb")).unwrap();
    symlink("../project/a/file.txt", project.path("out-and-in")).unwrap();
    symlink("loop", project.path("loop")).unwrap();
    symlink("../outside/new.txt", project.path("dangling-out")).unwrap();
    symlink("/dev/zero", project.path("zero")).unwrap();
    symlink("/proc/self/environ", project.path("environ")).unwrap();
    symlink("/proc/self/root", project.path("magic")).unwrap();
    mkfifoat(CWD, project.path("fifo"), Mode::from_raw_mode(0o600)).unwrap();
    std::os::unix::net::UnixListener::bind(project.path("socket")).unwrap();
    let root = project.path("");
    let root = root.to_string_lossy().into_owned();
    let sneaky = [
        "..",
        "../",
        "../outside/secret.txt",
        "a/../../outside/secret.txt",
        "a/./../../outside/secret.txt",
        "./../outside/secret.txt",
        "../project/../outside/secret.txt",
        ".//..//outside/secret.txt",
        "out",
        "./out",
        "outdir/secret.txt",
        "outdir/new.txt",
        "outdir",
        "absolute-dir/secret.txt",
        "absolute-dir",
        "absolute",
        "chain/secret.txt",
        "chain/sub/new.txt",
        "a/climb",
        "out-and-in",
        "loop",
        "loop/x",
        "dangling-out",
        "zero",
        "environ",
        "magic/etc/passwd",
        "magic/tmp/new-file",
        "fifo",
        "fifo/x",
        "socket",
        "/etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "/dev/tty",
        "/proc/self/environ",
        "/proc/self/cwd/x",
        "/",
        "//",
        "/..",
        "~/x",
        "~",
        "",
        "\0",
        "a\0b",
        "a/file.txt\0.md",
        "outdir/../outside/secret.txt",
        "a/file.txt/../../../outside/secret.txt",
    ];
    let mut paths: Vec<String> = sneaky.map(String::from).into();
    paths.push(format!("{root}../outside/secret.txt"));
    paths.push(format!("{root}/a/../../outside/secret.txt"));
    paths.push(format!("{}-sibling/x", root.trim_end_matches('/')));
    paths.push(outside.join("secret.txt").to_string_lossy().into_owned());
    paths.push("x/".repeat(3000));
    paths.push(format!("{}outside/secret.txt", "../".repeat(40)));
    paths.push("n".repeat(300));
    paths
}

#[tokio::test]
async fn no_path_of_any_tool_leads_outside_or_blocks() {
    let project = Project::new();
    let paths = traps(&project);
    let before = snapshot(&project.outside());
    for path in &paths {
        for (tool, arguments) in [
            ("Read", json!({"path": path})),
            ("Write", json!({"path": path, "content": "escaped"})),
            ("Edit", json!({"path": path, "old_string": "secret", "new_string": "escaped"})),
            ("Glob", json!({"path": path, "pattern": "**/*"})),
            ("Grep", json!({"path": path, "pattern": "secret|root|PATH"})),
        ] {
            let calling = project.call(tool, arguments);
            let outcome =
                tokio::time::timeout(Duration::from_secs(10), calling).await.expect("it must not block");
            let shown: String = path.chars().take(60).collect();
            assert!(outcome.is_error, "{tool} {shown:?}: {outcome:?}");
            assert!(!outcome.content.contains("secret-content"), "{tool} {shown:?}");
        }
    }
    assert_eq!(snapshot(&project.outside()), before);
    assert!(project.path("fifo").exists() && project.path("socket").exists());
    assert!(!project.temp.path().join("project-sibling").exists());
    assert_eq!(project.get("a/file.txt"), "inside\n");
}

#[tokio::test]
async fn patterns_lead_nowhere_else_either() {
    let project = Project::new();
    traps(&project);
    for pattern in ["**/secret*", "outdir/*", "absolute-dir/**", "**/outside/**", "magic/**"] {
        let found = project.done("Glob", json!({"pattern": pattern})).await;
        assert!(found.starts_with("no file matches"), "{pattern}: {found}");
    }
    assert!(project.done("Grep", json!({"pattern": "secret-content"})).await.starts_with("no match"));
}

#[tokio::test]
async fn several_roots_are_all_inside_and_nothing_between() {
    let mut project = Project::new();
    let second = project.temp.path().join("second");
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("b.txt"), "second\n").unwrap();
    symlink(&second, project.temp.path().join("alias")).unwrap();
    project.context.roots.push(project.temp.path().join("alias"));
    for root in [second.clone(), project.temp.path().join("alias")] {
        let text = project.done("Read", json!({"path": root.join("b.txt")})).await;
        assert!(text.starts_with("second\n"), "{text}");
    }
    let found = project.done("Glob", json!({"pattern": "*", "path": second})).await;
    assert_eq!(found, project.temp.path().join("alias/b.txt").to_string_lossy());
    project.refused("Read", json!({"path": "../second/b.txt"})).await;
    project.context.roots.clear();
    for (tool, arguments) in [("Read", json!({"path": "b.txt"})), ("Bash", json!({"command": "true"}))] {
        assert!(project.refused(tool, arguments).await.contains("no project directory"));
    }
}

fn trials() -> u32 {
    std::env::var("FUGATO_RACE_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

/// A directory that is a link to the outside every other moment, while every tool goes through it.
#[test]
fn a_directory_swapped_for_a_link_meanwhile_leads_nowhere() {
    let project = Project::new();
    project.put("flip/secret.txt", "inside\n");
    project.put("flip/own.txt", "own\n");
    std::fs::write(project.outside().join("only-outside.txt"), "secret-content\n").unwrap();
    symlink("../outside", project.path("other")).unwrap();
    let before = snapshot(&project.outside());
    let stop = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let (flip, other) = (project.path("flip"), project.path("other"));
                renameat_with(CWD, flip, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let calls = [
            ("Read", json!({"path": "flip/secret.txt"})),
            ("Write", json!({"path": "flip/written.txt", "content": "w"})),
            ("Write", json!({"path": "flip/new/deep.txt", "content": "w"})),
            (
                "Edit",
                json!({"path": "flip/secret.txt", "old_string": "i", "new_string": "i", "replace_all": true}),
            ),
            ("Edit", json!({"path": "flip/own.txt", "old_string": "own", "new_string": "own "})),
            ("Glob", json!({"pattern": "**/*.txt"})),
            ("Glob", json!({"pattern": "**/*.txt", "path": "flip"})),
            ("Grep", json!({"pattern": "secret-content|inside"})),
            ("Grep", json!({"pattern": "secret-content|inside", "path": "flip"})),
        ];
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for trial in 0..trials() {
                let (tool, arguments) = &calls[trial as usize % calls.len()];
                let outcome = runtime.block_on(project.call(tool, arguments.clone()));
                let leaked =
                    outcome.content.contains("secret-content\n") || outcome.content.contains("only-outside");
                let leaked = leaked || outcome.content.contains(":secret-content");
                assert!(!leaked, "{tool}: {outcome:?}");
                if outcome.is_error { refused += 1 } else { inside += 1 }
            }
        }));
        stop.store(true, Ordering::Relaxed);
        done.unwrap();
    });
    assert_eq!(snapshot(&project.outside()), before);
    assert!(inside > 0 && refused > 0, "the race was not run: {inside} inside, {refused} refused");
}

//! Read, Write, Edit.

use super::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};

#[tokio::test]
async fn a_file_is_read_with_its_line_count() {
    let project = Project::new();
    project.put("资料/笔记.md", "一\n二\n三");
    let text = project.done("Read", json!({"path": "资料/笔记.md"})).await;
    assert_eq!(text, "一\n二\n三\n[lines 1-3 of 3; no line end at the end]");
    let by_other_name = project.done("Read", json!({"file_path": project.path("资料/笔记.md")})).await;
    assert_eq!(by_other_name, text);
}

#[tokio::test]
async fn a_part_says_how_to_read_on() {
    let project = Project::new();
    project.put("a", "1\n2\n3\n4\n5\n");
    let read = |offset: u64, limit: u64| {
        project.call("Read", json!({"path": "a", "offset": offset, "limit": limit}))
    };
    let part = read(2, 2).await;
    assert_eq!(part.content, "2\n3\n[lines 2-3 of 5; read on with offset 4]");
    assert!(part.truncated && !part.is_error);
    assert_eq!(read(4, 9).await.content, "4\n5\n[lines 4-5 of 5]");
    assert_eq!(read(0, 0).await.content, "1\n[lines 1-1 of 5; read on with offset 2]");
    let past = read(6, 1).await;
    assert!(past.is_error && past.content == "`a` has 5 lines; line 6 does not exist", "{past:?}");
}

/// Offset and column of the next page, from the last line of an answer.
fn next(content: &str) -> Option<(u64, u64)> {
    let trailer = content.lines().last()?;
    let number = |after: &str| {
        let rest = trailer.split(after).nth(1)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    Some((number("offset ")?, number("column ").unwrap_or(1)))
}

#[tokio::test]
async fn pages_together_are_the_file_whatever_its_lines() {
    let mut project = Project::new();
    project.context.limits.inline_bytes = 700;
    let long = "长".repeat(5000);
    for text in [
        "x\n".repeat(3000),
        format!("a\n{long}\nb\n{long}"),
        format!("{}\n", "y".repeat(499)) + &"z".repeat(500) + "\n" + &"w".repeat(501) + "\n\n\n",
        "\n".repeat(2000),
    ] {
        project.put("f", &text);
        let (mut whole, mut at, mut pages) = (String::new(), Some((1, 1)), 0);
        while let Some((offset, column)) = at {
            let outcome =
                project.call("Read", json!({"path": "f", "offset": offset, "column": column})).await;
            assert!(!outcome.is_error && outcome.content.len() <= 700, "{outcome:?}");
            at = if outcome.truncated { next(&outcome.content) } else { None };
            let body = outcome.content.rsplit_once('\n').unwrap().0;
            whole.push_str(body);
            // The line end before the last line belongs to the text, unless the text stops inside a line.
            if at.is_none_or(|(_, column)| column == 1) && !outcome.content.contains("no line end") {
                whole.push('\n');
            }
            pages += 1;
        }
        assert!(whole == text, "{} != {}", whole.len(), text.len());
        assert!(pages > 2);
    }
}

#[tokio::test]
async fn a_line_of_ten_megabytes_is_read_in_pieces() {
    let project = Project::new();
    project.put("big", "z".repeat(10 << 20));
    let outcome = project.call("Read", json!({"path": "big"})).await;
    assert!(outcome.content.len() <= 16 << 10 && outcome.truncated && outcome.full.is_none());
    assert!(outcome.content.contains("line 1 goes on: offset 1, column "), "{outcome:?}");
    let late = project.done("Read", json!({"path": "big", "column": 10 << 20})).await;
    assert!(late.starts_with("z\n[lines 1-1 of 1"), "{late}");
    assert!(
        project.refused("Read", json!({"path": "big", "column": (10 << 20) + 1})).await.contains("no column")
    );
}

#[tokio::test]
async fn bytes_that_are_not_text_do_not_swell_an_answer() {
    let project = Project::new();
    project.put("line", vec![0xff; 100_000]);
    project.put("lines", b"\xff\xfe\xfd\n".repeat(20_000).as_slice().get(1..).unwrap());
    for path in ["line", "lines"] {
        let outcome = project.call("Read", json!({"path": path})).await;
        assert!(outcome.content.len() <= 16 << 10 && outcome.content.len() > 15 << 10, "{path}");
        assert!(next(&outcome.content).is_some() && !outcome.is_error);
    }
}

/// Counting its lines would take many minutes.
#[tokio::test]
async fn reading_a_terabyte_hears_a_cancel() {
    let project = Project::new();
    project.put("huge", "a\n".repeat(9000));
    std::fs::File::options().write(true).open(project.path("huge")).unwrap().set_len(1 << 40).unwrap();
    let cancel = CancelToken::new();
    let (call, token) = (tool_call("Read", json!({"path": "huge"})), cancel.clone());
    let mut ignored = |_: &str| {};
    let cancelling = async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        token.cancel();
        std::time::Instant::now()
    };
    let (outcome, at) = tokio::join!(perform(&call, &project.context, cancel, &mut ignored), cancelling);
    let took = at.elapsed();
    assert!(outcome.is_error && outcome.content == "cancelled", "{outcome:?}");
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[tokio::test]
async fn what_is_no_text_is_refused_and_what_is_nearly_text_is_shown() {
    let project = Project::new();
    project.put("bin", b"\x7fELF\0\0");
    assert_eq!(
        project.refused("Read", json!({"path": "bin"})).await,
        "`bin` is a binary file (a NUL byte at offset 4)"
    );
    project.put("utf16", b"\xff\xfea\0");
    assert!(project.refused("Read", json!({"path": "utf16"})).await.contains("UTF-16"));
    project.put("gbk", b"\xc4\xe3\n");
    assert!(project.done("Read", json!({"path": "gbk"})).await.contains("not UTF-8"));
    project.put("empty", "");
    assert_eq!(project.done("Read", json!({"path": "empty"})).await, "[the file is empty]");
    project.put("bom", "\u{feff}a\r\n");
    assert_eq!(
        project.done("Read", json!({"path": "bom"})).await,
        "a\r\n[lines 1-1 of 1; line ends are CRLF]"
    );
    assert_eq!(project.refused("Read", json!({"path": "."})).await, "`.` is a directory");
    assert_eq!(project.refused("Read", json!({"path": "no"})).await, "`no` does not exist");
}

#[tokio::test]
async fn write_creates_replaces_and_makes_directories() {
    let project = Project::new();
    let created = project.done("Write", json!({"path": "新/目录/文.md", "content": "你好"})).await;
    assert_eq!(created, "created `新/目录/文.md` (6 bytes)");
    std::fs::set_permissions(project.path("新/目录/文.md"), std::fs::Permissions::from_mode(0o750)).unwrap();
    let replaced = project.done("Write", json!({"path": "./新//目录/文.md", "content": "x"})).await;
    assert!(replaced.starts_with("replaced"), "{replaced}");
    assert_eq!(project.get("新/目录/文.md"), "x");
    let mode = std::fs::metadata(project.path("新/目录/文.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    assert_eq!(std::fs::read_dir(project.path("新/目录")).unwrap().count(), 1, "a temporary file stayed");
    let scratch = project.context.scratch.join("t/notes");
    project.done("Write", json!({"path": scratch, "content": "s"})).await;
    assert_eq!(std::fs::read_to_string(scratch).unwrap(), "s");
}

#[tokio::test]
async fn write_refuses_what_is_no_file_to_write() {
    let mut project = Project::new();
    project.context.limits.file_bytes = 10;
    project.put("dir/file", "x");
    project.put("locked", "x");
    std::fs::set_permissions(project.path("locked"), std::fs::Permissions::from_mode(0o444)).unwrap();
    for (path, content, why) in [
        ("dir", "x", "is a directory"),
        ("dir/", "x", "is a directory"),
        ("dir/..", "x", "is a directory"),
        ("dir/file/below", "x", "is not a directory"),
        ("missing/../x", "x", "does not exist"),
        ("locked", "y", "is read-only"),
        ("new", "12345678901", "has 11 bytes; the limit is 10"),
    ] {
        let refusal = project.refused("Write", json!({"path": path, "content": content})).await;
        assert!(refusal.contains(why), "{path}: {refusal}");
    }
    assert_eq!(project.get("locked"), "x");
    assert!(!project.path("missing").exists() && !project.path("new").exists());
}

#[tokio::test]
async fn a_link_that_stays_beneath_is_written_through_and_stays_a_link() {
    let project = Project::new();
    project.put("docs/AGENTS.md", "old");
    symlink("docs/AGENTS.md", project.path("CLAUDE.md")).unwrap();
    symlink("docs", project.path("short")).unwrap();
    symlink("../short/AGENTS.md", project.path("docs/again")).unwrap();
    symlink("docs/new.md", project.path("dangling")).unwrap();
    for path in ["CLAUDE.md", "short/AGENTS.md", "docs/again", "short/again"] {
        project.done("Write", json!({"path": path, "content": path})).await;
        assert_eq!(project.get("docs/AGENTS.md"), path);
    }
    project.done("Edit", json!({"path": "CLAUDE.md", "old_string": "again", "new_string": "!"})).await;
    assert_eq!(project.get("docs/AGENTS.md"), "short/!");
    project.done("Write", json!({"path": "dangling", "content": "made"})).await;
    assert_eq!(project.get("docs/new.md"), "made");
    for link in ["CLAUDE.md", "docs/again", "dangling"] {
        assert!(project.path(link).symlink_metadata().unwrap().is_symlink(), "{link}");
    }
}

#[tokio::test]
async fn a_hard_link_to_a_file_outside_is_replaced_not_written_through() {
    let project = Project::new();
    std::fs::hard_link(project.outside().join("secret.txt"), project.path("hard")).unwrap();
    project.done("Write", json!({"path": "hard", "content": "mine"})).await;
    assert_eq!(std::fs::read_to_string(project.outside().join("secret.txt")).unwrap(), "secret-content\n");
}

#[tokio::test]
async fn edit_replaces_the_one_place_or_says_how_many_there_are() {
    let project = Project::new();
    project.put("a.rs", "let x = 1;\nlet y = 1;\n");
    let edit = |old: &str, new: &str, all: bool| {
        project
            .call("Edit", json!({"path": "a.rs", "old_string": old, "new_string": new, "replace_all": all}))
    };
    assert_eq!(edit("x = 1", "x = 2", false).await.content, "edited `a.rs` in 1 place");
    let twice = edit("let ", "const ", false).await;
    assert!(twice.is_error && twice.content.contains("2 times"), "{twice:?}");
    assert_eq!(project.get("a.rs"), "let x = 2;\nlet y = 1;\n");
    assert_eq!(edit("let ", "let let ", true).await.content, "edited `a.rs` in 2 places");
    assert_eq!(project.get("a.rs"), "let let x = 2;\nlet let y = 1;\n");
    let missing = edit("z = 3", "", false).await;
    assert!(
        missing.is_error && missing.content.starts_with("`old_string` is not in `a.rs`; read"),
        "{missing:?}"
    );
    assert!(edit("let let  x", "", false).await.content.contains("other spaces"));
    assert!(edit("", "x", false).await.content.contains("is empty"));
    assert!(edit("a", "a", false).await.content.contains("are the same"));
    let no_file = project.refused("Edit", json!({"path": "b", "old_string": "a", "new_string": "b"})).await;
    assert_eq!(no_file, "`b` does not exist");
    assert!(!project.path("b").exists());
}

#[tokio::test]
async fn edit_keeps_line_ends_and_bytes_it_does_not_understand() {
    let project = Project::new();
    project.put("crlf", "one\r\ntwo\r\nthree\r\n");
    let edit = json!({"path": "crlf", "old_string": "one\ntwo", "new_string": "1\n2\n2b"});
    project.done("Edit", edit).await;
    assert_eq!(project.get("crlf"), "1\r\n2\r\n2b\r\nthree\r\n");
    let edit = json!({"path": "crlf", "old_string": "2b\r\nthree", "new_string": "3\r\n"});
    project.done("Edit", edit).await;
    assert_eq!(project.get("crlf"), "1\r\n2\r\n3\r\n\r\n");
    project.put("mixed", "a\r\nb\nc\n");
    project.done("Edit", json!({"path": "mixed", "old_string": "b\n", "new_string": "B\n"})).await;
    assert_eq!(project.get("mixed"), "a\r\nB\nc\n");
    project.put("gbk", b"\xc4\xe3 = 1\n");
    project.done("Edit", json!({"path": "gbk", "old_string": "1", "new_string": "2"})).await;
    assert_eq!(std::fs::read(project.path("gbk")).unwrap(), b"\xc4\xe3 = 2\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_edits_at_once_none_is_lost() {
    let project = Project::new();
    let lines: Vec<String> = (0..24).map(|n| format!("line-{n}.\n")).collect();
    project.put("f", lines.concat());
    let edits = (0..24).map(|n| {
        let context = project.context.clone();
        tokio::spawn(async move {
            let new =
                json!({"path": "f", "old_string": format!("line-{n}."), "new_string": format!("done-{n}.")});
            perform(&tool_call("Edit", new), &context, CancelToken::new(), &mut |_| {}).await
        })
    });
    for edit in edits.collect::<Vec<_>>() {
        let outcome = edit.await.unwrap();
        assert!(!outcome.is_error, "{outcome:?}");
    }
    assert_eq!(project.get("f"), lines.concat().replace("line", "done"));
}

//! What agent files of people and of Claude Code become, and what is said about the odd ones.

use super::*;
use crate::Strictness;
use fugato_model::{Code, Severity};
use proptest::prelude::*;

const KNOWN: [&str; 8] =
    ["Read", "Write", "Edit", "Glob", "Grep", "Bash", "browser-click", "browser-navigate"];

fn text(bytes: &[u8]) -> AgentText<'_> {
    AgentText { stem: "reviewer", path: "reviewer.md", bytes, known_tools: &KNOWN }
}

fn reading(source: &str) -> AgentReading {
    read(text(source.as_bytes()))
}

fn with(lines: &str) -> AgentReading {
    reading(&format!("---\nname: reviewer\ndescription: Reviews code.\n{lines}\n---\nYou review code.\n"))
}

fn clean(lines: &str) -> AgentFile {
    let reading = with(lines);
    assert!(reading.usable && reading.diagnostics.is_empty(), "{lines}: {:#?}", reading.diagnostics);
    reading.agent
}

/// The only diagnostic: its code, severity, line, and a part of its message.
#[track_caller]
fn one(lines: &str, code: Code, severity: Severity, line: u32, part: &str) -> (AgentReading, Diagnostic) {
    let reading = with(lines);
    assert_eq!(reading.diagnostics.len(), 1, "{lines}: {:#?}", reading.diagnostics);
    let found = reading.diagnostics[0].clone();
    assert_eq!((found.code, found.severity), (code, severity), "{found:#?}");
    assert_eq!(found.span.map(|span| span.line), Some(line), "{found:#?}");
    assert!(found.message.en.contains(part), "{}", found.message.en);
    assert!(found.message.zh.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)), "{}", found.message.zh);
    (reading, found)
}

fn hint(diagnostic: &Diagnostic) -> &str {
    diagnostic.hint.as_ref().map_or("", |hint| hint.en.as_str())
}

#[test]
fn a_whole_file_of_claude_code_is_read_without_a_word() {
    let source = "---\nname: code-reviewer\ndescription: Expert code review specialist. Use proactively.\n\
                  tools: Read, Grep, Glob, Bash\ndisallowedTools: Write, Edit\nmodel: sonnet\npermissionMode: default\n\
                  maxTurns: 12\nskills:\n  - api-conventions\nmcpServers:\n  - github\ncolor: blue\nmemory: user\n---\n\n\
                  You are a senior code reviewer.\n\nWhen invoked:\n1. Run git diff\n";
    let reading = reading(source);
    assert!(reading.usable && reading.diagnostics.is_empty(), "{:#?}", reading.diagnostics);
    let agent = reading.agent;
    assert_eq!(agent.name.unwrap().as_str(), "code-reviewer");
    assert_eq!(agent.tools.unwrap().names, ["Read", "Grep", "Glob", "Bash"]);
    assert_eq!(agent.disallowed.names, ["Write", "Edit"]);
    assert_eq!((agent.model.as_deref(), agent.steps), (Some("sonnet"), Some(12)));
    assert_eq!(agent.skills.as_deref(), Some(&["api-conventions".to_owned()][..]));
    assert_eq!(agent.mcp_servers.as_deref(), Some(&["github".to_owned()][..]));
    assert!(agent.prompt.starts_with("You are a senior") && agent.prompt.ends_with("git diff"));
    assert_eq!(agent.others["color"], "blue");
}

#[test]
fn names_of_any_script_and_unquoted_colons_are_read() {
    let source = "---\nname: 校对员\ndescription: 用于: 校对中文文稿\n---\n请校对。\n";
    let reading = reading(source);
    assert!(reading.usable);
    assert_eq!(reading.agent.name.unwrap().as_str(), "校对员");
    assert_eq!(reading.agent.description, "用于: 校对中文文稿");
    assert_eq!(reading.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), [Code::F0119]);
}

#[test]
fn tools_are_a_line_or_a_list_and_parts_become_rules() {
    for lines in [
        "tools: Read, Bash(git status:*), Bash(git diff:*)",
        "tools:\n  - Read\n  - Bash(git status:*)\n  - Bash(git diff:*)",
        "tools: [Read, \"Bash(git status:*)\", \"Bash(git diff:*)\"]",
    ] {
        let tools = clean(lines).tools.unwrap();
        assert_eq!(tools.names, ["Read", "Bash"], "{lines}");
        assert_eq!(tools.rules, ["Bash(git status:*)", "Bash(git diff:*)"], "{lines}");
    }
    // Beside the whole tool a part says nothing; forbidding a part leaves the tool.
    assert_eq!(clean("tools: Bash(git:*), Bash").tools.unwrap().rules, Vec::<String>::new());
    let agent = clean("disallowedTools: Bash(rm:*), Write(secrets/**), Write");
    assert_eq!(
        (agent.disallowed.names, agent.disallowed.rules),
        (vec!["Write".into()], vec!["Bash(rm:*)".into()])
    );
    assert_eq!(clean("tools: Bash(*)").tools.unwrap().names, ["Bash"]);
}

#[test]
fn no_list_is_everything_and_an_empty_list_is_nothing() {
    assert_eq!(clean("").tools, None);
    assert_eq!(clean("tools: '*'").tools, None);
    assert_eq!(clean("tools: []").tools, Some(Tools::default()));
    let (reading, found) = one("tools:", Code::F0118, Severity::Warning, 4, "every tool of its parent");
    assert_eq!(reading.agent.tools, None);
    assert!(hint(&found).contains("tools: []"));
    // What cannot be read grants nothing.
    let (reading, _) = one("tools: {a: b}", Code::F0118, Severity::Warning, 4, "a list or text");
    assert_eq!(reading.agent.tools, Some(Tools::default()));
}

#[test]
fn tools_of_claude_code_become_ours_or_are_passed_over() {
    let tools = clean(
        "tools: MultiEdit, LS, TodoWrite, Task, Skill, AskUserQuestion, mcp__github, mcp__db__query, x__y",
    )
    .tools
    .unwrap();
    assert_eq!(
        tools.names,
        [
            "Edit",
            "Glob",
            "Agent",
            "skill_list",
            "skill_read",
            "skill_search",
            "ask_user",
            "github__*",
            "db__query",
            "x__y"
        ]
    );
    assert_eq!(tools.elsewhere, ["TodoWrite"]);
    assert_eq!(clean("tools: browser-*").tools.unwrap().names, ["browser-*"]);
}

#[test]
fn an_unknown_tool_is_named_with_its_place_and_its_neighbour() {
    let (reading, found) =
        one("tools: Read, Grap, Bash", Code::F1101, Severity::Warning, 4, "unknown tool `Grap`");
    assert_eq!(reading.agent.tools.unwrap().names, ["Read", "Bash"]);
    assert_eq!(hint(&found), "did you mean `Grep`?");
    assert_eq!(found.span.map(|span| (span.column, span.end_column)), Some((14, 18)));
    let (reading, found) = one("tools: [read]", Code::F1101, Severity::Warning, 4, "written `Read`");
    assert_eq!(reading.agent.tools.unwrap().names, ["Read"]);
    assert_eq!(found.fix.unwrap().replacement, "Read");
    let (reading, _) = one("tools: multiedit", Code::F1101, Severity::Warning, 4, "written `MultiEdit`");
    assert_eq!(reading.agent.tools.unwrap().names, ["Edit"]);
    one("tools: desktop-*", Code::F1101, Severity::Warning, 4, "unknown tool `desktop-*`");
    let (reading, _) = one("tools: Bash(git", Code::F1101, Severity::Warning, 4, "no rule");
    assert_eq!(reading.agent.tools.unwrap(), Tools::default());
}

#[test]
fn a_model_is_kept_as_written_and_inherit_is_none() {
    assert_eq!(clean("model: inherit").model, None);
    assert_eq!(clean("model: opus").model.as_deref(), Some("opus"));
    assert_eq!(clean("model: openai/gpt-6-sol").model.as_deref(), Some("openai/gpt-6-sol"));
    let (reading, _) = one("model: a b", Code::F0118, Severity::Warning, 4, "name of a model");
    assert_eq!(reading.agent.model, None);
}

#[test]
fn steps_are_bounded_and_ours_wins_over_max_turns() {
    assert_eq!(clean("maxTurns: 7").steps, Some(7));
    assert_eq!(clean("steps: \"9\"").steps, Some(9));
    assert_eq!(
        one("steps: 201", Code::F0118, Severity::Warning, 4, "more than 200").0.agent.steps,
        Some(200)
    );
    assert_eq!(clean("steps: 200").steps, Some(200));
    for bad in ["0", "-3", "many", "[1]", "1.5"] {
        let (reading, _) =
            one(&format!("maxTurns: {bad}"), Code::F0118, Severity::Warning, 4, "a whole number");
        assert_eq!(reading.agent.steps, None);
    }
    assert_eq!(
        one("maxTurns: 3\nsteps: 4", Code::F0118, Severity::Warning, 4, "`steps` counts").0.agent.steps,
        Some(4)
    );
}

#[test]
fn every_executor_is_read_and_an_unknown_one_makes_the_agent_unusable() {
    assert_eq!(clean("executor: model").executor, Executor::Model);
    assert_eq!(clean("executor: host:claude").executor, Executor::Claude);
    assert_eq!(clean("executor: host:codex").executor, Executor::Codex);
    assert_eq!(clean("executor: human").executor, Executor::Human);
    let script =
        |command: &[&str]| Executor::Script { command: command.iter().map(|w| (*w).to_owned()).collect() };
    assert_eq!(
        clean("executor: script\ncommand: [python3, work.py]").executor,
        script(&["python3", "work.py"])
    );
    assert_eq!(
        clean("executor: script\ncommand: ./work.sh | tee log").executor,
        script(&["sh", "-c", "./work.sh | tee log"])
    );
    let (reading, found) = one("executor: humn", Code::F1103, Severity::Error, 4, "unknown executor `humn`");
    assert!(!reading.usable);
    assert_eq!(hint(&found), "executor: human");
    assert!(!one("executor: script", Code::F1103, Severity::Error, 4, "needs `command`").0.usable);
    assert!(one("command: ls", Code::F1103, Severity::Warning, 4, "`executor: script` only").0.usable);
    let reading = with("executor: script\ncommand: [[a]]");
    assert!(!reading.usable && reading.diagnostics.len() == 2, "{:#?}", reading.diagnostics);
}

#[test]
fn a_permission_mode_only_narrows() {
    assert_eq!(clean("permissionMode: plan").permission, PermissionMode::Plan);
    assert_eq!(clean("permissionMode: dontAsk").permission, PermissionMode::DontAsk);
    for wide in ["acceptEdits", "auto", "bypassPermissions"] {
        let (reading, _) =
            one(&format!("permissionMode: {wide}"), Code::F1105, Severity::Warning, 4, "a file cannot");
        assert_eq!(reading.agent.permission, PermissionMode::Inherit);
    }
    let (reading, found) = one("permissionMode: paln", Code::F1105, Severity::Warning, 4, "may only read");
    assert_eq!((reading.agent.permission, hint(&found)), (PermissionMode::Plan, "permissionMode: plan"));
}

#[test]
fn servers_are_names_and_never_definitions() {
    assert_eq!(clean("mcpServers: github, db").mcp_servers.unwrap(), ["github", "db"]);
    let (reading, _) = one(
        "mcpServers:\n  - db:\n      command: evil",
        Code::F1105,
        Severity::Warning,
        5,
        "not started from an agent file",
    );
    assert_eq!(reading.agent.mcp_servers.unwrap(), ["db"]);
}

#[test]
fn an_unknown_key_is_kept_and_finds_what_was_meant() {
    let (reading, found) = one("tool: Read", Code::F0117, Severity::Warning, 4, "unknown key `tool`");
    assert_eq!(hint(&found), "did you mean `tools`?");
    assert_eq!(reading.agent.others["tool"], "Read");
    assert_eq!(
        hint(&one("allowed-tools: Read", Code::F0117, Severity::Warning, 4, "allowed-tools").1),
        "did you mean `tools`?"
    );
    assert!(hint(&one("prompt: x", Code::F0117, Severity::Warning, 4, "prompt").1).contains("below"));
    let many: String = (0..40).map(|n| format!("zz{n}: 1\n")).collect();
    assert_eq!(with(many.trim_end()).diagnostics.len(), 17);
}

#[test]
fn a_missing_name_is_the_file_name_and_a_broken_one_its_repair() {
    let missing = reading("---\ndescription: d\n---\nx\n");
    assert!(missing.usable);
    assert_eq!(missing.agent.name.unwrap().as_str(), "reviewer");
    assert_eq!(
        (missing.diagnostics[0].code, missing.diagnostics[0].severity),
        (Code::F0108, Severity::Warning)
    );
    let broken = reading("---\nname: Code Reviewer\ndescription: d\n---\nx\n");
    assert!(broken.usable);
    assert_eq!(broken.agent.name.unwrap().as_str(), "code-reviewer");
    assert_eq!(broken.diagnostics[0].fix.as_ref().unwrap().replacement, "code-reviewer");
    for name in ["re\u{200b}viewer", "ｒeviewer", "all/../x\u{202e}"] {
        let spoof = reading(&format!("---\nname: \"{name}\"\ndescription: d\n---\nx\n"));
        assert!(!spoof.usable && spoof.diagnostics.iter().any(|d| d.code == Code::F0110), "{name}");
    }
    let reserved = reading("---\nname: all\ndescription: d\n---\nx\n");
    assert!(!reserved.usable && reserved.diagnostics[0].code == Code::F0109);
}

#[test]
fn what_is_no_agent_file_says_why() {
    for (source, code) in [
        ("", Code::F0101),
        ("# Notes\n", Code::F0101),
        ("---\nname: x\n", Code::F0102),
        ("---\nname: [x\n---\n", Code::F0104),
        ("---\nname: x\nname: y\ndescription: d\n---\n", Code::F0105),
        ("---\n- x\n---\n", Code::F0107),
        ("---\nname: x\n---\nbody\n", Code::F0113),
    ] {
        let reading = reading(source);
        assert!(!reading.usable, "{source}");
        assert!(
            reading.diagnostics.iter().any(|d| d.code == code && d.is_error()),
            "{source}: {:#?}",
            reading.diagnostics
        );
    }
    assert_eq!(read(text(b"---\nname: \xff\n---\n")).diagnostics[0].code, Code::F0103);
    let long = format!("---\nname: x\ndescription: d\n---\n{}", "x".repeat(MAX_BYTES));
    assert_eq!(reading(&long).diagnostics[0].code, Code::F0122);
}

#[test]
fn an_agent_without_text_is_told_so() {
    let empty = reading("---\nname: x\ndescription: d\n---\n\n");
    assert!(empty.usable);
    assert_eq!(empty.diagnostics[0].code, Code::F1104);
    assert!(reading("---\nname: x\ndescription: d\nexecutor: human\n---\n").diagnostics.is_empty());
}

#[test]
fn strict_checking_forgives_nothing_and_names_what_is_ours() {
    let source = "---\nname: x\ndescription: d\ntools: Grap\nsteps: 3\n---\nx\n";
    let lenient = check(text(source.as_bytes()), Strictness::Lenient);
    assert_eq!(lenient.iter().map(|d| (d.code, d.is_error())).collect::<Vec<_>>(), [(Code::F1101, false)]);
    let strict = check(text(source.as_bytes()), Strictness::Strict);
    assert_eq!(
        strict.iter().map(|d| (d.code, d.is_error())).collect::<Vec<_>>(),
        [(Code::F1101, true), (Code::F0124, true)]
    );
    let clean = "---\nname: x\ndescription: d\nmaxTurns: 3\n---\nx\n";
    assert!(check(text(clean.as_bytes()), Strictness::Strict).is_empty());
}

proptest! {
    #![proptest_config(crate::fixture::cases())]

    #[test]
    fn reading_is_total_and_what_is_usable_has_an_identity(
        lines in "((name|description|tools|disallowedTools|model|maxTurns|steps|executor|command|skills|mcpServers|permissionMode|x): ?|[A-Za-z*(),_:é技\\[\\]{}\"'#-]{0,8}| |\n|\n  - ){0,24}",
        body in "(\\PC|\n){0,20}",
    ) {
        let source = format!("---\n{lines}\n---\n{body}");
        let reading = reading(&source);
        if reading.usable {
            prop_assert!(reading.agent.name.is_some() && !reading.agent.description.trim().is_empty());
        } else {
            prop_assert!(reading.diagnostics.iter().any(Diagnostic::is_error));
        }
        for diagnostic in &reading.diagnostics {
            prop_assert!(diagnostic.message.en.len() < 4_000);
        }
        prop_assert!(reading.agent.steps.is_none_or(|steps| (1..=MAX_STEPS).contains(&steps)));
    }
}

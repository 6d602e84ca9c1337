//! Rules against calls: tables for what people write, properties for what must hold whatever they write.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const HERE: Here<'_> = Here { project: "/home/me/project", home: Some("/home/me") };

fn rules(mode: Mode, allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
    let list = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    Rules { mode, allow: list(allow), ask: list(ask), deny: list(deny) }
}

fn call(tool: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall { id: "1".into(), name: tool.into(), arguments }
}

fn bash(command: &str) -> ToolCall {
    call("Bash", json!({"command": command}))
}

fn of(rules: &Rules, call: &ToolCall) -> Decision {
    decide(rules, call, crate::tools::class_of(&call.name), HERE)
}

fn is_allowed(rule: &str, call: &ToolCall) -> bool {
    decide(&rules(Mode::DontAsk, &[rule], &[], &[]), call, None, HERE) == Decision::Allow
}

fn is_denied(rule: &str, call: &ToolCall) -> bool {
    matches!(of(&rules(Mode::Default, &[], &[], &[rule]), call), Decision::Deny { why: Why::Rule(_) })
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow_and_the_rule_is_named() {
    let all = rules(Mode::Default, &["Bash"], &["Bash(git:*)"], &["Bash(git push:*)"]);
    assert_eq!(of(&all, &bash("ls")), Decision::Allow);
    let why = |text: &str| Why::Rule(text.parse().unwrap());
    assert_eq!(of(&all, &bash("git log")), Decision::Ask { why: why("Bash(git:*)") });
    assert_eq!(of(&all, &bash("git push -f")), Decision::Deny { why: why("Bash(git push:*)") });
    assert_eq!(why("Bash(git:*)").words().en, "by the rule `Bash(git:*)`");
}

#[test]
fn modes_decide_what_no_rule_names() {
    let calls = [call("Read", json!({"path": "a"})), call("Write", json!({"path": "a"})), bash("ls")];
    let shown = |mode, allow: &[&str], ask: &[&str]| {
        let rules = rules(mode, allow, ask, &[]);
        calls.each_ref().map(|call| match of(&rules, call) {
            Decision::Allow => 'a',
            Decision::Ask { .. } => '?',
            Decision::Deny { .. } => 'x',
        })
    };
    for (mode, bare, allowed, asked) in [
        (Mode::Default, "aaa", "aaa", "aa?"),
        (Mode::AcceptEdits, "aa?", "aaa", "aa?"),
        (Mode::Ask, "a??", "a?a", "a??"),
        (Mode::DontAsk, "axx", "axa", "axx"),
        (Mode::ReadOnly, "axx", "axx", "axx"),
    ] {
        let text = |answers: [char; 3]| answers.iter().collect::<String>();
        assert_eq!(text(shown(mode, &[], &[])), bare, "{mode:?}");
        assert_eq!(text(shown(mode, &["Bash"], &[])), allowed, "{mode:?}");
        assert_eq!(text(shown(mode, &["Bash"], &["Bash"])), asked, "{mode:?}");
        assert_eq!(Mode::parse(mode.as_str()), Some(mode));
    }
    // A tool nobody knows may do anything.
    assert!(matches!(of(&rules(Mode::Ask, &[], &[], &[]), &call("x__y", json!({}))), Decision::Ask { .. }));
}

#[test]
fn the_beginning_of_a_command_ends_at_a_word() {
    for (rule, command, allowed) in [
        ("Bash(git status:*)", "git status", true),
        ("Bash(git status:*)", "git   status -s", true),
        ("Bash(git status:*)", "'git' sta\"tus\" -s", true),
        ("Bash(git status:*)", "git statusx", false),
        ("Bash(git status:*)", "git stash", false),
        ("Bash(git status:*)", "\"git status\" x", false),
        ("Bash(npm run *)", "npm run build", true),
        ("Bash(npm run *)", "npm run", true),
        ("Bash(npm run *)", "npm runx", false),
        ("Bash(npm*)", "npmx y", true),
        ("Bash(git * main)", "git push origin main", true),
        ("Bash(git * main)", "git push origin main2", false),
        ("Bash(npm test)", "npm test", true),
        ("Bash(npm test)", "npm test -- x", false),
        ("Bash(a && b)", "a && b", true),
        ("Bash(a && b)", "a && b && c", false),
        ("Bash(*)", "anything $(at all)", true),
        ("Bash", "anything $(at all)", true),
    ] {
        assert_eq!(is_allowed(rule, &bash(command)), allowed, "{rule}: {command}");
    }
}

#[test]
fn nothing_slips_past_a_beginning() {
    for command in [
        "git status && rm -rf /",
        "git status; rm x",
        "git status | sh",
        "git status |& sh",
        "git status & rm x",
        "git status\nrm x",
        "git status\r\nrm x",
        "git status $(rm x)",
        "git status \"$(rm x)\"",
        "git status `rm x`",
        "git status <(rm x)",
        "git status > ~/.bashrc",
        "git status >> x",
        "git status >| x",
        "git status &> x",
        "git status 2> x",
        "git status >& x",
        "git status <> x",
        "git status << E\n$(rm x)\nE",
        "git status ${x:-$(rm x)}",
        "git status $'\\nrm x'",
        "git status 'unclosed",
        "git status \"unclosed",
        "git status \\",
        "(git status)",
        "{ git status; }",
        "if git status; then rm x; fi",
        "for git in status; do rm x; done",
        "! git status",
        "git() { rm x; }; git status",
        "PATH=. git status",
        "LD_PRELOAD=x git status",
        "./git status",
        "/tmp/git status",
        "$X git status",
        "git$X status",
        "git status # \n rm x",
        "eval git status",
        "",
        "   ",
        "# only a comment",
    ] {
        assert!(!is_allowed("Bash(git status:*)", &bash(command)), "{command:?}");
    }
    for command in [
        "git status && git status -s",
        "git status 2>&1",
        "git status 2>/dev/null",
        "git status > /dev/null 2>&1",
        "git status < in.txt",
        "git status; git status",
        "git status 'a && b; $(c)'",
        "git status a\\;b",
        "git status \\\n -s",
        "git status # a comment with $(nothing)",
    ] {
        assert!(is_allowed("Bash(git status:*)", &bash(command)), "{command:?}");
    }
    let two = rules(Mode::DontAsk, &["Bash(cd:*)", "Bash(ls:*)"], &[], &[]);
    assert_eq!(of(&two, &bash("cd src && ls -l | ls")), Decision::Allow);
    assert!(matches!(of(&two, &bash("cd src && cat x")), Decision::Deny { .. }));
}

#[test]
fn a_denied_command_is_found_wherever_it_runs() {
    for command in [
        "rm x",
        "/bin/rm x",
        "\\rm x",
        "r'm' x",
        "a && rm x",
        "a; b | rm x",
        "a\nrm x",
        "echo $(rm x)",
        "echo \"`rm x`\"",
        "cat <(rm x)",
        "(cd y; rm x)",
        "{ rm x; }",
        "if true; then rm x; fi",
        "X=1 rm x",
        "sudo rm x",
        "sudo -u root rm x",
        "env A=1 rm x",
        "timeout 5 rm x",
        "xargs -0 rm < y",
        "nohup nice -n 5 rm x",
        "find . -name y -exec rm {} +",
        "bash -c 'rm x'",
        "sh -c \"cd y && rm x\"",
        "sudo bash -c 'a; rm x'",
        "eval rm x",
        "eval 'rm x'",
        "/usr/bin/env rm x",
        "rm",
    ] {
        assert!(is_denied("Bash(rm:*)", &bash(command)), "{command:?}");
    }
    for command in ["echo rm", "grep 'rm x' y", "rmdir x", "git rm x", "./form x"] {
        assert!(!is_denied("Bash(rm:*)", &bash(command)), "{command:?}");
    }
    assert!(is_denied("Bash(rm:*)", &bash(&"sudo ".repeat(5_000))), "nobody can say what that runs");
}

#[test]
fn paths_are_compared_as_they_are_meant() {
    let write = |path: &str| call("Write", json!({"path": path, "content": "x"}));
    for (rule, path, fits) in [
        ("Write(src/**)", "src/a.rs", true),
        ("Write(src/**)", "src/a/b.rs", true),
        ("Write(src/**)", "./src//a/../b.rs", true),
        ("Write(src/**)", "/home/me/project/src/a.rs", true),
        ("Write(src/**)", "~/project/src/a.rs", true),
        ("Write(src/**)", "src/../secret", false),
        ("Write(src/**)", "srcx/a", false),
        ("Write(src/**)", "a/src/b", false),
        ("Write(src)", "src/a/b", true),
        ("Write(/src/**)", "src/a", true),
        ("Write(*.md)", "a/b/c.md", true),
        ("Write(*.md)", "a/b/c.mdx", false),
        ("Write(docs/*.md)", "docs/a.md", true),
        ("Write(docs/*.md)", "docs/a/b.md", false),
        ("Write(**/test/**)", "a/b/test/c", true),
        ("Write(//etc/**)", "/etc/passwd", true),
        ("Write(//etc/**)", "../../../etc/passwd", true),
        ("Write(~/.ssh/**)", "/home/me/.ssh/id", true),
        ("Write(~/.ssh/**)", "~/.ssh/id", true),
        ("Write(~/.ssh/**)", "../.ssh/id", true),
        ("Write(.env)", "deep/.env", true),
        ("Write(.env)", "/elsewhere/.env", true),
        ("Edit(src/**)", "src/a", true),
        ("Read(src/**)", "src/a", false),
    ] {
        assert_eq!(is_allowed(rule, &write(path)), fits, "{rule}: {path}");
        assert_eq!(is_denied(rule, &write(path)), fits, "{rule}: {path}");
    }
    assert!(is_denied("Read(.env)", &call("Grep", json!({"pattern": "x", "path": "a/.env"}))));
    assert!(
        is_denied("Write(out/**)", &call("chart", json!({"spec": {"save_as": "out/a.svg"}}))),
        "an unknown argument"
    );
    let two = call("canvas-add", json!({"path": "src/a", "to": "other/b"}));
    assert!(!is_allowed("Write(src/**)", &two), "every path must fit");
    assert!(is_allowed("Read", &call("Glob", json!({"pattern": "*"}))));
    assert!(!is_allowed("Write(src/**)", &call("Write", json!({"content": "x"}))), "no path at all");
}

#[test]
fn addresses_agents_and_other_tools() {
    let fetch = |url: &str| call("WebFetch", json!({"url": url}));
    for (url, allowed, denied) in [
        ("https://example.com/a", true, true),
        ("https://EXAMPLE.com.:443/", true, true),
        ("https://a.example.com/", false, true),
        ("https://example.com.evil.net/", false, false),
        ("https://example.com@evil.net/", false, false),
        ("https://evil.net/example.com", false, false),
        ("https:\\\\example.com\\x", true, true),
        ("http://[::1]/", false, false),
        ("example.com", false, true),
        ("https://ex%61mple.com/", false, true),
    ] {
        assert_eq!(is_allowed("WebFetch(domain:example.com)", &fetch(url)), allowed, "{url}");
        assert_eq!(is_denied("WebFetch(domain:example.com)", &fetch(url)), denied, "{url}");
    }
    assert!(is_allowed("WebFetch(domain:*.example.com)", &fetch("https://a.example.com/")));
    assert!(is_denied(
        "browser-*(domain:example.com)",
        &call("browser-navigate", json!({"url": "http://example.com"}))
    ));
    assert!(
        is_allowed("browser-*", &call("browser-click", json!({}))) && !is_allowed("browser-*", &bash("x"))
    );
    assert!(is_allowed("Agent(browser)", &call("Agent", json!({"subagent_type": "browser"}))));
    assert!(!is_allowed("Agent(browser)", &call("Agent", json!({}))));
    assert!(is_allowed("Agent(general-purpose)", &call("Agent", json!({}))));
    assert!(is_allowed("mcp__files", &call("files__get", json!({}))));
    assert!(is_allowed("mcp__files__get", &call("files__get", json!({}))));
    assert!(!is_allowed("mcp__files__get", &call("files__put", json!({}))));
    assert!(is_allowed("files__get(kind:a*)", &call("files__get", json!({"kind": "abc"}))));
    assert!(is_allowed("*", &call("files__get", json!({}))));
}

#[test]
fn what_is_no_rule_says_where_and_what_would_be_one() {
    for (text, at, said) in [
        ("", 0, "no name of a tool"),
        ("Bash(git", 8, "without `)`"),
        ("Ba sh", 2, "in the name of a tool"),
        ("(x)", 0, "no name"),
        ("WebFetch(domain:)", 9, "expected a host"),
        ("Write(a/../b)", 6, "`..`"),
        ("Write({a,b})", 6, "has no meaning"),
        ("files__get(x)", 11, "files__get(argument:value)"),
        ("Bash(a\nb)", 6, "control character"),
    ] {
        let error = text.parse::<Rule>().unwrap_err();
        assert!(error.at == at && error.message.en.contains(said), "{text}: {error:?}");
    }
    assert!("x".repeat(1001).parse::<Rule>().is_err());
}

#[test]
fn rules_are_kept_as_they_were_written() {
    let rules = rules(Mode::AcceptEdits, &["Bash( git:* )"], &["Write(src/**)"], &["mcp__x"]);
    let text = serde_json::to_string(&rules).unwrap();
    assert_eq!(
        text,
        r#"{"mode":"accept-edits","allow":["Bash( git:* )"],"ask":["Write(src/**)"],"deny":["mcp__x"]}"#
    );
    assert_eq!(serde_json::from_str::<Rules>(&text).unwrap(), rules);
    assert!(serde_json::from_str::<Rules>(r#"{"deny":["Bash("]}"#).is_err());
    assert_eq!(serde_json::from_str::<Rules>("{}").unwrap(), Rules::default());
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let texts = [
        "Bash",
        "Bash(git:*)",
        "Bash(git status:*)",
        "Bash(rm *)",
        "Bash(*x*)",
        "Write(src/**)",
        "Edit(*.md)",
        "Read(.env)",
        "Read",
        "WebFetch(domain:example.com)",
        "Agent(browser)",
        "browser-*",
        "*",
        "mcp__a",
        "Bash(npm test)",
    ];
    proptest::sample::select(texts.to_vec()).prop_map(|text| text.parse().unwrap())
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let list = || proptest::collection::vec(any_rule(), 0..4);
    (proptest::sample::select(Mode::ALL.to_vec()), list(), list(), list())
        .prop_map(|(mode, allow, ask, deny)| Rules { mode, allow, ask, deny })
}

fn any_call() -> impl Strategy<Value = ToolCall> {
    let pieces = [
        "git", "status", "rm", "x", "&&", ";", "|", "$(", ")", "`", "'", "\"", "\n", ">", "sudo", "npm test",
        "\\",
    ];
    let command = proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..8)
        .prop_map(|words| bash(&words.join(" ")));
    let path = proptest::sample::select(vec!["src/a", ".env", "../b.md", "/etc/x", "~/c", "a.md", ""]);
    let file = (proptest::sample::select(vec!["Write", "Edit", "Read", "Grep", "chart"]), path)
        .prop_map(|(tool, path)| call(tool, json!({"path": path})));
    let other = proptest::sample::select(vec!["WebFetch", "Agent", "browser-click", "a__b", "nobody"])
        .prop_map(|tool| call(tool, json!({"url": "https://example.com", "subagent_type": "browser"})));
    prop_oneof![command, file, other]
}

/// How much a decision gives.
fn rank(decision: &Decision) -> u8 {
    match decision {
        Decision::Deny { .. } => 0,
        Decision::Ask { .. } => 1,
        Decision::Allow => 2,
    }
}

/// Pieces that end a command or open another, however the pieces before and after are put together.
const JOINTS: &[&str] =
    &[" && ", ";", " | ", " || ", "\n", " & ", " |& ", "; # x\n", " $(", " `", " <(", " \"$("];

proptest! {
    #[test]
    fn a_deny_always_wins(rules in any_rules(), call in any_call(), more in any_rule()) {
        let denied = Rules { deny: vec![more.clone()], ..Rules::default() };
        if rank(&of(&denied, &call)) == 0 {
            let mut with = rules;
            with.deny.push(more);
            prop_assert_eq!(rank(&of(&with, &call)), 0);
        }
    }

    #[test]
    fn another_deny_or_ask_or_a_stricter_mode_never_gives_more(rules in any_rules(), call in any_call(), more in any_rule(), mode in proptest::sample::select(Mode::ALL.to_vec())) {
        let before = rank(&of(&rules, &call));
        let mut denied = rules.clone();
        denied.deny.push(more.clone());
        prop_assert!(rank(&of(&denied, &call)) <= before);
        let mut asked = rules.clone();
        asked.ask.push(more.clone());
        prop_assert!(rank(&of(&asked, &call)) <= before);
        let stricter = Rules { mode: rules.mode.max(mode), ..rules.clone() };
        prop_assert!(rank(&of(&stricter, &call)) <= before);
        let mut allowed = rules;
        allowed.allow.push(more);
        prop_assert!(rank(&of(&allowed, &call)) >= before);
    }

    #[test]
    fn a_child_never_has_more_than_its_parent(parent in any_rules(), child in any_rules(), call in any_call()) {
        let narrowed = parent.narrowed(&child);
        prop_assert!(rank(&of(&narrowed, &call)) <= rank(&of(&parent, &call)));
        prop_assert!(rank(&of(&narrowed.narrowed(&parent), &call)) == rank(&of(&narrowed, &call)));
    }

    #[test]
    fn a_beginning_never_covers_what_is_joined_to_it(before in "[a-z ]{0,6}", joint in proptest::sample::select(JOINTS.to_vec()), after in "x[a-z]{1,4}") {
        let command = format!("git {before}{joint}{after}");
        prop_assert!(!is_allowed("Bash(git:*)", &bash(&command)), "{:?}", command);
        let rule = format!("Bash({after}:*)");
        prop_assume!(rule.parse::<Rule>().is_ok());
        prop_assert!(is_denied(&rule, &bash(&command)), "{:?}", command);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|\n|[$`'\"\\\\(){}<>|&;*~/.]|git|rm|bash -c|sudo |eval |\\x00){0,60}", rule in "(\\PC|[(){}*~/.:]|Bash|Write|domain:){0,20}") {
        let rules = Rules {
            mode: Mode::Ask,
            deny: rule.parse().into_iter().collect(),
            allow: "Bash(git:*)".parse().into_iter().collect(),
            ask: vec!["Bash(rm:*)".parse().unwrap(), "Write(src/**)".parse().unwrap(), "*(domain:x.y)".parse().unwrap()],
        };
        for tool in ["Bash", "Write", "WebFetch"] {
            of(&rules, &call(tool, json!({"command": text, "path": text, "url": text})));
        }
        if let Ok(rule) = rule.parse::<Rule>() {
            prop_assert_eq!(rule.as_str().parse::<Rule>().unwrap(), rule);
        }
    }
}

#[test]
fn what_a_path_must_not_be_read_for_no_tool_tells() {
    let denies = rules(Mode::Default, &[], &[], &["Read(secrets/**)"]);
    for (tool, arguments) in [
        ("Read", json!({"path": "secrets/a"})),
        ("chart", json!({"source": "secrets/a.csv", "output": "a.svg"})),
        ("Edit", json!({"path": "secrets/a", "old": "x", "new": "y"})),
        ("canvas-add", json!({"path": "secrets/a.canvas"})),
    ] {
        assert!(matches!(of(&denies, &call(tool, arguments)), Decision::Deny { .. }), "{tool}");
    }
    assert_eq!(of(&denies, &call("chart", json!({"source": "a.csv", "output": "a.svg"}))), Decision::Allow);
    let no_reads = rules(Mode::Default, &[], &[], &["Read"]);
    assert_eq!(of(&no_reads, &call("chart", json!({"source": "a.csv", "output": "a.svg"}))), Decision::Allow);
}

#[test]
fn a_rule_of_a_kind_that_cannot_be_read_forbids_the_whole_tool() {
    let mut rights = Rights::of_master(["Read", "Bash"], crate::plan::Access::ReadWrite, 0);
    rights.deny.insert("Read([ab])".to_owned());
    let permissions = Permissions { project: "/p".into(), ..Permissions::default() };
    let decide = |tool: &str| {
        permissions.decide(&call(tool, json!({"path": "c"})), Some(EffectClass::Read), Some(&rights))
    };
    assert!(matches!(decide("Read"), Decision::Deny { .. }));
    assert_eq!(decide("Bash"), Decision::Allow);
}

#[test]
fn who_has_a_part_of_a_tool_is_told_which() {
    let mut kind = crate::agent_type::AgentType::named("x");
    kind.only = vec!["Bash(git log:*)".to_owned(), "Read(src/**)".to_owned()];
    let rights = Rights::of_master(["Read", "Bash"], crate::plan::Access::ReadWrite, 0).narrowed(&kind);
    let permissions = Permissions { project: "/p".into(), ..Permissions::default() };
    let ls = call("Bash", json!({"command": "ls"}));
    let Decision::Deny { why } = permissions.decide(&ls, Some(EffectClass::Once), Some(&rights)) else {
        panic!("it was not refused")
    };
    assert_eq!(why.words().en, "because agents of its kind may call only Bash(git log:*)");
}

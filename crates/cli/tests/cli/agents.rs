//! Kinds of agents: listing, showing, checking.

use crate::{env, workspace};
use fugato_testkit::{Ran, TestEnv};
use serde_json::{Value, json};

/// The example project, in a world of its own.
fn example() -> TestEnv {
    let env = env();
    let from = workspace().join("examples/agents");
    for file in [".claude/agents/release-checker.md", ".agents/agents/校对员.md"] {
        env.write(file, std::fs::read(from.join(file)).unwrap());
    }
    env
}

fn agent<'a>(list: &'a Value, name: &str) -> &'a Value {
    let agents = list["agents"].as_array().unwrap();
    let found = agents.iter().find(|agent| agent["name"] == name);
    assert!(found.is_some(), "{name}: {list:#}");
    found.unwrap()
}

#[track_caller]
fn says_not(ran: &Ran, part: &str) {
    assert!(!ran.stdout.contains(part) && !ran.stderr.contains(part), "{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn every_place_has_the_built_in_kinds_with_their_steps_and_tools() {
    let env = env();
    let list = env.fugato("agents ls --json").exits(0).json();
    assert_eq!(list["schema"], "fugato.agents/v1");
    let shown: Vec<_> = list["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| (agent["name"].as_str().unwrap(), agent["steps"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        shown,
        [
            ("general-purpose", 20),
            ("explore", 20),
            ("plan", 20),
            ("doc-editor", 15),
            ("browser", 20),
            ("data-analyst", 15),
            ("extractor", 10),
            ("canvas-designer", 15),
            ("coder", 20),
        ]
    );
    let coder = agent(&list, "coder");
    assert_eq!(coder["tools"], json!(["Write", "Read", "Grep", "Glob", "Bash"]));
    assert_eq!((coder["source"].as_str(), coder["mark"].as_str()), (Some("built-in"), Some("💻")));
    assert_eq!(agent(&list, "general-purpose")["tools"], Value::Null);
    assert_eq!(agent(&list, "explore")["access"], "read-only");
    let tools = agent(&list, "plan")["effectiveTools"].as_array().unwrap();
    assert!(
        tools.contains(&"Grep".into()) && !tools.contains(&"Bash".into()) && !tools.contains(&"Agent".into())
    );
    let table = env.fugato("agents ls").exits(0);
    table.says(&[
        "NAME",
        "STEPS",
        "📝  doc-editor",
        "browser-*, WebSearch",
        "9 kinds",
        "add your own: .agents/agents/NAME.md",
    ]);
}

#[test]
fn agents_of_the_project_stand_beside_the_built_in_ones() {
    let env = example();
    let list = env.fugato("agents ls --json").exits(0).json();
    assert_eq!(list["agents"].as_array().unwrap().len(), 11);
    let checker = agent(&list, "release-checker");
    assert_eq!(checker["tools"], json!(["Read", "Grep", "Glob", "Bash"]));
    assert_eq!(checker["only"], json!(["Bash(git log:*)", "Bash(git diff:*)", "Bash(git tag:*)"]));
    assert_eq!(checker["deny"], json!(["Bash(git tag -d:*)"]));
    assert_eq!((checker["source"].as_str(), checker["status"].as_str()), (Some("project"), Some("ok")));
    assert_eq!((checker["model"].as_str(), checker["steps"].as_u64()), (Some("haiku"), Some(12)));
    let shown = env.fugato("agents show 校对员").exits(0);
    shown.says(&[
        "校对员",
        "校对中文文稿",
        ".agents/agents/校对员.md",
        "Read, Grep, Write",
        "steps",
        "15",
        "你是一名中文校对。",
    ]);
    let shown = env.fugato("agents show release-checker --json").exits(0).json();
    assert_eq!(shown["schema"], "fugato.agent/v1");
    assert!(shown["prompt"].as_str().unwrap().starts_with("You check a release"));
    env.fugato("agents check").exits(0).says(&["2 agent files: 2 ok"]);
}

#[test]
fn everything_is_said_in_chinese_too() {
    let env = example().chinese();
    env.write(".claude/agents/bad.md", "---\nname: bad\ntools: Grap\n---\n正文\n");
    let table = env.fugato("agents ls").exits(0);
    table.says(&[
        "名称",
        "步数",
        "来源",
        "内置",
        "项目",
        "无效",
        "与上级相同",
        "11 种代理",
        "缺少 `description`",
    ]);
    env.fugato("agents show release-checker").exits(0).says(&["执行者", "仅限", "禁止", "工具", "可读写"]);
    env.fugato("agents check").exits(1).says(&[
        "未知的工具 `Grap`",
        "共 3 个代理文件：2 个正常，0 个有问题，1 个无效",
        "fugato explain F0113",
    ]);
    env.fugato("agents show nobody").exits(3).says(&["没有这种代理 `nobody`"]);
    env.fugato("agents --help").exits(0).says(&["列出这里可以启动的代理种类", "检查代理文件"]);
}

#[test]
fn a_broken_agent_is_listed_and_its_neighbours_work() {
    let env = example();
    env.write(".claude/agents/bad.md", "---\nname: bad\n---\nno description\n");
    env.write(".claude/agents/typo.md", "---\nname: typo\ndescription: d\ntools: Read, Grap\n---\nx\n");
    let list = env.fugato("agents ls --json").exits(0).json();
    assert_eq!(agent(&list, "bad")["status"], "invalid");
    assert_eq!(agent(&list, "bad")["diagnostics"][0]["code"], "F0113");
    assert_eq!(agent(&list, "typo")["tools"], json!(["Read"]));
    assert_eq!(agent(&list, "typo")["diagnostics"][0]["line"], 4);
    env.fugato("agents ls").exits(0).says(&["bad", "invalid", "[F0113]", "2 problems: fugato agents check"]);
    env.fugato("agents show bad").exits(1).says(&["invalid", "description", "bad.md:1:1"]);
    let checked = env.fugato("agents check").exits(1);
    checked.says(&[
        "unknown tool `Grap`",
        "did you mean `Grep`?",
        "typo.md:4:14",
        "4 agent files: 2 ok, 1 with problems, 1 invalid",
    ]);
    let document = env.fugato("agents check --json").exits(1).json();
    assert_eq!(document["schema"], "fugato.agents-check/v1");
    assert_eq!(document["summary"], json!({"agents": 4, "ok": 2, "warning": 1, "invalid": 1}));
    env.fugato("agents check .claude/agents/typo.md").exits(0).says(&["1 with problems"]);
    env.fugato("agents check --strict .claude/agents/typo.md").exits(1);
    env.fugato("agents check --strict .agents/agents").exits(1).says(&["F0124", "maxTurns"]);
    env.fugato("agents check nowhere.md").exits(3);
}

#[test]
fn an_unknown_kind_finds_its_neighbour() {
    let env = env();
    let ran = env.fugato("agents show browzer").exits(3);
    ran.says(&["no kind of agent `browzer`", "did you mean `browser`?", "F0806"]);
    env.fugato("agents show Explore").exits(0).says(&["explore", "reads only"]);
}

#[test]
fn a_built_in_kind_that_is_replaced_says_so() {
    let env = env();
    env.write(".claude/agents/coder.md", "---\nname: coder\ndescription: Ours.\n---\nCode as we do.\n");
    let user = env.user_home().join(".claude/agents");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("coder.md"), "---\nname: coder\ndescription: Mine.\n---\nx\n").unwrap();
    let ran = env.fugato("agents ls").exits(0);
    ran.says(&["`coder` of .claude/agents/coder.md takes the place of the built-in one", "shadowed"]);
    let shown = env.fugato("agents show coder").exits(0);
    shown.says(&[
        "Ours.",
        "takes the place of",
        "user ~/.claude/agents/coder.md, built-in",
        "Code as we do.",
    ]);
    says_not(&shown, "Mine.");
    let list = env.fugato("agents ls --json").exits(0).json();
    assert_eq!(agent(&list, "coder")["replaces"][1]["source"], "built-in");
}

#[test]
fn agents_of_a_profile_are_kinds_with_the_skills_they_see() {
    let env = env();
    env.skill("voice", "name: voice\ndescription: Speaks.");
    env.skill("plot", "name: plot\ndescription: Plots.");
    env.write(
        "p.json",
        r#"{"mode": "director", "skills": {"visible": ["*"]}, "mainAgent": {},
            "subAgents": [{"id": "critic", "description": "Judges.", "maxRounds": 6, "skills": {"visible": ["voice"]}}]}"#,
    );
    let list = env.fugato("agents ls --json --profile p.json").exits(0).json();
    let critic = agent(&list, "critic");
    assert_eq!((critic["source"].as_str(), critic["steps"].as_u64()), (Some("profile"), Some(6)));
    assert_eq!(critic["skills"], json!(["voice"]));
    env.fugato("agents show critic --profile p.json").exits(0).says(&["p.json", "voice"]);
    env.fugato("agents show critic").exits(3);
    env.fugato("agents ls --profile gone.json").exits(3);
}

#[test]
fn what_this_machine_lacks_is_said() {
    let env = env();
    env.write(
        ".claude/agents/robot.md",
        "---\nname: robot\ndescription: d\nexecutor: script\ncommand: [no-such-program, '-x']\n---\n",
    );
    env.write(".claude/agents/me.md", "---\nname: me\ndescription: d\nexecutor: human\n---\n");
    let shown = env.fugato("agents show robot").exits(0);
    shown.says(&["unusable", "script: no-such-program -x", "`no-such-program` is not on the PATH"]);
    env.fugato("agents show me").exits(0).says(&["human", "ok"]);
    let empty = env
        .command()
        .env("PATH", "/nonexistent")
        .args(["agents", "show", "browser", "--json"])
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&empty.stdout).unwrap();
    assert_eq!(shown["status"], "unusable");
    assert!(shown["obstacles"].to_string().contains("Chromium"), "{shown:#}");
}

#[test]
fn hostile_text_reaches_no_terminal() {
    let env = env();
    env.write(
        ".claude/agents/x.md",
        "---\nname: x\ndescription: \"a\\e[2Jb\"\ntools: [\"\\e[31mRead\"]\n\"k\\e[5m\": 1\n---\nbody \u{1b}[2J\u{202e}\n",
    );
    for line in ["agents ls", "agents show x", "agents check"] {
        let ran = env.fugato(line);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{line}: {ran:?}");
        assert!(!ran.stdout.contains('\u{202e}'), "{line}");
    }
}

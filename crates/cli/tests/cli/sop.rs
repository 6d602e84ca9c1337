//! `fugato sop`: programs of the SOP language, from the binary.

use crate::env;
use serde_json::{Value, json};

/// The contract's cases.
fn cases() -> Vec<Value> {
    let file = include_str!("../../../skill/tests/fixtures/sop-cases.json");
    serde_json::from_str::<Value>(file).unwrap()["cases"].as_array().unwrap().clone()
}

#[test]
fn a_program_is_checked_with_the_contracts_sentences_and_their_places() {
    let env = env();
    env.skill("emit", "name: emit\ndescription: Gives it back.");
    for case in cases().iter().filter(|case| case.get("updates").is_none()) {
        env.write("p.sop", case["script"].as_str().unwrap());
        let ran = env.fugato("sop check p.sop --commands emit,join,fail,cancel,none,bad,throw,$a --json");
        let expected = case.get("error").or_else(|| case.get("error_contains")).and_then(Value::as_str);
        let found = ran.json();
        assert_eq!((ran.code == 0, found["ok"] == true), (expected.is_none(), expected.is_none()), "{case}");
        if let Some(expected) = expected {
            let sentence = found["errors"][0].as_str().unwrap();
            assert!(sentence.contains(expected), "{sentence}");
            assert!(found["diagnostics"][0]["line"].as_u64().unwrap() >= 1);
            let ran = env.fugato("sop check p.sop --commands join,fail").exits(1);
            assert!(ran.stdout.contains(sentence), "{}", ran.stdout);
        }
    }
}

#[test]
fn commands_are_the_skills_that_are_here_and_a_near_one_is_named() {
    let env = env();
    env.skill("emit", "name: emit\ndescription: Gives it back.");
    env.write("p.sop", "# First.\n@a emit 1\n@b emti $a $input\n@c final_answer $b");
    let ran = env.fugato("sop check p.sop").exits(1);
    assert!(
        ran.stdout.contains("Line 3: unknown command emti for @b (did you mean emit?)"),
        "{}",
        ran.stdout
    );
    let chinese = env.fugato("sop check p.sop --lang zh").exits(1);
    assert!(chinese.stdout.contains("第 3 行：@b 的命令 emti 不存在（是不是 emit？）"), "{}", chinese.stdout);
    env.write("p.sop", "@a emit 1\n@b emit $a");
    let ran = env.fugato("sop check p.sop").exits(0);
    assert!(ran.stderr.contains("2 declarations in 2 levels: ok"), "{}", ran.stderr);
    env.fugato("sop check nowhere.sop").exits(3);
    env.write("p.sop", b"@a emit \xff");
    env.fugato("sop check p.sop").exits(1);
}

#[test]
fn a_program_is_drawn_and_where_it_does_not_fit_told_level_by_level() {
    let env = env();
    env.write("p.sop", "# 读取报告\n@报告 emit 二〇二六\n@b emit 1\n@final join $报告 $b\n");
    let ran = env.fugato("sop graph p.sop").exits(0);
    let expected = "\
┌ @b ────┐  ┌ @报告 ────────┐
│ emit 1 │  │ emit 二〇二六 │
└────┬───┘  │ 读取报告      │
     │      └───────┬───────┘
     │         ┌────┘
     ▼         ▼
    ┌ @final ───────┐
    │ join $报告 $b │
    └───────────────┘
";
    assert_eq!(ran.stdout, expected);
    let levels = env.fugato("sop graph p.sop --json").exits(0).json();
    assert_eq!(levels["levels"][0][1]["name"], "报告");
    assert_eq!(
        levels["levels"][1],
        json!([{"name": "final", "command": "join", "needs": ["报告", "b"], "says": null, "line": 4}])
    );
    let many: String = (0..60).map(|at| format!("@v{at:02} emit {at}\n")).collect();
    env.write("p.sop", format!("{many}@end join $v00 $v59"));
    let ran = env.fugato("sop graph p.sop").exits(0);
    assert!(ran.stdout.contains("level 1\n├─ @v00  emit 0\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("level 2\n└─ @end  join $v00 $v59  ◀── v00, v59\n"), "{}", ran.stdout);
    env.write("p.sop", "@a join $a");
    assert!(env.fugato("sop graph p.sop").exits(1).stderr.contains("in a cycle: a -> a"));
}

#[test]
fn the_program_of_a_descriptor_is_checked_where_it_stands() {
    let env = env();
    env.skill("emit", "name: emit\ndescription: Gives it back.");
    let head = "---\ninternal: false\n---\n# desk\n\n## Description\nA desk.\n\n## SOP\n";
    env.write(
        "desk/oskill.md",
        format!("{head}\nWhat it does:\n\n```sop\n@a emit $input\n@b emti $a\n```\n\n## Session\nsop\n"),
    );
    let ran = env.fugato("sop check desk/oskill.md").exits(1);
    assert!(ran.stdout.contains("Line 15: unknown command emti for @b"), "{}", ran.stdout);
    assert!(ran.stdout.contains("desk/oskill.md:15:4"), "{}", ran.stdout);
    env.write("desk/oskill.md", format!("{head}@a emit $input\n@b emit $found\n"));
    let ran = env.fugato("sop check desk/oskill.md").exits(1);
    assert!(ran.stdout.contains("desk/oskill.md:11:1"), "{}", ran.stdout);
    // What a preparation will find has names that nobody knows yet.
    env.write(
        "desk/oskill.md",
        format!("{head}@a emit $input\n@b emit $found\n\n## Preparation\nFind it.\n"),
    );
    env.fugato("sop check desk/oskill.md").exits(0).says(&["2 declarations in 1 level: ok"]);
    env.fugato("sop graph desk/oskill.md").exits(0).says(&["@b"]);
    env.write("desk/oskill.md", "# desk\n\n## Description\nA desk.\n");
    env.fugato("sop check desk/oskill.md").exits(1).says(&["no `## SOP` section", "fugato skill check desk"]);
}

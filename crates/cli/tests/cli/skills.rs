//! Listing, showing, searching, reading.

use crate::env;

#[test]
fn an_empty_directory_teaches_the_next_command() {
    let ran = env().fugato("skill ls").exits(0);
    ran.says(&["No skills here yet", "fugato skill new my-first-skill"]);
}

#[test]
fn the_list_is_a_document_with_a_schema() {
    let env = env();
    env.skill("pdf", "name: pdf\ndescription: Reads PDF files.\nmetadata:\n  tags: [docs, reading]");
    env.write(".agents/skills/bad/SKILL.md", "nothing");
    let list = env.fugato("skill ls --json").exits(0).json();
    assert_eq!(list["schema"], "fugato.skills/v1");
    let skills = list["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 2);
    let pdf = skills.iter().find(|skill| skill["name"] == "pdf").unwrap();
    assert_eq!(pdf["scope"], "project");
    assert_eq!(pdf["status"], "ok");
    assert_eq!(pdf["description"], "Reads PDF files.");
    assert_eq!(pdf["tags"], serde_json::json!(["docs", "reading"]));
    assert_eq!(pdf["shadowed"], false);
    assert!(pdf["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(pdf["path"].as_str().unwrap().ends_with("pdf/SKILL.md"));
    let bad = skills.iter().find(|skill| skill["name"] == "bad").unwrap();
    assert_eq!(bad["status"], "invalid");
    assert_eq!(bad["diagnostics"][0]["code"], "F0101");
    assert_eq!(bad["diagnostics"][0]["line"], 1);
}

#[test]
fn later_scopes_shadow_earlier_ones() {
    let env = env();
    for (scope, text) in
        [("global", "from global"), ("preset/中文导演", "from preset"), ("character/黛玉", "from character")]
    {
        let dir = env.home().join("skills").join(scope).join("voice");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("SKILL.md"), format!("---\nname: voice\ndescription: {text}\n---\n"))
            .unwrap();
    }
    env.skill("voice", "name: voice\ndescription: from project");
    let effective = |line: &str| {
        let list = env.fugato(line).exits(0).json();
        let skills = list["skills"].as_array().unwrap().clone();
        let winner = skills.iter().find(|skill| skill["shadowed"] == false).unwrap().clone();
        (winner["description"].as_str().unwrap().to_owned(), skills.len())
    };
    assert_eq!(effective("skill ls --json"), ("from project".to_owned(), 2));
    assert_eq!(effective("skill ls --json --preset 中文导演"), ("from preset".to_owned(), 3));
    assert_eq!(
        effective("skill ls --json --preset 中文导演 --character 黛玉"),
        ("from character".to_owned(), 4)
    );
    env.fugato("skill show voice --character 黛玉").exits(0).says(&["character:黛玉", "shadows"]);
}

#[test]
fn all_of_ten_thousand_skills_are_listed_though_hundreds_are_broken() {
    let env = env();
    let root = env.project().join("many");
    fugato_testkit::write_many_skills(&root, 10_000, 25).unwrap();
    let list = env.fugato("skill ls --json --skills many").exits(0).json();
    let skills = list["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 10_000);
    let invalid = skills.iter().filter(|skill| skill["status"] == "invalid").count();
    assert_eq!(invalid, 400);
}

#[test]
fn a_skill_is_shown_whole() {
    let env = env();
    env.skill("写作", "name: 写作\ndescription: 写作规则。\nlicense: MIT");
    env.write(".agents/skills/写作/references/细则.md", "细则");
    env.fugato("skill show 写作 --body").exits(0).says(&[
        "写作规则",
        "project",
        "references/细则.md",
        "sha256:",
        "Text.",
    ]);
    let shown = env.fugato("skill show 写作 --json").exits(0).json();
    assert_eq!(shown["schema"], "fugato.skill/v1");
    assert_eq!(shown["files"], serde_json::json!(["SKILL.md", "references/细则.md"]));
    env.fugato("skill show 写做").exits(3).says(&["写作"]);
}

#[test]
fn text_is_found_in_any_script() {
    let env = env();
    env.skill("voice", "name: voice\ndescription: Voice.");
    env.write(".agents/skills/voice/references/规则.md", "第一行\n避免陈词滥调,Émile 说。\n第三行\n");
    let hits = env.fugato("skill search 陈词滥调 --json").exits(0).json();
    assert_eq!(hits["hits"][0]["skill"], "voice");
    assert_eq!(hits["hits"][0]["path"], "references/规则.md");
    let hits = env.fugato("skill search éMILE --in voice --context 0 --json").exits(0).json();
    assert_eq!(
        (hits["hits"][0]["lineStart"].as_u64(), hits["hits"][0]["lineEnd"].as_u64()),
        (Some(2), Some(2))
    );
    env.fugato("skill search nothing-like-this").exits(0).says(&["0 hits"]);
    env.fugato("skill search x --in voic").exits(3).says(&["voice"]);
}

#[test]
fn pages_of_a_file_join_to_the_file() {
    let env = env();
    env.skill("long", "name: long\ndescription: Long.");
    let text: String = (0..9000).map(|n| format!("第 {n} 行\n")).collect();
    env.write(".agents/skills/long/big.md", &text);
    let (mut joined, mut offset) = (String::new(), "1".to_owned());
    loop {
        let page =
            env.run(["skill", "read", "long", "big.md", "--json", "--offset", &offset]).exits(0).json();
        assert!(page["content"].as_str().unwrap().len() <= 51_200);
        joined.push_str(page["content"].as_str().unwrap());
        match page.get("nextOffset") {
            Some(next) if !next.is_null() => {
                offset = next.as_str().map_or_else(|| next.to_string(), str::to_owned);
            }
            _ => break,
        }
    }
    assert_eq!(joined, text);
}

#[test]
fn reading_never_leaves_the_skill() {
    let env = env();
    env.skill("safe", "name: safe\ndescription: Safe.");
    env.write("secret.txt", "secret");
    for path in ["../../../secret.txt", "/etc/passwd", "a/../../x", "C:\\x", "CON"] {
        let ran = env.run(["skill", "read", "safe", path]);
        assert!(ran.code == 2 && !ran.stdout.contains("secret"), "{path}: {ran:?}");
    }
    std::os::unix::fs::symlink(
        env.project().join("secret.txt"),
        env.project().join(".agents/skills/safe/link.md"),
    )
    .unwrap();
    let ran = env.fugato("skill read safe link.md");
    assert!(ran.code != 0 && !ran.stdout.contains("secret"));
    env.fugato("skill read safe SKILL.mdd").exits(3).says(&["SKILL.md"]);
}

#[test]
fn the_list_follows_changes_when_watched() {
    use std::io::{BufRead as _, BufReader};
    let env = env();
    env.skill("first", "name: first\ndescription: First.");
    let mut child =
        env.command().args(["skill", "ls", "--watch"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap().contains("first")));
    env.skill("second", "name: second\ndescription: Second.");
    assert!(lines.by_ref().any(|line| line.unwrap().contains("second")));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_phases_of_a_skill_are_checked_with_it() {
    let env = env();
    let example = crate::workspace().join("examples/daily-brief");
    let checked = env.fugato(&format!("skill check --strict --json {}", example.display())).exits(0).json();
    assert_eq!(checked["diagnostics"], serde_json::json!([]));

    env.write(
        ".agents/skills/daily/SKILL.md",
        "---\nname: daily\ndescription: d\nmetadata:\n  fugato-phases: phases.yaml\n---\n",
    );
    let phases = "phases:\n  - name: gather\n    parallel: \"no\"\n    subagents:\n      - {skill: _sub/none, type: explore}\n  - name: talk\n    depends_on: gathr\n    inline: true\n";
    env.write(".agents/skills/daily/phases.yaml", phases);
    let ran = env.fugato("skill check").exits(1);
    ran.says(&["F0807", "F0803", "did you mean `gather`?", "phases.yaml:5"]);
    env.fugato("skill check --fix").exits(1);
    let repaired = env.read(".agents/skills/daily/phases.yaml");
    assert!(repaired.contains("parallel: false") && repaired.contains("depends_on: [gathr]"), "{repaired}");
}

#[test]
fn what_loading_passes_over_is_refused_once() {
    let env = env();
    env.skill("a", "name: a\ndescription: d\nphases: {setup: {inline: true}}");
    env.skill("b", "name: b\ndescription: d\nphases: []");
    env.skill("c", "name: c\ndescription: d\nmetadata:\n  fugato-phases: gone.yaml");
    let checked = env.fugato("skill check --json").exits(1).json();
    let mut codes: Vec<_> = checked["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            (found["code"].as_str().unwrap().to_owned(), found["severity"].as_str().unwrap().to_owned())
        })
        .collect();
    codes.sort();
    let expected = [("F0118", "warning"), ("F0125", "error"), ("F0801", "error")];
    assert_eq!(codes, expected.map(|(code, severity)| (code.to_owned(), severity.to_owned())));
}

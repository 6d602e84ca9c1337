//! Creating, installing, moving, removing, locking: nothing is lost, nothing is half done.

use crate::env;

#[test]
fn a_new_skill_of_each_kind_passes_its_own_checks() {
    let env = env();
    for kind in ["skill", "phases", "orchestrator"] {
        env.run(["skill", "new", &format!("my-{kind}"), "--kind", kind]).exits(0);
    }
    env.fugato("skill new 写作助手 -d 写作时使用").exits(0);
    env.fugato("skill check").exits(0).says(&["4 skills: 4 ok"]);
    let list = env.fugato("skill ls --json").exits(0).json();
    let kinds: Vec<_> =
        list["skills"].as_array().unwrap().iter().map(|s| s["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"phases") && kinds.contains(&"orchestrator"), "{kinds:?}");
    env.fugato("skill new my-skill").exits(7).says(&["my-skill"]);
    env.fugato("skill new My_Skill").exits(2).says(&["my-skill"]);
}

#[test]
fn export_add_and_verify_agree_on_the_digest() {
    let env = env();
    env.skill("pdf", "name: pdf\ndescription: Reads PDF files.");
    env.write(".agents/skills/pdf/references/说明.md", "参考");
    let digest = |line: &str| env.fugato(line).exits(0).json()["skills"][0]["digest"].clone();
    let before = digest("skill ls --json");
    env.fugato("skill export pdf").exits(0);
    env.fugato("skill export pdf").exits(7).says(&["--force"]);
    let first = std::fs::read(env.project().join("pdf.zip")).unwrap();
    env.fugato("skill export pdf --force").exits(0);
    assert_eq!(first, std::fs::read(env.project().join("pdf.zip")).unwrap());
    env.fugato("skill lock").exits(0);
    env.fugato("skill verify").exits(0);
    env.fugato("skill rm pdf").exits(0).says(&["kept in"]);
    env.fugato("skill verify").exits(1).says(&["pdf"]);
    env.fugato("skill add pdf.zip --scope project").exits(0);
    assert_eq!(digest("skill ls --json"), before);
    env.fugato("skill verify").exits(0);
    env.write(".agents/skills/pdf/references/说明.md", "changed");
    env.fugato("skill verify").exits(1).says(&["references/说明.md"]);
}

#[test]
fn conflicts_are_previewed_and_resolved_as_told() {
    let env = env();
    env.write("src/tool/SKILL.md", "---\nname: tool\ndescription: One.\n---\n");
    env.fugato("skill add src/tool --dry-run --json").exits(0).says(&["\"new\""]);
    env.fugato("skill add src/tool").exits(0).says(&["added"]);
    env.fugato("skill add src/tool --dry-run --json").exits(0).says(&["\"same\""]);
    env.write("src/tool/SKILL.md", "---\nname: tool\ndescription: Two.\n---\n");
    env.fugato("skill add src/tool --dry-run --json").exits(0).says(&["\"different\"", "SKILL.md"]);
    env.fugato("skill add src/tool").exits(7).says(&["tool"]);
    let description = || env.fugato("skill ls --json").exits(0).json()["skills"][0]["description"].clone();
    env.fugato("skill add src/tool --on-conflict skip").exits(0).says(&["skipped"]);
    assert_eq!(description(), "One.");
    env.fugato("skill add src/tool --on-conflict replace").exits(0).says(&["kept in"]);
    assert_eq!(description(), "Two.");
}

#[test]
fn several_skills_in_one_source_must_be_chosen() {
    let env = env();
    for name in ["one", "two"] {
        env.write(format!("src/{name}/SKILL.md"), format!("---\nname: {name}\ndescription: d\n---\n"));
    }
    env.fugato("skill add src").exits(2).says(&["one", "two", "--all"]);
    env.fugato("skill add src --skill three").exits(3);
    env.fugato("skill add src --skill two").exits(0);
    env.fugato("skill add src --all --on-conflict skip").exits(0);
    assert_eq!(env.fugato("skill ls --json").exits(0).json()["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn moving_and_renaming_keep_the_skill_whole() {
    let env = env();
    env.write(
        ".agents/skills/old/SKILL.md",
        "---\n# a comment\nname: old   # here\ndescription: d\n---\nText\n",
    );
    env.fugato("skill rename old new-name").exits(0);
    let text = env.read(".agents/skills/new-name/SKILL.md");
    assert!(
        text.contains("name: new-name") && text.contains("# a comment") && text.contains("# here"),
        "{text}"
    );
    env.fugato("skill mv new-name character:林黛玉").exits(0).says(&["character:林黛玉"]);
    env.fugato("skill ls").exits(0).says(&["No skills here yet"]);
    env.fugato("skill ls --character 林黛玉").exits(0).says(&["new-name"]);
    env.fugato("skill mv new-name character:../x --scope character:林黛玉").exits(2);
    env.fugato("skill rm new-name --scope character:林黛玉 --purge").exits(0);
}

#[test]
fn cards_with_embedded_skills_are_installed() {
    let env = env();
    let card = serde_json::json!({"name": "Ada", "data": {"extensions": {"skills": {
        "version": 1,
        "items": [{"bundleFormat": "inline-files-v1", "name": "ada-voice", "files": [
            {"path": "SKILL.md", "encoding": "utf8", "content": "---\nname: ada-voice\ndescription: d\n---\n"}]}]}}}});
    env.write("ada.json", card.to_string());
    env.fugato("skill add ada.json --scope character:Ada").exits(0).says(&["ada-voice"]);
    env.fugato("skill ls --character Ada").exits(0).says(&["ada-voice", "character:Ada"]);
}

#[test]
fn hostile_archives_install_nothing() {
    let env = env();
    env.write("not.zip", b"PK\x03\x04 truncated");
    env.fugato("skill add not.zip").exits(1).says(&["F030"]);
    env.fugato("skill add nothing.zip").exits(3);
    assert!(
        !env.home().join("skills").exists()
            || std::fs::read_dir(env.home().join("skills/global")).map_or(true, |d| d.count() == 0)
    );
}

#[test]
fn a_read_only_home_is_named_and_reading_still_works() {
    let env = env();
    env.skill("x", "name: x\ndescription: d");
    // A file where the directory should be: nobody can write there, not even root.
    std::fs::remove_dir_all(env.home()).unwrap();
    std::fs::write(env.home(), "in the way").unwrap();
    env.fugato("skill ls").exits(0).says(&["x"]);
    env.write("src/y/SKILL.md", "---\nname: y\ndescription: d\n---\n");
    let ran = env.fugato("skill add src/y");
    assert!(ran.code != 0 && ran.stderr.contains("home"), "{ran:?}");
}

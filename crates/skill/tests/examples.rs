//! The shipped examples: profiles read and lint clean against the shipped skills, and match their JSON Schema.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use fugato_model::{Scope, SkillName};
use fugato_skill::profile::{Mode, Profile, schema};
use fugato_skill::{Installed, Inventory, SkillHead, SkillText, catalog, policy, read_skill};
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The example skills, read as loading reads them; each must be beyond reproach.
fn inventory() -> Inventory {
    let root = examples().join("director/skills");
    let skills = std::fs::read_dir(root).unwrap().map(|entry| {
        let dir = entry.unwrap().path();
        let name = dir.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = std::fs::read(dir.join("SKILL.md")).unwrap();
        let path = format!("{name}/SKILL.md");
        let reading = read_skill(SkillText { dir_name: &name, path: &path, bytes: &bytes });
        assert!(reading.usable, "{name}");
        assert_eq!(reading.diagnostics, [], "{name}");
        assert_eq!(reading.head.name.as_ref().map(SkillName::as_str), Some(name.as_str()));
        Installed::sound(reading.head, Scope::Global, dir)
    });
    Inventory::new(skills.collect())
}

fn profiles() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["director", "profiles"]
        .iter()
        .flat_map(|dir| std::fs::read_dir(examples().join(dir)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonc"))
        .collect();
    found.sort();
    assert!(found.len() >= 7);
    found
}

#[test]
fn every_example_profile_is_clean_and_valid() {
    let inventory = inventory();
    let any = jsonschema::draft202012::new(&schema(None)).unwrap();
    for path in profiles() {
        let text = std::fs::read_to_string(&path).unwrap();
        let parsed = Profile::parse(&path.to_string_lossy(), &text);
        assert_eq!(parsed.diagnostics, [], "{}", path.display());
        let profile = parsed.profile.unwrap();
        assert_eq!(policy::lint(&profile, &inventory), [], "{}", path.display());
        let document: serde_json::Value =
            jsonc_parser::parse_to_serde_value(&text, &Default::default()).unwrap();
        assert!(any.is_valid(&document), "{}", path.display());
        for agent in profile.agents(profile.mode) {
            let resolution = policy::resolve(&profile, profile.mode, agent, &inventory);
            assert_eq!(resolution.missing(), []);
            assert!(resolution.visible().next().is_some() || agent.id.as_str() == "counter");
        }
    }
}

#[test]
fn the_director_example_is_the_seeds() {
    let inventory = inventory();
    for (file, shared, own) in [
        ("profile.jsonc", "director-anti-cliche-zh", "voice-critic-method-zh"),
        ("profile.en.jsonc", "director-anti-cliche", "voice-critic-method"),
    ] {
        let text = std::fs::read_to_string(examples().join("director").join(file)).unwrap();
        let profile = Profile::parse(file, &text).profile.unwrap();
        let seen = |id: &str| {
            let agent = profile.agent(Mode::Director, id).unwrap();
            let resolution = policy::resolve(&profile, Mode::Director, agent, &inventory);
            let names: Vec<String> = resolution.visible().map(Installed::label).collect();
            (names, catalog::render(&resolution, catalog::DEFAULT_BUDGET))
        };
        let (main, shown) = seen("main");
        assert_eq!((main.len(), main[0].as_str()), (7, shared));
        assert_eq!((shown.full, shown.omitted), (7, 0));
        let (critic, _) = seen("voice_critic");
        assert_eq!((critic.len(), critic[5].as_str()), (6, own));
        assert_eq!(seen("state_clerk").0.len(), 1);
    }
}

/// Each page of a profile error shows a profile that really gives that error.
#[test]
fn the_pages_of_profile_errors_show_what_they_say() {
    let mut installed = vec!["a", "voice-critic", "scripts-experimental", "experimental"]
        .into_iter()
        .map(|name| (name, true))
        .collect::<Vec<_>>();
    installed.push(("broken-skill", false));
    let skills = installed.into_iter().map(|(name, usable)| {
        let head = SkillHead { name: Some(SkillName::parse(name).unwrap()), ..SkillHead::default() };
        Installed { usable, ..Installed::sound(head, Scope::Global, format!("/skills/{name}")) }
    });
    let inventory = Inventory::new(skills.collect());
    for code in fugato_model::Code::ALL.iter().filter(|code| code.as_str().starts_with("F02")) {
        let path = examples().join(format!("../docs/errors/{code}.md"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no page for {code}"));
        assert!(page.starts_with(&format!("# {code}: {}\n", code.title())), "{code}");
        assert!(page.contains("\n## 中文\n"), "{code}");
        let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let parsed = Profile::parse("p", example);
        let linted =
            parsed.profile.iter().flat_map(|profile| policy::lint(profile, &inventory)).collect::<Vec<_>>();
        assert!(
            parsed.diagnostics.iter().chain(&linted).any(|found| found.code == *code),
            "{code}: {example}"
        );
    }
}

/// What a page of a phase error shows gives that error.
#[test]
fn the_pages_of_phase_errors_show_what_they_say() {
    use fugato_skill::phases::{Source, SubSkill, read};
    let files = |path: &fugato_model::RelPath| SubSkill::Found {
        path: format!("{path}/SKILL.md"),
        text: "---\nname: x\ndescription: d\n---\n".to_owned(),
    };
    let skill = "---\nname: x\ndescription: d\nmetadata:\n  fugato-phases: p.yaml\n---\n";
    let mut shown = 0;
    for code in fugato_model::Code::ALL.iter().filter(|code| code.as_str().starts_with("F08")) {
        let path = examples().join(format!("../docs/errors/{code}.md"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no page for {code}"));
        assert!(page.starts_with(&format!("# {code}: {}\n", code.title())), "{code}");
        assert!(page.contains("\n## 中文\n"), "{code}");
        // Limits and what happens at run time have no example that fits on a page.
        let Some(example) = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()) else {
            continue;
        };
        shown += 1;
        let (_, found) =
            read(Source { path: "x", text: skill, side_file: Some(("p.yaml", example)) }, &files);
        assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [*code], "{example}");
    }
    assert_eq!(shown, 15);
}

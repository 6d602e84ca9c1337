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

fn daily_brief() -> PathBuf {
    examples().join("daily-brief")
}

#[test]
fn the_daily_brief_is_the_contracts_example_made_real() {
    use fugato_skill::phases::{AgentType, Source, SubSkill, entry_point, read};
    let text = |path: &str| std::fs::read_to_string(daily_brief().join(path)).unwrap();
    let files = |path: &fugato_model::RelPath| {
        let path = format!("{path}/SKILL.md");
        SubSkill::Found { text: text(&path), path }
    };
    let (skill, phases) = (text("SKILL.md"), text("phases.yaml"));
    let source = Source { path: "SKILL.md", text: &skill, side_file: Some(("phases.yaml", &phases)) };
    let (phased, diagnostics) = read(source, &files);
    assert_eq!(diagnostics, []);
    let phased = phased.unwrap();
    let names: Vec<&str> = phased.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["setup", "gather", "write", "interact"]);
    let mut skills = vec![("daily-brief".to_owned(), skill.clone())];
    for subagent in phased.phases.iter().flat_map(|phase| &phase.subagents) {
        let sub_skill = text(&format!("{}/SKILL.md", subagent.skill));
        if subagent.agent_type == AgentType::Script {
            let program = daily_brief().join(&subagent.skill).join(entry_point(&sub_skill).unwrap());
            assert!(program.is_file(), "{}", program.display());
        }
        skills.push((subagent.skill.file_name().to_owned(), sub_skill));
    }
    let brief = &phased.phases[2].subagents[0];
    let relevant: Vec<&str> = brief.relevant.iter().map(fugato_skill::VarName::as_str).collect();
    assert_eq!(relevant, ["VAULT", "CALENDAR", "DIRECTIVES", "BRIEF"]);
    assert!(phased.markdown(&phased.phases[3], &skill).contains("{{BRIEF}}"));
    for (name, text) in skills {
        let text = SkillText { dir_name: &name, path: "SKILL.md", bytes: text.as_bytes() };
        assert_eq!(fugato_skill::check(text, fugato_skill::Strictness::Strict), [], "{name}");
    }
}

/// Runs a program of the daily brief in a directory.
#[cfg(unix)]
fn run_program(name: &str, dir: &Path, stdin: &str) -> (Option<i32>, String) {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let program = daily_brief().canonicalize().unwrap().join(format!("_sub/fetch/{name}/scripts/main.sh"));
    let mut child = Command::new(program)
        .current_dir(dir)
        // Not the repository these tests may stand in.
        .env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[cfg(unix)]
#[test]
fn the_programs_of_the_daily_brief_answer_with_json_whatever_the_files_say() {
    use fugato_skill::{VarName, outcome};
    use serde_json::json;
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("brief-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let value = |name: &str, output: &str, stdin: &str| {
        let (code, stdout) = run_program(name, &dir, stdin);
        assert_eq!(code, Some(0), "{name}: {stdout}");
        outcome::from_program(&stdout, VarName::parse(output).ok().as_ref()).unwrap().value
    };
    assert_eq!(run_program("get-directives", &dir, "{}").0, Some(1));
    let vault = value("get-config", "VAULT", "{}");
    assert!(vault.as_str().unwrap().ends_with(dir.file_name().unwrap().to_str().unwrap()));
    std::fs::write(dir.join("directives.md"), "name: \"M\" \\ $(x)\n- don't {{X}}\r\n").unwrap();
    assert_eq!(
        value("get-directives", "DIRECTIVES", "{}"),
        json!({"user": {"name": "\"M\" \\ $(x)"}, "rules": ["don't {{X}}"]})
    );
    std::fs::write(dir.join("calendar.csv"), "2026-02-15,09:30,\"A\", b|c\t技能\n2026-02-16,1,no\n").unwrap();
    let arguments = "{\"args\": \"scope=2026-02-15\", \"context\": {\"x\": \"scope=2026-02-16\"}}";
    assert_eq!(
        value("get-calendar", "CALENDAR", arguments),
        json!({"date": "2026-02-15", "events": [{"time": "09:30", "title": "\"A\", b|c技能"}], "commits": []})
    );
    assert!(value("get-calendar", "CALENDAR", "{}")["date"].as_str().unwrap().len() == 10);
    std::fs::remove_dir_all(&dir).unwrap();
}

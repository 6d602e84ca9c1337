//! Finding agents in directories like those people have, and those nobody should have.

use super::*;
use fugato_engine::Executor;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

struct World {
    _room: tempfile::TempDir,
    base: PathBuf,
}

impl World {
    fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("project/.git/refs")).unwrap();
        fs::create_dir_all(base.join("project/deep/er")).unwrap();
        Self { _room: room, base }
    }

    fn places(&self, cwd: &str) -> Places {
        Places {
            home: self.base.join("fugato"),
            user_home: Some(self.base.join("home")),
            cwd: self.base.join(cwd),
        }
    }

    fn write(&self, path: &str, content: &str) -> PathBuf {
        let full = self.base.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(&full, content).unwrap();
        full
    }

    fn agent(&self, path: &str, name: &str, description: &str) {
        self.write(path, &format!("---\nname: {name}\ndescription: {description}\n---\nWork.\n"));
    }

    fn found(&self) -> AgentTypes {
        agent_types(&self.places("project"))
    }
}

fn custom(types: &AgentTypes) -> Vec<(&str, &str)> {
    let custom = types.types.iter().filter(|known| known.origin != Origin::BuiltIn);
    custom.map(|known| (known.agent.name.as_str(), known.agent.description.as_str())).collect()
}

#[test]
fn the_project_wins_over_the_person_and_nearer_directories_win() {
    let world = World::new();
    world.agent("home/.claude/agents/a.md", "reviewer", "user claude");
    world.agent("home/.agents/agents/a.md", "reviewer", "user agents");
    world.agent("fugato/agents/b.md", "writer", "fugato home");
    world.agent("project/.claude/agents/a.md", "reviewer", "project claude");
    world.agent("project/.agents/agents/sub/a.md", "Reviewer", "project agents");
    world.agent("project/deep/.claude/agents/a.md", "校对员", "deep");
    let found = world.found();
    assert_eq!(custom(&found), [("Reviewer", "project agents"), ("writer", "fugato home")]);
    let reviewer = found.get("reviewer").unwrap();
    let origins: Vec<_> = reviewer.replaces.iter().map(|(origin, _)| *origin).collect();
    assert_eq!(origins, [Origin::Project, Origin::User, Origin::User]);
    assert_eq!(found.shadowed.len(), 3);
    assert!(found.diagnostics.is_empty(), "{:#?}", found.diagnostics);
    let deeper = agent_types(&world.places("project/deep/er"));
    assert_eq!(custom(&deeper).last(), Some(&("校对员", "deep")));
    // Without any file there are still the built-in ones.
    assert_eq!(agent_types(&World::new().places("project")).types.len(), 9);
}

#[test]
fn a_built_in_name_may_be_taken_and_says_so() {
    let world = World::new();
    world.agent("project/.claude/agents/coder.md", "coder", "ours");
    let found = world.found();
    assert_eq!(found.types.len(), 9);
    let coder = found.get("CODER").unwrap();
    assert_eq!(coder.replaces, [(Origin::BuiltIn, String::new())]);
    assert_eq!(coder.agent.description, "ours");
    assert_eq!(found.types[8].agent.name, "coder");
}

#[test]
fn a_broken_file_harms_no_neighbour_and_takes_nobodys_place() {
    let world = World::new();
    world.agent("home/.claude/agents/good.md", "good", "user");
    world.agent("project/.claude/agents/fine.md", "fine", "d");
    world.write("project/.claude/agents/good.md", "---\nname: good\n---\nno description\n");
    world.write("project/.claude/agents/none.md", "just text");
    world.write("project/.claude/agents/README.md", "# What these are\n");
    world.write("project/.claude/agents/notes.txt", "not an agent");
    world.write("project/.claude/agents/bytes.md", "---\nname: x\u{0}\n---\n");
    fs::create_dir_all(world.base.join("project/.claude/agents/folder.md")).unwrap();
    let found = world.found();
    assert_eq!(custom(&found), [("fine", "d"), ("good", "user")]);
    let broken: Vec<_> = found.broken.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(broken, ["bytes", "folder", "good", "none"]);
    assert!(found.broken.iter().all(|file| file.diagnostics.iter().any(Diagnostic::is_error)));
}

#[test]
fn two_of_one_name_in_one_directory_are_told() {
    let world = World::new();
    world.agent("project/.claude/agents/a.md", "twin", "first");
    world.agent("project/.claude/agents/b/b.md", "Twin", "second");
    let found = world.found();
    assert_eq!(custom(&found), [("twin", "first")]);
    assert_eq!(found.diagnostics.len(), 1);
    assert_eq!(found.diagnostics[0].code, Code::F1102);
    assert!(found.diagnostics[0].message.en.contains("a.md") && found.diagnostics[0].path.ends_with("b.md"));
}

#[test]
fn links_stay_in_the_project_and_pipes_are_not_waited_for() {
    let world = World::new();
    world.agent("secret.md", "secret", "outside");
    world.agent("project/shared/inside.md", "inside", "linked");
    let dir = world.base.join("project/.claude/agents");
    fs::create_dir_all(&dir).unwrap();
    symlink("../../shared/inside.md", dir.join("inside.md")).unwrap();
    symlink("../../../secret.md", dir.join("secret.md")).unwrap();
    symlink(world.base.join("secret.md"), dir.join("absolute.md")).unwrap();
    symlink("loop.md", dir.join("loop.md")).unwrap();
    symlink("gone", dir.join("gone.md")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.join("pipe.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let found = world.found();
    assert_eq!(custom(&found), [("inside", "linked")]);
    let codes: Vec<_> =
        found.broken.iter().map(|file| (file.name.as_str(), file.diagnostics[0].code)).collect();
    assert_eq!(
        codes,
        [
            ("absolute", Code::F0126),
            ("gone", Code::F0126),
            ("loop", Code::F0126),
            ("pipe", Code::F0121),
            ("secret", Code::F0126)
        ]
    );
    // In the home directory links are the person's own.
    let home = world.base.join("home/.claude/agents");
    fs::create_dir_all(&home).unwrap();
    symlink(world.base.join("secret.md"), home.join("mine.md")).unwrap();
    assert!(world.found().get("secret").is_some());
}

#[test]
fn a_directory_that_leads_out_of_the_project_is_not_read() {
    let world = World::new();
    world.agent("elsewhere/x.md", "x", "outside");
    fs::create_dir_all(world.base.join("project/.claude")).unwrap();
    symlink("../../elsewhere", world.base.join("project/.claude/agents")).unwrap();
    let found = world.found();
    assert_eq!(custom(&found), []);
    assert_eq!(found.diagnostics.len(), 1);
    assert_eq!(found.diagnostics[0].code, Code::F0126);
}

#[test]
fn large_files_and_folders_end_at_the_limits() {
    let world = World::new();
    let long = format!("---\nname: long\ndescription: d\n---\n{}", "x".repeat(200_000));
    world.write("project/.claude/agents/long.md", &long);
    for n in 0..300 {
        world.agent(&format!("home/.claude/agents/a{n:03}.md"), &format!("a{n:03}"), "d");
    }
    let found = world.found();
    assert_eq!(custom(&found).len(), 256);
    assert_eq!(found.broken[0].diagnostics[0].code, Code::F0122);
    assert!(found.diagnostics.iter().any(|problem| problem.message.en.contains("44 are not read")));
}

#[test]
fn an_unreadable_file_is_told_and_others_are_read() {
    let world = World::new();
    world.agent("project/.claude/agents/fine.md", "fine", "d");
    let path = world.write("project/.claude/agents/locked.md", "---\nname: locked\ndescription: d\n---\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let found = world.found();
    assert!(found.get("fine").is_some());
    // Whoever may read everything may read this too.
    if fs::read(&path).is_err() {
        assert_eq!(found.broken[0].diagnostics[0].code, Code::F0121);
    }
}

#[test]
fn agents_of_a_profile_come_last_and_win() {
    let world = World::new();
    world.agent("project/.claude/agents/critic.md", "critic", "file");
    let critic = AgentType { description: "profile".into(), ..AgentType::named("critic") };
    let found = world.found().with_profile(vec![critic], Path::new("p.json"), "p.json");
    assert_eq!(custom(&found), [("critic", "profile")]);
    assert_eq!(found.get("critic").unwrap().replaces[0].0, Origin::Project);
}

fn executable(path: &Path) {
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_a_kind_misses_on_this_machine_is_said() {
    let world = World::new();
    let bin = world.base.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let machine = Machine::new(Some(bin.clone().into_os_string()), world.base.join("project"));
    let types = AgentTypes::built_in();
    let says = |name: &str, part: &str| {
        machine.obstacles(types.get(name).unwrap()).iter().any(|found| found.words.en.contains(part))
    };
    assert!(says("browser", "Chromium") && says("extractor", "tesseract") && !says("coder", "PATH"));
    executable(&bin.join("chromium"));
    executable(&bin.join("tesseract"));
    assert!(!says("browser", "Chromium") && !says("extractor", "tesseract"));
    let by = |executor: Executor| {
        let agent = AgentType { executor, ..AgentType::named("x") };
        machine.obstacles(&Known::new(agent, Origin::Project))
    };
    assert_eq!(by(Executor::Claude)[0].weight, Weight::Prevents);
    executable(&world.base.join("project/work.sh"));
    assert!(by(Executor::Script { command: vec!["./work.sh".into()] }).is_empty());
    assert!(!by(Executor::Script { command: vec!["no-such-program".into()] }).is_empty());
    assert!(by(Executor::Human).is_empty());
}

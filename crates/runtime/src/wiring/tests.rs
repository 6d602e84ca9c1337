//! Edits of settings as people and other programs left them.

use super::*;
use crate::Places;
use std::ffi::OsString;

struct Desk {
    dir: tempfile::TempDir,
    dirs: Dirs,
    shelf: Shelf,
}

fn program() -> Program {
    Program::Small("/opt/fugato/fugato-hook".into())
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (home, cwd) = (dir.path().join("home"), dir.path().join("project"));
        std::fs::create_dir_all(&cwd).unwrap();
        let places = Places { home: dir.path().join("fugato"), user_home: Some(home), cwd };
        let none = |_: &str| None::<OsString>;
        let (dirs, shelf) = (Dirs::new(&places, none), Shelf::new(&places.home));
        Self { dir, dirs, shelf }
    }

    fn place(&self, host: Host) -> Place {
        self.dirs.place(host, Scope::User).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.dir.path().join("home").join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn read(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join("home").join(file)).ok()
    }

    fn install(&self, host: Host, trust: &Trust) -> Result<(), Box<Diagnostic>> {
        for change in install(&self.place(host), &program(), trust, &self.shelf)? {
            change.apply(&self.shelf)?;
        }
        Ok(())
    }

    fn uninstall(&self, host: Host) {
        let config = self.dirs.codex_config();
        for change in uninstall(&self.place(host), config.as_deref(), &self.shelf).unwrap() {
            change.apply(&self.shelf).unwrap();
        }
    }

    fn entries(&self, host: Host) -> Vec<Entry> {
        installed(&self.place(host)).unwrap()
    }
}

/// With comments, others' hooks, odd spacing and no line end.
const MINE: &str = "\u{feff}{\r\n    // mine\r\n    \"model\": \"opus\",\r\n    \"hooks\": {\r\n        \"PreToolUse\": [\r\n            {\"matcher\": \"Bash\", \"hooks\": [ {\"type\": \"command\", \"command\": \"other hook\"} ]}, // stays\r\n        ],\r\n        \"Notification\": []\r\n    },\r\n    \"env\": {\"A\":\"b\"}\r\n}";

#[test]
fn every_call_is_there_once_and_what_was_there_stays_and_comes_back_byte_for_byte() {
    let desk = Desk::new();
    for before in [MINE, "{}", "{\"hooks\":{}}\n", "", "  \n", "{\"hooks\": {\"Stop\": []}}"] {
        desk.write(".claude/settings.json", before);
        desk.install(Host::Claude, &Trust::Asked).unwrap();
        let once = desk.read(".claude/settings.json").unwrap();
        let events: Vec<String> = desk.entries(Host::Claude).into_iter().map(|entry| entry.event).collect();
        assert_eq!(events.len(), calls(Host::Claude).len(), "{once}");
        assert!(calls(Host::Claude).iter().all(|call| events.iter().any(|event| event == call.event)));
        if before == MINE {
            assert!(
                once.starts_with("\u{feff}{\r\n    // mine\r\n") && once.contains("\"other hook\""),
                "{once}"
            );
            assert!(once.contains("// stays") && once.contains("\"Notification\": []"), "{once}");
            assert!(!once.replace("\r\n", "").contains('\n'), "{once}");
        }
        desk.install(Host::Claude, &Trust::Asked).unwrap();
        assert_eq!(desk.read(".claude/settings.json").unwrap(), once);
        desk.uninstall(Host::Claude);
        assert_eq!(desk.read(".claude/settings.json").as_deref(), Some(before));
        assert_eq!(std::fs::read_dir(desk.dir.path().join("fugato/hooks")).unwrap().count(), 0);
    }
}

#[test]
fn a_file_and_a_directory_that_were_not_there_are_gone_again() {
    let desk = Desk::new();
    for host in Host::ALL {
        desk.install(host, &Trust::Asked).unwrap();
        assert_eq!(desk.entries(host).len(), calls(host).len());
        desk.uninstall(host);
        assert!(!desk.place(host).file.parent().unwrap().exists());
        // Nothing to undo is no problem.
        desk.uninstall(host);
    }
}

#[test]
fn what_others_wrote_since_stays_and_only_ours_goes() {
    let desk = Desk::new();
    desk.write(".claude/settings.json", MINE);
    desk.install(Host::Claude, &Trust::Asked).unwrap();
    let text = desk.read(".claude/settings.json").unwrap();
    desk.write(".claude/settings.json", &text.replace("\"opus\"", "\"sonnet\""));
    desk.uninstall(Host::Claude);
    assert_eq!(desk.read(".claude/settings.json").unwrap(), MINE.replace("\"opus\"", "\"sonnet\""));
    // Ours from another time and place, with others in the same group: it is replaced, and the way back is without it.
    let old = r#"{"hooks": {"PreToolUse": [{"hooks": [{"type":"command","command":"/old/fugato hook"},{"type":"command","command":"x"}]}], "Gone": [{"hooks": [{"type":"command","command":"'/o l d/fugato' hook"}]}]}}"#;
    desk.write(".claude/settings.json", old);
    desk.install(Host::Claude, &Trust::Asked).unwrap();
    let entries = desk.entries(Host::Claude);
    assert!(entries.iter().all(|entry| entry.command == "/opt/fugato/fugato-hook"), "{entries:?}");
    desk.uninstall(Host::Claude);
    let left: serde_json::Value = serde_json::from_str(&desk.read(".claude/settings.json").unwrap()).unwrap();
    assert_eq!(
        left,
        serde_json::json!({"hooks": {"PreToolUse": [{"hooks": [{"type":"command","command":"x"}]}]}})
    );
}

#[test]
fn only_the_guard_blocks_when_it_fails_and_only_where_that_exists() {
    let desk = Desk::new();
    for host in Host::ALL {
        desk.install(host, &Trust::Asked).unwrap();
        for entry in desk.entries(host) {
            let is_guard = entry.event == "PreToolUse";
            assert_eq!(entry.blocks_on_failure, is_guard && host == Host::Claude, "{entry:?}");
            assert_eq!(entry.timeout, Some(if is_guard { 60 } else { 10 }), "{entry:?}");
        }
    }
    let version = |patch| crate::hosts::Version { major: 2, minor: 1, patch };
    assert!(abilities(Host::Claude, version(325)).blocks_when_the_hook_fails);
    assert!(!abilities(Host::Claude, version(197)).blocks_when_the_hook_fails);
}

#[test]
fn a_broken_file_is_named_with_its_line_and_nothing_is_written() {
    let desk = Desk::new();
    let broken = [
        ("{\n  \"hooks\": {\n", 2),
        ("{\n  \"hooks\": [}\n}", 2),
        ("[1]", 1),
        ("{\n \"hooks\": 1}", 2),
        ("{\n \"hooks\": {\"Stop\": {}}}", 2),
        ("{\"hooks\": {},\n \"hooks\": {}}", 1),
        ("not json", 1),
    ];
    for (text, line) in broken {
        desk.write(".claude/settings.json", text);
        let error = desk.install(Host::Claude, &Trust::Asked).unwrap_err();
        assert_eq!(error.code, Code::F0407);
        assert!(error.span.is_some_and(|span| span.line >= line), "{text}: {error:?}");
        assert_eq!(desk.read(".claude/settings.json").as_deref(), Some(text));
    }
    desk.write(".claude/settings.json", &"[".repeat(500_000));
    assert!(desk.install(Host::Claude, &Trust::Asked).is_err());
    std::fs::write(desk.place(Host::Claude).file, b"{\"a\": \"\xff\"}").unwrap();
    assert!(desk.install(Host::Claude, &Trust::Asked).is_err());
    desk.write(".codex/config.toml", "[[hooks.Stop]]\nx = \n");
    let config = desk.dirs.codex_config().unwrap();
    let error = desk.install(Host::Codex, &Trust::Given(config)).unwrap_err();
    assert!(error.span.is_some_and(|span| span.line == 2), "{error:?}");
    assert_eq!(desk.read(".codex/hooks.json"), None);
}

#[test]
fn codex_keeps_hooks_where_the_person_keeps_them() {
    let desk = Desk::new();
    let before = "model = \"m\" # mine\n\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"other\"\n\n[hooks.state.\"x\"]\nenabled = false\n";
    desk.write(".codex/config.toml", before);
    let config = desk.dirs.codex_config().unwrap();
    desk.install(Host::Codex, &Trust::Given(config.clone())).unwrap();
    let after = desk.read(".codex/config.toml").unwrap();
    assert_eq!(desk.read(".codex/hooks.json"), None);
    let entries = desk.entries(Host::Codex);
    assert_eq!(entries.len(), calls(Host::Codex).len(), "{after}");
    // Others keep their place, by which Codex knows what is trusted.
    assert!(
        entries.iter().all(|entry| entry.at == (usize::from(entry.event == "PreToolUse"), 0)),
        "{entries:?}"
    );
    assert!(entries.iter().all(|entry| is_trusted(&after, &desk.place(Host::Codex), entry)), "{after}");
    desk.install(Host::Codex, &Trust::Given(config)).unwrap();
    assert_eq!(desk.read(".codex/config.toml").unwrap(), after);
    desk.write(".codex/config.toml", &after.replace("\"m\"", "\"n\""));
    desk.uninstall(Host::Codex);
    assert_eq!(desk.read(".codex/config.toml").unwrap(), before.replace("\"m\"", "\"n\""));
    // Inline lists are the same thing in another dress.
    let inline = "[hooks]\nStop = [{ hooks = [{ type = \"command\", command = \"other\" }] }] # mine\n";
    desk.write(".codex/config.toml", inline);
    desk.install(Host::Codex, &Trust::Asked).unwrap();
    assert_eq!(desk.entries(Host::Codex).len(), calls(Host::Codex).len());
    let text = desk.read(".codex/config.toml").unwrap();
    desk.write(".codex/config.toml", &format!("# new\n{text}"));
    desk.uninstall(Host::Codex);
    assert_eq!(desk.read(".codex/config.toml").unwrap(), format!("# new\n{inline}"));
}

#[test]
fn trust_is_given_only_when_it_is_asked_for_and_goes_with_the_hook() {
    let desk = Desk::new();
    let config = "model = \"m\"\n";
    desk.write(".codex/config.toml", config);
    desk.install(Host::Codex, &Trust::Asked).unwrap();
    assert_eq!(desk.read(".codex/config.toml").as_deref(), Some(config));
    desk.install(Host::Codex, &Trust::Given(desk.dirs.codex_config().unwrap())).unwrap();
    let text = desk.read(".codex/config.toml").unwrap();
    let place = desk.place(Host::Codex);
    assert_eq!(place.syntax, Syntax::Json);
    assert!(desk.entries(Host::Codex).iter().all(|entry| is_trusted(&text, &place, entry)), "{text}");
    desk.uninstall(Host::Codex);
    assert_eq!(desk.read(".codex/config.toml").as_deref(), Some(config));
    assert_eq!(desk.read(".codex/hooks.json"), None);
}

#[test]
fn a_change_meets_a_file_that_somebody_wrote_meanwhile_and_leaves_it() {
    let desk = Desk::new();
    desk.write(".claude/settings.json", "{}");
    let changes = install(&desk.place(Host::Claude), &program(), &Trust::Asked, &desk.shelf).unwrap();
    desk.write(".claude/settings.json", "{\"a\": 1}");
    assert_eq!(changes[0].apply(&desk.shelf).unwrap_err().code, Code::F0313);
    assert_eq!(desk.read(".claude/settings.json").as_deref(), Some("{\"a\": 1}"));
}

#[test]
fn what_switches_hooks_off_is_seen() {
    let desk = Desk::new();
    let (claude, codex) = (desk.place(Host::Claude), desk.place(Host::Codex));
    let config = desk.dirs.codex_config();
    assert_eq!(switch(&claude, None), Switch::On);
    desk.write(".claude/settings.json", "{\"disableAllHooks\": true} // off");
    assert_eq!(switch(&claude, None), Switch::Off("disableAllHooks"));
    let project = desk.dirs.place(Host::Codex, Scope::Project).unwrap();
    assert_eq!(
        (switch(&codex, config.as_deref()), switch(&project, config.as_deref())),
        (Switch::On, Switch::On)
    );
    let dir = desk.dir.path().join("project");
    desk.write(
        ".codex/config.toml",
        &format!("[projects.{:?}]\ntrust_level = \"untrusted\"\n", dir.display().to_string()),
    );
    assert_eq!(switch(&project, config.as_deref()), Switch::Untrusted);
    desk.write(".codex/config.toml", "[features]\nhooks = false\n");
    assert_eq!(switch(&codex, config.as_deref()), Switch::Off("features.hooks"));
}

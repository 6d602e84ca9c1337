//! What the settings say about hosts, as the hosts' own room takes it.

use super::Config;
use super::kind::Value;
use crate::hosts::{Guard, Host, HostSettings};
use fugato_model::{Code, Diagnostic, nearest, words};

/// The section of the settings.
const HOSTS: &str = "hosts";

impl Config {
    /// Everything that is set about a host.
    pub fn host_settings(&self, host: Host) -> HostSettings {
        let text = |field| match self.named_value(HOSTS, host.as_str(), field) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let names = text("env").unwrap_or_default();
        let names = names.split([',', ' ']).filter(|name| !name.is_empty());
        HostSettings {
            program: text("program").map_or_else(|| host.as_str().into(), Into::into),
            model: text("model"),
            guard: if text("guard").as_deref() == Some("off") { Guard::Off } else { Guard::Kept },
            env: names.map(str::to_owned).collect(),
        }
    }

    /// A host nobody knows is a slip of the pen, and what stands under it would silently not count.
    pub(super) fn check_hosts(&self, diagnostics: &mut Vec<Diagnostic>) {
        for entry in self.named().iter().filter(|entry| entry.section.name == HOSTS) {
            let name = &entry.name;
            if Host::parse(name).is_some() {
                continue;
            }
            let known = Host::ALL.map(Host::as_str);
            let list = known.map(|name| format!("`{name}`")).join(", ");
            let message = words!(
                "unknown host `{name}`, expected one of {list}",
                "未知的宿主 `{name}`，应为 {list} 之一"
            );
            let place = entry.origin.file.clone().unwrap_or_default();
            let diagnostic = Diagnostic::error(Code::F0402, place, message).field(entry.key());
            diagnostics.push(match nearest(name, known) {
                Some(near) => diagnostic.hint(words!("did you mean `{near}`?", "是否想写 `{near}`？")),
                None => diagnostic,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Places;

    fn load(user: &str, project: &str) -> (Config, Vec<Diagnostic>) {
        let dir = tempfile::tempdir().unwrap();
        let (home, root) = (dir.path().join("home"), dir.path().join("project"));
        for dir in [&home, &root] {
            std::fs::create_dir_all(dir).unwrap();
        }
        std::fs::write(home.join("config.toml"), user).unwrap();
        std::fs::write(root.join("fugato.toml"), project).unwrap();
        let places = Places { home, cwd: root, user_home: None };
        Config::load(&places, |_| None, &[])
    }

    #[test]
    fn a_person_says_which_program_runs_and_whether_it_is_guarded() {
        let user = "[hosts.claude]\nprogram = \"/opt/claude\"\nmodel = \"sonnet\"\nguard = \"off\"\nenv = \"A, B\"\n";
        let (config, problems) = load(user, "");
        assert!(problems.is_empty(), "{problems:?}");
        let settings = config.host_settings(Host::Claude);
        assert_eq!(
            (settings.program.to_str(), settings.model.as_deref()),
            (Some("/opt/claude"), Some("sonnet"))
        );
        assert_eq!((settings.guard, settings.env), (Guard::Off, vec!["A".to_owned(), "B".to_owned()]));
        let other = config.host_settings(Host::Codex);
        assert_eq!((other.program.to_str(), other.guard, other.env.len()), (Some("codex"), Guard::Kept, 0));
    }

    #[test]
    fn a_project_can_neither_name_a_program_nor_take_the_guard_away() {
        let project =
            "[hosts.codex]\nprogram = \"./evil\"\nguard = \"off\"\nenv = \"SECRET\"\nmodel = \"m\"\n";
        let (config, problems) = load("", project);
        let settings = config.host_settings(Host::Codex);
        assert_eq!(
            (settings.program.to_str(), settings.guard, settings.env.len()),
            (Some("codex"), Guard::Kept, 0)
        );
        assert_eq!(settings.model.as_deref(), Some("m"));
        assert_eq!(problems.len(), 3, "{problems:?}");
    }

    #[test]
    fn the_guides_settings_are_read_without_a_complaint() {
        let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/hosts.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        let shown = guide.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let (config, problems) = load(shown, "");
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(config.host_settings(Host::Claude).env, ["TEAM_KEY", "TEAM_REGION"]);
    }

    #[test]
    fn a_host_nobody_knows_is_told_with_the_one_that_was_meant() {
        let (_, problems) = load("[hosts.cloude]\nmodel = \"x\"\n", "");
        assert!(
            matches!(&problems[..], [one] if one.message.en.contains("unknown host `cloude`")),
            "{problems:?}"
        );
    }
}

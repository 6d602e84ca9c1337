//! What `doctor` says of hosts: which programs that can run an agent are there, in which version, and why one cannot be used.

use super::{Finding, Health};
use crate::app::App;
use fugato_model::{escape_for_terminal, words};
use fugato_runtime::hosts::{self, Found, Host, HostSettings, Lacking};

/// What was found, for each host.
pub struct Hosts(Vec<One>);

struct One {
    host: Host,
    settings: HostSettings,
    found: Result<Found, Lacking>,
    /// The variable that holds a key for it.
    key: Option<&'static str>,
}

/// Asks each program for its version, side by side; nothing else is started.
pub fn look(app: &App) -> Hosts {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let one = |host: Host| {
        let settings = app.config.host_settings(host);
        let env = hosts::environment(host, std::env::vars_os(), &settings.env);
        let variables: &[&'static str] = match host {
            Host::Claude => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            Host::Codex => &["OPENAI_API_KEY", "CODEX_API_KEY"],
        };
        let is_set = |name: &&&str| env.iter().any(|(key, value)| key == **name && !value.is_empty());
        let key = variables.iter().find(is_set).copied();
        (host, settings, env, key)
    };
    let ask = async |(host, settings, env, key): (Host, HostSettings, Vec<_>, _)| {
        let found = hosts::find(host, &settings.program, env).await;
        One { host, settings, found, key }
    };
    let all = match runtime {
        Ok(runtime) => {
            let (claude, codex) =
                runtime.block_on(async { tokio::join!(ask(one(Host::Claude)), ask(one(Host::Codex))) });
            vec![claude, codex]
        }
        Err(_) => Vec::new(),
    };
    Hosts(all)
}

impl Hosts {
    pub fn findings(&self) -> Vec<Finding> {
        let is_wanted = |one: &&One| one.found.is_ok() || !one.is_simply_absent();
        let mut findings: Vec<Finding> = self.0.iter().filter(is_wanted).map(One::finding).collect();
        let absent = self.0.iter().filter(|one| one.is_simply_absent());
        let (titles, names): (Vec<&str>, Vec<&str>) =
            absent.map(|one| (one.host.title(), one.host.as_str())).unzip();
        if !titles.is_empty() {
            let (en, zh, name) = (titles.join(", "), titles.join("、"), names.join(", "));
            let words = words!(
                "not installed: {en} (agents run in fugato's own loop; only `--agent-host` needs {name})",
                "未安装：{zh}（智能体由 fugato 自己运行；仅 `--agent-host` 需要 {name}）"
            );
            findings.push(Finding { name: "hosts", health: Health::Ok, words });
        }
        findings
    }

    pub fn document(&self) -> serde_json::Value {
        let items = self.0.iter().map(|one| {
            let (found, why) = match &one.found {
                Ok(found) => (Some(found), None),
                Err(Lacking::TooOld { found, words }) => (Some(found), Some(words)),
                Err(lacking) => (None, Some(lacking.words())),
            };
            serde_json::json!({
                "name": one.host.as_str(),
                "usable": one.found.is_ok(),
                "program": found.map(|found| found.program.to_string_lossy()),
                "version": found.map(|found| found.version.to_string()),
                "key": one.key,
                "why": why.map(|words| &words.en),
            })
        });
        items.collect::<Vec<_>>().into()
    }
}

impl One {
    /// Not there, and nobody said that it should be.
    fn is_simply_absent(&self) -> bool {
        matches!(self.found, Err(Lacking::Missing(_))) && self.settings.program == self.host.as_str()
    }

    fn finding(&self) -> Finding {
        let found = match &self.found {
            Ok(found) => found,
            Err(lacking) => {
                return Finding { name: "host", health: Health::Warning, words: lacking.words().clone() };
            }
        };
        let (title, name, version) = (self.host.title(), self.host.as_str(), found.version);
        let program = escape_for_terminal(&found.program.to_string_lossy()).into_owned();
        let words = match self.key {
            Some(key) => words!(
                "{title} {version} can run agents (`--agent-host {name}`): {program}, key in {key}",
                "{title} {version} 可以运行智能体（`--agent-host {name}`）：{program}，密钥在 {key} 中"
            ),
            None => words!(
                "{title} {version} can run agents (`--agent-host {name}`): {program}; no key in the environment, so its own login is used",
                "{title} {version} 可以运行智能体（`--agent-host {name}`）：{program}；环境中没有密钥，使用其自己的登录"
            ),
        };
        Finding { name: "host", health: Health::Ok, words }
    }
}

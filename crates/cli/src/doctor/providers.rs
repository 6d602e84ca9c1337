//! What `doctor` says of models: which one a run would use and why, whose key is where, which servers answer. Keys are named
//! by their variable, never shown.

use super::{Finding, Health};
use crate::app::App;
use fugato_model::{Words, words};
use fugato_runtime::models::{Chosen, KeyReport, LocalServer, NoModel, ProviderReport, Why};

/// What was found.
pub struct Found {
    chosen: Result<Chosen, NoModel>,
    /// Where the setting comes from, when the model was set.
    set_by: Option<String>,
    providers: Vec<ProviderReport>,
    running: Vec<(LocalServer, String)>,
}

/// Asks this machine's servers (less than a second), and nobody else.
pub fn look(app: &App) -> Found {
    let models = crate::runs::models(app);
    let set_by = app.config.get("model").and_then(|entry| {
        let place = entry.origin.file.clone()?;
        Some(entry.origin.line.map_or_else(|| place.clone(), |line| format!("{place}:{line}")))
    });
    Found { chosen: models.choose(), set_by, providers: models.report(), running: models.running_servers() }
}

impl Found {
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = vec![self.default_model()];
        let worth_a_line = |provider: &&ProviderReport| {
            provider.is_set || matches!(provider.key, KeyReport::Variable(_) | KeyReport::Command)
        };
        findings.extend(self.providers.iter().filter(worth_a_line).map(provider));
        findings.extend(self.running.iter().map(|(server, model)| {
            let (name, address) = (&server.provider, server.address);
            let words =
                words!("`{name}` answers at {address}: {model}", "`{name}` 在 {address} 可用：{model}");
            Finding { name: "local-server", health: Health::Ok, words }
        }));
        findings.push(self.without_key());
        findings
    }

    fn default_model(&self) -> Finding {
        let (health, words) = match &self.chosen {
            Ok(Chosen { model, why }) => (Health::Ok, default_words(model, why, self.set_by.as_deref())),
            Err(_) => (
                Health::Warning,
                words!(
                    "no model: set a key (export ANTHROPIC_API_KEY=…), start a local server, or use --model script:FILE or echo; \
                     `fugato demo` needs none",
                    "没有模型：设置密钥（export ANTHROPIC_API_KEY=…）、启动本地服务，或使用 --model script:文件 或 echo；\
                     `fugato demo` 不需要模型"
                ),
            ),
        };
        Finding { name: "model", health, words }
    }

    /// The providers one could have, in one line.
    fn without_key(&self) -> Finding {
        let missing = self.providers.iter().filter(|provider| !provider.is_set);
        let names: Vec<String> = missing
            .filter_map(|provider| match &provider.key {
                KeyReport::Missing(variables) => {
                    Some(format!("{} ({})", provider.name, variables.first().map_or("", String::as_str)))
                }
                _ => None,
            })
            .collect();
        let list = names.join(", ");
        let words = if names.is_empty() {
            words!("every known provider has a key", "所有已知提供方都有密钥")
        } else {
            words!("without a key: {list}", "没有密钥：{list}")
        };
        Finding { name: "providers", health: Health::Ok, words }
    }

    pub fn document(&self) -> serde_json::Value {
        let (default, why) = match &self.chosen {
            Ok(Chosen { model, why }) => (
                Some(model),
                Some(match why {
                    Why::Set => "set",
                    Why::Key(_) => "key",
                    Why::Running { .. } => "running",
                }),
            ),
            Err(_) => (None, None),
        };
        let providers: Vec<_> = self
            .providers
            .iter()
            .map(|provider| {
                let (key, variables) = match &provider.key {
                    KeyReport::NotNeeded => ("not_needed", Vec::new()),
                    KeyReport::Missing(variables) => ("missing", variables.clone()),
                    KeyReport::Variable(variable) => ("variable", vec![variable.clone()]),
                    KeyReport::Command => ("command", Vec::new()),
                };
                serde_json::json!({
                    "name": provider.name, "api": provider.api.as_str(), "address": provider.address,
                    "key": key, "variables": variables, "set": provider.is_set,
                })
            })
            .collect();
        let running: Vec<_> = self
            .running
            .iter()
            .map(|(server, model)| {
                serde_json::json!({
                    "provider": server.provider, "address": server.address.to_string(), "model": model,
                })
            })
            .collect();
        serde_json::json!({"default": default, "why": why, "providers": providers, "running": running})
    }
}

fn default_words(model: &str, why: &Why, set_by: Option<&str>) -> Words {
    let model = fugato_model::escape_for_terminal(model);
    match why {
        Why::Set => {
            let place = set_by.unwrap_or("FUGATO_MODEL");
            words!("model {model}: set in {place}", "模型 {model}：由 {place} 设定")
        }
        Why::Key(key) => {
            let (en, zh) = key_words(key);
            words!(
                "model {model}: the first provider with a key ({en})",
                "模型 {model}：第一个有密钥的提供方（{zh}）"
            )
        }
        Why::Running { address } => {
            words!("model {model}: a server answers at {address}", "模型 {model}：{address} 上有服务")
        }
    }
}

fn provider(provider: &ProviderReport) -> Finding {
    let (en, zh) = key_words(&provider.key);
    let (name, address, api) = (&provider.name, &provider.address, provider.api.as_str());
    let has_address = !address.is_empty();
    let health = match &provider.key {
        KeyReport::Missing(_) => Health::Warning,
        _ if !has_address => Health::Warning,
        _ => Health::Ok,
    };
    let shown = if has_address { address.as_str() } else { "—" };
    let words =
        words!("provider `{name}` ({api}) at {shown}: {en}", "提供方 `{name}`（{api}）位于 {shown}：{zh}");
    Finding { name: "provider", health, words }
}

fn key_words(key: &KeyReport) -> (String, String) {
    let both = |en: String, zh: String| (en, zh);
    match key {
        KeyReport::NotNeeded => both("no key is sent".into(), "不发送密钥".into()),
        KeyReport::Command => both("key from a command".into(), "密钥来自命令".into()),
        KeyReport::Variable(variable) => both(format!("key in {variable}"), format!("密钥在 {variable} 中")),
        KeyReport::Missing(variables) => {
            let list = variables.join(" / ");
            both(format!("no key in {list}"), format!("{list} 中没有密钥"))
        }
    }
}

//! Which model is used when nobody names one, and why; and what can be said of every provider without asking it.

use super::built_in::{BUILT_IN, usual};
use super::endpoint::{Api, Endpoint};
use super::local::LocalServer;
use super::registry::Models;
use super::secret::KeySource;
use fugato_model::{Code, Words, words};

/// The model of runs that name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub model: String,
    pub why: Why,
}

/// Why a model was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Somebody set it: in the environment or in a file.
    Set,
    /// The first provider that has a key.
    Key(KeyReport),
    /// A server on this machine.
    Running { address: String },
}

/// What is known of a provider. Nothing of a key but where it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderReport {
    pub name: String,
    pub api: Api,
    /// Empty: none is known.
    pub address: String,
    pub key: KeyReport,
    /// Whether a person set something about it.
    pub is_set: bool,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyReport {
    NotNeeded,
    /// It would be looked for in these variables.
    Missing(Vec<String>),
    Variable(String),
    Command,
}

/// No model is configured and none was found; the words name three ways to get one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .words.en)]
pub struct NoModel {
    pub code: Code,
    pub words: Words,
}

impl Models {
    /// The model to use when nobody says one: the configured one; else that of the first provider with a key; else the
    /// first model of a server on this machine (asking takes less than a second, and happens only then).
    pub fn choose(&self) -> Result<Chosen, NoModel> {
        if let Some(model) = &self.inner.settings.default {
            let model = usual(model).unwrap_or_else(|| model.clone());
            return Ok(Chosen { model, why: Why::Set });
        }
        let with_key = BUILT_IN.iter().find_map(|built_in| {
            let endpoint = self.inner.endpoints.get(built_in.name)?;
            let model = usual(built_in.name).filter(|_| endpoint.key.is_given())?;
            Some(Chosen { model, why: Why::Key(endpoint.key_report()) })
        });
        if let Some(chosen) = with_key {
            return Ok(chosen);
        }
        let (server, model) = self.running_servers().into_iter().next().ok_or_else(no_model)?;
        Ok(Chosen { model, why: Why::Running { address: server.address.to_string() } })
    }

    /// The name of [`Models::choose`] alone.
    pub fn default_model(&self) -> Result<String, NoModel> {
        self.choose().map(|chosen| chosen.model)
    }

    /// Servers on this machine that answer now: those a person set, then those on well-known ports.
    pub fn running_servers(&self) -> Vec<(LocalServer, String)> {
        let own = self.inner.endpoints.values().filter_map(Endpoint::as_local_server);
        let mut servers: Vec<LocalServer> = own.collect();
        for known in &self.inner.settings.local_servers {
            if servers.iter().all(|server| server.address != known.address) {
                servers.push(known.clone());
            }
        }
        LocalServer::running(&servers)
    }

    /// Every provider that is reached by a name with a slash, in the order in which a key decides, own ones after them.
    pub fn report(&self) -> Vec<ProviderReport> {
        let place = |name: &str| BUILT_IN.iter().position(|built_in| built_in.name == name);
        let mut all: Vec<&Endpoint> = self.inner.endpoints.values().collect();
        all.sort_by_key(|endpoint| place(&endpoint.name).unwrap_or(usize::MAX));
        let report = |endpoint: &Endpoint| ProviderReport {
            name: endpoint.name.clone(),
            api: endpoint.api,
            // What stands before an `@` is a user and a password.
            address: match (endpoint.base.split_once("://"), endpoint.base.rsplit_once('@')) {
                (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
                _ => endpoint.base.clone(),
            },
            key: endpoint.key_report(),
            is_set: endpoint.is_set,
        };
        all.into_iter().map(report).collect()
    }
}

impl Endpoint {
    fn key_report(&self) -> KeyReport {
        match &self.key {
            KeySource::NotNeeded => KeyReport::NotNeeded,
            KeySource::Missing(variables) => KeyReport::Missing(variables.clone()),
            KeySource::Given { variable, .. } => KeyReport::Variable(variable.clone()),
            KeySource::Command { .. } => KeyReport::Command,
        }
    }

    /// A server on this machine at an address that somebody gave, without a key.
    fn as_local_server(&self) -> Option<LocalServer> {
        let list = match self.api {
            Api::Chat | Api::Responses => "/models",
            Api::Ollama => "/api/tags",
            Api::Anthropic | Api::Gemini => return None,
        };
        if self.base_is_vendors || self.key.is_given() {
            return None;
        }
        let rest = self.base.strip_prefix("http://")?;
        let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
        let host = host.replace("localhost", "127.0.0.1");
        let address: std::net::SocketAddr = host.parse().ok()?;
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        address.ip().is_loopback().then(|| LocalServer {
            provider: self.name.clone(),
            address,
            list_path: format!("{path}{list}"),
        })
    }
}

fn no_model() -> NoModel {
    NoModel {
        code: Code::F0603,
        words: words!(
            "no model is configured. Three ways to get one:\n\
             1. a key: export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY)\n\
             2. a local server: ollama serve, then --model ollama/NAME (or export FUGATO_OPENAI_COMPATIBLE_URL=…)\n\
             3. no model at all: --model script:FILE or --model echo\n\
             `fugato demo` needs none.",
            "没有配置模型。有三种办法：\n\
             1. 密钥：export ANTHROPIC_API_KEY=…（或 OPENAI_API_KEY、GEMINI_API_KEY）\n\
             2. 本地服务：ollama serve，然后 --model ollama/名称（或 export FUGATO_OPENAI_COMPATIBLE_URL=…）\n\
             3. 不用模型：--model script:文件 或 --model echo\n\
             `fugato demo` 不需要模型。"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{ModelSettings, ProviderSettings};
    use std::ffi::OsString;
    use std::io::{Read as _, Write as _};

    fn models(env: &[(&str, &str)], providers: &[(&str, ProviderSettings)]) -> Models {
        let find =
            |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let providers = providers.iter().map(|(name, own)| ((*name).to_owned(), own.clone())).collect();
        let settings = ModelSettings { local_servers: Vec::new(), providers, ..ModelSettings::default() };
        Models::from_env(&find, settings)
    }

    #[test]
    fn the_first_key_decides_and_says_so() {
        let chosen = models(&[("GEMINI_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "k")], &[]).choose().unwrap();
        assert!(chosen.model.starts_with("anthropic/"));
        assert_eq!(chosen.why, Why::Key(KeyReport::Variable("ANTHROPIC_AUTH_TOKEN".into())));
        let chosen = models(&[("FUGATO_MODEL", "gemini")], &[]).choose().unwrap();
        assert_eq!((chosen.model.as_str(), chosen.why), ("gemini/gemini-3.8-flash", Why::Set));
    }

    #[test]
    fn an_own_server_on_this_machine_is_found_without_a_name() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = Some(format!("http://localhost:{}", listener.local_addr().unwrap().port()));
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 512];
            let read = stream.read(&mut head).unwrap();
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"m\"}]}").unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        });
        let own = ProviderSettings { base_url, ..ProviderSettings::default() };
        let chosen = models(&[], &[("mine", own)]).choose().unwrap();
        assert_eq!(chosen.model, "mine/m");
        assert!(asked.join().unwrap().starts_with("GET /v1/models "));
    }

    #[test]
    fn a_report_names_variables_and_never_values() {
        let own = ProviderSettings {
            key_env: Some("TEAM".into()),
            base_url: Some("http://me:canary@x.example/v1".into()),
            ..ProviderSettings::default()
        };
        let missing = ProviderSettings { key_env: Some("NOT_THERE".into()), ..ProviderSettings::default() };
        let all =
            models(&[("TEAM", "canary"), ("OPENAI_API_KEY", "canary")], &[("team", own), ("other", missing)]);
        let report = all.report();
        let of = |name: &str| report.iter().find(|provider| provider.name == name).unwrap();
        assert_eq!(of("team").key, KeyReport::Variable("TEAM".into()));
        assert_eq!(of("other").key, KeyReport::Missing(vec!["NOT_THERE".into()]));
        assert_eq!(of("openai").key, KeyReport::Variable("OPENAI_API_KEY".into()));
        assert!(of("team").is_set && !of("openai").is_set);
        assert!(!format!("{report:?}").contains("canary"), "{report:?}");
        assert_eq!(report.first().unwrap().name, "anthropic");
    }
}

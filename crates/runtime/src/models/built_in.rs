//! The providers that are built in, and how their addresses and keys are found.

use super::endpoint::{Api, Endpoint, NativeTools, ProviderSettings};
use super::limiter::Limiter;
use super::prefix_gate::PrefixGate;
use super::secret::{KeySource, Secret};
use std::ffi::OsString;
use std::sync::atomic::AtomicU64;

/// The environment, handed in.
pub(super) type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A provider that is built in.
pub(super) struct BuiltIn {
    pub name: &'static str,
    api: Api,
    base: &'static str,
    base_env: &'static [&'static str],
    key_env: &'static [&'static str],
    needs_key: bool,
    pub usual_model: Option<&'static str>,
}

/// In the order in which a key decides the default.
pub(super) const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "anthropic",
        api: Api::Anthropic,
        base: "https://api.anthropic.com",
        base_env: &["ANTHROPIC_BASE_URL"],
        key_env: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        needs_key: true,
        usual_model: Some("claude-sonnet-5-5"),
    },
    BuiltIn {
        name: "openai",
        api: Api::Responses,
        base: "https://api.openai.com/v1",
        base_env: &["OPENAI_BASE_URL"],
        key_env: &["OPENAI_API_KEY"],
        needs_key: true,
        usual_model: Some("gpt-6-sol"),
    },
    BuiltIn {
        name: "gemini",
        api: Api::Gemini,
        base: "https://generativelanguage.googleapis.com",
        base_env: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        needs_key: true,
        usual_model: Some("gemini-3.8-flash"),
    },
    BuiltIn {
        name: "openai-chat",
        api: Api::Chat,
        base: "https://api.openai.com/v1",
        base_env: &["OPENAI_BASE_URL"],
        key_env: &["OPENAI_API_KEY"],
        needs_key: true,
        usual_model: None,
    },
    BuiltIn {
        name: "openrouter",
        api: Api::Chat,
        base: "https://openrouter.ai/api/v1",
        base_env: &[],
        key_env: &["OPENROUTER_API_KEY"],
        needs_key: true,
        usual_model: None,
    },
    server("openai-compatible", "", &["FUGATO_OPENAI_COMPATIBLE_URL"], &["FUGATO_OPENAI_COMPATIBLE_KEY"]),
    server("lmstudio", "http://127.0.0.1:1234/v1", &[], &[]),
    server("llamacpp", "http://127.0.0.1:8080/v1", &[], &[]),
    server("vllm", "http://127.0.0.1:8000/v1", &[], &["VLLM_API_KEY"]),
    BuiltIn {
        name: "ollama",
        api: Api::Ollama,
        base: "http://127.0.0.1:11434",
        base_env: &["OLLAMA_HOST"],
        key_env: &["OLLAMA_API_KEY"],
        needs_key: false,
        usual_model: None,
    },
];

/// A server that speaks Chat Completions and needs no key.
pub(super) const fn server(
    name: &'static str,
    base: &'static str,
    base_env: &'static [&'static str],
    key_env: &'static [&'static str],
) -> BuiltIn {
    BuiltIn { name, api: Api::Chat, base, base_env, key_env, needs_key: false, usual_model: None }
}

impl BuiltIn {
    pub fn endpoint(&self, env: Env<'_>, own: &ProviderSettings) -> Endpoint {
        let from_env = || self.base_env.iter().find_map(|name| text(env, name));
        let given = own.base_url.clone().or_else(from_env);
        let base_is_vendors = given.is_none();
        let api = own.api.unwrap_or(self.api);
        let base = given.map_or_else(|| self.base.to_owned(), |base| address(api, &base));
        Endpoint {
            name: self.name.to_owned(),
            api,
            base,
            base_is_vendors,
            key: self.key(env, own, base_is_vendors),
            headers: own.headers.clone(),
            native_tools: own.native_tools.or_from(env, self.name),
            is_set: *own != ProviderSettings::default(),
            limiter: Limiter::default(),
            prefixes: PrefixGate::default(),
            requests: AtomicU64::new(0),
            unknown_frames: AtomicU64::new(0),
            replaced_ids: AtomicU64::new(0),
        }
    }

    fn key(&self, env: Env<'_>, own: &ProviderSettings, base_is_vendors: bool) -> KeySource {
        if let Some(command) = &own.key_command {
            return KeySource::command(command.clone());
        }
        if let Some(variable) = &own.key_env {
            return match text(env, variable).and_then(|key| Secret::new(&key)) {
                Some(secret) => KeySource::Given { secret, variable: variable.clone() },
                None => KeySource::Missing(vec![variable.clone()]),
            };
        }
        let found = self.key_env.iter().find_map(|name| {
            let key = text(env, name)?;
            // A token is sent as a bearer, a key in its own header.
            let is_token = *name == "ANTHROPIC_AUTH_TOKEN";
            let secret = Secret::new(&if is_token { format!("Bearer {}", key.trim()) } else { key })?;
            Some(KeySource::Given { secret, variable: (*name).to_owned() })
        });
        match found {
            Some(given) => given,
            None if self.needs_key && base_is_vendors => {
                KeySource::Missing(self.key_env.iter().map(|name| (*name).to_owned()).collect())
            }
            None => KeySource::NotNeeded,
        }
    }
}

/// An address as people write it.
fn address(api: Api, given: &str) -> String {
    let given = given.trim().trim_end_matches('/');
    let with_scheme = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
    match api {
        Api::Ollama => {
            // What the server listens on is not always what a client can connect to.
            let address = with_scheme.replace("://0.0.0.0", "://127.0.0.1").replace("://:", "://127.0.0.1:");
            let rest = address.split_once("://").map_or("", |(_, rest)| rest);
            let has_port = rest.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
            if has_port || address.starts_with("https:") { address } else { format!("{address}:11434") }
        }
        Api::Chat | Api::Responses if with_scheme.matches('/').count() == 2 => {
            format!("{with_scheme}/v1")
        }
        _ => with_scheme,
    }
}

impl NativeTools {
    /// `FUGATO_OPENAI_COMPATIBLE_TOOLS=no` says it for the one server that is configured by variables alone.
    fn or_from(self, env: Env<'_>, provider: &str) -> Self {
        let said =
            (provider == "openai-compatible").then(|| text(env, "FUGATO_OPENAI_COMPATIBLE_TOOLS")).flatten();
        match said.as_deref() {
            Some("no" | "0" | "false" | "off") => Self::No,
            _ => self,
        }
    }
}

pub(super) fn text(env: Env<'_>, name: &str) -> Option<String> {
    env(name)?.into_string().ok().filter(|value| !value.trim().is_empty())
}

/// Whether a key in the environment would be sent to this provider.
pub(crate) fn takes_a_key(provider: &str) -> bool {
    BUILT_IN.iter().any(|built_in| built_in.name == provider && !built_in.key_env.is_empty())
}

/// The usual model of a provider that was named alone.
pub(super) fn usual(provider: &str) -> Option<String> {
    let built_in = BUILT_IN.iter().find(|built_in| built_in.name == provider)?;
    built_in.usual_model.map(|model| format!("{provider}/{model}"))
}

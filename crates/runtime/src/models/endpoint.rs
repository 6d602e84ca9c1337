//! Where a provider is reached and how it is spoken to.

use super::collect::Decode;
use super::error::ModelError;
use super::frames::Framing;
use super::limiter::Limiter;
use super::prefix_gate::PrefixGate;
use super::secret::{KeySource, Secret};
use super::{ModelRequest, action, anthropic, chat, gemini, ollama, responses};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What a person may set for a provider. A name that is not built in becomes a server of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSettings {
    pub base_url: Option<String>,
    /// What the server speaks, when that is not what its name says; a server of their own speaks Chat Completions.
    pub api: Option<Api>,
    /// The variable that holds the key, instead of the provider's usual one.
    pub key_env: Option<String>,
    /// A command that prints the key.
    pub key_command: Option<String>,
    /// Further headers of every request.
    pub headers: BTreeMap<String, String>,
    pub native_tools: NativeTools,
}

/// Whether the models of a server can call tools by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NativeTools {
    #[default]
    Yes,
    /// They answer with an action object by JSON Schema instead.
    No,
}

/// How long and how much a call may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLimits {
    pub connect: Duration,
    /// Until the response begins.
    pub first_byte: Duration,
    /// Between two whole frames: bytes that never make a frame are no sign of life.
    pub idle: Duration,
    /// For the whole call: a server that sends pings for ever is ended here.
    pub total: Duration,
    /// Of one response. Far above any real answer (128,000 tokens are about 30 MB of events).
    pub body_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(60 * 60),
            body_bytes: 64 * 1024 * 1024,
        }
    }
}

/// What servers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Anthropic,
    Responses,
    Chat,
    Gemini,
    Ollama,
}

impl Api {
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Anthropic, Self::Responses, Self::Chat, Self::Gemini, Self::Ollama]
            .into_iter()
            .find(|api| api.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "openai-responses",
            Self::Chat => "openai-chat",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}

pub(super) struct Endpoint {
    pub name: String,
    pub api: Api,
    /// Without a slash at its end.
    pub base: String,
    pub base_is_vendors: bool,
    pub key: KeySource,
    pub headers: BTreeMap<String, String>,
    pub native_tools: NativeTools,
    /// Whether a person set something about it.
    pub is_set: bool,
    pub limiter: Limiter,
    pub prefixes: PrefixGate,
    pub requests: AtomicU64,
    pub unknown_frames: AtomicU64,
    pub replaced_ids: AtomicU64,
}

/// A request ready to be sent, and the reader of its response.
pub(super) struct Outgoing {
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub framing: Framing,
    pub decoder: Box<dyn Decode>,
}

impl Endpoint {
    /// Writes a request in the provider's own format.
    pub fn write(&self, request: &ModelRequest<'_>, key: Option<&Secret>) -> Result<Outgoing, ModelError> {
        match self.api {
            Api::Anthropic => Ok(anthropic::request(self, request, key)),
            Api::Responses => Ok(responses::request(self, request, key)),
            Api::Chat if self.uses_actions(request) => Ok(action::request(self, request, key)),
            Api::Chat => Ok(chat::request(self, request, key)),
            Api::Gemini => gemini::request(self, request, key),
            Api::Ollama => Ok(ollama::request(self, request, key)),
        }
    }

    /// Whether tools are offered as an action object.
    pub fn uses_actions(&self, request: &ModelRequest<'_>) -> bool {
        self.api == Api::Chat && self.native_tools == NativeTools::No && !request.tools.is_empty()
    }

    /// Whether the server keeps the beginnings of prompts, so that a second request with the same one is cheaper.
    pub fn caches_prefixes(&self) -> bool {
        match self.api {
            Api::Anthropic | Api::Responses | Api::Gemini => true,
            // A server that anybody runs may cache, but charges nothing for what it does not.
            Api::Chat => self.base_is_vendors && self.key.is_given(),
            Api::Ollama => false,
        }
    }

    pub fn bearer(key: Option<&Secret>) -> Option<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {}", key.expose())))
    }
}

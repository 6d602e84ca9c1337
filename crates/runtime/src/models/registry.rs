//! Which models there are: built once from settings and the environment, then asked by name (`provider/name`).

use super::built_in::{BUILT_IN, Env, server, text, usual};
use super::collect::{Collector, Delta};
use super::endpoint::{CallLimits, Endpoint, ProviderSettings};
use super::error::ModelError;
use super::http::{self, Http};
use super::limiter::{Limiter, RetrySettings};
use super::local::LocalServer;
use super::price::{self, Price};
use super::replay::{self, Recorded};
use super::script::{self, Script};
use super::secret::{KeySource, Secret};
use super::{ModelRequest, action, echo};
use fugato_model::chat::{Answer, ModelFault};
use fugato_model::{Code, Words, nearest, words};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a person set about models.
#[derive(Clone)]
pub struct ModelSettings {
    /// `provider/name`, or a provider alone for its usual model. `FUGATO_MODEL` comes before it.
    pub default: Option<String>,
    pub providers: BTreeMap<String, ProviderSettings>,
    pub limits: CallLimits,
    pub retries: RetrySettings,
    /// Own prices by `provider/name`.
    pub prices: BTreeMap<String, Price>,
    /// Servers to look for when nothing is configured.
    pub local_servers: Vec<LocalServer>,
    /// Where the paths of scripts begin.
    pub script_dir: Option<PathBuf>,
    pub recorded: Option<Arc<dyn Recorded>>,
    /// Told every key as soon as it is known, before it is used: whoever writes anything down removes it there.
    pub on_key: Option<OnKey>,
}

/// Takes a key that must appear nowhere.
pub type OnKey = Arc<dyn Fn(&str) + Send + Sync>;

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            default: None,
            providers: BTreeMap::new(),
            limits: CallLimits::default(),
            retries: RetrySettings::default(),
            prices: BTreeMap::new(),
            local_servers: LocalServer::well_known(),
            script_dir: None,
            recorded: None,
            on_key: None,
        }
    }
}

impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { default, providers, limits, retries, prices, local_servers, script_dir, .. } = self;
        f.debug_struct("ModelSettings")
            .field("default", default)
            .field("providers", providers)
            .field("limits", limits)
            .field("retries", retries)
            .field("prices", prices)
            .field("local_servers", local_servers)
            .field("script_dir", script_dir)
            .finish_non_exhaustive()
    }
}

/// What was seen of a provider since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub requests: u64,
    /// Frames nobody knows: a provider has something new.
    pub unknown_frames: u64,
    /// Tool call ids that were missing, doubled or unusable.
    pub replaced_ids: u64,
}

/// All models. Cheap to clone.
#[derive(Clone)]
pub struct Models {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) endpoints: BTreeMap<String, Endpoint>,
    pub(super) settings: ModelSettings,
    http: Arc<Http>,
    scripts: Mutex<HashMap<PathBuf, Arc<Script>>>,
    /// The gate of scripted, echoing and replayed models.
    gate: Limiter,
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("providers", &self.inner.endpoints.keys()).finish_non_exhaustive()
    }
}

/// What a model's name means.
enum Target<'a> {
    Endpoint(&'a Endpoint, &'a str),
    Script(PathBuf),
    Echo,
    Replay(&'a str),
}

impl Models {
    /// Reads keys and addresses from the environment, once.
    pub fn from_env(env: Env<'_>, mut settings: ModelSettings) -> Self {
        let mut endpoints = BTreeMap::new();
        for built_in in BUILT_IN {
            let own = settings.providers.get(built_in.name).cloned().unwrap_or_default();
            endpoints.insert(built_in.name.to_owned(), built_in.endpoint(env, &own));
        }
        for (name, own) in &settings.providers {
            if !endpoints.contains_key(name) {
                let other = server("", "", &[], &[]);
                let endpoint = Endpoint { name: name.clone(), ..other.endpoint(env, own) };
                endpoints.insert(name.clone(), endpoint);
            }
        }
        settings.default = text(env, "FUGATO_MODEL").or(settings.default);
        if let Some(tell) = &settings.on_key {
            endpoints.values().for_each(|endpoint| endpoint.tell_secrets(&**tell));
        }
        let (http, scripts, gate) = (Arc::default(), Mutex::default(), Limiter::default());
        Self { inner: Arc::new(Inner { endpoints, settings, http, scripts, gate }) }
    }

    /// Uses connections made before: a test makes hundreds of these, and reading the system's certificates takes time.
    #[cfg(test)]
    pub(super) fn connected_by(self, http: Arc<Http>) -> Self {
        let Some(inner) = Arc::into_inner(self.inner) else { panic!("already shared") };
        Self { inner: Arc::new(Inner { http, ..inner }) }
    }

    /// Calls a model once. Nothing is tried again; see [`call_with_retries`](super::call_with_retries). Dropping the
    /// future aborts the request.
    pub async fn call(
        &self,
        model: &str,
        mut request: ModelRequest<'_>,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        let alone = usual(model);
        match self.resolve(alone.as_deref().unwrap_or(model))? {
            Target::Echo => echo::answer(&request, on_delta),
            Target::Replay(run) => {
                replay::answer(self.inner.settings.recorded.as_deref(), run, &request.about)
            }
            Target::Script(path) => {
                let script = self.script(path)?;
                script::answer(&script, &request, on_delta).await
            }
            Target::Endpoint(endpoint, name) => {
                request.model = name;
                self.call_endpoint(endpoint, &request, on_delta).await
            }
        }
    }

    /// Whether a name means a model, as far as can be said without asking it.
    pub fn check(&self, model: &str) -> Result<(), ModelError> {
        let alone = usual(model);
        self.resolve(alone.as_deref().unwrap_or(model)).map(drop)
    }

    /// Asks the command that prints a model's key, if there is one, so that it is told before anything else happens. What
    /// goes wrong is said by the first call.
    pub async fn learn_key(&self, model: &str) {
        if let (Some(endpoint), Some(tell)) = (self.with_key_command(model), &self.inner.settings.on_key)
            && let Ok(Some(key)) = endpoint.key.get(&endpoint.name).await
        {
            tell(key.bare());
        }
    }

    /// Whether a model's key comes from a command.
    pub fn has_key_command(&self, model: &str) -> bool {
        self.with_key_command(model).is_some()
    }

    fn with_key_command(&self, model: &str) -> Option<&Endpoint> {
        let provider = model.split('/').next().unwrap_or_default();
        self.inner
            .endpoints
            .get(provider)
            .filter(|endpoint| matches!(endpoint.key, KeySource::Command { .. }))
    }

    /// What an answer costs, in billionths of a US dollar; `None` is unknown, not free.
    pub fn price(&self, model: &str) -> Option<Price> {
        let alone = usual(model);
        price::price_of(alone.as_deref().unwrap_or(model), &self.inner.settings.prices)
    }

    /// What a call may cost at most per token: the dearest way its input can be counted.
    pub fn rate(&self, model: &str) -> Option<fugato_engine::Rate> {
        let price = self.price(model)?;
        Some(fugato_engine::Rate {
            input_nano_usd: price.input.max(price.cache_write),
            output_nano_usd: price.output,
        })
    }

    pub fn counters(&self, provider: &str) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.inner.endpoints.get(provider).map_or_else(Counters::default, |endpoint| Counters {
            requests: read(&endpoint.requests),
            unknown_frames: read(&endpoint.unknown_frames),
            replaced_ids: read(&endpoint.replaced_ids),
        })
    }

    /// The names of all providers that are reached by a name with a slash.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.inner.endpoints.keys().map(String::as_str)
    }

    pub(super) fn limiter(&self, model: &str) -> &Limiter {
        let provider = model.split_once('/').map_or(model, |(provider, _)| provider);
        self.inner.endpoints.get(provider).map_or(&self.inner.gate, |endpoint| &endpoint.limiter)
    }

    pub(super) fn retry_settings(&self) -> &RetrySettings {
        &self.inner.settings.retries
    }

    async fn call_endpoint(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest<'_>,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        let key = endpoint.key.get(&endpoint.name).await?;
        if let (Some(key), Some(tell)) = (&key, &self.inner.settings.on_key) {
            tell(key.bare());
        }
        let turn = endpoint.prefixes.enter(endpoint, request).await;
        let mut first = |delta| {
            turn.began();
            on_delta(delta);
        };
        let result = self.exchange(endpoint, request, key.as_ref(), &mut first).await;
        if result.is_ok() {
            turn.began();
        }
        match result {
            Ok(answer) => Ok(answer),
            Err(mut error) => {
                if error.fault == ModelFault::Unauthorized {
                    endpoint.key.forget().await;
                }
                // Providers repeat what they were sent; a key must not travel on in an error.
                if let Some(key) = &key {
                    error.words = Words { en: key.redact(&error.words.en), zh: key.redact(&error.words.zh) };
                }
                Err(error)
            }
        }
    }

    async fn exchange(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest<'_>,
        key: Option<&Secret>,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        if endpoint.base.is_empty() {
            return Err(no_address(&endpoint.name));
        }
        let outgoing = endpoint.write(request, key)?;
        endpoint.requests.fetch_add(1, Ordering::Relaxed);
        let limits = &self.inner.settings.limits;
        if endpoint.uses_actions(request) {
            let mut hidden = |delta| action::hide(delta, on_delta);
            let mut out = Collector::new(request, &mut hidden);
            let done = http::perform(&self.inner.http, limits, endpoint, outgoing, &mut out).await;
            let answer = endpoint.finish(done, &mut out)?;
            return action::interpret(request, answer, on_delta);
        }
        let mut out = Collector::new(request, on_delta);
        let done = http::perform(&self.inner.http, limits, endpoint, outgoing, &mut out).await;
        endpoint.finish(done, &mut out)
    }

    fn resolve<'a>(&'a self, model: &'a str) -> Result<Target<'a>, ModelError> {
        if model == "echo" {
            return Ok(Target::Echo);
        }
        if let Some(run) = model.strip_prefix("replay:") {
            return Ok(Target::Replay(run));
        }
        if let Some(path) = model.strip_prefix("script:") {
            let path = PathBuf::from(path);
            return Ok(Target::Script(match &self.inner.settings.script_dir {
                Some(dir) => dir.join(path),
                None => path,
            }));
        }
        let parts = model.split_once('/').filter(|(_, name)| !name.is_empty());
        let found = parts.and_then(|(provider, name)| Some((self.inner.endpoints.get(provider)?, name)));
        found.map(|(endpoint, name)| Target::Endpoint(endpoint, name)).ok_or_else(|| self.unknown(model))
    }

    fn unknown(&self, model: &str) -> ModelError {
        let provider = model.split('/').next().unwrap_or_default();
        let known = self.providers().chain(["script:FILE", "echo", "replay:RUN"]);
        let list = known.collect::<Vec<_>>().join(", ");
        let near = nearest(provider, self.providers()).filter(|near| *near != provider);
        let hint = near.map_or_else(String::new, |near| format!(" (`{near}`?)"));
        let words = words!(
            "`{model}` is no model{hint}; write `provider/name`; providers: {list}",
            "`{model}` 不是模型{hint}；请写成 `提供方/名称`；可用的提供方：{list}"
        );
        ModelError::new(ModelFault::Rejected, words).code(Code::F0604)
    }

    fn script(&self, path: PathBuf) -> Result<Arc<Script>, ModelError> {
        let mut scripts = self.inner.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = scripts.get(&path) {
            return Ok(Arc::clone(script));
        }
        let script = Script::load(&path)
            .map_err(|error| ModelError::new(ModelFault::Rejected, error.words()).code(Code::F0601))?;
        let script = Arc::new(script);
        scripts.insert(path, Arc::clone(&script));
        Ok(script)
    }
}

impl Endpoint {
    /// Tells what must appear nowhere and is known without asking.
    fn tell_secrets(&self, tell: &dyn Fn(&str)) {
        if let KeySource::Given { secret, .. } = &self.key {
            tell(secret.bare());
        }
        let words = ["authorization", "key", "token", "secret", "cookie"];
        for (name, value) in &self.headers {
            let name = name.to_ascii_lowercase();
            if words.iter().any(|word| name.contains(word)) {
                tell(value.strip_prefix("Bearer ").unwrap_or(value));
            }
        }
    }

    /// The end of a call: an answer, or the error with what had arrived.
    pub(super) fn finish(
        &self,
        done: Result<(), ModelError>,
        out: &mut Collector<'_>,
    ) -> Result<Answer, ModelError> {
        self.unknown_frames.fetch_add(out.unknown_frames, Ordering::Relaxed);
        self.replaced_ids.fetch_add(out.replaced_ids, Ordering::Relaxed);
        done.and_then(|()| out.finish()).map_err(|error| out.attach(error))
    }
}

fn no_address(provider: &str) -> ModelError {
    let words = words!(
        "`{provider}` has no address; set one: fugato config set --layer user providers.{provider}.base_url http://127.0.0.1:8080/v1",
        "`{provider}` 没有地址；请设置：fugato config set --layer user providers.{provider}.base_url http://127.0.0.1:8080/v1"
    );
    ModelError::new(ModelFault::Rejected, words).code(Code::F0610)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn models(env: &[(&str, &str)]) -> Models {
        let settings = ModelSettings { local_servers: Vec::new(), ..ModelSettings::default() };
        with(env, settings)
    }

    fn with(env: &[(&str, &str)], settings: ModelSettings) -> Models {
        let find =
            |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        Models::from_env(&find, settings)
    }

    fn base(env: &[(&str, &str)], provider: &str) -> String {
        models(env).inner.endpoints.get(provider).unwrap().base.clone()
    }

    #[test]
    fn the_first_key_decides_the_default() {
        let default = |env: &[(&str, &str)]| models(env).default_model().ok();
        assert_eq!(default(&[("OPENAI_API_KEY", "k")]).unwrap(), "openai/gpt-6-sol");
        assert!(
            default(&[("GEMINI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")])
                .unwrap()
                .starts_with("anthropic/")
        );
        assert_eq!(default(&[("FUGATO_MODEL", "ollama/q"), ("OPENAI_API_KEY", "k")]).unwrap(), "ollama/q");
        assert_eq!(default(&[("FUGATO_MODEL", "gemini")]).unwrap(), "gemini/gemini-3.8-flash");
        assert_eq!(default(&[("OPENAI_API_KEY", " ")]), None, "an empty key is none");
    }

    #[test]
    fn no_model_names_three_ways() {
        let words = models(&[]).default_model().unwrap_err().words;
        for way in ["ANTHROPIC_API_KEY", "ollama", "script:", "fugato demo"] {
            assert!(words.en.contains(way) && words.zh.contains(way), "{way}");
        }
    }

    #[test]
    fn addresses_are_taken_as_people_write_them() {
        assert_eq!(base(&[("OLLAMA_HOST", "0.0.0.0:9999")], "ollama"), "http://127.0.0.1:9999");
        assert_eq!(base(&[("OLLAMA_HOST", "gpu.example")], "ollama"), "http://gpu.example:11434");
        assert_eq!(base(&[("OLLAMA_HOST", ":1")], "ollama"), "http://127.0.0.1:1");
        let url = |url| base(&[("FUGATO_OPENAI_COMPATIBLE_URL", url)], "openai-compatible");
        assert_eq!(url("http://127.0.0.1:8080"), "http://127.0.0.1:8080/v1");
        assert_eq!(url("https://x.example/api/v1/"), "https://x.example/api/v1");
        assert_eq!(base(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:7/")], "anthropic"), "http://127.0.0.1:7");
    }

    #[test]
    fn names_that_mean_nothing_say_what_would() {
        let models = models(&[]);
        for name in ["antropic/claude", "gpt-6", "", "ollama/", "/x"] {
            let error = models.resolve(name).err().unwrap();
            assert_eq!((error.fault, error.code), (ModelFault::Rejected, Code::F0604), "{name}");
        }
        assert!(models.resolve("antropic/claude").err().unwrap().words.en.contains("(`anthropic`?)"));
        assert!(matches!(models.resolve("vllm/a/b"), Ok(Target::Endpoint(_, "a/b"))));
    }

    #[test]
    fn an_own_server_is_a_provider() {
        let own = ProviderSettings {
            base_url: Some("http://127.0.0.1:5/v1".into()),
            ..ProviderSettings::default()
        };
        let settings =
            ModelSettings { providers: [("mine".to_owned(), own)].into(), ..ModelSettings::default() };
        let models = with(&[], settings);
        assert!(
            matches!(models.resolve("mine/qwen"), Ok(Target::Endpoint(endpoint, "qwen")) if endpoint.name == "mine")
        );
    }

    #[test]
    fn keys_are_in_no_debug_output() {
        let models = models(&[("OPENAI_API_KEY", "sk-canary")]);
        assert!(!format!("{models:?}").contains("canary"));
    }
}

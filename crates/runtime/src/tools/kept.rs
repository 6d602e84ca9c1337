//! What tools keep between calls: connections to the web, the key of a search engine, the browser. One per session of a run;
//! everything in it ends with it.

use super::browser::Host;
use crate::models::{KeyReport, KeySource, OnKey};
use fugato_world::web::search::Provider;
use fugato_world::web::{Allowed, Client, Guard};
use std::ffi::OsString;
use std::fmt;
use std::sync::OnceLock;

/// What agents may reach and whom they ask. Made from the settings; the default reaches the public internet only.
#[derive(Default)]
pub struct WebSettings {
    /// Hosts that may be reached though they are not public.
    pub allow: Vec<Allowed>,
    /// A name or a path; None: it is looked for.
    pub browser: Option<OsString>,
    /// Told of every key, so that it can be kept out of what is stored.
    pub on_key: Option<OnKey>,
    pub(crate) search: Option<SearchChoice>,
}

/// Who is asked for searches, and with which key.
pub(crate) struct SearchChoice {
    pub provider: Provider,
    /// Empty: none is set, and the provider has none of its own.
    pub address: String,
    pub key: KeySource,
}

/// What can be said of searching without doing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchReport {
    Nobody,
    MissingAddress(Provider),
    Chosen { provider: Provider, address: String, key: KeyReport },
}

impl WebSettings {
    pub(crate) fn choose_search(
        &mut self,
        provider: Option<&str>,
        url: Option<&str>,
        key_env: Option<&str>,
        key_command: Option<&str>,
        env: impl Fn(&str) -> Option<OsString>,
    ) {
        let value = |name: &str| {
            let value = env(name)?.to_string_lossy().trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let has_key = |provider: &Provider| provider.key_variables().iter().any(|name| value(name).is_some());
        let provider = match (provider.and_then(Provider::from_name), url) {
            (Some(provider), _) => Some(provider),
            (None, Some(_)) => Some(Provider::Searxng),
            (None, None) => Provider::ALL.into_iter().find(has_key),
        };
        let Some(provider) = provider else { return };
        let address = url.or(provider.address()).unwrap_or_default();
        // As people write addresses of servers.
        let address = if address.is_empty() || address.contains("://") {
            address.to_owned()
        } else {
            format!("http://{address}")
        };
        let variables: Vec<String> = match key_env {
            Some(name) => vec![name.to_owned()],
            None => provider.key_variables().iter().map(|name| (*name).to_owned()).collect(),
        };
        let found = variables
            .iter()
            .find_map(|name| Some((name.clone(), crate::models::Secret::new(&value(name)?)?)));
        let key = match (key_command, found) {
            (Some(command), _) => KeySource::command(command.to_owned()),
            (None, Some((variable, secret))) => KeySource::Given { secret, variable },
            (None, None) if variables.is_empty() => KeySource::NotNeeded,
            (None, None) => KeySource::Missing(variables),
        };
        self.search = Some(SearchChoice { provider, address, key });
    }

    pub fn search_report(&self) -> SearchReport {
        let Some(choice) = &self.search else { return SearchReport::Nobody };
        if choice.address.is_empty() {
            return SearchReport::MissingAddress(choice.provider);
        }
        let key = match &choice.key {
            KeySource::NotNeeded => KeyReport::NotNeeded,
            KeySource::Missing(variables) => KeyReport::Missing(variables.clone()),
            KeySource::Given { variable, .. } => KeyReport::Variable(variable.clone()),
            KeySource::Command { .. } => KeyReport::Command,
        };
        SearchReport::Chosen { provider: choice.provider, address: choice.address.clone(), key }
    }

    /// Tells whoever keeps secrets out of the log, before anything is asked.
    fn tell_key(&self) {
        if let (Some(tell), Some(SearchChoice { key: KeySource::Given { secret, .. }, .. })) =
            (&self.on_key, &self.search)
        {
            tell(secret.expose());
        }
    }
}

impl fmt::Debug for WebSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSettings")
            .field("allow", &self.allow)
            .field("search", &self.search_report())
            .finish_non_exhaustive()
    }
}

/// What lives longer than a call.
#[derive(Debug, Default)]
pub struct Kept {
    pub(super) settings: WebSettings,
    client: OnceLock<Result<Client, String>>,
    pub(super) browser: Host,
}

impl Kept {
    pub fn new(settings: WebSettings) -> Self {
        settings.tell_key();
        Self { settings, ..Self::default() }
    }

    pub(super) fn guard(&self) -> Guard {
        Guard::new(self.settings.allow.iter().cloned())
    }

    /// Connections, made at the first call: runs that fetch nothing pay nothing.
    pub(super) fn client(&self) -> Result<&Client, String> {
        let made = self.client.get_or_init(|| Client::new(self.guard()).map_err(|error| error.to_string()));
        made.as_ref().map_err(Clone::clone)
    }

    /// Ends everything that is kept. It can still be used: the next call starts anew.
    pub async fn close(&self) {
        self.browser.close().await;
    }
}

//! Asking a search engine. One request and one list of results for every provider; each provider is a file that
//! translates. Keys come in as text and never go out in an error.

mod brave;
mod searxng;
mod tavily;

#[cfg(test)]
mod tests;

use super::client::{Client, cause};
use super::guard::{Allowed, Guard, Refused};
use reqwest::{RequestBuilder, Url};
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// An answer of a search engine is a few kilobytes.
const MAX_BYTES: usize = 2 << 20;
/// More results than these are not read by anyone; engines cap them at 20.
pub const MAX_RESULTS: usize = 20;

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    Brave,
    Tavily,
    Searxng,
}

impl Provider {
    pub const ALL: [Self; 3] = [Self::Brave, Self::Tavily, Self::Searxng];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Searxng => "searxng",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == name)
    }

    /// The variables its key is looked for in; none for a server without keys.
    pub const fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::Brave => &["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
            Self::Tavily => &["TAVILY_API_KEY"],
            Self::Searxng => &[],
        }
    }

    /// Where it is asked unless another address is set; a SearXNG has none.
    pub const fn address(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
            Self::Tavily => Some("https://api.tavily.com/search"),
            Self::Searxng => None,
        }
    }
}

/// A provider with its address and key.
#[derive(Clone)]
pub struct Engine {
    pub provider: Provider,
    pub address: String,
    pub key: Option<String>,
    pub time: Duration,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("provider", &self.provider)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Query {
    pub text: String,
    pub results: usize,
    /// From 1.
    pub page: usize,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub title: String,
    pub url: String,
    pub excerpt: String,
}

/// Why there are no results.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("the address of the search provider is not usable: {0}")]
    Address(String),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("`{0}` did not answer within {1} s; try again later")]
    TooSlow(&'static str, u64),
    #[error("could not reach `{0}`: {1}")]
    Unreachable(&'static str, String),
    #[error("`{0}` refused the key (HTTP {1}); the person must check it")]
    Unauthorized(&'static str, u16),
    #[error("`{0}` has had too many requests (HTTP 429){1}; wait before searching again")]
    TooMany(&'static str, String),
    #[error("`{0}` answered HTTP {1}: {2}")]
    Status(&'static str, u16, String),
    #[error("`{0}` answered something that is not a list of results: {1}")]
    Malformed(&'static str, String),
}

/// Asks once. Nothing is tried twice here: whoever asked can.
pub async fn search(engine: &Engine, query: &Query) -> Result<Vec<Hit>, SearchError> {
    let name = engine.provider.as_str();
    let found = timeout(engine.time, ask(engine, query)).await;
    let found = found.unwrap_or(Err(SearchError::TooSlow(name, engine.time.as_secs())));
    found.map_err(|error| redacted(error, engine.key.as_deref()))
}

async fn ask(engine: &Engine, query: &Query) -> Result<Vec<Hit>, SearchError> {
    let name = engine.provider.as_str();
    let url = Url::parse(&engine.address).map_err(|error| SearchError::Address(error.to_string()))?;
    // The person named this address, so it is allowed wherever it is.
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(443);
    let client = Client::new(Guard::new(Allowed::parse(&format!("{host}:{port}"))))
        .map_err(|error| SearchError::Address(error.to_string()))?;
    client.guard.check(&url)?;
    let request = match engine.provider {
        Provider::Brave => brave::request(&client, url, engine.key.as_deref(), query),
        Provider::Tavily => tavily::request(&client, url, engine.key.as_deref(), query),
        Provider::Searxng => searxng::request(&client, url, query),
    };
    let body = answer(name, request).await?;
    let value: Value =
        serde_json::from_slice(&body).map_err(|error| SearchError::Malformed(name, error.to_string()))?;
    let list = match engine.provider {
        Provider::Brave => brave::results(&value),
        Provider::Tavily => tavily::results(&value),
        Provider::Searxng => searxng::results(&value),
    };
    let list =
        list.ok_or_else(|| SearchError::Malformed(name, "there is no list of results in it".into()))?;
    Ok(list.into_iter().filter(|hit| !hit.url.is_empty()).take(query.results.clamp(1, MAX_RESULTS)).collect())
}

async fn answer(name: &'static str, request: RequestBuilder) -> Result<Vec<u8>, SearchError> {
    let unreachable = |error: reqwest::Error| SearchError::Unreachable(name, cause(&error));
    let mut response = request.header("accept", "application/json").send().await.map_err(unreachable)?;
    let status = response.status().as_u16();
    let wait = response.headers().get("retry-after").and_then(|wait| wait.to_str().ok()).map(str::to_owned);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BYTES {
            return Err(SearchError::Malformed(name, format!("it is longer than {MAX_BYTES} bytes")));
        }
    }
    match status {
        200..=299 => Ok(body),
        429 => {
            let wait = wait.filter(|wait| wait.len() < 40).map(|wait| format!("; it asks to wait {wait} s"));
            Err(SearchError::TooMany(name, wait.unwrap_or_default()))
        }
        403 if name == "searxng" => Err(SearchError::Status(
            name,
            status,
            "it does not give JSON; in its settings.yml `search.formats` must contain `json`".into(),
        )),
        401 | 403 => Err(SearchError::Unauthorized(name, status)),
        _ => Err(SearchError::Status(name, status, excerpt(&String::from_utf8_lossy(&body)))),
    }
}

fn excerpt(text: &str) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// Providers repeat keys in their complaints.
fn redacted(error: SearchError, key: Option<&str>) -> SearchError {
    let Some(key) = key.filter(|key| key.len() >= 6) else { return error };
    let wash = |text: String| text.replace(key, "[key]");
    match error {
        SearchError::Status(name, status, text) => SearchError::Status(name, status, wash(text)),
        SearchError::Malformed(name, text) => SearchError::Malformed(name, wash(text)),
        SearchError::Unreachable(name, text) => SearchError::Unreachable(name, wash(text)),
        error => error,
    }
}

/// The results below `list`, with their fields named as each provider names them. Tags and entities in texts are undone.
fn hits(list: Option<&Value>, excerpt_field: &str) -> Option<Vec<Hit>> {
    let hit = |value: &Value| {
        let text = |field: &str| plain(value.get(field).and_then(Value::as_str).unwrap_or_default());
        let url = value.get("url").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        Hit { title: text("title"), url, excerpt: text(excerpt_field) }
    };
    Some(list?.as_array()?.iter().map(hit).collect())
}

/// Engines put `<strong>` around what matched.
fn plain(text: &str) -> String {
    let fragment =
        scraper::Html::parse_fragment(text.get(..super::markdown::cut_at(text, 4000)).unwrap_or_default());
    let text: String =
        fragment.tree.nodes().filter_map(|node| node.value().as_text().map(|text| &**text)).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! One GET, hop by hop: every redirect is a new address that must pass the guard. Time, size and hops are limited; what is
//! counted are the bytes after decompression, so a small answer cannot become a large one.

use super::client::{Client, cause, refusal};
use super::guard::Refused;
use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, LOCATION};
use reqwest::{Response, Url};
use std::time::Duration;
use tokio::time::timeout;

/// How much a fetch may use.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// From the first request to the last byte, redirects included.
    pub time: Duration,
    /// Decoded bytes. More are not read, and the answer says so.
    pub bytes: usize,
    pub redirects: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), bytes: 8 << 20, redirects: 10 }
    }
}

/// What came.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Where it came from in the end.
    pub url: Url,
    pub status: u16,
    /// As the server named it; empty if it did not.
    pub content_type: String,
    pub bytes: Vec<u8>,
    /// The body went on past the limit.
    pub is_cut: bool,
}

/// Why nothing came.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("`{0}` is not an address: {1}")]
    NotAnAddress(String, String),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("redirected to {0}: {1}")]
    RefusedRedirect(String, Refused),
    #[error("{0} redirects to an address that cannot be read: {1}")]
    BadRedirect(String, String),
    #[error("more than {0} redirects, the last to {1}; the page leads in a circle")]
    TooManyRedirects(usize, String),
    #[error("{0} did not answer completely within {1} s")]
    TooSlow(String, u64),
    #[error("could not reach {0}: {1}")]
    Unreachable(String, String),
    #[error("the answer of {0} broke off: {1}")]
    Broken(String, String),
}

impl Client {
    /// Fetches one address. An answer with an error status is an answer.
    pub async fn fetch(&self, address: &str, limits: FetchLimits) -> Result<Fetched, FetchError> {
        let url = Url::parse(address.trim())
            .map_err(|error| FetchError::NotAnAddress(shortened(address), error.to_string()))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let whole = self.follow(url, limits);
        let too_slow = Err(FetchError::TooSlow(host, limits.time.as_secs()));
        timeout(limits.time, whole).await.unwrap_or(too_slow)
    }

    async fn follow(&self, mut url: Url, limits: FetchLimits) -> Result<Fetched, FetchError> {
        let mut hops = 0;
        loop {
            let response = match self.ask(url.clone()).await {
                Err(FetchError::Refused(refused)) if hops > 0 => {
                    return Err(FetchError::RefusedRedirect(shortened(url.as_str()), refused));
                }
                answer => answer?,
            };
            let Some(next) = redirect(&response)? else { return body(url, response, limits.bytes).await };
            hops += 1;
            if hops > limits.redirects {
                return Err(FetchError::TooManyRedirects(limits.redirects, shortened(next.as_str())));
            }
            url = next;
        }
    }

    async fn ask(&self, url: Url) -> Result<Response, FetchError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        let request = self
            .get(url)
            .await?
            .header(
                ACCEPT,
                "text/html,application/xhtml+xml,text/markdown,text/plain,application/json,*/*;q=0.8",
            )
            .header(ACCEPT_LANGUAGE, "en,zh;q=0.9,*;q=0.5");
        request.send().await.map_err(|error| match refusal(&error) {
            Some(refused) => refused.into(),
            None => FetchError::Unreachable(host, cause(&error)),
        })
    }
}

/// Where the answer leads, if it is a redirect with a place. The fragment of the first address is not carried on.
fn redirect(response: &Response) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(place) = response.headers().get(LOCATION) else { return Ok(None) };
    let text = String::from_utf8_lossy(place.as_bytes());
    let bad = |why: String| {
        FetchError::BadRedirect(shortened(response.url().as_str()), format!("{} ({why})", shortened(&text)))
    };
    response.url().join(&text).map(Some).map_err(|error| bad(error.to_string()))
}

async fn body(url: Url, mut response: Response, limit: usize) -> Result<Fetched, FetchError> {
    let status = response.status().as_u16();
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let content_type = kind.unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    let (mut bytes, mut is_cut) = (Vec::new(), false);
    while let Some(chunk) =
        response.chunk().await.map_err(|error| FetchError::Broken(host.to_owned(), cause(&error)))?
    {
        let room = limit.saturating_sub(bytes.len());
        bytes.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            is_cut = true;
            break;
        }
    }
    Ok(Fetched { url, status, content_type, bytes, is_cut })
}

/// Addresses may be of any length, and passwords stand before an `@`.
pub(super) fn shortened(text: &str) -> String {
    let host_on = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = host_on.split(['/', '?', '#']).next().unwrap_or_default();
    let shown = match authority.rsplit_once('@') {
        Some((secret, _)) => text.replacen(&format!("{secret}@"), "", 1),
        None => text.to_owned(),
    };
    let mut short: String = shown.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
    if shown.chars().nth(200).is_some() {
        short.push('…');
    }
    short
}

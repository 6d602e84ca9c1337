//! Brave's web search: a GET with the key in a header of its own.

use super::{Hit, MAX_RESULTS, Query, hits};
use crate::web::client::Client;
use reqwest::{RequestBuilder, Url};
use serde_json::Value;

pub(super) fn request(client: &Client, mut url: Url, key: Option<&str>, query: &Query) -> RequestBuilder {
    let count = query.results.clamp(1, MAX_RESULTS);
    // It counts pages from 0 and refuses those past the tenth.
    let offset = query.page.saturating_sub(1).min(9);
    url.query_pairs_mut()
        .append_pair("q", &query.text)
        .append_pair("count", &count.to_string())
        .append_pair("offset", &offset.to_string());
    let request = client.http.get(url);
    match key {
        Some(key) => request.header("x-subscription-token", key),
        None => request,
    }
}

pub(super) fn results(value: &Value) -> Option<Vec<Hit>> {
    // Without a hit there is no `web`.
    match value.get("web") {
        None if value.get("query").is_some() => Some(Vec::new()),
        web => hits(web?.get("results"), "description"),
    }
}

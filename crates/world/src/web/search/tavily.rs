//! Tavily: a POST with a JSON body and the key as a bearer token. It knows no pages.

use super::{Hit, MAX_RESULTS, Query, hits};
use crate::web::client::Client;
use reqwest::{RequestBuilder, Url};
use serde_json::{Value, json};

pub(super) fn request(client: &Client, url: Url, key: Option<&str>, query: &Query) -> RequestBuilder {
    // A later page is the end of a longer first one.
    let most = query.results.saturating_mul(query.page).clamp(1, MAX_RESULTS);
    let request = client.http.post(url).json(&json!({"query": query.text, "max_results": most}));
    match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    }
}

pub(super) fn results(value: &Value) -> Option<Vec<Hit>> {
    hits(value.get("results"), "content")
}

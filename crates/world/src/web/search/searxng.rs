//! SearXNG, a search engine one hosts oneself: its address is set, it has no key.

use super::{Hit, Query, hits};
use crate::web::client::Client;
use reqwest::{RequestBuilder, Url};
use serde_json::Value;

pub(super) fn request(client: &Client, mut url: Url, query: &Query) -> RequestBuilder {
    let path = url.path().trim_end_matches('/').to_owned();
    // The address people know is that of its page.
    if !path.ends_with("/search") {
        url.set_path(&format!("{path}/search"));
    }
    url.query_pairs_mut()
        .append_pair("q", &query.text)
        .append_pair("format", "json")
        .append_pair("pageno", &query.page.max(1).to_string());
    client.http.get(url)
}

pub(super) fn results(value: &Value) -> Option<Vec<Hit>> {
    hits(value.get("results"), "content")
}

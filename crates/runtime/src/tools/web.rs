//! WebFetch and WebSearch: pages as Markdown, and the results of a search engine.

use super::arguments::{count, parse};
use super::kept::SearchChoice;
use super::outcome::{Failure, ToolOutcome};
use super::place::Place;
use super::slot::{Parents, Slot};
use super::{Call, EffectClass, Running, Tool, ToolContext};
use fugato_world::web::search::{self, Engine, Hit, MAX_RESULTS, Query};
use fugato_world::web::{Content, DocumentKind, FetchLimits, Fetched, read};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Digest as _;
use std::time::Duration;

pub(super) static TOOLS: &[Tool] = &[
    Tool {
        name: "WebFetch",
        class: EffectClass::Read,
        describe: describe_fetch,
        run: |call| Box::pin(fetch(call)),
    },
    Tool { name: "WebSearch", class: EffectClass::Read, describe: describe_search, run: search_running },
];

/// Characters of one answer; the rest is another page of it.
const ANSWER: usize = 12_000;
/// The most one answer may ask for; it must fit into a conversation.
const LONGEST: usize = 15_000;
/// A search engine that is slower is not worth its results.
const SEARCH: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fetch {
    url: String,
    #[serde(default)]
    selector: Option<String>,
    #[serde(default, deserialize_with = "count")]
    start: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    max_chars: Option<u64>,
}

fn describe_fetch() -> (&'static str, Value) {
    let description = "Fetches a public web page and gives it as Markdown; JSON and plain text as they are. Nothing is sent \
        but the address, no script runs: for pages that need scripts, forms or a login use browser-navigate. A PDF, office \
        file or image is put into the scratch directory and its path is given, for office-read or image-ocr.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "http or https"},
            "selector": {"type": "string", "description": "CSS: only the parts of the page that match"},
            "start": {"type": "integer", "minimum": 0, "description": "Character to go on from, as the last answer said"},
            "max_chars": {"type": "integer", "minimum": 100, "maximum": LONGEST, "description": "Default 12000"}
        },
        "required": ["url"],
        "additionalProperties": false
    });
    (description, parameters)
}

async fn fetch(call: Call<'_>) -> Result<ToolOutcome, Failure> {
    let Call { arguments, context, cancel, .. } = call;
    let wanted: Fetch = parse(arguments)?;
    let client = context.kept.client().map_err(Failure::new)?;
    let fetched = tokio::select! {
        fetched = client.fetch(&wanted.url, FetchLimits::default()) => fetched,
        () = cancel.cancelled() => return Err(Failure::cancelled()),
    };
    let fetched = fetched.map_err(|error| Failure::new(error.to_string()))?;
    let context = context.clone();
    // Reading a page takes as long as the page likes, up to seconds; it has a limit of its own.
    let working = tokio::task::spawn_blocking(move || answer(&wanted, &fetched, &context));
    working.await.unwrap_or_else(|error| Err(Failure::new(format!("the tool broke off: {error}"))))
}

fn answer(wanted: &Fetch, fetched: &Fetched, context: &ToolContext) -> Result<ToolOutcome, Failure> {
    let content =
        read(fetched, wanted.selector.as_deref()).map_err(|error| Failure::new(error.to_string()))?;
    let mut head = format!("url: {}\n", short(fetched.url.as_str()));
    if !(200..300).contains(&fetched.status) {
        head.push_str(&format!("status: {}\n", fetched.status));
    }
    let text = match content {
        Content::Document(kind) => return document(kind, fetched, &head, context),
        Content::Text(text) => text,
        Content::Page { title, markdown } => {
            if let Some(title) = title {
                head.push_str(&format!("title: {}\n", short(&title)));
            }
            markdown
        }
    };
    if text.trim().is_empty() {
        head.push_str("\n[there is no text without scripts; try browser-navigate]");
    } else {
        head.push('\n');
        page(&mut head, &text, wanted);
    }
    if fetched.is_cut {
        let limit = FetchLimits::default().bytes >> 20;
        head.push_str(&format!("\n[only the first {limit} MB were read]"));
    }
    let outcome = ToolOutcome::fitted(head.into_bytes(), context.limits.inline_bytes);
    Ok(if fetched.status >= 400 { outcome.failed() } else { outcome })
}

fn page(out: &mut String, text: &str, wanted: &Fetch) {
    let start = usize::try_from(wanted.start.unwrap_or(0)).unwrap_or(usize::MAX);
    let most =
        wanted.max_chars.and_then(|most| usize::try_from(most).ok()).unwrap_or(ANSWER).clamp(100, LONGEST);
    let total = text.chars().count();
    if start >= total && start > 0 {
        out.push_str(&format!("[the text has only {total} characters]"));
        return;
    }
    // Characters of Chinese have three bytes: what counts for a conversation are bytes.
    let mut taken = 0;
    let mut bytes = 0;
    for c in text.chars().skip(start).take(most) {
        bytes += c.len_utf8();
        if bytes > LONGEST {
            break;
        }
        out.push(c);
        taken += 1;
    }
    let end = start + taken;
    if end < total {
        out.push_str(&format!(
            "\n[characters {start} to {end} of {total}; WebFetch with start={end} goes on]"
        ));
    }
}

/// Files for other tools are put where those find them.
fn document(
    kind: DocumentKind,
    fetched: &Fetched,
    head: &str,
    context: &ToolContext,
) -> Result<ToolOutcome, Failure> {
    let size = fetched.bytes.len();
    let (what, tool) = match kind {
        DocumentKind::Pdf => ("a PDF", Some("office-read")),
        DocumentKind::Office(_) => ("an office document", Some("office-read")),
        DocumentKind::Image(_) => ("an image", Some("image-ocr")),
        DocumentKind::Other => ("not text", None),
    };
    let Some(tool) = tool else {
        let named = short(&fetched.content_type);
        return Err(Failure::new(format!(
            "{head}this is {what} ({named}, {size} bytes); no tool can read it"
        )));
    };
    if fetched.is_cut {
        return Err(Failure::new(format!(
            "{head}this is {what} of more than {size} bytes, which is too large"
        )));
    }
    if !context.scratch.is_dir() {
        return Err(Failure::new(format!(
            "{head}this is {what}, and there is no scratch directory to put it into"
        )));
    }
    // One name per address: fetched twice, it is the same file.
    let name = fugato_model::Digest::from_bytes(sha2::Sha256::digest(fetched.url.as_str()).into()).short();
    let path = context.scratch.join(format!("fetched-{name}.{}", kind.ending()));
    let place = Place::new(context, &path.to_string_lossy())?;
    Slot::open(&place, Parents::MustExist)?.replace(&fetched.bytes)?;
    Ok(ToolOutcome::text(format!(
        "{head}this is {what} ({size} bytes), saved as {}; read it with {tool}",
        path.display()
    )))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default, deserialize_with = "count")]
    results: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    page: Option<u64>,
}

fn describe_search() -> (&'static str, Value) {
    let description =
        "Asks a web search engine and gives titles, addresses and excerpts. Read a result with WebFetch.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "results": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": "Default 10"},
            "page": {"type": "integer", "minimum": 1, "description": "Default 1"}
        },
        "required": ["query"],
        "additionalProperties": false
    });
    (description, parameters)
}

fn search_running(call: Call<'_>) -> Running<'_> {
    Box::pin(async move {
        let Call { arguments, context, cancel, .. } = call;
        let wanted: Search = parse(arguments)?;
        let engine = engine(context).await?;
        let number =
            |given: Option<u64>, usual| given.and_then(|n| usize::try_from(n).ok()).unwrap_or(usual).max(1);
        let text: String = wanted.query.trim().chars().take(400).collect();
        if text.is_empty() {
            return Err(Failure::new("`query` is empty"));
        }
        let query = Query {
            text,
            results: number(wanted.results, 10).min(MAX_RESULTS),
            page: number(wanted.page, 1),
        };
        let found = tokio::select! {
            found = search::search(&engine, &query) => found,
            () = cancel.cancelled() => return Err(Failure::cancelled()),
        };
        match found {
            Ok(hits) => {
                Ok(ToolOutcome::fitted(listed(&query.text, &hits).into_bytes(), context.limits.inline_bytes))
            }
            Err(error) => {
                if let (search::SearchError::Unauthorized(..), Some(choice)) =
                    (&error, &context.kept.settings.search)
                {
                    choice.key.forget().await;
                }
                Err(Failure::new(error.to_string()))
            }
        }
    })
}

async fn engine(context: &ToolContext) -> Result<Engine, Failure> {
    let settings = &context.kept.settings;
    let Some(SearchChoice { provider, address, key }) = &settings.search else {
        return Err(Failure::new(
            "no search provider is set up; the person can set BRAVE_API_KEY or TAVILY_API_KEY, or the setting search.url \
             to the address of a SearXNG. Known addresses can be read with WebFetch",
        ));
    };
    if address.is_empty() {
        return Err(Failure::new(
            "the search provider searxng needs an address: the person must set search.url",
        ));
    }
    let key = key.get(provider.as_str()).await.map_err(|error| {
        Failure::new(format!("{} (settings search.key_env, search.key_command)", error.words.en))
    })?;
    if let (Some(tell), Some(key)) = (&settings.on_key, &key) {
        tell(key.expose());
    }
    let key = key.map(|key| key.expose().to_owned());
    Ok(Engine { provider: *provider, address: address.clone(), key, time: SEARCH })
}

fn listed(query: &str, hits: &[Hit]) -> String {
    if hits.is_empty() {
        return format!("nothing was found for \"{query}\"");
    }
    let line = |(number, hit): (usize, &Hit)| {
        format!("{}. {}\n   {}\n   {}", number + 1, hit.title, hit.url, hit.excerpt)
    };
    hits.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

fn short(text: &str) -> String {
    super::text::on_one_line(&text.chars().take(300).collect::<String>())
}

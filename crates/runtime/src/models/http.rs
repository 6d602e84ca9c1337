//! The one streaming driver: sends a request, reads frames as they come, and accepts nothing without its end marker.
//!
//! Dropping the future aborts the request. No retry happens here.

use super::collect::{Collector, Decode, Flow, Frame};
use super::endpoint::{CallLimits, Endpoint, Outgoing};
use super::error::{ModelError, excerpt};
use super::frames::{Frames, RawFrame};
use super::status::{self, Report};
use fugato_model::chat::{ModelFault, StopReason};
use fugato_model::words;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How much of an error's body is read: its message stands at the beginning.
const ERROR_BODY_BYTES: usize = 64 * 1024;

/// How long a stream is read after an end marker that may be followed by usage.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// How long the end of a body may come after the end marker of its stream.
const LAST_CHUNK: Duration = Duration::from_millis(20);

/// Connections, made at the first call: commands that call no model pay nothing.
#[derive(Default)]
pub(super) struct Http {
    /// Without the system's certificates, which take milliseconds to read and which nobody asks here.
    plain_loopback: OnceLock<Option<Client>>,
    /// Never through a proxy: a proxy cannot reach this machine's own servers.
    loopback: OnceLock<Option<Client>>,
    outside: OnceLock<Option<Client>>,
}

impl Http {
    fn client(&self, url: &Url, limits: &CallLimits) -> Option<&Client> {
        let is_loopback = url.host_str().is_some_and(|host| {
            let host = host.trim_matches(['[', ']']);
            host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        });
        // Redirects are not followed, so what begins without TLS stays without it.
        let is_plain = is_loopback && url.scheme() == "http";
        let cell = match (is_loopback, is_plain) {
            (_, true) => &self.plain_loopback,
            (true, false) => &self.loopback,
            (false, false) => &self.outside,
        };
        cell.get_or_init(|| {
            // Fails when the program has installed one already, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let builder = Client::builder()
                .user_agent(concat!("fugato/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(limits.connect)
                // A redirect would carry the key to another host.
                .redirect(reqwest::redirect::Policy::none());
            let builder = if is_loopback { builder.no_proxy() } else { builder };
            let builder = if is_plain { builder.tls_certs_only([]) } else { builder };
            builder.build().ok()
        })
        .as_ref()
    }
}

/// Performs one call. What arrived stands in `out`, also when this fails.
pub(super) async fn perform(
    http: &Http,
    limits: &CallLimits,
    endpoint: &Endpoint,
    outgoing: Outgoing,
    out: &mut Collector<'_>,
) -> Result<(), ModelError> {
    match timeout(limits.total, exchange(http, limits, endpoint, outgoing, out)).await {
        Ok(done) => done,
        Err(_) => Err(too_slow(&endpoint.name, "total", limits.total)),
    }
}

async fn exchange(
    http: &Http,
    limits: &CallLimits,
    endpoint: &Endpoint,
    outgoing: Outgoing,
    out: &mut Collector<'_>,
) -> Result<(), ModelError> {
    let provider = endpoint.name.as_str();
    let url =
        Url::parse(&outgoing.url).map_err(|error| bad_url(provider, &outgoing.url, &error.to_string()))?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let Some(client) = http.client(&url, limits) else {
        let words = words!("no TLS is available on this machine", "本机无法使用 TLS");
        return Err(ModelError::new(ModelFault::Rejected, words));
    };
    let headers = header_map(&outgoing.headers, &endpoint.headers);
    let request = client.post(url).headers(headers).body(outgoing.body);
    let mut response = match timeout(limits.first_byte, request.send()).await {
        Err(_) => return Err(too_slow(provider, "first byte", limits.first_byte)),
        Ok(Err(error)) => return Err(unreachable(provider, &host, &error)),
        Ok(Ok(response)) => response,
    };
    if !response.status().is_success() {
        return Err(refused(provider, limits, &mut response).await);
    }
    let reader =
        Reader { provider, limits, frames: Frames::new(outgoing.framing), decoder: outgoing.decoder };
    reader.run(response, out).await
}

/// Reads a body that is there already, in these pieces, as the network would have brought it.
pub(super) fn read_body<'b>(
    provider: &str,
    limits: &CallLimits,
    outgoing: Outgoing,
    chunks: impl IntoIterator<Item = &'b [u8]>,
    out: &mut Collector<'_>,
) -> Result<(), ModelError> {
    let mut reader =
        Reader { provider, limits, frames: Frames::new(outgoing.framing), decoder: outgoing.decoder };
    let (mut seen, mut sniffed, mut finished) = (0_usize, false, false);
    let mut ready = Vec::new();
    for chunk in chunks {
        seen = seen.saturating_add(chunk.len());
        if seen > limits.body_bytes {
            return if finished { Ok(()) } else { Err(too_large(provider, limits.body_bytes)) };
        }
        if !sniffed && let Some(first) = chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
            sniffed = true;
            if reader.frames.is_foreign(*first) {
                let words =
                    words!("`{provider}` answered with something else", "`{provider}` 返回了其他内容");
                return Err(ModelError::new(ModelFault::Transient, words));
            }
        }
        match reader.feed(chunk, &mut ready, out)? {
            Some(Flow::End) => return Ok(()),
            Some(Flow::Finished) => finished = true,
            Some(Flow::More | Flow::Unknown) | None => {}
        }
    }
    reader.frames.finish(&mut ready).map_err(|_| not_utf8(provider))?;
    finished |= !matches!(reader.take(&mut ready, out)?, Flow::More | Flow::Unknown);
    if finished { Ok(()) } else { Err(cut(provider, seen)) }
}

struct Reader<'a> {
    provider: &'a str,
    limits: &'a CallLimits,
    frames: Frames,
    decoder: Box<dyn Decode>,
}

impl Reader<'_> {
    async fn run(mut self, mut response: Response, out: &mut Collector<'_>) -> Result<(), ModelError> {
        let mut deadline = Instant::now() + self.limits.idle;
        let (mut seen, mut sniffed, mut finished) = (0_usize, false, false);
        let mut ready = Vec::new();
        loop {
            let chunk = match timeout_at(deadline, response.chunk()).await {
                _ if finished && seen > self.limits.body_bytes => return Ok(()),
                Ok(Ok(chunk)) => chunk,
                _ if finished => return Ok(()),
                Err(_) => return Err(too_slow(self.provider, "idle", self.limits.idle)),
                Ok(Err(error)) => return Err(broken(self.provider, &error)),
            };
            let Some(chunk) = chunk else {
                self.frames.finish(&mut ready).map_err(|_| not_utf8(self.provider))?;
                finished |= !matches!(self.take(&mut ready, out)?, Flow::More | Flow::Unknown);
                return if finished { Ok(()) } else { Err(cut(self.provider, seen)) };
            };
            seen = seen.saturating_add(chunk.len());
            if seen > self.limits.body_bytes {
                return Err(too_large(self.provider, self.limits.body_bytes));
            }
            if !sniffed && let Some(first) = chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
                sniffed = true;
                if self.frames.is_foreign(*first) {
                    return Err(not_a_stream(self.provider, self.limits, response, chunk.to_vec()).await);
                }
            }
            let Some(flow) = self.feed(&chunk, &mut ready, out)? else { continue };
            match flow {
                Flow::End => {
                    // The end of the body is here already or comes at once. Reading it lets the connection be used
                    // again, which is worth more than this wait: a new one costs two or three round trips.
                    let _ = timeout(LAST_CHUNK, response.chunk()).await;
                    return Ok(());
                }
                Flow::Finished => finished = true,
                Flow::More | Flow::Unknown => {}
            }
            deadline = Instant::now() + if finished { AFTERWARDS } else { self.limits.idle };
        }
    }

    /// Reads one chunk; `None`: no frame has become whole. What stands before broken bytes still counts, wherever the
    /// network happened to cut: an end marker is the end.
    fn feed(
        &mut self,
        chunk: &[u8],
        ready: &mut Vec<RawFrame>,
        out: &mut Collector<'_>,
    ) -> Result<Option<Flow>, ModelError> {
        let pushed = self.frames.push(chunk, ready).map_err(|_| not_utf8(self.provider));
        let flow = if ready.is_empty() { None } else { Some(self.take(ready, out)?) };
        if flow != Some(Flow::End) {
            pushed?;
        }
        Ok(flow)
    }

    /// Reads the frames that are whole, up to the end marker.
    fn take(&mut self, ready: &mut Vec<RawFrame>, out: &mut Collector<'_>) -> Result<Flow, ModelError> {
        let mut flow = Flow::More;
        for raw in ready.drain(..) {
            if raw.data.trim() == "[DONE]" {
                match self.decoder.read(Frame::Done, out)? {
                    Flow::End => return Ok(Flow::End),
                    other => flow = stronger(flow, other),
                }
                continue;
            }
            // Servers that forget the blank line put two values into one event.
            for value in serde_json::Deserializer::from_str(&raw.data).into_iter::<Value>() {
                let value = value.map_err(|error| bad_frame(self.provider, &raw.data, &error))?;
                if value.get("error").is_some_and(|error| !error.is_null()) {
                    return Err(Report::of(&value).unwrap_or_default().error(self.provider, None));
                }
                match self.decoder.read(Frame::Json { event: &raw.event, value: &value }, out)? {
                    Flow::End => return Ok(Flow::End),
                    Flow::Unknown => out.unknown_frames += 1,
                    other => flow = stronger(flow, other),
                }
            }
        }
        Ok(flow)
    }
}

fn stronger(a: Flow, b: Flow) -> Flow {
    if a == Flow::Finished || b == Flow::Finished { Flow::Finished } else { Flow::More }
}

impl Frames {
    /// Whether a body that begins with this byte cannot be a stream: a page, or JSON where events were asked for.
    fn is_foreign(&self, first: u8) -> bool {
        first == b'<' || (self.is_events() && matches!(first, b'{' | b'['))
    }
}

fn header_map(pairs: &[(&'static str, String)], own: &BTreeMap<String, String>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert(
        "accept",
        HeaderValue::from_static("text/event-stream, application/x-ndjson, application/json"),
    );
    for (name, value) in pairs {
        // A key with a line break in it is not sent at all; the provider's 401 then says what is wrong.
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    for (name, value) in own {
        // Own headers come last: a gateway may want its own authorisation.
        if let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    headers
}

async fn refused(provider: &str, limits: &CallLimits, response: &mut Response) -> ModelError {
    let status = response.status();
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let wait = status::retry_after(response.headers(), now);
    if status.is_redirection() {
        let to = response.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("?");
        let to = excerpt(to, 200);
        let words = words!(
            "`{provider}` answered with a redirect to {to}; set the base URL to the final address",
            "`{provider}` 重定向到 {to}；请把基础 URL 设为最终地址"
        );
        return ModelError::new(ModelFault::Rejected, words).status(status.as_u16());
    }
    let body = read_some(limits, response, Vec::new()).await;
    status::of_response(provider, status.as_u16(), &body, wait)
}

/// The beginning of a body; what breaks or stalls while reading it only makes it shorter.
async fn read_some(limits: &CallLimits, response: &mut Response, mut body: Vec<u8>) -> Vec<u8> {
    let deadline = Instant::now() + limits.idle.min(Duration::from_secs(10));
    while body.len() < ERROR_BODY_BYTES {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            _ => break,
        }
    }
    body.truncate(ERROR_BODY_BYTES);
    body
}

/// A success whose body is no stream: an error object, or a page of something in between.
async fn not_a_stream(
    provider: &str,
    limits: &CallLimits,
    mut response: Response,
    head: Vec<u8>,
) -> ModelError {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    let kind = excerpt(kind.unwrap_or("?"), 80);
    let status = response.status().as_u16();
    let body = read_some(limits, &mut response, head).await;
    let report = serde_json::from_slice(&body).ok().and_then(|body: Value| {
        body.get("error").or_else(|| body.get(0)?.get("error")).filter(|error| !error.is_null())?;
        Report::of(&body)
    });
    if let Some(report) = report {
        return report.error(provider, None);
    }
    let shown = excerpt(&String::from_utf8_lossy(&body), 200);
    let words = words!(
        "`{provider}` sent `{kind}` instead of a stream: {shown}",
        "`{provider}` 返回的是 `{kind}`，而不是数据流：{shown}"
    );
    ModelError::new(ModelFault::Transient, words).status(status)
}

fn transient(words: fugato_model::Words) -> ModelError {
    ModelError::new(ModelFault::Transient, words)
}

fn too_slow(provider: &str, what: &str, limit: Duration) -> ModelError {
    let seconds = limit.as_secs_f64();
    let zh = match what {
        "idle" => "空闲",
        "total" => "总时长",
        _ => "首字节",
    };
    transient(words!(
        "`{provider}` was too slow: {what} timeout after {seconds} s",
        "`{provider}` 响应过慢：{zh}超时（{seconds} 秒）"
    ))
}

fn unreachable(provider: &str, host: &str, error: &reqwest::Error) -> ModelError {
    let why = cause(error);
    transient(words!(
        "could not reach `{provider}` at {host}: {why}",
        "无法连接 {host} 上的 `{provider}`：{why}"
    ))
}

fn broken(provider: &str, error: &reqwest::Error) -> ModelError {
    let why = cause(error);
    transient(words!(
        "the stream of `{provider}` broke before its end: {why}",
        "`{provider}` 的数据流在结束前中断：{why}"
    ))
}

/// The innermost cause: the outer ones repeat the URL.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    excerpt(&cause.to_string(), 200)
}

fn cut(provider: &str, seen: usize) -> ModelError {
    transient(if seen == 0 {
        words!("`{provider}` sent an empty answer", "`{provider}` 返回了空内容")
    } else {
        words!(
            "the stream of `{provider}` ended without its end marker",
            "`{provider}` 的数据流没有结束标记就终止了"
        )
    })
}

fn not_utf8(provider: &str) -> ModelError {
    transient(words!("the stream of `{provider}` is not UTF-8", "`{provider}` 的数据流不是 UTF-8"))
}

fn bad_frame(provider: &str, data: &str, error: &serde_json::Error) -> ModelError {
    let shown = excerpt(data, 80);
    transient(words!(
        "`{provider}` sent an event that is not JSON ({error}): {shown}",
        "`{provider}` 发送了不是 JSON 的事件（{error}）：{shown}"
    ))
}

fn too_large(provider: &str, limit: usize) -> ModelError {
    let words = words!(
        "the answer of `{provider}` is larger than {limit} bytes",
        "`{provider}` 的答案超过 {limit} 字节"
    );
    ModelError::new(ModelFault::Malformed, words)
}

fn bad_url(provider: &str, url: &str, error: &str) -> ModelError {
    // What stands before an `@` is a user and a password.
    let shown = excerpt(url.rsplit('@').next().unwrap_or_default(), 200);
    let words = words!(
        "the base URL of `{provider}` is not valid ({error}): {shown}",
        "`{provider}` 的基础 URL 无效（{error}）：{shown}"
    );
    ModelError::new(ModelFault::Rejected, words).code(fugato_model::Code::F0610)
}

/// What a stop reason's name means, for the words most providers share.
pub(super) fn common_stop(name: &str) -> StopReason {
    match name {
        "stop" | "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        "length" | "max_tokens" | "max_output_tokens" | "model_context_window_exceeded" => {
            StopReason::MaxTokens
        }
        "content_filter" | "refusal" => StopReason::Refusal,
        _ => StopReason::Other,
    }
}

//! A model server on loopback that plays scripted bytes: plain HTTP/1.1, so that every fault can be put at any byte.

use super::http::Http;
use super::{About, CallLimits, ModelRequest, ModelSettings, Models, RetrySettings, ToolChoice, Transcript};
use fugato_model::chat::{Message, ToolSpec};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// One thing the server does with a connection.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    /// Byte by byte, with a pause between.
    Drip(Vec<u8>, Duration),
    Hang,
    Reset,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub at: Instant,
    pub head: String,
    pub body: Value,
}

pub(super) struct Server {
    pub port: u16,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    /// Connections the client closed while the server was hanging.
    pub aborted: Arc<Mutex<u32>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start(respond: impl Fn(usize, &Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let aborted = Arc::new(Mutex::new(0));
        let (record, count, respond) = (Arc::clone(&seen), Arc::clone(&aborted), Arc::new(respond));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (record, count, respond) =
                    (Arc::clone(&record), Arc::clone(&count), Arc::clone(&respond));
                tokio::spawn(async move {
                    let _ = serve(stream, &record, &count, &*respond).await;
                });
            }
        });
        Self { port, seen, aborted, task }
    }

    /// A server that answers every request alike.
    pub async fn always(steps: Vec<Step>) -> Self {
        Self::start(move |_, _| steps.clone()).await
    }

    pub fn models(&self) -> Models {
        models(&format!("http://127.0.0.1:{}", self.port))
    }

    pub fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    record: &Mutex<Vec<Seen>>,
    aborted: &Mutex<u32>,
    respond: &(dyn Fn(usize, &Seen) -> Vec<Step> + Send + Sync),
) -> std::io::Result<()> {
    let Some(seen) = read_request(&mut stream).await? else { return Ok(()) };
    let number = {
        let mut list = record.lock().unwrap();
        list.push(seen.clone());
        list.len() - 1
    };
    for step in respond(number, &seen) {
        match step {
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Drip(bytes, pause) => {
                for byte in bytes {
                    stream.write_all(&[byte]).await?;
                    stream.flush().await?;
                    tokio::time::sleep(pause).await;
                }
            }
            Step::Hang => {
                let mut rest = [0; 64];
                let gone = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut rest)).await;
                if matches!(gone, Ok(Ok(0) | Err(_))) {
                    *aborted.lock().unwrap() += 1;
                }
                return Ok(());
            }
            Step::Reset => {
                // What was sent is read first; then the connection dies.
                tokio::time::sleep(Duration::from_millis(20)).await;
                stream.set_zero_linger()?;
                return Ok(());
            }
        }
    }
    stream.shutdown().await
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Seen>> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            let from = head.len() + 4;
            if bytes.len() >= from + length.unwrap_or(0) {
                let body = serde_json::from_slice(&bytes[from..]).unwrap_or(Value::Null);
                return Ok(Some(Seen { at: Instant::now(), head: head.to_owned(), body }));
            }
        }
        let mut buffer = [0; 16 * 1024];
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&buffer[..read]);
    }
}

/// All providers at one address, with short limits.
pub(super) fn models(address: &str) -> Models {
    let env = |name: &str| -> Option<OsString> {
        match name {
            "OPENAI_BASE_URL" | "FUGATO_OPENAI_COMPATIBLE_URL" => Some(format!("{address}/v1").into()),
            "ANTHROPIC_BASE_URL" | "GEMINI_BASE_URL" | "OLLAMA_HOST" => Some(address.into()),
            "ANTHROPIC_API_KEY" | "OPENAI_API_KEY" | "GEMINI_API_KEY" => Some("sk-canary-secret".into()),
            _ => None,
        }
    };
    let settings = ModelSettings {
        limits: CallLimits {
            first_byte: Duration::from_secs(2),
            idle: Duration::from_millis(700),
            body_bytes: 64 * 1024,
            ..CallLimits::default()
        },
        retries: RetrySettings {
            base: Duration::from_millis(20),
            longest: Duration::from_millis(400),
            ..RetrySettings::default()
        },
        ..ModelSettings::default()
    };
    Models::from_env(&env, settings).connected_by(HTTP.with(Arc::clone))
}

thread_local! {
    /// One per test: connections belong to the runtime of the test that made them.
    static HTTP: Arc<Http> = Arc::default();
}

pub(super) fn head(status: u16, kind: &str, more: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}connection: close\r\n").into_bytes()
}

/// The head of a stream; pieces follow as chunks.
pub(super) fn stream_head(kind: &str) -> Step {
    Step::Send([head(200, kind, ""), b"transfer-encoding: chunked\r\n\r\n".to_vec()].concat())
}

pub(super) fn chunk(bytes: &[u8]) -> Step {
    Step::Send([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

/// The proper end of a chunked body.
pub(super) fn end() -> Step {
    Step::Send(b"0\r\n\r\n".to_vec())
}

/// A whole response with a body.
pub(super) fn whole(status: u16, kind: &str, more: &str, body: &[u8]) -> Vec<Step> {
    let length = format!("content-length: {}\r\n\r\n", body.len());
    vec![Step::Send([head(status, kind, more), length.into_bytes(), body.to_vec()].concat())]
}

/// A whole stream.
pub(super) fn stream(frames: &[String]) -> Vec<Step> {
    let pieces = frames.iter().map(|frame| chunk(frame.as_bytes()));
    std::iter::once(stream_head("text/event-stream")).chain(pieces).chain([end()]).collect()
}

/// One answer in one wire format: the text `Hello, 世界` and a call of `Read`.
pub(super) struct Wire {
    pub name: &'static str,
    pub model: &'static str,
    pub frames: Vec<String>,
    /// How many frames have passed in the middle of the text, and of the arguments.
    pub mid_text: usize,
    pub mid_arguments: usize,
}

pub(super) const TEXT: &str = "Hello, 世界";
pub(super) const ARGUMENTS: &str = r#"{"path":"src/lib.rs","limit":3}"#;

pub(super) fn wires(arguments: &str) -> Vec<Wire> {
    vec![anthropic(arguments), responses(arguments), chat(arguments), gemini(arguments), ollama(arguments)]
}

fn thirds(text: &str) -> [&str; 3] {
    let (a, rest) = text.split_at(text.len() / 3);
    let (b, c) = rest.split_at(rest.len() / 2);
    [a, b, c]
}

pub(super) fn sse(value: &Value) -> String {
    match value.get("type").and_then(Value::as_str) {
        Some(event) => format!("event: {event}\ndata: {value}\n\n"),
        None => format!("data: {value}\n\n"),
    }
}

fn anthropic(arguments: &str) -> Wire {
    let [a, b, c] = thirds(arguments);
    let piece = |text: &str| json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": text}});
    let text = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let frames = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        text("Hello, "),
        text("世界"),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}}),
        piece(a),
        piece(b),
        piece(c),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ];
    let frames = frames.iter().map(sse).collect();
    Wire { name: "anthropic", model: "anthropic/claude", frames, mid_text: 3, mid_arguments: 8 }
}

fn responses(arguments: &str) -> Wire {
    let [a, b, c] = thirds(arguments);
    let piece = |text: &str| json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": text});
    let text = |text: &str| json!({"type": "response.output_text.delta", "output_index": 0, "delta": text});
    let mut frames = vec![
        json!({"type": "response.created", "response": {"error": null}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}),
        text("Hello, "),
        text("世界"),
        json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": [{"text": TEXT}]}}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "call_id": "call_a", "name": "Read", "arguments": ""}}),
        piece(a),
        piece(b),
        piece(c),
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "call_id": "call_a", "name": "Read", "arguments": arguments}}),
        json!({"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 15, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 5}}}}),
    ];
    for (number, frame) in frames.iter_mut().enumerate() {
        frame["sequence_number"] = number.into();
    }
    let frames = frames.iter().map(sse).collect();
    Wire { name: "openai-responses", model: "openai/gpt", frames, mid_text: 3, mid_arguments: 8 }
}

fn chat(arguments: &str) -> Wire {
    let [a, b, c] = thirds(arguments);
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let piece = |text: &str| delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}));
    let mut frames: Vec<String> = [
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"content": "Hello, "})),
        delta(json!({"content": "世界"})),
        delta(json!({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "Read", "arguments": ""}}]})),
        piece(a),
        piece(b),
        piece(c),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 15, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 5}}}),
    ]
    .iter()
    .map(sse)
    .collect();
    frames.push("data: [DONE]\n\n".to_owned());
    Wire { name: "openai-chat", model: "openai-chat/gpt", frames, mid_text: 2, mid_arguments: 6 }
}

fn gemini(arguments: &str) -> Wire {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
    let parts = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let frames: Vec<String> = [
        parts(json!({"text": "Hello, "})),
        parts(json!({"text": "世界"})),
        parts(json!({"functionCall": {"name": "Read", "args": arguments}, "thoughtSignature": "abc"})),
        json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 15, "cachedContentTokenCount": 5, "candidatesTokenCount": 15, "thoughtsTokenCount": 5}}),
    ]
    .iter()
    .map(sse)
    .collect();
    Wire { name: "gemini", model: "gemini/gemini-3", frames, mid_text: 1, mid_arguments: 3 }
}

fn ollama(arguments: &str) -> Wire {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
    let frames: Vec<String> = [
        json!({"message": {"role": "assistant", "content": "Hello, "}, "done": false}),
        json!({"message": {"role": "assistant", "content": "世界"}, "done": false}),
        json!({"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "Read", "arguments": arguments}}]}, "done": false}),
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 15, "eval_count": 20}),
    ]
    .iter()
    .map(|line| format!("{line}\n"))
    .collect();
    Wire { name: "ollama", model: "ollama/qwen", frames, mid_text: 1, mid_arguments: 3 }
}

pub(super) static ASKED: LazyLock<Transcript> =
    LazyLock::new(|| [Arc::new(Message::user("read it"))].into_iter().collect());

pub(super) static READ: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
    vec![ToolSpec {
        name: "Read".into(),
        description: "reads a file".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }]
});

pub(super) fn request() -> ModelRequest<'static> {
    ModelRequest {
        model: "",
        system: "be brief",
        transcript: &ASKED,
        tools: &READ,
        written: None,
        tool_choice: ToolChoice::Auto,
        max_tokens: Some(500),
        schema: None,
        about: About { run: "run_1", agent: "a", skill: "s", step: 1, attempt: 0 },
    }
}

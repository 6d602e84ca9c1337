//! The bare programs: tokio, reqwest and serde_json, the same calls in the same order, nothing kept.
//!
//! Written as one writes such a thing in an afternoon: a default client, a body that serde writes, events read line by
//! line. No retries, no limits, no log.

use crate::BenchError;
use reqwest::Client;
use serde_json::{Value, json};
use std::time::Instant;

/// What a model answered.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub text: String,
    /// Id, name and arguments of the tool it asked for.
    pub tool: Option<(String, String, String)>,
}

/// What a bare program tells of itself.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    pub total_ms: f64,
    /// Milliseconds from the beginning to the end of each answer, and of the processor's time until then.
    pub answered_at: Vec<f64>,
    pub cpu_at: Vec<f64>,
}

/// Milliseconds this process has kept a processor busy.
pub fn cpu() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let whole = std::time::Duration::try_from(used).unwrap_or_default();
    crate::figure::millis(whole)
}

/// What is sent: borrowed, so that a long conversation is not copied first.
#[derive(serde::Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: Value,
    tools: &'a Value,
    tool_choice: &'a str,
    messages: &'a [Value],
}

async fn call(client: &Client, url: &str, messages: &[Value], tools: &Value) -> Result<Call, BenchError> {
    let body = Body {
        model: "bench",
        stream: true,
        stream_options: json!({"include_usage": true}),
        tools,
        tool_choice: "auto",
        messages,
    };
    let url = format!("{url}/chat/completions");
    let mut response = client.post(url).json(&body).send().await?.error_for_status()?;
    let mut call = Call::default();
    let mut pending = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        pending.extend_from_slice(&chunk);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let line = String::from_utf8(line)?;
            let Some(data) = line.trim_end().strip_prefix("data: ").filter(|data| *data != "[DONE]") else {
                continue;
            };
            let event: Value = serde_json::from_str(data)?;
            take(event.pointer("/choices/0/delta").unwrap_or(&Value::Null), &mut call);
        }
    }
    Ok(call)
}

fn take(delta: &Value, call: &mut Call) {
    if let Some(text) = delta.get("content").and_then(Value::as_str) {
        call.text.push_str(text);
    }
    let Some(piece) = delta.pointer("/tool_calls/0") else { return };
    let text = |path: &str| piece.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (id, name, arguments) = call.tool.get_or_insert_default();
    id.push_str(text("/id"));
    name.push_str(text("/function/name"));
    arguments.push_str(text("/function/arguments"));
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn tools(file: &str) -> Result<Value, BenchError> {
    Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
}

/// The client everybody makes.
pub fn client() -> Client {
    // Fails when there is one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

/// The runtime `#[tokio::main]` makes.
fn begin() -> Result<tokio::runtime::Runtime, BenchError> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Three phases, four calls: two at once, then one, then one.
pub fn dag(url: &str, tools_file: &str) -> Result<(), BenchError> {
    let tools = tools(tools_file)?;
    begin()?.block_on(async {
        let client = client();
        four_calls(&client, url, &tools).await.map(drop)
    })
}

/// Shared with the warm measure.
pub async fn four_calls(client: &Client, url: &str, tools: &Value) -> Result<String, BenchError> {
    let (first, second) = ([user("Find the facts.")], [user("Find the rules.")]);
    let (facts, rules) = tokio::join!(call(client, url, &first, tools), call(client, url, &second, tools));
    let (facts, rules) = (facts?.text, rules?.text);
    let draft = call(client, url, &[user(&format!("Write from {facts} by {rules}."))], tools).await?.text;
    Ok(call(client, url, &[user(&format!("Check {draft}."))], tools).await?.text)
}

/// Whether a bare agent keeps a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    None,
    /// A line and an `fdatasync` for each answer and for each result, as long as they are the same two we wait for.
    Synced,
}

/// One agent that calls tools until the model answers with text.
pub fn agent(url: &str, tools_file: &str, file: &str, journal: Journal) -> Result<(), BenchError> {
    let tools = tools(tools_file)?;
    let mut log = match journal {
        Journal::None => None,
        Journal::Synced => Some(tempfile::tempfile_in(".")?),
    };
    let mut keep = |line: &Value| -> std::io::Result<()> {
        use std::io::Write as _;
        let Some(log) = &mut log else { return Ok(()) };
        writeln!(log, "{line}")?;
        log.sync_data()
    };
    let outcome = begin()?.block_on(async {
        let client = client();
        let began = Instant::now();
        let mut messages = vec![user("Read the note again and again.")];
        let (mut answered_at, mut cpu_at) = (Vec::new(), Vec::new());
        loop {
            let answer = call(&client, url, &messages, &tools).await?;
            answered_at.push(crate::figure::millis(began.elapsed()));
            cpu_at.push(cpu());
            let Some((id, name, arguments)) = answer.tool else { break };
            let content = std::fs::read_to_string(file)?;
            let called = json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}},
            ]});
            keep(&called)?;
            let result = json!({"role": "tool", "tool_call_id": id, "content": content});
            keep(&result)?;
            messages.extend([called, result]);
        }
        Ok::<_, BenchError>(Outcome { total_ms: crate::figure::millis(began.elapsed()), answered_at, cpu_at })
    })?;
    tell(&serde_json::to_value(outcome)?)
}

/// Two chains of calls that have nothing to do with each other; the first call of one is slow.
pub fn chains(url: &str, tools_file: &str, slow: &str) -> Result<(), BenchError> {
    let tools = tools(tools_file)?;
    let slow: u32 = slow.parse()?;
    begin()?.block_on(async {
        let client = client();
        let quick = slow / crate::skills::STRAGGLER_CHAIN;
        let chain = async |waits: Vec<u32>| {
            for wait in waits {
                call(&client, url, &[user(&format!("Think: pause={wait} ms."))], &tools).await?;
            }
            Ok::<_, BenchError>(())
        };
        let steady = vec![quick; crate::skills::STRAGGLER_CHAIN as usize];
        let (a, b) = tokio::join!(chain(vec![slow, quick]), chain(steady));
        a.and(b)
    })
}

/// Many calls at once, each by a task of its own.
pub fn many(url: &str, tools_file: &str, count: &str) -> Result<(), BenchError> {
    let tools = std::sync::Arc::new(tools(tools_file)?);
    let count: usize = count.parse()?;
    let (began, before) = (Instant::now(), cpu());
    begin()?.block_on(async {
        let client = client();
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..count {
            let (client, url, tools) = (client.clone(), url.to_owned(), tools.clone());
            tasks.spawn(async move {
                let messages = [user(&format!("Find fact {number}."))];
                call(&client, &url, &messages, &tools).await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok::<_, BenchError>(())
    })?;
    tell(&json!({"total_ms": crate::figure::millis(began.elapsed()), "cpu_ms": cpu() - before}))
}

/// One document on stdout, for the process that measures.
pub fn tell(document: &Value) -> Result<(), BenchError> {
    use std::io::Write as _;
    writeln!(std::io::stdout().lock(), "{document}")?;
    Ok(())
}

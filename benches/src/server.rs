//! A model on loopback that speaks OpenAI's Chat Completions as a stream and costs next to nothing.
//!
//! Without memory: what it answers depends on the address and on the request alone. `/steps/N/…` asks for a tool until
//! the conversation holds N results; `/fan/N/…` asks a master for N subagents at once; `/wait/MS/…`, or `pause=MS` in the
//! conversation, waits before the answer begins.

use crate::BenchError;
use memchr::memmem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Far above what 400 steps send.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Serves until it is killed; says its address on stdout.
pub fn serve() -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        {
            use std::io::Write as _;
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "{}", listener.local_addr()?)?;
            stdout.flush()?;
        }
        let count = Arc::new(Seen::default());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let count = count.clone();
            tokio::spawn(async move {
                // A client that goes away is no error of ours.
                let _ = converse(stream, &count).await;
            });
        }
    })
}

/// Requests of one connection, one after the other.
async fn converse(mut stream: TcpStream, seen: &Seen) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let Some((head, length)) = head(&mut stream, &mut buffer).await? else { return Ok(()) };
        let arrived = crate::queue::now();
        while buffer.len() < head + length {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let path = path(&buffer);
        if let Some(said) = seen.said(&path) {
            let length = said.len();
            let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{said}");
            return stream.write_all(text.as_bytes()).await;
        }
        let body = buffer.get(head..head + length).unwrap_or_default();
        let (wait, answer) = answer(&path, body);
        seen.note(arrived);
        buffer.drain(..head + length);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        stream.write_all(&answer).await?;
    }
}

/// What came in.
#[derive(Debug, Default)]
struct Seen {
    count: AtomicU64,
    arrivals: Mutex<Vec<f64>>,
}

impl Seen {
    fn note(&self, arrived: f64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        // Scenarios that ask for them make few requests; others need not fill the memory.
        if arrivals.len() < MOST_ARRIVALS {
            arrivals.push(arrived);
        }
    }

    /// The answer to a question about it; `None`: that is no such question.
    fn said(&self, path: &str) -> Option<String> {
        match path {
            "/count" => Some(self.count.load(Ordering::Relaxed).to_string()),
            "/arrivals" => {
                let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
                Some(serde_json::json!(std::mem::take(&mut *arrivals)).to_string())
            }
            _ => None,
        }
    }
}

const MOST_ARRIVALS: usize = 100_000;

/// Where the body begins and how long it is; `None` at the end of the connection.
async fn head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<(usize, usize)>> {
    loop {
        if let Some(end) = memmem::find(buffer, b"\r\n\r\n") {
            let text = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
            return Ok(Some((end + 4, std::cmp::min(length, MOST_BYTES))));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn path(request: &[u8]) -> String {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    String::from_utf8_lossy(line).split(' ').nth(1).unwrap_or_default().to_owned()
}

fn answer(path: &str, body: &[u8]) -> (Duration, Vec<u8>) {
    let setting = |name: &str| {
        let mut parts = path.split('/').skip_while(|part| *part != name);
        parts.nth(1).and_then(|number| number.parse::<u64>().ok())
    };
    let wait = setting("wait").or_else(|| pause(body)).unwrap_or(0);
    let results = u64::try_from(memmem::find_iter(body, br#""role":"tool""#).count()).unwrap_or(0);
    let fan = setting("fan").filter(|_| results == 0 && memmem::find(body, MASTER.as_bytes()).is_some());
    let events = match fan {
        Some(count) => delegation(count),
        None if results < setting("steps").unwrap_or(0) => tool_call(results),
        None => text(),
    };
    let mut response =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    response.extend_from_slice(format!("{:x}\r\n{events}\r\n0\r\n\r\n", events.len()).as_bytes());
    (Duration::from_millis(wait), response)
}

fn pause(body: &[u8]) -> Option<u64> {
    let at = memmem::find(body, b"pause=")? + b"pause=".len();
    let digits: Vec<u8> = body.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).copied().collect();
    String::from_utf8(digits).ok()?.parse().ok()
}

fn text() -> String {
    events(r#"{"content":"{\"done\": "}"#, r#"{"content":"true}"}"#, "stop")
}

fn tool_call(number: u64) -> String {
    let begin = format!(
        r#"{{"tool_calls":[{{"index":0,"id":"call_{number}","type":"function","function":{{"name":"Read","arguments":""}}}}]}}"#
    );
    events(
        &begin,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"note.txt\"}"}}]}"#,
        "tool_calls",
    )
}

/// What only a master is told.
pub const MASTER: &str = "FAN-OUT-NOW";

fn delegation(count: u64) -> String {
    let call = |number: u64| {
        let arguments =
            r#"{\"description\":\"part\",\"prompt\":\"Do this part.\",\"subagent_type\":\"explore\"}"#;
        format!(
            r#"{{"index":{number},"id":"call_{number}","type":"function","function":{{"name":"Agent","arguments":"{arguments}"}}}}"#
        )
    };
    let calls: Vec<String> = (0..count).map(call).collect();
    events(&format!(r#"{{"tool_calls":[{}]}}"#, calls.join(",")), "{}", "tool_calls")
}

/// The five events of a short answer.
fn events(first: &str, second: &str, finish: &str) -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"bench\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let mut events = chunk(r#"{"role":"assistant"}"#, "null");
    events.push_str(&chunk(first, "null"));
    events.push_str(&chunk(second, "null"));
    events.push_str(&chunk("{}", &format!("\"{finish}\"")));
    events.push_str(
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n",
    );
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_and_the_conversation_decide_the_answer() {
        let asks = |path: &str, body: &str| {
            let (wait, answer) = answer(path, body.as_bytes());
            (wait.as_millis(), String::from_utf8(answer).unwrap().contains("note.txt"))
        };
        assert_eq!(asks("/v1/chat/completions", "{}"), (0, false));
        assert_eq!(asks("/steps/2/v1/chat/completions", "{}"), (0, true));
        let two = r#"[{"role":"tool"},{"role":"tool"}]"#;
        assert_eq!(asks("/steps/2/v1/chat/completions", two), (0, false));
        assert_eq!(asks("/wait/50/v1/chat/completions", "pause=7"), (50, false));
        assert_eq!(asks("/v1/chat/completions", "think: pause=70 ms"), (70, false));
    }
}

//! As much HTTP/1.1 as the clients of coding agents need.

use serde_json::{Value, json};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

/// A request as it arrived.
#[derive(Debug)]
pub(super) struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// Whether the connection is used again.
    pub stays: bool,
}

/// Nothing a coding agent sends comes near it.
const LARGEST: usize = 64 << 20;

pub(super) fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        more(stream, &mut bytes, &mut buffer)?;
    };
    let head = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let value = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    if value("expect").is_some_and(|expected| expected.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let length: usize = value("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let from = end + 4;
    while bytes.len() < from + length {
        more(stream, &mut bytes, &mut buffer)?;
    }
    let body = serde_json::from_slice(bytes.get(from..from + length)?).unwrap_or(Value::Null);
    let stays = !value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    Some(Request { method, path, headers, body, stays })
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>, buffer: &mut [u8]) -> Option<()> {
    let read = stream.read(buffer).ok().filter(|read| *read > 0 && bytes.len() < LARGEST)?;
    bytes.extend_from_slice(buffer.get(..read)?);
    Some(())
}

/// What programs ask besides answers.
pub(super) fn aside(stream: &mut TcpStream, request: &Request) -> io::Result<()> {
    let path = request.path.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path) {
        ("HEAD", _) => whole(stream, 200, "text/plain", b""),
        ("POST", "/v1/messages/count_tokens") => {
            whole(stream, 200, JSON, json!({"input_tokens": super::INPUT_TOKENS}).to_string().as_bytes())
        }
        ("GET", "/v1/models") => {
            let list = json!({"object": "list", "data": [], "models": [], "has_more": false});
            whole(stream, 200, JSON, list.to_string().as_bytes())
        }
        _ => refuse(stream, 404, &format!("the mock model knows no {} {path}", request.method)),
    }
}

/// A failure in words that both APIs use.
pub(super) fn refuse(stream: &mut TcpStream, status: u16, text: &str) -> io::Result<()> {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    let body = json!({"type": "error", "error": {"type": kind, "message": text, "code": kind}});
    whole(stream, status, JSON, body.to_string().as_bytes())
}

pub(super) const JSON: &str = "application/json";

pub(super) fn whole(stream: &mut TcpStream, status: u16, kind: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body].concat())?;
    stream.flush()
}

/// A stream of events, each sent as soon as it is there.
#[derive(Debug)]
pub(super) struct Events<'a>(&'a mut TcpStream);

impl<'a> Events<'a> {
    pub fn begin(stream: &'a mut TcpStream) -> io::Result<Self> {
        stream.write_all(
            b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        Ok(Self(stream))
    }

    /// An event named by its `type`.
    pub fn send(&mut self, event: &Value) -> io::Result<()> {
        let name = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let text = format!("event: {name}\ndata: {event}\n\n");
        self.0.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
        self.0.flush()
    }

    pub fn end(self) -> io::Result<()> {
        self.0.write_all(b"0\r\n\r\n")?;
        self.0.flush()
    }
}

/// Until the other side closes the connection.
pub(super) fn hang(stream: &mut TcpStream) -> io::Result<()> {
    let mut rest = [0; 64];
    while stream.read(&mut rest)? > 0 {}
    Err(io::Error::other("the client went away"))
}

impl Events<'_> {
    pub fn hang(self) -> io::Result<()> {
        hang(self.0)
    }
}

/// A text as a stream brings it: word by word.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(' ').collect()
}

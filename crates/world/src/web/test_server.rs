//! A web server on loopback for tests: plain HTTP/1.1, one answer per connection.

use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Whole(Vec<u8>),
    /// The connection is closed without a word.
    Close,
    /// Nothing comes, and the connection stays.
    Hang,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

impl Answer {
    pub fn new(status: u16, kind: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        Self::Whole([head.as_bytes(), body].concat())
    }

    pub fn html(body: &str) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub fn redirect(to: &str) -> Self {
        Self::new(302, "text/plain", "").with_header("location", to)
    }

    pub fn with_header(self, name: &str, value: &str) -> Self {
        let Self::Whole(bytes) = self else { return self };
        let at = bytes.windows(2).position(|pair| pair == b"\r\n").unwrap() + 2;
        let header = format!("{name}: {value}\r\n");
        Self::Whole([&bytes[..at], header.as_bytes(), &bytes[at..]].concat())
    }
}

pub(crate) struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start(respond: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (record, respond) = (Arc::clone(&seen), Arc::new(respond));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (record, respond) = (Arc::clone(&record), Arc::clone(&respond));
                tokio::spawn(async move {
                    let _ = serve(stream, &record, &*respond).await;
                });
            }
        });
        Self { port, seen, task }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    record: &Mutex<Vec<Request>>,
    respond: &(dyn Fn(&Request) -> Answer + Send + Sync),
) -> std::io::Result<()> {
    let Some(request) = read(&mut stream).await? else { return Ok(()) };
    record.lock().unwrap().push(request.clone());
    match respond(&request) {
        Answer::Whole(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        Answer::Close => Ok(()),
        Answer::Hang => {
            let mut rest = [0; 64];
            while stream.read(&mut rest).await? > 0 {}
            Ok(())
        }
    }
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                return Ok(Some(Request { head, body: bytes[end + 4..].to_vec() }));
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

//! A web server on loopback for tests: plain HTTP/1.1, one answer per connection, faults included. Threads and no runtime,
//! so that every kind of test can use it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Answer {
    Whole(Vec<u8>),
    /// The connection is closed without a word.
    Close,
    /// Nothing comes, and the connection stays.
    Hang,
    /// This, and then nothing more, and the connection stays.
    Begin(Vec<u8>),
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    /// With what follows a `?`.
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of a header, or nothing.
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim())
    }

    /// The body as text: what a form sent.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Answer {
    pub fn new(status: u16, kind: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        Self::Whole([head.as_bytes(), body].concat())
    }

    pub fn html(body: impl AsRef<str>) -> Self {
        Self::new(200, "text/html; charset=utf-8", body.as_ref())
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub fn redirect(to: &str) -> Self {
        Self::new(302, "text/plain", "").with_header("location", to)
    }

    #[must_use]
    pub fn with_header(self, name: &str, value: &str) -> Self {
        let Self::Whole(bytes) = self else { return self };
        let at = bytes.windows(2).position(|pair| pair == b"\r\n").map_or(0, |at| at + 2);
        let (first, rest) = bytes.split_at(at);
        Self::Whole([first, format!("{name}: {value}\r\n").as_bytes(), rest].concat())
    }
}

/// A running server. It takes no more requests when it is dropped.
#[derive(Debug)]
pub struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    stopped: Arc<AtomicBool>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        // Wakes the thread that waits for the next connection.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

#[expect(clippy::expect_used, reason = "a test server that cannot be started fails the test")]
impl Server {
    pub fn start(respond: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let stopped = Arc::new(AtomicBool::new(false));
        let (record, ended, respond) = (Arc::clone(&seen), Arc::clone(&stopped), Arc::new(respond));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let (record, ended, respond) =
                    (Arc::clone(&record), Arc::clone(&ended), Arc::clone(&respond));
                std::thread::spawn(move || {
                    let _ = serve(stream, &record, &ended, &*respond);
                });
            }
        });
        Self { port, seen, stopped }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(
    mut stream: TcpStream,
    record: &Mutex<Vec<Request>>,
    ended: &AtomicBool,
    respond: &(dyn Fn(&Request) -> Answer + Send + Sync),
) -> std::io::Result<()> {
    let Some(request) = read(&mut stream)? else { return Ok(()) };
    record.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    let hang = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        let mut rest = [0; 64];
        while !ended.load(Ordering::Acquire) {
            if let Ok(0) = stream.read(&mut rest) {
                break;
            }
        }
        Ok(())
    };
    match respond(&request) {
        Answer::Whole(bytes) => stream.write_all(&bytes),
        Answer::Close => Ok(()),
        Answer::Hang => hang(&mut stream),
        Answer::Begin(bytes) => {
            stream.write_all(&bytes)?;
            hang(&mut stream)
        }
    }
}

fn read(stream: &mut TcpStream) -> std::io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
            let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
            let request = Request { head, body };
            if request.body.len() >= request.header("content-length").parse().unwrap_or(0) {
                return Ok(Some(request));
            }
        }
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(buffer.get(..read).unwrap_or_default());
    }
}

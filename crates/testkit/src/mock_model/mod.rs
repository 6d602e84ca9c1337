//! A model server on loopback for programs that bring their own client: coding agents as they are installed.
//!
//! Speaks Anthropic Messages and OpenAI Responses, streamed or whole, answers by rules and remembers every request. What
//! a provider's client of ours does with broken bytes is tested elsewhere, byte by byte: this one is always well-formed.

mod asked;
mod http;
mod messages;
mod responses;
mod rule;

pub use asked::{Api, Asked};
pub use rule::{Rule, Say};

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What each answer claims to have used.
pub const INPUT_TOKENS: u64 = 100;
/// As [`INPUT_TOKENS`]; of them, what the provider had cached comes on top in one API and is part of them in the other.
pub const CACHED_TOKENS: u64 = 40;
pub const OUTPUT_TOKENS: u64 = 10;

/// A running server. Dropping it closes every connection.
#[derive(Debug)]
pub struct MockModel {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    rules: Vec<Rule>,
    asked: Mutex<Vec<Asked>>,
    /// What no rule was for.
    unmatched: Mutex<Vec<Asked>>,
    connections: Mutex<Vec<TcpStream>>,
    is_over: AtomicBool,
}

#[expect(clippy::expect_used, reason = "a test world that cannot be made fails the test")]
impl MockModel {
    /// The first rule that fits answers. A request that none fits is refused with its own text and remembered.
    pub fn start(rules: Vec<Rule>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let port = listener.local_addr().expect("the port").port();
        let shared = Arc::new(Shared {
            rules,
            asked: Mutex::default(),
            unmatched: Mutex::default(),
            connections: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if server.is_over.load(Ordering::Acquire) {
                    return;
                }
                let connection = Arc::clone(&server);
                std::thread::spawn(move || connection.serve(stream));
            }
        });
        Self { port, shared }
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request for an answer so far, in order. Questions on the side (counting tokens, listing models) are not
    /// among them.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// The requests no rule was for.
    pub fn unmatched(&self) -> Vec<Asked> {
        lock(&self.shared.unmatched).clone()
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        for stream in lock(&self.shared.connections).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the accepting thread, which then sees that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        if let Ok(copy) = stream.try_clone() {
            lock(&self.connections).push(copy);
        }
        while let Some(request) = http::read(&mut stream) {
            if self.answer(&mut stream, &request).is_err() || !request.stays {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn answer(&self, stream: &mut TcpStream, request: &http::Request) -> std::io::Result<()> {
        let Some(asked) = Asked::from(request) else { return http::aside(stream, request) };
        let place = {
            let mut all = lock(&self.asked);
            all.push(asked.clone());
            all.len()
        };
        let Some(rule) = self.rules.iter().find(|rule| rule.takes(&asked)) else {
            let text = format!("no rule of the mock model is for this request: {}", asked.text());
            lock(&self.unmatched).push(asked);
            return http::refuse(stream, 400, &text);
        };
        let says = rule.says(&asked);
        match asked.api {
            Api::Messages => messages::answer(stream, &asked, place, &says),
            Api::Responses => responses::answer(stream, &asked, place, &says),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The wire: JSON messages with a NUL after each, commands answered by number, events handed on as they come.

use super::error::BrowserError;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

/// A full-page picture has a few tens of megabytes. Whoever sends more is no longer understood, and the connection ends.
const MAX_MESSAGE: usize = 128 << 20;

/// Something the browser says unasked.
#[derive(Debug)]
pub(super) struct Event {
    pub session: Option<String>,
    pub method: String,
    pub params: Value,
}

/// A connection to a browser. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Connection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    next: AtomicU64,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    pending: Mutex<HashMap<u64, Pending>>,
    /// Sessions that will never answer again.
    dead: Mutex<HashSet<String>>,
    closed: AtomicBool,
}

#[derive(Debug)]
struct Pending {
    session: Option<String>,
    method: &'static str,
    reply: oneshot::Sender<Result<Value, BrowserError>>,
}

/// The tasks behind a connection; they end with it.
#[derive(Debug)]
pub(super) struct Wires(AbortHandle, AbortHandle);

impl Drop for Wires {
    fn drop(&mut self) {
        self.0.abort();
        self.1.abort();
    }
}

impl Connection {
    pub fn open(
        mut reader: impl AsyncRead + Unpin + Send + 'static,
        mut writer: impl AsyncWrite + Unpin + Send + 'static,
        on_event: impl Fn(&Connection, Event) + Send + 'static,
    ) -> (Self, Wires) {
        let (outgoing, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        let inner = Inner {
            next: AtomicU64::new(1),
            outgoing,
            pending: Mutex::default(),
            dead: Mutex::default(),
            closed: AtomicBool::new(false),
        };
        let connection = Self(Arc::new(inner));
        let writing = tokio::spawn(async move {
            while let Some(message) = queue.recv().await {
                if writer.write_all(&message).await.is_err() {
                    return;
                }
            }
        });
        let own = connection.clone();
        let reading = tokio::spawn(async move {
            let mut buffer = Vec::new();
            let mut chunk = vec![0; 256 << 10];
            while let Ok(read @ 1..) = reader.read(&mut chunk).await {
                for part in chunk.get(..read).unwrap_or_default().split_inclusive(|byte| *byte == 0) {
                    buffer.extend_from_slice(part);
                    if buffer.last() == Some(&0) {
                        buffer.pop();
                        own.take(&buffer, &on_event);
                        buffer.clear();
                        // One large picture must not cost its memory for ever.
                        buffer.shrink_to(1 << 20);
                    }
                }
                if buffer.len() > MAX_MESSAGE {
                    break;
                }
            }
            own.close();
        });
        (connection, Wires(reading.abort_handle(), writing.abort_handle()))
    }

    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Sends a command and waits for its answer, at most until `deadline`.
    pub async fn call(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
        deadline: Instant,
    ) -> Result<Value, BrowserError> {
        let (reply, answer) = oneshot::channel();
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let _forgotten_if_dropped = Forget(self, id);
        self.pending().insert(id, Pending { session: session.map(str::to_owned), method, reply });
        self.send(id, session, method, &params);
        if self.is_closed() {
            return Err(BrowserError::Gone);
        }
        // It died between the question and the look at it: whoever failed its calls did not see this one.
        if session.is_some_and(|session| self.dead().contains(session)) {
            return Err(BrowserError::Crashed);
        }
        match timeout_at(deadline, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(BrowserError::Gone),
            Err(_) => Err(BrowserError::TooSlow(method, 0)),
        }
    }

    /// Sends a command whose answer nobody needs.
    pub fn tell(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.send(id, session, method, params);
    }

    /// Nobody will answer for this session any more.
    pub fn fail_session(&self, session: &str) {
        self.dead().insert(session.to_owned());
        let mut pending = self.pending();
        let ids: Vec<u64> = pending
            .iter()
            .filter(|(_, waiting)| waiting.session.as_deref() == Some(session))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            if let Some(waiting) = pending.remove(&id) {
                let _ = waiting.reply.send(Err(BrowserError::Crashed));
            }
        }
    }

    fn send(&self, id: u64, session: Option<&str>, method: &str, params: &Value) {
        let mut message = json!({"id": id, "method": method, "params": params});
        if let (Some(session), Some(fields)) = (session, message.as_object_mut()) {
            fields.insert("sessionId".into(), session.into());
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        // A closed queue is noticed by whoever waits.
        let _ = self.0.outgoing.send(bytes);
    }

    fn take(&self, bytes: &[u8], on_event: &impl Fn(&Self, Event)) {
        let Ok(mut message) = serde_json::from_slice::<Value>(bytes) else { return };
        let mut taken = |key: &str| message.get_mut(key).map(Value::take);
        if let Some(id) = taken("id").and_then(|id| id.as_u64()) {
            let Some(waiting) = self.pending().remove(&id) else { return };
            let answer = match taken("error") {
                Some(error) => {
                    let text = error.get("message").and_then(Value::as_str).unwrap_or("?").to_owned();
                    Err(BrowserError::Protocol(waiting.method, text))
                }
                None => Ok(taken("result").unwrap_or_default()),
            };
            let _ = waiting.reply.send(answer);
        } else if let Some(Value::String(method)) = taken("method") {
            let session = taken("sessionId").and_then(|session| session.as_str().map(str::to_owned));
            let params = taken("params").unwrap_or_default();
            on_event(self, Event { session, method, params });
        }
    }

    fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        // Dropping the senders tells everyone who waits.
        self.pending().clear();
    }

    fn dead(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.dead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, Pending>> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller that gave up leaves nothing behind.
struct Forget<'c>(&'c Connection, u64);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.pending().remove(&self.1);
    }
}

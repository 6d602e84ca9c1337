//! Letting the first of several requests with the same beginning go ahead.
//!
//! A provider caches the beginning of a prompt when it has read it, which is when the first token comes back. A fan-out of
//! ten agents that starts at once pays for the same beginning ten times; behind the first one's first token it pays once.
//! Only first requests of agents come here: a later one has a history of its own, which is cached already.

use super::ModelRequest;
use super::endpoint::Endpoint;
use fugato_model::chat::Role;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Providers cache nothing shorter than about 1024 tokens, at some four bytes each.
const SHORTEST_BYTES: usize = 1024 * 4;
/// How long the beginnings of prompts are kept at least.
const KEPT: Duration = Duration::from_secs(4 * 60);
/// Nobody waits longer for another's first token: a cheaper answer is not worth a stuck one.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// The beginnings of prompts at one provider.
#[derive(Default)]
pub(super) struct PrefixGate {
    seen: Mutex<HashMap<u64, Seen>>,
}

enum Seen {
    /// The first request is under way, its answer has not begun.
    Asked(Arc<Notify>),
    Cached(Instant),
}

/// A request that may be sent. Whoever is first lets the others through when its answer begins, or when it ends without.
pub(super) struct Turn<'a> {
    leads: Option<(&'a PrefixGate, u64)>,
    has_begun: AtomicBool,
}

impl PrefixGate {
    /// Waits while another request with the same beginning has no answer yet.
    pub async fn enter<'a>(&'a self, endpoint: &Endpoint, request: &ModelRequest<'_>) -> Turn<'a> {
        let free = Turn { leads: None, has_begun: AtomicBool::new(true) };
        let is_first = request.transcript.messages().all(|message| message.role == Role::User);
        if !is_first || !endpoint.caches_prefixes() {
            return free;
        }
        let Some(prefix) = prefix_of(request) else { return free };
        let deadline = Instant::now() + LONGEST_WAIT;
        loop {
            let wait = match self.lock().get(&prefix) {
                Some(Seen::Cached(at)) if at.elapsed() < KEPT => return free,
                Some(Seen::Asked(notify)) => Some(Arc::clone(notify)),
                _ => None,
            };
            let Some(notify) = wait else {
                if self.lead(prefix) {
                    return Turn { leads: Some((self, prefix)), has_begun: AtomicBool::new(false) };
                }
                continue;
            };
            let mut changed = std::pin::pin!(notify.notified());
            changed.as_mut().enable();
            // It may have begun between the look and the listening.
            let is_asked =
                matches!(self.lock().get(&prefix), Some(Seen::Asked(now)) if Arc::ptr_eq(now, &notify));
            if is_asked && timeout(deadline.saturating_duration_since(Instant::now()), changed).await.is_err()
            {
                return free;
            }
        }
    }

    /// Becomes the first, unless somebody else just did.
    fn lead(&self, prefix: u64) -> bool {
        let mut seen = self.lock();
        if matches!(seen.get(&prefix), Some(Seen::Asked(_))) {
            return false;
        }
        // What is no longer cached is forgotten, so that the map stays as small as what is going on.
        seen.retain(|_, seen| !matches!(seen, Seen::Cached(at) if at.elapsed() >= KEPT));
        seen.insert(prefix, Seen::Asked(Arc::default()));
        true
    }

    fn settle(&self, prefix: u64, cached: bool) {
        let mut seen = self.lock();
        if let Some(Seen::Asked(notify)) = seen.remove(&prefix) {
            notify.notify_waiters();
        }
        if cached {
            seen.insert(prefix, Seen::Cached(Instant::now()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Seen>> {
        // Every change of the map is one call, so a poisoned one is whole.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// The answer has begun: what comes before it is cached.
    pub fn began(&self) {
        if self.has_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some((gate, prefix)) = self.leads {
            gate.settle(prefix, true);
        }
    }
}

impl Drop for Turn<'_> {
    /// Failed or given up before its answer began: the next one is first.
    fn drop(&mut self) {
        if let (Some((gate, prefix)), false) = (self.leads, self.has_begun.load(Ordering::Relaxed)) {
            gate.settle(prefix, false);
        }
    }
}

/// What all agents of one kind share: model, system prompt and tools. `None`: too short to be cached.
fn prefix_of(request: &ModelRequest<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    (request.model, request.system).hash(&mut hasher);
    let mut bytes = request.system.len();
    for tool in request.tools {
        let parameters = tool.parameters.to_string();
        bytes += tool.name.len() + tool.description.len() + parameters.len();
        (&tool.name, &tool.description, parameters).hash(&mut hasher);
    }
    (bytes >= SHORTEST_BYTES).then(|| hasher.finish())
}

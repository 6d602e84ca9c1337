//! Polite retries: all callers of a provider share one gate, so that a refusal to one of them slows all of them.
//!
//! A refusal closes the gate for the wait the provider asked for (or a random one that doubles). Then one request tries;
//! each success lets one more through at a time, as TCP grows its window. Refusals of requests that were already under
//! way when the gate closed belong to the same episode and cost nothing more. A budget bounds how often an episode may
//! follow another; when it is spent, calls fail at once for a while instead of queueing for ever.

use super::collect::{AnswerShape, Delta, shape_of};
use super::error::ModelError;
use super::{ModelRequest, Models};
use fugato_model::chat::{Answer, Usage};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// How retries are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// Requests per call, the first included.
    pub attempts: u32,
    /// The first back-off is random between zero and this; the next between zero and twice this, and so on.
    pub base: Duration,
    pub longest: Duration,
    /// Failures in a row, over all callers of a provider, before calls fail at once.
    pub budget: u32,
    /// Requests under way at once to one provider; `None` is as many as there are callers.
    pub at_once: Option<usize>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: 6,
            base: Duration::from_millis(500),
            longest: Duration::from_secs(60),
            budget: 10,
            at_once: None,
        }
    }
}

/// A second try, told before its wait.
#[derive(Debug)]
pub struct Retry<'a> {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    pub wait: Duration,
    /// `None`: the answer was empty.
    pub error: Option<&'a ModelError>,
}

/// Calls a model and calls again what is worth it. An empty answer is asked for once more. Never call this for an answer
/// whose tools already had an effect.
pub async fn call_with_retries(
    models: &Models,
    model: &str,
    request: ModelRequest<'_>,
    on_delta: &mut (dyn FnMut(Delta) + Send),
    on_retry: &mut (dyn FnMut(Retry<'_>) + Send),
) -> Result<Answer, ModelError> {
    if model.starts_with("replay:") {
        // What was recorded is how it ended, after all tries.
        return models.call(model, request, on_delta).await;
    }
    let (limiter, settings) = (models.limiter(model), models.retry_settings());
    let mut spent = Usage::default();
    let mut was_empty = false;
    let mut attempt = 1;
    loop {
        let permit = limiter.enter(settings).await?;
        let mut this = request.clone();
        this.about.attempt = request.about.attempt.saturating_add(attempt - 1);
        match models.call(model, this, on_delta).await {
            Ok(mut answer) => {
                permit.succeed();
                answer.usage = spent.plus(answer.usage);
                if shape_of(&answer) != AnswerShape::Empty || was_empty {
                    return Ok(answer);
                }
                (was_empty, spent) = (true, answer.usage);
                on_retry(Retry { attempt, wait: Duration::ZERO, error: None });
            }
            Err(mut error) => {
                let verdict = permit.fail(&error, settings);
                if let Some(usage) = error.usage.as_deref() {
                    spent = spent.plus(*usage);
                }
                if attempt >= settings.attempts || verdict == Verdict::GiveUp {
                    error.usage = (spent != Usage::default()).then(|| Box::new(spent));
                    return Err(error);
                }
                let (Verdict::AtTheGate(wait) | Verdict::Alone(wait)) = verdict else { return Err(error) };
                on_retry(Retry { attempt, wait, error: Some(&error) });
                if let Verdict::Alone(wait) = verdict {
                    sleep(wait).await;
                }
            }
        }
        attempt += 1;
    }
}

/// Where the next try of a failed call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// With everybody else; the wait is what is left of the shared one.
    AtTheGate(Duration),
    /// By itself: its stream broke, which says nothing about the others.
    Alone(Duration),
    GiveUp,
}

/// The gate of one provider.
#[derive(Default)]
pub(super) struct Limiter {
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    /// Grows with every closing: tells refusals of one episode from the next.
    episode: u64,
    closed_until: Option<Instant>,
    /// How many requests may be under way; `None` when nothing was refused lately.
    window: Option<f64>,
    /// Where the window stops growing quickly.
    threshold: f64,
    under_way: usize,
    failures: u32,
    /// The error everybody gets until then.
    given_up: Option<(Instant, Box<ModelError>)>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            episode: 0,
            closed_until: None,
            window: None,
            threshold: 1.0,
            under_way: 0,
            failures: 0,
            given_up: None,
        }
    }
}

/// A window this wide limits nobody.
const WIDE: f64 = 256.0;

impl Limiter {
    /// Waits until a request may be sent.
    async fn enter(&self, settings: &RetrySettings) -> Result<Permit<'_>, ModelError> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let wait = match self.lock().admit(Instant::now(), settings) {
                Ok(episode) => return Ok(Permit { limiter: self, episode }),
                Err(Wait::GivenUp(error)) => return Err(*error),
                Err(Wait::Until(until)) => Some(until),
                Err(Wait::Change) => None,
            };
            match wait {
                Some(until) => tokio::select! { () = sleep_until(until) => {}, () = changed => {} },
                None => changed.await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing between lock and unlock can leave a half-made state, so a poisoned one is as good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Wait {
    Until(Instant),
    Change,
    GivenUp(Box<ModelError>),
}

impl State {
    fn admit(&mut self, now: Instant, settings: &RetrySettings) -> Result<u64, Wait> {
        if let Some((until, error)) = &self.given_up {
            if now < *until {
                return Err(Wait::GivenUp(error.clone()));
            }
            self.given_up = None;
            self.failures = settings.budget.saturating_sub(1);
        }
        if let Some(until) = self.closed_until {
            if now < until {
                return Err(Wait::Until(until));
            }
            self.closed_until = None;
        }
        if settings.at_once.is_some_and(|most| self.under_way >= most) {
            return Err(Wait::Change);
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of requests under way is small")]
        if self.window.is_some_and(|window| self.under_way as f64 + 1.0 > window) {
            return Err(Wait::Change);
        }
        self.under_way += 1;
        Ok(self.episode)
    }

    fn succeed(&mut self) {
        self.failures = 0;
        if let Some(window) = self.window {
            let step = if window < self.threshold { 1.0 } else { 1.0 / window };
            self.window = Some(window + step).filter(|window| *window < WIDE);
        }
    }

    fn fail(&mut self, episode: u64, error: &ModelError, settings: &RetrySettings, now: Instant) -> Verdict {
        if !error.is_worth_a_retry() {
            return Verdict::GiveUp;
        }
        let is_shared = error.status.is_some_and(|status| status >= 400);
        if is_shared && episode < self.episode {
            // Somebody else's refusal closed the gate already; a longer wait asked of us counts for all.
            let asked = error.retry_after.map(|wait| now + wait);
            self.closed_until = self.closed_until.max(asked);
            return Verdict::AtTheGate(self.left(now));
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures > settings.budget {
            self.given_up = Some((now + settings.longest, Box::new(error.clone())));
            return Verdict::GiveUp;
        }
        let wait = back_off(error.retry_after, self.failures, settings);
        if !is_shared {
            return Verdict::Alone(wait);
        }
        self.episode += 1;
        self.closed_until = self.closed_until.max(Some(now + wait));
        #[expect(clippy::cast_precision_loss, reason = "a count of requests under way is small")]
        let under_way = self.under_way as f64;
        self.threshold = (self.window.unwrap_or(under_way) / 2.0).max(1.0);
        self.window = Some(1.0);
        Verdict::AtTheGate(self.left(now))
    }

    fn left(&self, now: Instant) -> Duration {
        self.closed_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

/// The right to have one request under way. Dropping it (also by cancelling the call) gives the place back.
struct Permit<'a> {
    limiter: &'a Limiter,
    episode: u64,
}

impl Permit<'_> {
    fn succeed(self) {
        self.limiter.lock().succeed();
    }

    fn fail(self, error: &ModelError, settings: &RetrySettings) -> Verdict {
        self.limiter.lock().fail(self.episode, error, settings, Instant::now())
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.lock();
        state.under_way = state.under_way.saturating_sub(1);
        drop(state);
        self.limiter.changed.notify_waiters();
    }
}

/// Full jitter; what a provider asked for is never undercut.
fn back_off(asked: Option<Duration>, failures: u32, settings: &RetrySettings) -> Duration {
    match asked {
        Some(asked) => asked + settings.base.mul_f64(random()),
        None => {
            let most = settings.base.saturating_mul(1 << failures.saturating_sub(1).min(16));
            most.min(settings.longest).mul_f64(random())
        }
    }
}

/// Between 0 and 1. The standard library seeds its hashers at random; nothing here needs more than that.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    let fraction = bits as f64 / (1_u64 << 53) as f64;
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::chat::ModelFault;
    use fugato_model::words;

    fn refusal(status: u16, wait: Option<u64>) -> ModelError {
        ModelError::new(ModelFault::RateLimited, words!("x", "x"))
            .status(status)
            .retry_after(wait.map(Duration::from_secs))
    }

    #[test]
    fn one_burst_of_refusals_is_one_episode() {
        let (settings, now) = (RetrySettings::default(), Instant::now());
        let mut state = State::default();
        let episodes: Vec<u64> = (0..32).map(|_| state.admit(now, &settings).ok().unwrap()).collect();
        for episode in episodes {
            state.fail(episode, &refusal(429, Some(7)), &settings, now);
            state.under_way -= 1;
        }
        assert_eq!((state.episode, state.failures), (1, 1));
        assert!(state.left(now) >= Duration::from_secs(7), "{:?}", state.left(now));
        assert!(matches!(state.admit(now, &settings), Err(Wait::Until(_))));
        let later = now + Duration::from_secs(8);
        assert!(state.admit(later, &settings).is_ok());
        assert!(matches!(state.admit(later, &settings), Err(Wait::Change)), "only one may try");
        state.succeed();
        assert!(state.admit(later, &settings).is_ok(), "then one more");
    }

    #[test]
    fn a_spent_budget_fails_at_once_and_recovers_with_time() {
        let settings = RetrySettings { budget: 3, ..RetrySettings::default() };
        let mut now = Instant::now();
        let mut state = State::default();
        let mut verdict = Verdict::GiveUp;
        for _ in 0..4 {
            now += Duration::from_secs(400);
            let episode = state.admit(now, &settings).ok().unwrap();
            verdict = state.fail(episode, &refusal(503, None), &settings, now);
            state.under_way -= 1;
        }
        assert_eq!(verdict, Verdict::GiveUp);
        assert!(matches!(state.admit(now, &settings), Err(Wait::GivenUp(_))));
        assert!(state.admit(now + settings.longest, &settings).is_ok());
    }

    #[test]
    fn a_broken_stream_waits_alone_and_a_wrong_request_not_at_all() {
        let (settings, now) = (RetrySettings::default(), Instant::now());
        let mut state = State::default();
        let broken = ModelError::new(ModelFault::Transient, words!("x", "x"));
        assert!(matches!(state.fail(0, &broken, &settings, now), Verdict::Alone(_)));
        assert!(state.closed_until.is_none());
        for fault in [
            ModelFault::Rejected,
            ModelFault::Unauthorized,
            ModelFault::ContextOverflow,
            ModelFault::Malformed,
        ] {
            let error = ModelError::new(fault, words!("x", "x")).status(400);
            assert_eq!(state.fail(0, &error, &settings, now), Verdict::GiveUp);
        }
    }

    #[test]
    fn waits_are_random_bounded_and_never_below_what_was_asked() {
        let settings = RetrySettings::default();
        let waits: Vec<_> = (0..200).map(|n| back_off(None, n, &settings)).collect();
        assert!(waits.iter().all(|wait| *wait <= settings.longest));
        assert!(waits.windows(2).any(|pair| pair[0] != pair[1]));
        let asked = Duration::from_secs(5);
        assert!((0..200).all(|n| (asked..=asked + settings.base).contains(&back_off(
            Some(asked),
            n,
            &settings
        ))));
    }
}

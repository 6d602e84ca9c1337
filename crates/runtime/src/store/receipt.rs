//! The promise that something was committed, for threads that wait and tasks that await.

use super::StoreError;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Resolves once the transaction is on the disk, or has failed. Dropping it takes nothing back.
#[derive(Debug)]
#[must_use = "nothing is durable before the receipt says so"]
pub struct Receipt<T = ()>(Arc<Slot<T>>);

/// The other end: whoever holds it must answer, and answers `Closed` when dropped without a word.
#[derive(Debug)]
pub(super) struct Answer<T = ()>(Option<Arc<Slot<T>>>);

#[derive(Debug)]
struct Slot<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
}

#[derive(Debug)]
enum State<T> {
    Waiting(Option<Waker>),
    Answered(Result<T, StoreError>),
    Taken,
}

pub(super) fn pair<T>() -> (Answer<T>, Receipt<T>) {
    let slot = Arc::new(Slot { state: Mutex::new(State::Waiting(None)), filled: Condvar::new() });
    (Answer(Some(slot.clone())), Receipt(slot))
}

impl<T> Receipt<T> {
    /// Blocks until the answer is there.
    pub fn wait(self) -> Result<T, StoreError> {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |state: &mut State<T>| matches!(state, State::Waiting(_));
        let mut state = self.0.filled.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner);
        take(&mut state).unwrap_or(Err(StoreError::Closed))
    }
}

impl<T> Future for Receipt<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match take(&mut state) {
            Some(answer) => Poll::Ready(answer),
            None => {
                *state = State::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
        }
    }
}

fn take<T>(state: &mut State<T>) -> Option<Result<T, StoreError>> {
    match std::mem::replace(state, State::Taken) {
        State::Answered(answer) => Some(answer),
        State::Taken => Some(Err(StoreError::Closed)),
        waiting @ State::Waiting(_) => {
            *state = waiting;
            None
        }
    }
}

impl<T> Answer<T> {
    pub fn give(mut self, answer: Result<T, StoreError>) {
        self.fill(answer);
    }

    fn fill(&mut self, answer: Result<T, StoreError>) {
        let Some(slot) = self.0.take() else { return };
        let before = {
            let mut state = slot.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *state, State::Answered(answer))
        };
        slot.filled.notify_all();
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.fill(Err(StoreError::Closed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    struct Count(AtomicU32);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_task_is_woken_when_the_answer_comes() {
        let count = Arc::new(Count(AtomicU32::new(0)));
        let waker = Waker::from(count.clone());
        let (answer, mut receipt) = pair::<u8>();
        let poll = |receipt: &mut Receipt<u8>| Pin::new(receipt).poll(&mut Context::from_waker(&waker));
        assert_eq!(poll(&mut receipt), Poll::Pending);
        answer.give(Ok(7));
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut receipt), Poll::Ready(Ok(7)));
    }

    #[test]
    fn an_answer_that_was_dropped_is_an_error_not_a_hang() {
        let (answer, receipt) = pair::<()>();
        drop(answer);
        assert_eq!(receipt.wait(), Err(StoreError::Closed));
    }
}

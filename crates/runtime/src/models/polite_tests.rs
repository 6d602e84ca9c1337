//! Thirty-two agents and one provider that has had enough.

use super::test_server::{ARGUMENTS, Server, Step, request, stream, whole, wires};
use super::{Retry, call_with_retries};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

const AGENTS: usize = 32;

fn good() -> Vec<Step> {
    stream(&wires(ARGUMENTS).remove(0).frames)
}

fn refusal(wait: Duration) -> Vec<Step> {
    let header = format!("retry-after-ms: {}\r\n", wait.as_millis());
    whole(429, "application/json", &header, br#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#)
}

async fn all_agents(server: &Server) -> usize {
    let models = server.models();
    let calls = (0..AGENTS).map(|_| {
        let models = models.clone();
        tokio::spawn(async move {
            call_with_retries(&models, "anthropic/claude", request(), &mut |_| {}, &mut |_: Retry<'_>| {})
                .await
        })
    });
    let results = futures_util::future::join_all(calls).await;
    results.into_iter().filter(|result| matches!(result, Ok(Ok(_)))).count()
}

#[tokio::test]
async fn a_refused_crowd_waits_together_and_comes_back_one_by_one() {
    let wait = Duration::from_millis(600);
    let opened = Instant::now() + wait;
    let server = Server::start(move |_, seen| if seen.at < opened { refusal(wait) } else { good() }).await;
    assert_eq!(all_agents(&server).await, AGENTS);
    let seen = server.requests();
    let first = seen[0].at;
    let burst = seen.iter().filter(|seen| seen.at < first + wait).count();
    assert!(burst <= AGENTS, "{burst} requests before the wait was over: somebody retried early");
    assert!(seen.len() <= AGENTS * 2, "{} requests for {AGENTS} agents", seen.len());
    let mut later: Vec<_> = seen.iter().filter(|seen| seen.at >= first + wait).map(|seen| seen.at).collect();
    later.sort();
    let crowd = later.iter().filter(|at| **at < later[0] + Duration::from_millis(2)).count();
    assert!(crowd < 8, "{crowd} requests at once after the wait");
}

#[tokio::test]
async fn a_provider_with_a_limit_is_hardly_ever_asked_beyond_it() {
    // Five may be under way at a time; the sixth is refused.
    let limit = 5_usize;
    let under_way = Arc::new(Mutex::new(Vec::<Instant>::new()));
    let refused = Arc::new(Mutex::new(Vec::<Instant>::new()));
    let (busy, no) = (Arc::clone(&under_way), Arc::clone(&refused));
    let takes = Duration::from_millis(40);
    let server = Server::start(move |_, seen| {
        let mut busy = busy.lock().unwrap();
        busy.retain(|until| *until > seen.at);
        if busy.len() >= limit {
            no.lock().unwrap().push(seen.at);
            return refusal(Duration::from_millis(100));
        }
        busy.push(seen.at + takes);
        [vec![Step::Wait(takes)], good()].concat()
    })
    .await;
    assert_eq!(all_agents(&server).await, AGENTS);
    let first = server.requests()[0].at;
    let refused = refused.lock().unwrap();
    // The first burst is made before anybody can know; what is refused after it must be rare.
    let later = refused.iter().filter(|at| **at > first + Duration::from_millis(90)).count();
    let total = server.requests().len();
    assert!(later * 10 <= total, "{later} refusals after the burst, {total} requests");
}

#[tokio::test]
async fn a_dead_provider_is_given_up_and_not_stormed() {
    let server = Server::start(|_, _| whole(503, "text/plain", "", b"down")).await;
    let started = Instant::now();
    assert_eq!(all_agents(&server).await, 0);
    let requests = server.requests().len();
    // The first burst, and one try per episode of the budget (10).
    assert!(requests <= AGENTS + 11, "{requests} requests");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

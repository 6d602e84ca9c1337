//! Interventions do not wait for a call that takes ten minutes: a program, one that ignores being told to end, a provider that
//! never answers. Nobody survives.
//!
//! `FUGATO_CANCEL_TRIALS` calls are broken off (24 without it). With it, the promised times are held to: two seconds from the
//! word to the signal at the 99th percentile, fifteen until everything below is gone.

use super::test_bed::{Bed, agent, is_alive, node, script};
use super::{Control, Session};
use crate::store::Store;
use fugato_engine::{
    AgentPath, EffectClass, EventKind, Input, Limits, PlanNode, Refusal, Target, Verb, Verdict,
};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Calls that go on at once.
const AT_ONCE: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Program,
    /// It and its own child ignore every polite signal.
    Stubborn,
    Provider,
}

impl Call {
    fn of(trial: usize) -> Self {
        [Self::Program, Self::Stubborn, Self::Provider][trial % 3]
    }

    /// Says who it is, once both are there, and stays.
    fn body(self, pids: &str) -> String {
        let (ears, more) = match self {
            Self::Stubborn => ("trap '' TERM INT HUP;", "while true; do sleep 600; done"),
            _ => ("", "sleep 600; wait"),
        };
        format!(
            "{ears} ({ears} sleep 600) &\necho \"$$ $!\" > '{pids}.part'; mv '{pids}.part' '{pids}'\n{more}"
        )
    }
}

/// How long it took from the word until it was taken, and until everything was gone.
#[derive(Debug)]
struct Trial {
    call: Call,
    taken: Duration,
    gone: Duration,
}

fn pids(bed: &Bed, trial: usize) -> Vec<u32> {
    let text = std::fs::read_to_string(bed.path(&format!("project/pids-{trial}"))).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

async fn tell(controls: &mpsc::Sender<Control>, trial: usize, verb: Verb) -> Result<(), Refusal> {
    let (reply, replied) = oneshot::channel();
    let target = Target::Agent(AgentPath::new(&format!("n{trial}")));
    controls.send(Control::Input(Input::Direct { verb, target, text: None }, reply)).await.unwrap();
    replied.await.unwrap()
}

/// Everybody of one run is in the middle of a call, and is cancelled at once with all others.
async fn break_off(trials: usize) -> Vec<Trial> {
    let bed = Bed::new();
    let model = "- when: {agent: '*'}\n  delay_ms: 600000\n  reply: never\n";
    std::fs::write(bed.path("model.yaml"), model).unwrap();
    let nodes = (0..trials).map(|trial| {
        let work = match Call::of(trial) {
            Call::Provider => agent(),
            call => {
                let pids = bed.path(&format!("project/pids-{trial}"));
                bed.script(&format!("s{trial}"), &call.body(&pids.display().to_string()));
                script(&format!("s{trial}"), EffectClass::Idempotent)
            }
        };
        PlanNode { optional: true, ..node(&format!("n{trial}"), &[], work, None) }
    });
    let mut spec = bed.spec(nodes.collect());
    spec.limits = Limits { concurrent: u32::try_from(trials).unwrap(), ..Limits::default() };
    let store = Store::open(&bed.state()).unwrap();
    let mut session = Session::create(store, spec, bed.world(), Box::new(|_| {})).unwrap();
    session.stay_while_paused();
    let (controls, inbox) = mpsc::channel(64);
    let driven = tokio::spawn(async move {
        let end = session.drive(inbox).await;
        (session, end)
    });
    let asked = (0..trials).filter(|trial| Call::of(*trial) == Call::Provider).count();
    let is_begun = || {
        let programs = (0..trials).filter(|trial| Call::of(*trial) != Call::Provider);
        let events = super::load(&bed.reader(), "run_bed").unwrap();
        let requested =
            events.iter().filter(|event| matches!(event.kind, EventKind::ModelRequested { .. })).count();
        requested == asked && programs.into_iter().all(|trial| pids(&bed, trial).len() == 2)
    };
    let began = Instant::now();
    while !is_begun() {
        assert!(began.elapsed() < Duration::from_secs(120), "not everybody is in its call");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut under_way = tokio::task::JoinSet::new();
    for trial in 0..trials {
        let (controls, pids, call) = (controls.clone(), pids(&bed, trial), Call::of(trial));
        under_way.spawn(async move {
            if call == Call::Provider {
                tell(&controls, trial, Verb::Pause).await.unwrap();
                tell(&controls, trial, Verb::Resume).await.unwrap();
            }
            let said = Instant::now();
            tell(&controls, trial, Verb::Cancel).await.unwrap();
            let taken = said.elapsed();
            while pids.iter().any(|pid| is_alive(*pid)) {
                assert!(said.elapsed() < Duration::from_secs(120), "{call:?} survives");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Trial { call, taken, gone: said.elapsed() }
        });
    }
    let done = under_way.join_all().await;
    let (session, end) = driven.await.unwrap();
    end.unwrap();
    assert_eq!(session.run().status(), "complete", "all of them were optional");
    let events = super::load(&bed.reader(), "run_bed").unwrap();
    let cancelled = events.iter().filter(|event| {
        matches!(
            &event.kind,
            EventKind::AgentStopped { verdict: Verdict::Cancelled, .. } | EventKind::NodeFailed { .. }
        )
    });
    assert!(cancelled.count() >= trials, "an end for each");
    for trial in 0..trials {
        assert!(pids(&bed, trial).iter().all(|pid| !is_alive(*pid)), "trial {trial}");
    }
    done
}

fn at(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times.get((times.len() * percent / 100).min(times.len() - 1)).copied().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_ten_minutes_are_broken_off_at_once_and_nobody_survives() {
    let wanted = std::env::var("FUGATO_CANCEL_TRIALS").ok().map(|text| text.parse::<usize>().unwrap());
    let trials = wanted.unwrap_or(24);
    let mut all = Vec::new();
    while all.len() < trials {
        all.extend(break_off(AT_ONCE.min(trials - all.len())).await);
    }
    // A program that heeds the signal is gone when it comes: the time until then is the time to the signal.
    let times = |of: &dyn Fn(&Trial) -> Option<Duration>| all.iter().filter_map(of).collect::<Vec<_>>();
    let taken = times(&|trial| Some(trial.taken));
    let signal = times(&|trial| (trial.call == Call::Program).then_some(trial.gone));
    let gone = times(&|trial| Some(trial.gone));
    println!(
        "{} calls broken off: taken p99 {:?}, signalled p50 {:?} p99 {:?}, gone p99 {:?} at most {:?}",
        all.len(),
        at(taken, 99),
        at(signal.clone(), 50),
        at(signal.clone(), 99),
        at(gone.clone(), 99),
        at(gone.clone(), 100),
    );
    if wanted.is_some() {
        assert!(at(signal, 99) < Duration::from_secs(2));
        assert!(at(gone, 100) < Duration::from_secs(15));
    }
}

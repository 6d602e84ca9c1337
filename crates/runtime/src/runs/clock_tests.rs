//! Clocks that jump, between events and between a crash and the resume: order comes from numbers, and what was captured
//! when the run began stays as it was.

use super::test_bed::{Bed, agent, node, script};
use super::{encode, load};
use crate::store::{NewRun, RunStatus, Store};
use fugato_engine::{EffectClass, Event, EventKind, Input, Run};
use serde_json::json;

const DAY: i64 = 86_400_000;

/// A run whose clock said these times, one after the other.
fn plant(bed: &Bed, times: &[i64]) -> Run {
    let nodes = vec![
        node("one", &[], script("one", EffectClass::Read), Some("ONE")),
        node("write", &[0], agent(), Some("TEXT")),
        node("two", &[1], script("two", EffectClass::Read), Some("TWO")),
    ];
    let mut spec = bed.spec(nodes);
    spec.context.insert("TODAY".into(), json!("2001-02-03"));
    spec.context.insert("TARGET_DATE".into(), json!("2001-02-04"));
    let kind = EventKind::RunCreated { spec: std::sync::Arc::new(spec) };
    let created = Event { v: Event::VERSION, seq: 1, at: times[0], by: fugato_engine::By::User, kind };
    let mut run = Run::created(&created).unwrap();
    let mut events = vec![created];
    for at in &times[1..] {
        let input = match run.wanted().next() {
            Some((key, _)) if events.len() < 6 => Input::Completed {
                key,
                completion: fugato_engine::Completion::Script { stdout: "{\"planted\": true}".into() },
            },
            _ => Input::Recover { epoch: 1 },
        };
        events.extend(run.decide(input, *at).unwrap());
    }
    let store = Store::open(&bed.state()).unwrap();
    let new = NewRun {
        id: "run_bed".into(),
        status: RunStatus::Running,
        skill: None,
        title: None,
        created_at: times[0],
        parent: None,
        events: events.iter().map(|event| encode(event, &store).unwrap()).collect(),
    };
    store.create_run(new).unwrap();
    run
}

#[tokio::test]
async fn a_run_resumes_whatever_the_clock_said_before_and_keeps_its_date() {
    let now = super::clock::wall();
    let jumps: [(&str, [i64; 4]); 5] = [
        ("begun ten years ahead, then set right", [now + 3650 * DAY, now, now, now]),
        ("a day back", [now, now - DAY, now - DAY, now - 2 * DAY]),
        ("ten years ahead", [now, now + 3650 * DAY, now + 3650 * DAY, now + 3651 * DAY]),
        ("a second back, again and again", [now, now - 1000, now - 2000, now - 3000]),
        ("before 1970", [-DAY, -DAY, -DAY, -DAY]),
    ];
    for (what, times) in jumps {
        let bed = Bed::new();
        let planted = plant(&bed, &times);
        assert!(planted.ended.is_none(), "{what}");
        let driven = bed.resume(Store::open(&bed.state()).unwrap(), Vec::new()).await.unwrap();
        driven.end.unwrap();
        assert_eq!(driven.run.status(), "complete", "{what}");
        assert_eq!(driven.run.variables["TODAY"], json!("2001-02-03"), "{what}");
        assert_eq!(driven.run.variables["TARGET_DATE"], json!("2001-02-04"), "{what}");
        let events = load(&bed.reader(), "run_bed").unwrap();
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "{what}");
        let row = bed.reader().run("run_bed").unwrap();
        assert!(row.updated_at >= row.created_at, "{what}: it took {}", row.updated_at - row.created_at);
    }
}

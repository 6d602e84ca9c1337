//! Any lines as the journal of a run: no panic in reading, folding, deciding or looking, and the same fold twice.
//!
//! The first line is replaced by the beginning of a real run when it is none, so that what follows reaches the machine.
#![no_main]

use fugato_engine::{Completion, Event, Input, Run};
use fugato_model::Lang;
use libfuzzer_sys::fuzz_target;

const CREATED: &str = include_str!("journal_created.json");

fuzz_target!(|text: &str| {
    let mut events: Vec<Event> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut run = match events.first().and_then(Run::created) {
        Some(run) => run,
        None => {
            let created: Event = serde_json::from_str(CREATED).expect("a first event");
            events.insert(0, created);
            Run::created(&events[0]).expect("a run")
        }
    };
    for event in &events[1..] {
        run.apply(event);
    }
    let _ = run.view(Lang::En);
    let _ = (run.status(), run.open_questions().count());
    assert_eq!(Run::replay(&events).expect("the same events"), run);
    // Whatever state that is, it decides: as a new owner would, and when everything wanted ends.
    let _ = run.decide(Input::Recover { epoch: 2 }, 1);
    for _ in 0..20 {
        let Some(key) = run.wanted().map(|(key, _)| key).next() else { break };
        let completion = Completion::Tool { content: String::new(), is_error: false, used: None };
        let completion = match key {
            fugato_engine::EffectKey::Tool { .. } => completion,
            fugato_engine::EffectKey::Node { .. } => Completion::Script { stdout: text.to_owned() },
            fugato_engine::EffectKey::Model { .. } => Completion::ModelFailed {
                fault: fugato_model::chat::ModelFault::Malformed,
                message: String::new(),
            },
            fugato_engine::EffectKey::Recall { .. } => Completion::Recalled { messages: Vec::new() },
        };
        let _ = run.decide(Input::Completed { key, completion }, 2);
    }
});

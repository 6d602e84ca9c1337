//! A run of very many events: what is kept of it, and how the rest is seen.

use super::sample::{BEGAN, RUN, all_news, answered, drawn, key, kinds, press};
use crate::render::Width;
use crate::tui::log::{CHUNK, MOST};
use crate::tui::model::{Effect, Message, Model, View};
use crate::tui::news::News;
use crate::tui::news::samples::news;
use crate::tui::roster::MOST_SEQS;
use fugato_engine::{EffectClass, EventKind};
use fugato_model::Lang;
use fugato_model::chat::{Part, ToolCall};
use ratatui::crossterm::event::KeyCode;
use serde_json::json;

const EVENTS: u64 = 100_000;

/// The event with this number of an agent that reads files for days.
fn nth(seq: u64, first: u64) -> News {
    let step = u32::try_from(2 + (seq - first) / 3).unwrap();
    let call = ToolCall {
        id: format!("c{step}"),
        name: "Read".into(),
        arguments: json!({"path": format!("{step}.md")}),
    };
    let kind = match (seq - first) % 3 {
        0 => answered(0, step, vec![Part::ToolCall(call)]),
        1 => EventKind::ToolRequested { agent: 0, step, index: 0, call, class: EffectClass::Read },
        _ => EventKind::ToolCompleted {
            agent: 0,
            step,
            index: 0,
            content: format!("line {step}"),
            is_error: false,
        },
    };
    news(seq, BEGAN + i64::try_from(seq).unwrap() * 10, kind)
}

fn of(seq: u64, beginning: &[News]) -> News {
    let at = usize::try_from(seq - 1).unwrap();
    beginning.get(at).cloned().unwrap_or_else(|| nth(seq, beginning.len() as u64 + 1))
}

/// Gives what was asked for, as the store would.
fn answer(model: &mut Model, effects: Vec<Effect>, beginning: &[News]) -> usize {
    let mut asked = 0;
    for effect in effects {
        match effect {
            Effect::Read { from, count, .. } => {
                asked += 1;
                assert!(count <= CHUNK, "{count}");
                let news = (from..=EVENTS.min(from + count - 1)).map(|seq| of(seq, beginning)).collect();
                model.update(Message::Past { run: RUN.into(), news });
            }
            Effect::Load { run, row, place, seqs } => {
                let news = seqs.iter().map(|seq| of(*seq, beginning)).collect();
                let more = model.update(Message::Page { run, row, place, news });
                asked += 1 + answer(model, more, beginning);
            }
            other => panic!("{other:?}"),
        }
    }
    asked
}

fn long(events: u64) -> (Model, Vec<News>) {
    let beginning = all_news(kinds());
    let mut model = super::sample::model(Lang::En, Width::Narrow, kinds());
    for chunk in (beginning.len() as u64 + 1..=events).collect::<Vec<_>>().chunks(1000) {
        let news = chunk.iter().map(|seq| of(*seq, &beginning)).collect();
        model.update(Message::News { run: RUN.into(), news });
    }
    (model, beginning)
}

#[test]
fn of_a_hundred_thousand_events_a_window_is_kept_and_the_rest_is_read_when_somebody_goes_there() {
    let (mut model, beginning) = long(EVENTS);
    let watched = model.watched.as_ref().unwrap();
    assert_eq!(watched.seq, EVENTS);
    assert_eq!(watched.log.len(), MOST);
    assert!(watched.roster.rows.iter().all(|row| row.seqs.len() <= 2 * MOST_SEQS));
    assert!(watched.tracer.trace.bars.iter().all(|bar| bar.steps.len() <= 2_000), "steps of the timeline");
    // The beginning is read when somebody goes there, the end when somebody comes back.
    press(&mut model, KeyCode::Char('4'));
    assert_eq!(model.view, View::Events);
    let effects = press(&mut model, KeyCode::Home);
    assert!(drawn(&mut model, 100, 24).contains("reading older ones"), "{}", drawn(&mut model, 100, 24));
    assert_eq!(answer(&mut model, effects, &beginning), 1);
    let screen = drawn(&mut model, 100, 24);
    assert!(screen.lines().any(|line| line.trim_start().starts_with("▸     1 ")), "{screen}");
    let effects = press(&mut model, KeyCode::End);
    assert_eq!(answer(&mut model, effects, &beginning), 1);
    let screen = drawn(&mut model, 100, 24);
    assert!(screen.contains("100000"), "{screen}");
    assert_eq!(model.watched.as_ref().unwrap().chosen_event, None, "it follows again");
    // Page by page upwards through everything: no gap, never more than the window.
    let mut lowest = EVENTS;
    let mut asked = 0;
    while lowest > 1 {
        let effects = press(&mut model, KeyCode::PageUp);
        asked += answer(&mut model, effects, &beginning);
        let watched = model.watched.as_ref().unwrap();
        let now = watched.chosen_event.unwrap_or(EVENTS);
        assert!(now < lowest && lowest - now <= 20, "{lowest} → {now}");
        assert!(watched.log.len() <= MOST);
        lowest = now;
    }
    assert!(asked as u64 <= EVENTS / CHUNK + 2, "{asked} times was read");
    // And down again.
    let mut highest = 1;
    while highest < EVENTS {
        let effects = press(&mut model, KeyCode::PageDown);
        answer(&mut model, effects, &beginning);
        let now = model.watched.as_ref().unwrap().chosen_event.unwrap_or(EVENTS);
        assert!(now > highest && now - highest <= 20, "{highest} → {now}");
        highest = now;
    }
}

#[test]
fn whoever_reads_further_up_stays_there_while_the_run_goes_on() {
    const FEWER: u64 = 2 * MOST as u64;
    let (mut model, beginning) = long(FEWER);
    press(&mut model, KeyCode::Char('4'));
    for _ in 0..100 {
        press(&mut model, KeyCode::PageUp);
    }
    let stands = model.watched.as_ref().unwrap().chosen_event.unwrap();
    let more: Vec<u64> = (FEWER + 1..FEWER + 15_000).collect();
    for chunk in more.chunks(1000) {
        let news = chunk.iter().map(|seq| of(*seq, &beginning)).collect();
        model.update(Message::News { run: RUN.into(), news });
    }
    let watched = model.watched.as_ref().unwrap();
    assert_eq!((watched.chosen_event, watched.log.len()), (Some(stands), MOST));
    assert!(drawn(&mut model, 100, 24).contains(&format!("▸{stands:>6} ")));
    // A filter holds for what is in memory, and costs no more.
    model.update(Message::Key(key('/')));
    super::sample::type_in(&mut model, "result");
    assert!(model.watched.as_ref().unwrap().log.len() <= MOST);
}

#[test]
fn the_page_of_an_agent_that_never_ends_is_bounded_too() {
    let beginning = all_news(kinds());
    let mut model = super::sample::model(Lang::En, Width::Narrow, kinds());
    let effects = model.open_row(1);
    answer(&mut model, effects, &beginning);
    for chunk in (beginning.len() as u64 + 1..=30_000).collect::<Vec<_>>().chunks(1000) {
        let news = chunk.iter().map(|seq| of(*seq, &beginning)).collect();
        model.update(Message::News { run: RUN.into(), news });
        let entries = model.watched.as_ref().unwrap().talk.as_ref().unwrap().entries.len();
        assert!(entries <= 4_001, "{entries}");
    }
    let before = model.watched.as_ref().unwrap().talk.as_ref().unwrap().entries.first().unwrap().seq;
    // What went is read again: no gap between the two.
    let effects = press(&mut model, KeyCode::Home);
    answer(&mut model, effects, &beginning);
    let talk = model.watched.as_ref().unwrap().talk.as_ref().unwrap();
    assert!(talk.entries.first().unwrap().seq < before);
    let seqs: Vec<u64> = talk.entries.iter().map(|entry| entry.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] - pair[0] <= 2), "a gap");
}

//! Whatever is typed and whatever happens: no panic, no line too wide, and nothing is sent without the keys for it.

use super::sample::{all_news, answer_loads, card, ended, kinds, later_kinds};
use crate::render::Width;
use crate::tui::draw::screen;
use crate::tui::model::{ActionEnd, Effect, Message, Model, Start, What};
use crate::tui::modes::Mode;
use fugato_engine::{Command, EventKind, Target, Verb};
use fugato_model::{Lang, words};
use proptest::prelude::*;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

#[derive(Clone, Debug)]
enum Happening {
    Key(KeyCode, KeyModifiers),
    Paste(String),
    Resize(usize, usize),
    Tick,
    /// So many more events of the log.
    Events(usize),
    Card(bool),
    Acted(u64),
    Gone,
}

fn happening() -> impl Strategy<Value = Happening> {
    // The keys that do something come often, the words that confirm something more often still.
    let letters =
        prop::sample::select("pPexXrRmMcygtib0123456789qad/? jkGynalluv说".chars().collect::<Vec<_>>());
    let named = prop::sample::select(vec![
        KeyCode::Enter,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::F(1),
    ]);
    let code = prop_oneof![4 => letters.prop_map(KeyCode::Char), 2 => named];
    let held = prop_oneof![9 => Just(KeyModifiers::NONE), 1 => Just(KeyModifiers::CONTROL), 1 => Just(KeyModifiers::ALT)];
    prop_oneof![
        20 => (code, held).prop_map(|(code, held)| Happening::Key(code, held)),
        1 => "\\PC{0,20}".prop_map(Happening::Paste),
        1 => (0usize..140, 0usize..50).prop_map(|(columns, rows)| Happening::Resize(columns, rows)),
        1 => Just(Happening::Tick),
        3 => (1usize..6).prop_map(Happening::Events),
        1 => any::<bool>().prop_map(Happening::Card),
        1 => (0u64..4).prop_map(Happening::Acted),
        1 => Just(Happening::Gone),
    ]
}

/// The keys since the screen last asked nothing.
#[derive(Default)]
struct Witness {
    keys: Vec<KeyCode>,
}

impl Witness {
    fn saw(&self, wanted: &[KeyCode]) -> bool {
        let mut wanted = wanted.iter().peekable();
        for key in &self.keys {
            if wanted.peek() == Some(&key) {
                wanted.next();
            }
        }
        wanted.peek().is_none()
    }

    /// Were these keys pressed that this needs?
    fn allows(&self, what: &What) -> bool {
        let (first, last) = (self.keys.first().copied(), self.keys.last().copied());
        let c = KeyCode::Char;
        let is =
            |key: Option<KeyCode>, chars: &str| matches!(key, Some(KeyCode::Char(c)) if chars.contains(c));
        match what {
            What::GoOn => is(last, "c"),
            What::Tell { command, .. } => match command {
                Command::Direct { verb: Verb::Pause | Verb::Resume, target: Target::All, .. } => {
                    is(last, "P")
                }
                Command::Direct { verb: Verb::Pause | Verb::Resume, .. } => is(last, "p"),
                Command::Direct { verb: Verb::Cancel, target: Target::All, .. } => {
                    is(first, "X")
                        && last == Some(KeyCode::Enter)
                        && self.saw(&[c('X'), c('y'), c('a'), c('l'), c('l')])
                }
                Command::Direct { verb: Verb::Cancel, .. } => is(first, "x") && is(last, "yY"),
                Command::Direct { verb: Verb::Restart, .. } => is(first, "r") && is(last, "yY"),
                Command::Direct { verb: Verb::Redirect, text, .. } => {
                    is(first, "e")
                        && last == Some(KeyCode::Enter)
                        && text.as_ref().is_some_and(|text| !text.trim().is_empty())
                }
                Command::Send { .. } => is(first, "mM") && last == Some(KeyCode::Enter),
                Command::Answer { .. } => {
                    first == Some(KeyCode::Enter) && (last == Some(KeyCode::Enter) || is(last, "123456789"))
                }
                Command::Raise { .. } | Command::Skipped { .. } => false,
            },
        }
    }
}

fn log() -> Vec<EventKind> {
    let mut all = kinds();
    all.extend(later_kinds());
    all.push(ended());
    all
}

fn run(lang: Lang, width: Width, happenings: Vec<Happening>) -> Result<(), TestCaseError> {
    let mut model = Model::new(lang, width, Start::Choose);
    let all = all_news(log());
    let mut heard = 0;
    model.update(Message::Runs(vec![card("running", true)]));
    let mut witness = Witness::default();
    for happening in happenings {
        model.now += 700;
        let message = match happening {
            Happening::Key(code, held) => {
                witness.keys.push(code);
                Message::Key(KeyEvent::new(code, held))
            }
            Happening::Paste(text) => Message::Paste(text),
            Happening::Resize(columns, rows) => Message::Resize(columns, rows),
            Happening::Tick => Message::Tick,
            Happening::Events(count) => {
                let news = all.iter().skip(heard).take(count).cloned().collect();
                heard += count;
                Message::News { run: super::sample::RUN.into(), news }
            }
            Happening::Card(is_live) => {
                Message::Card(card(if is_live { "running" } else { "interrupted" }, is_live))
            }
            Happening::Acted(id) => Message::Acted { id, end: ActionEnd::Refused(words!("no", "不")) },
            Happening::Gone => Message::Runs(vec![card("running", true)]),
        };
        let effects = model.update(message);
        for effect in &effects {
            if let Effect::Act(action) = effect {
                prop_assert!(witness.allows(&action.what), "{action:?} after {:?}", witness.keys);
            }
        }
        answer_loads(&mut model, &effects, &all);
        if model.mode == Mode::Normal {
            witness.keys.clear();
        }
        let screen = screen(&model);
        prop_assert!(screen.rows.len() <= model.rows.max(1));
        for row in &screen.rows {
            let cells: usize = row.line.iter().map(|span| width.of(&span.text)).sum();
            prop_assert!(cells <= model.columns.max(2), "{cells} > {}: {:?}", model.columns, row.line);
        }
        if let Some((column, row)) = screen.cursor {
            prop_assert!(column < model.columns && row < model.rows, "{column},{row}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fugato_testkit::cases(128)))]

    #[test]
    fn any_keys_and_events_never_panic_and_never_send_what_was_not_asked_for(
        happenings in prop::collection::vec(happening(), 1..70),
        is_chinese in any::<bool>(),
        is_wide in any::<bool>(),
    ) {
        let lang = if is_chinese { Lang::Zh } else { Lang::En };
        let width = if is_wide { Width::Wide } else { Width::Narrow };
        run(lang, width, happenings)?;
    }
}

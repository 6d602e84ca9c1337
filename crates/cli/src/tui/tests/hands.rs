//! The mouse, and what is heard before it is in the log.

use super::sample::{RUN, all_news, answer_loads, drawn, english, kinds, press};
use crate::tui::draw;
use crate::tui::model::{Effect, Message, Model, View};
use crate::tui::modes::Mode;
use crate::tui::mouse::{Mouse, Pressed};
use fugato_runtime::runs::{Speech, Spoken};
use ratatui::crossterm::event::KeyCode;

fn mouse(model: &mut Model, what: Pressed, column: usize, row: usize) -> Vec<Effect> {
    model.update(Message::Mouse(Mouse { what, column, row }))
}

/// Clicks on the first line of the screen that has these words.
fn click(model: &mut Model, words: &str) -> Vec<Effect> {
    let screen = drawn(model, 100, 24);
    let row =
        screen.lines().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {screen}"));
    mouse(model, Pressed::Click, 5, row)
}

#[test]
fn a_click_chooses_and_a_second_one_opens() {
    let mut model = english();
    assert_eq!(click(&mut model, "收集/critic"), []);
    let row = model.board_row().unwrap();
    assert_eq!(model.watched.as_ref().unwrap().roster.rows[row].name, "收集/critic");
    assert_eq!(model.view, View::Board);
    let effects = click(&mut model, "收集/critic");
    assert!(matches!(effects.as_slice(), [Effect::Load { .. }] | []), "{effects:?}");
    assert_eq!(model.view, View::Agent);
}

#[test]
fn tabs_are_clicked_in_both_languages_and_between_them_nothing_happens() {
    for (columns, rows) in [(100, 24), (60, 20)] {
        let mut model = english();
        drawn(&mut model, columns, rows);
        let mut seen = Vec::new();
        for column in 0..usize::from(columns) {
            if let Some(view) = draw::tab_at(&model, column, 1)
                && seen.last() != Some(&view)
            {
                seen.push(view);
            }
        }
        assert_eq!(seen, View::ALL, "every tab has its place, in order");
        let column =
            (0..usize::from(columns)).find(|at| draw::tab_at(&model, *at, 1) == Some(View::Events)).unwrap();
        mouse(&mut model, Pressed::Click, column, 1);
        assert_eq!(model.view, View::Events);
        mouse(&mut model, Pressed::Click, 0, 1);
        assert_eq!(model.view, View::Events);
    }
}

#[test]
fn the_wheel_scrolls_and_no_click_sends_anything() {
    let mut model = english();
    drawn(&mut model, 100, 24);
    press(&mut model, KeyCode::Char('4'));
    mouse(&mut model, Pressed::WheelUp, 3, 10);
    assert!(model.watched.as_ref().unwrap().chosen_event.is_some());
    mouse(&mut model, Pressed::WheelDown, 3, 10);
    assert_eq!(model.watched.as_ref().unwrap().chosen_event, None, "the newest again");
    press(&mut model, KeyCode::Char('?'));
    mouse(&mut model, Pressed::WheelDown, 3, 10);
    assert_eq!(model.mode, Mode::Help { scroll: 3 });
    press(&mut model, KeyCode::Esc);
    press(&mut model, KeyCode::Char('1'));
    press(&mut model, KeyCode::Char('x'));
    let asked = model.mode.clone();
    for row in 0..24 {
        for what in [Pressed::Click, Pressed::WheelUp, Pressed::WheelDown] {
            assert_eq!(mouse(&mut model, what, 4, row), [], "a question is answered by keys");
        }
    }
    assert_eq!(model.mode, asked);
    // Anywhere, of any size.
    press(&mut model, KeyCode::Esc);
    for (column, row) in [(0, 0), (5000, 5000), (usize::MAX, usize::MAX)] {
        mouse(&mut model, Pressed::Click, column, row);
    }
}

#[test]
fn the_mouse_can_be_given_back_to_the_terminal() {
    let mut model = english();
    assert_eq!(press(&mut model, KeyCode::F(2)), [Effect::Mouse(false)]);
    assert!(drawn(&mut model, 80, 24).contains("select text"));
    assert_eq!(press(&mut model, KeyCode::F(2)), [Effect::Mouse(true)]);
}

#[test]
fn what_an_agent_is_saying_is_on_its_page_until_it_is_in_the_log() {
    let mut model = english();
    let row =
        model.watched.as_ref().unwrap().roster.rows.iter().position(|row| row.name == "收集/研究员").unwrap();
    let effects = model.open_row(row);
    answer_loads(&mut model, &effects, &all_news(kinds()));
    let spoken = |n, what| Message::Spoken {
        run: RUN.into(),
        spoken: Spoken { n, agent: "收集/研究员".into(), what },
    };
    assert!(!drawn(&mut model, 80, 24).contains("is saying"));
    model.update(spoken(1, Speech::SoFar("Once upon".into())));
    model.update(spoken(2, Speech::More(" a time 有座山".into())));
    let screen = drawn(&mut model, 80, 24);
    assert!(screen.contains("is saying …") && screen.contains("Once upon a time 有座山"), "{screen}");
    // Of another run, or of somebody else: not here.
    model.update(Message::Spoken {
        run: "run_other".into(),
        spoken: Spoken { n: 1, agent: "收集/研究员".into(), what: Speech::More("elsewhere".into()) },
    });
    assert!(!drawn(&mut model, 80, 24).contains("elsewhere"));
    // It is whole, and stays until the log has it; what comes after that is something new.
    model.update(spoken(3, Speech::Over));
    assert!(drawn(&mut model, 80, 24).contains("Once upon"));
    model.update(spoken(4, Speech::More("Next".into())));
    let screen = drawn(&mut model, 80, 24);
    assert!(screen.contains("Next") && !screen.contains("Once upon"), "{screen}");
    for _ in 0..2_000 {
        model.update(spoken(5, Speech::More("山".repeat(100))));
    }
    assert!(model.watched.as_ref().unwrap().live.of("收集/研究员").unwrap().len() < 40_000);
}

//! Every view as it looks: in both languages, at three sizes.

use crate::render::Width;
use crate::tui::model::{Message, Model, Start};
use crate::tui::tests::sample::{
    all_news, answer_loads, card, drawn, ended, kinds, later_kinds, model, press, type_in,
};
use crate::tui::watched::Card;
use fugato_model::Lang;
use ratatui::crossterm::event::KeyCode;

fn shown(lang: Lang, keys: &str, columns: u16, rows: u16) -> String {
    let mut all = kinds();
    if keys.starts_with('7') {
        all.extend(later_kinds());
    }
    let mut model = model(lang, Width::Narrow, all.clone());
    model.update(Message::Resize(usize::from(columns), usize::from(rows)));
    for c in keys.chars() {
        let effects =
            if c == '\n' { press(&mut model, KeyCode::Enter) } else { type_in(&mut model, &c.to_string()) };
        answer_loads(&mut model, &effects, &all_news(all.clone()));
    }
    drawn(&mut model, columns, rows)
}

/// One snapshot per view: English and Chinese, large and small.
fn views(name: &str, keys: &str) {
    let mut text = String::new();
    for (lang, columns, rows) in
        [(Lang::En, 80, 24), (Lang::Zh, 80, 24), (Lang::Zh, 40, 10), (Lang::En, 120, 20)]
    {
        let screen = shown(lang, keys, columns, rows);
        text.push_str(&format!("=== {lang:?} {columns}x{rows}\n{screen}\n"));
    }
    insta::assert_snapshot!(name, text);
}

#[test]
fn the_board() {
    views("board", "1");
}

#[test]
fn the_graph() {
    views("graph", "2");
}

#[test]
fn the_timeline() {
    views("timeline", "3d");
}

#[test]
fn the_events() {
    views("events", "4");
}

#[test]
fn the_page_of_an_agent() {
    views("agent", "1\n");
}

#[test]
fn the_inbox_and_an_answer() {
    views("inbox", "6");
    views("inbox_choice", "6\n");
}

#[test]
fn the_interventions() {
    views("control", "7");
}

#[test]
fn the_policy() {
    views("policy", "8");
}

#[test]
fn the_help() {
    views("help", "?");
}

#[test]
fn a_redirect_and_the_two_questions_before_everything_is_cancelled() {
    views("redirect", "e改用蓝色的纸 and \"blue\" ink");
    views("cancel_all_first", "X");
    views("cancel_all_second", "Xyal");
}

#[test]
fn the_list_of_runs_and_an_empty_one() {
    let mut text = String::new();
    for lang in [Lang::En, Lang::Zh] {
        let mut model = Model::new(lang, Width::Narrow, Start::Choose);
        model.now = card("", true).created_at + 90_000;
        model.update(Message::Runs(Vec::new()));
        text.push_str(&format!("=== empty {lang:?}\n{}\n", drawn(&mut model, 80, 14)));
        let other = |id: &str, status: &str| Card { id: id.into(), ..card(status, false) };
        let cards = vec![
            other("run_one", "complete"),
            other("run_two", "awaiting_input"),
            other("run_三", "interrupted"),
        ];
        model.update(Message::Runs(cards));
        text.push_str(&format!("=== several {lang:?}\n{}\n", drawn(&mut model, 80, 14)));
        text.push_str(&format!("=== small {lang:?}\n{}\n", drawn(&mut model, 40, 10)));
    }
    insta::assert_snapshot!("runs", text);
}

#[test]
fn a_run_that_has_ended_says_how() {
    let mut all = kinds();
    all.push(ended());
    let mut model = model(Lang::Zh, Width::Narrow, all);
    let screen = drawn(&mut model, 80, 24);
    assert!(screen.contains("已取消") && screen.contains("已被操作者取消"), "{screen}");
}

#[test]
fn screens_too_small_for_anything_get_one_line() {
    for (columns, rows) in [(39, 24), (80, 9), (1, 1), (0, 0), (12, 3)] {
        let mut model = model(Lang::En, Width::Narrow, kinds());
        let lines: Vec<String> = if columns == 0 {
            model.update(Message::Resize(0, 0));
            super::screen(&model).rows.iter().map(|_| String::new()).collect()
        } else {
            drawn(&mut model, columns, rows).lines().map(str::to_owned).collect()
        };
        assert!(lines.iter().skip(1).all(String::is_empty), "{lines:?}");
    }
}

#[test]
fn terminals_with_wide_signs_get_only_signs_that_are_narrow_everywhere() {
    for keys in ["1", "2", "3d", "7", "?", "1\n"] {
        let mut all = kinds();
        all.extend(later_kinds());
        let mut model = model(Lang::En, Width::Wide, all);
        type_in(&mut model, keys.trim());
        let screen = drawn(&mut model, 80, 24);
        for line in screen.lines() {
            assert!(Width::Wide.of(line) <= 80, "{line}");
        }
        assert!(!screen.contains(['●', '─', '▸', '→', '█', '○']), "{screen}");
    }
}

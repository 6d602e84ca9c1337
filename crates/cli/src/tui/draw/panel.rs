//! What the screen asks, above the status line: a text, a yes, one of several answers.

use super::{Look, Shown, rule};
use crate::printer::style;
use crate::render::Width;
use crate::render::canvas::{Line, Span};
use crate::tui::editor::Editor;
use crate::tui::model::Model;
use crate::tui::modes::{Ask, CANCEL_ALL_WORD, Choice, ChoiceKind, Mode, Recipient, Sure};
use crate::tui::wrap::wrap;
use fugato_model::{Lang, Words, words};
use unicode_segmentation::UnicodeSegmentation as _;

/// Lines at the bottom, and where text is typed in them.
#[derive(Debug)]
pub struct Panel {
    pub rows: Vec<Shown>,
    pub cursor: Option<(usize, usize)>,
}

/// Lines of a text that are shown while it is typed.
const TYPED_ROWS: usize = 6;

pub fn panel(model: &Model, room: usize) -> Option<Panel> {
    match &model.mode {
        Mode::Normal | Mode::Help { .. } | Mode::Filter(_) => None,
        Mode::Prompt { ask, editor } => Some(prompt(model, ask, editor, room)),
        Mode::Confirm(sure) => Some(confirm(model, sure)),
        Mode::Choice(choice) => Some(choose(model, choice, room)),
    }
}

fn prompt(model: &Model, ask: &Ask, editor: &Editor, room: usize) -> Panel {
    let (columns, width) = (model.columns, model.width);
    let mut rows: Vec<Shown> = vec![rule(asked(ask).in_lang(model.lang), columns, width).into()];
    if let Ask::Answer { question } | Ask::Deny { question } = ask {
        let most = room.saturating_sub(TYPED_ROWS + 1).min(8);
        rows.extend(question_lines(model, *question, most).into_iter().map(Shown::from));
    }
    if let Ask::CancelAll = ask {
        rows.extend(warning(model).into_iter().map(Shown::from));
    }
    let (lines, (row, column)) = typed(editor, columns.saturating_sub(4), width);
    let least = room.saturating_sub(rows.len()).clamp(1, TYPED_ROWS);
    let from = (row + 1).saturating_sub(least).min(lines.len().saturating_sub(1));
    let cursor = Some((2 + column, rows.len() + row - from.min(row)));
    for (nth, line) in lines.into_iter().enumerate().skip(from).take(least) {
        let lead = if nth == 0 { "> " } else { "  " };
        rows.push(vec![Span::new(style::NAME, lead), Span::plain(line)].into());
    }
    Panel { rows, cursor }
}

fn asked(ask: &Ask) -> Words {
    match ask {
        Ask::Redirect { agent } => {
            words!("redirect {agent}: what shall it do instead?", "重定向 {agent}：它应该改做什么？")
        }
        Ask::Message { to: Recipient::All } => {
            words!("message to everybody at work", "给所有工作中代理的消息")
        }
        Ask::Message { to: Recipient::Agent(agent) } => words!("message to {agent}", "给 {agent} 的消息"),
        Ask::Answer { question } => words!("your answer to #{question}", "您对 #{question} 的回答"),
        Ask::Deny { question } => {
            words!("deny #{question}: why? (may be empty)", "拒绝 #{question}：原因？（可留空）")
        }
        Ask::CancelAll => words!("cancel EVERYTHING", "取消全部"),
    }
}

fn warning(model: &Model) -> Vec<Line> {
    let run = model.watched.as_ref().map(|watched| watched.card.id.clone()).unwrap_or_default();
    let text = words!(
        "Every agent of {run} is stopped and the run ends as aborted. This cannot be undone. Type  {CANCEL_ALL_WORD}  and Enter; Esc leaves it running.",
        "{run} 的所有代理都会停止，运行以“已取消”结束，无法撤销。输入 {CANCEL_ALL_WORD} 再按 Enter；Esc 保持运行。"
    );
    let wrapped = wrap(text.in_lang(model.lang), model.columns.saturating_sub(4), model.width).into_iter();
    wrapped.map(|text| vec![Span::plain("  "), Span::new(style::BAD, text)]).collect()
}

fn confirm(model: &Model, sure: &Sure) -> Panel {
    let question = match sure {
        Sure::Cancel { agent } => words!(
            "Cancel {agent}? It stops at once and does not come back.",
            "取消 {agent}？它会立即停止，不再继续。"
        ),
        Sure::Restart { node } => words!(
            "Restart {node}? What it did so far stays in the log; it begins again.",
            "重新开始 {node}？此前的记录会保留，它将从头再来。"
        ),
        Sure::CancelAll => {
            let at_work = model.watched.as_ref().map_or(0, |watched| {
                let rows = 0..watched.roster.rows.len();
                rows.filter(|at| watched.row(*at).is_some_and(|(_, state)| !state.is_over())).count()
            });
            words!(
                "Cancel the whole run? {at_work} are not finished.",
                "取消整个运行？还有 {at_work} 个没有完成。"
            )
        }
    };
    let (columns, width) = (model.columns, model.width);
    let title = words!("are you sure?", "确定吗？");
    let mut rows: Vec<Shown> = vec![rule(title.in_lang(model.lang), columns, width).into()];
    let text = question.in_lang(model.lang);
    let wrapped = wrap(text, columns.saturating_sub(4), width).into_iter();
    rows.extend(wrapped.map(|text| Shown::from(vec![Span::plain("  "), Span::new(style::WARN, text)])));
    let keys = match model.lang {
        Lang::En => "  y yes    n no",
        Lang::Zh => "  y 是    n 否",
    };
    rows.push(vec![Span::new(style::BOLD, keys)].into());
    Panel { rows, cursor: None }
}

fn choose(model: &Model, choice: &Choice, room: usize) -> Panel {
    let (columns, width, lang) = (model.columns, model.width, model.lang);
    let count = choice.count();
    let list = count.min(room.saturating_sub(3).max(1));
    let question = choice.question;
    let title = words!("your answer to #{question}", "您对 #{question} 的回答");
    let mut rows: Vec<Shown> = vec![rule(title.in_lang(lang), columns, width).into()];
    let most = room.saturating_sub(list + 1);
    rows.extend(question_lines(model, choice.question, most).into_iter().map(Shown::from));
    for nth in super::window(choice.at, count, list) {
        let text = match choice.options.get(nth) {
            Some(option) => told(option, choice.kind, lang),
            None => words!("something else …", "其他回答 …").in_lang(lang).to_owned(),
        };
        let line = vec![Span::plain(format!("  {}. ", nth + 1)), Span::plain(text)];
        let look = if nth == choice.at { Look::Chosen } else { Look::Plain };
        rows.push(Shown { line: super::cut(line, columns, width), look, item: None });
    }
    Panel { rows, cursor: None }
}

fn told(option: &str, kind: ChoiceKind, lang: Lang) -> String {
    let words = match (kind, option) {
        (ChoiceKind::Permission, "allow") => words!("allow this once", "允许这一次"),
        (ChoiceKind::Permission, "always") => words!("always allow it in this run", "本次运行中始终允许"),
        (ChoiceKind::Permission, "deny") => words!("deny …", "拒绝 …"),
        (ChoiceKind::Closed, "repeat") => words!("repeat: do it again", "repeat：再做一次"),
        (ChoiceKind::Closed, "done") => words!("done: it happened", "done：已经发生"),
        (ChoiceKind::Closed, "fail") => words!("fail: give it up", "fail：放弃"),
        _ => return option.to_owned(),
    };
    words.in_lang(lang).to_owned()
}

/// The question again, as far as there is room; what is left out is said.
fn question_lines(model: &Model, number: u32, most: usize) -> Vec<Line> {
    let Some((_, run)) = model.watched.as_ref().and_then(|watched| super::inbox::question(watched, number))
    else {
        return Vec::new();
    };
    let mut lines: Vec<Line> = super::inbox::whole(number, run, model).into_iter().skip(1).collect();
    if lines.len() > most {
        let more = lines.len() - most.saturating_sub(1);
        lines.truncate(most.saturating_sub(1));
        let text = words!(
            "  [{more} more lines: Esc, then read it in the inbox]",
            "  [还有 {more} 行：Esc 后在待办中阅读]"
        );
        lines.push(vec![Span::new(style::WARN, text.in_lang(model.lang))]);
        lines.truncate(most);
    }
    lines
}

/// The text in lines of so many cells, and the row and column of the cursor. Breaks anywhere: what was typed stays where
/// it was typed.
fn typed(editor: &Editor, cells: usize, width: Width) -> (Vec<String>, (usize, usize)) {
    let cells = cells.max(2);
    let (text, before) = (editor.text(), editor.before().len());
    let mut lines = vec![String::new()];
    let (mut used, mut at, mut cursor) = (0, 0, (0, 0));
    for grapheme in text.graphemes(true) {
        let wide = if grapheme == "\n" { 0 } else { width.of(grapheme) };
        if used + wide > cells {
            lines.push(String::new());
            used = 0;
        }
        if at == before {
            cursor = (lines.len() - 1, used);
        }
        at += grapheme.len();
        if grapheme == "\n" {
            lines.push(String::new());
            used = 0;
            continue;
        }
        lines.last_mut().into_iter().for_each(|line| line.push_str(grapheme));
        used += wide;
    }
    if at == before {
        cursor = (lines.len() - 1, used);
    }
    (lines, cursor)
}

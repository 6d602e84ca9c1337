//! The runs of this project, newest first; where there are none, how to begin.

use super::chrome::status_word;
use super::{Look, Shown, cut, elapsed, empty, fit, pointer, window};
use crate::printer::style;
use crate::render::canvas::{Line, Span};
use crate::runs::look as look_of;
use crate::tui::model::{Model, Runs};
use crate::tui::watched::Card;
use fugato_model::words;

pub fn rows(model: &Model, room: usize) -> Vec<Shown> {
    let lang = model.lang;
    let cards = model.cards();
    match &model.runs {
        Runs::Unknown => return empty(model, &[words!("looking for runs …", "正在查找运行 …")]),
        Runs::Known(all) if all.is_empty() => return teach(model),
        Runs::Known(_) if cards.is_empty() => {
            return empty(
                model,
                &[words!("no run fits", "没有符合的运行"), words!("Esc shows all", "Esc 显示全部")],
            );
        }
        Runs::Known(_) => {}
    }
    let ids = cards.iter().map(|card| model.width.of(&card.id)).max().unwrap_or(0).min(model.columns * 2 / 5);
    let words = cards.iter().map(|card| model.width.of(&status_word(&card.status, lang))).max().unwrap_or(0);
    let range = window(model.chosen_run, cards.len(), room);
    let part = cards.iter().enumerate().skip(range.start).take(range.len());
    part.map(|(nth, card)| {
        let look = if nth == model.chosen_run { Look::Chosen } else { Look::Plain };
        let line = line(card, (ids, words), look, model);
        Shown { line, look, item: Some(nth) }
    })
    .collect()
}

fn line(card: &Card, (ids, words): (usize, usize), look: Look, model: &Model) -> Line {
    let (width, columns) = (model.width, model.columns);
    let to = if card.is_live { model.now } else { card.updated_at };
    let time = elapsed(to.saturating_sub(card.created_at));
    let mut line = vec![
        Span::plain(pointer(look, width)),
        Span::plain(" "),
        Span::new(style::NAME, fit(&card.id, ids, width)),
        Span::plain("  "),
        Span::new(look_of(&card.status), fit(&status_word(&card.status, model.lang), words, width)),
    ];
    if columns >= 60 {
        line.push(Span::new(style::DIM, format!("  {time:>7}  {:>7}", card.last_seq)));
    }
    line.push(Span::plain("  "));
    line.push(Span::plain(&card.title));
    cut(line, columns, width)
}

/// Nothing is there: what to type.
fn teach(model: &Model) -> Vec<Shown> {
    empty(
        model,
        &[
            words!("no runs here yet", "这里还没有运行"),
            words!("", ""),
            words!("in another terminal:", "请在另一个终端输入："),
            words!(
                "  fugato demo            see it work, without any model",
                "  fugato demo            不需要模型即可体验"
            ),
            words!(
                "  fugato skill ls        what can be run here",
                "  fugato skill ls        这里可以运行什么"
            ),
            words!("  fugato run SKILL       run a skill", "  fugato run SKILL       运行一个技能"),
            words!(
                "  fugato go \"TASK\"       give a task to a master agent",
                "  fugato go \"任务\"       把任务交给主代理"
            ),
            words!("", ""),
            words!("it appears here as soon as it starts", "启动后会立即显示在这里"),
        ],
    )
}

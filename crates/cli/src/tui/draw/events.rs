//! The log, newest below.

use super::{Look, Shown, cut, empty, fit, not_read_yet, pointer, window};
use crate::printer::style;
use crate::render::canvas::{Line, Span};
use crate::runs::duration;
use crate::tui::log::Entry;
use crate::tui::model::Model;
use crate::tui::watched::Watched;
use fugato_model::words;

pub fn rows(model: &Model, room: usize) -> Vec<Shown> {
    let Some(watched) = &model.watched else { return not_read_yet(model) };
    let count = watched.log.len();
    if count == 0 && !model.filter.is_empty() {
        return empty(
            model,
            &[words!("no event fits", "没有符合的事件"), words!("Esc shows all", "Esc 显示全部")],
        );
    }
    if count == 0 {
        return not_read_yet(model);
    }
    let place = watched.event_place().unwrap_or(0);
    let older = watched.log.older();
    let range = window(place, count, room);
    let mut lines: Vec<Shown> = Vec::new();
    if older > 0 && range.start == 0 {
        let text = match watched.log.is_loading {
            true => words!("   reading older ones …", "   正在读取更早的事件 …"),
            false => words!("   {older} older ones: PgUp", "   更早的 {older} 条：PgUp"),
        };
        lines.push(vec![Span::new(style::DIM, text.in_lang(model.lang))].into());
    }
    for nth in range {
        let Some(entry) = watched.log.get(nth) else { continue };
        let look = if nth == place { Look::Chosen } else { Look::Plain };
        lines.push(Shown { line: line(entry, watched, model, look), look, item: Some(nth) });
    }
    lines.truncate(room);
    lines
}

fn line(entry: &Entry, watched: &Watched, model: &Model, look_of_line: Look) -> Line {
    let (width, columns) = (model.width, model.columns);
    let start = watched.log.start.unwrap_or(entry.at);
    let time = duration(entry.at.saturating_sub(start));
    let row = entry.row.and_then(|row| watched.roster.rows.get(row));
    let name = row.map(|row| fugato_model::escape_for_terminal(&row.name).into_owned()).unwrap_or_default();
    let look = if entry.is_bad { style::BAD } else { style::PLAIN };
    let mut line = vec![Span::plain(pointer(look_of_line, width))];
    if columns >= 70 {
        line.push(Span::new(style::DIM, format!("{:>6} ", entry.seq)));
    }
    line.push(Span::new(style::DIM, format!("{time:>9}  ")));
    if columns >= 100 {
        line.push(Span::new(style::DIM, format!("{} ", fit(&entry.kind, 18, width))));
    }
    let room = (columns / 4).min(28);
    line.push(Span::new(style::NAME, fit(&name, room, width)));
    line.push(Span::plain(" "));
    let text = if entry.text.is_empty() { entry.kind.to_string() } else { entry.text.clone() };
    line.push(Span::new(look, text));
    cut(line, columns, width)
}

//! The model as lines of cells: the same model gives the same screen. One view per file; this one puts them together.

mod agent;
mod board;
mod chrome;
mod control;
mod events;
mod graph;
pub mod help;
mod inbox;
mod panel;
mod policy;
mod runs;
pub mod sheet;
mod timeline;

use super::model::{Model, View};
use super::modes::Mode;
use super::wrap::wrap;
use crate::printer::style;
use crate::render::Width;
use crate::render::canvas::{Line, Span, width_of};
use fugato_model::{Lang, Words, words};

/// A whole screen.
#[derive(Debug, Default)]
pub struct Screen {
    pub rows: Vec<Shown>,
    /// Where text is typed: column, row.
    pub cursor: Option<(usize, usize)>,
}

/// One line of it.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    pub line: Line,
    pub look: Look,
    /// What a click on it chooses, as the view counts.
    pub item: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    #[default]
    Plain,
    /// The cursor stands on it.
    Chosen,
}

impl From<Line> for Shown {
    fn from(line: Line) -> Self {
        Self { line, look: Look::Plain, item: None }
    }
}

/// How the rows of a screen are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Areas {
    pub has_tabs: bool,
    pub body: usize,
}

/// Smaller screens get one line.
pub const LEAST: (usize, usize) = (40, 10);
/// From so many rows on, the views stand in a line of their own.
const ROWS_WITH_TABS: usize = 14;

impl Areas {
    pub fn of(columns: usize, rows: usize) -> Self {
        if columns < LEAST.0 || rows < LEAST.1 {
            return Self { has_tabs: false, body: rows.saturating_sub(1) };
        }
        let has_tabs = rows >= ROWS_WITH_TABS;
        // Head, views, status, keys.
        Self { has_tabs, body: rows - 3 - usize::from(has_tabs) }
    }
}

/// Draws everything.
pub fn screen(model: &Model) -> Screen {
    let (columns, rows) = (model.columns, model.rows);
    if columns < LEAST.0 || rows < LEAST.1 {
        return Screen { rows: vec![chrome::tiny(model).into()], cursor: None };
    }
    let areas = Areas::of(columns, rows);
    let mut shown: Vec<Shown> = vec![chrome::head(model).into()];
    if areas.has_tabs {
        shown.push(chrome::tabs(model).into());
    }
    let top = shown.len();
    let panel = panel::panel(model, areas.body.saturating_sub(1));
    let below = panel.as_ref().map_or(0, |panel| panel.rows.len());
    let room = areas.body - below.min(areas.body);
    let mut body = body(model, room);
    body.resize_with(room, Shown::default);
    shown.extend(body);
    let mut cursor = None;
    if let Some(panel) = panel {
        cursor = panel.cursor.map(|(column, row)| (column, top + room + row));
        shown.extend(panel.rows.into_iter().take(areas.body));
    }
    let (status, status_cursor) = chrome::status(model);
    cursor = cursor.or(status_cursor.map(|column| (column, shown.len())));
    shown.push(status.into());
    shown.push(chrome::keys(model).into());
    Screen { rows: shown, cursor }
}

fn body(model: &Model, room: usize) -> Vec<Shown> {
    if let Mode::Help { scroll } = model.mode {
        let lines = help::lines(model).into_iter().skip(scroll).take(room);
        return lines.map(Shown::from).collect();
    }
    match model.view {
        View::Runs => runs::rows(model, room),
        View::Board => board::rows(model, room),
        View::Events => events::rows(model, room),
        View::Agent => agent::rows(model, room),
        View::Inbox => inbox::rows(model, room),
        View::Control => control::rows(model, room),
        View::Graph | View::Timeline | View::Policy => {
            let scroll = model.watched.as_ref().map_or(0, |watched| watched.scroll);
            let (fixed, lines) = picture(model);
            let left = room.saturating_sub(fixed.len());
            let lines = lines.into_iter().skip(scroll).take(left);
            fixed.into_iter().chain(lines).map(Shown::from).collect()
        }
    }
}

/// Lines that stay at the top, and lines that are scrolled.
fn picture(model: &Model) -> (Vec<Line>, Vec<Line>) {
    match model.view {
        View::Graph => (Vec::new(), graph::lines(model)),
        View::Timeline => timeline::lines(model),
        View::Policy => (Vec::new(), policy::lines(model)),
        _ => (Vec::new(), Vec::new()),
    }
}

/// The view whose tab is at this cell.
pub fn tab_at(model: &Model, column: usize, row: usize) -> Option<View> {
    let areas = Areas::of(model.columns, model.rows);
    (areas.has_tabs && row == 1 && model.watched.is_some()).then(|| chrome::tab_at(model, column)).flatten()
}

/// How long the picture of this view is.
pub fn lines_of(model: &Model) -> usize {
    let (fixed, lines) = picture(model);
    fixed.len() + lines.len()
}

/// The part of a list that is shown, so that the chosen place is in it.
fn window(chosen: usize, count: usize, room: usize) -> std::ops::Range<usize> {
    let room = room.max(1);
    let from = chosen.saturating_sub(room / 2).min(count.saturating_sub(room));
    from..(from + room).min(count)
}

/// Where the cursor stands, also for eyes and programs that see no reversed lines.
fn pointer(look: Look, width: Width) -> &'static str {
    match (look, width) {
        (Look::Plain, _) => " ",
        (Look::Chosen, Width::Narrow) => "▸",
        (Look::Chosen, Width::Wide) => ">",
    }
}

/// Cells of one width: cut or filled.
fn fit(text: &str, cells: usize, width: Width) -> String {
    let text = width.cut(text, cells);
    let pad = cells.saturating_sub(width.of(&text));
    format!("{text}{}", " ".repeat(pad))
}

/// A line that is too long loses its end.
fn cut(line: Line, cells: usize, width: Width) -> Line {
    if width_of(&line, width) <= cells {
        return line;
    }
    let mut left = cells;
    let mut kept = Vec::new();
    for span in line {
        let text = width.cut(&span.text, left);
        left = left.saturating_sub(width.of(&text));
        kept.push(Span { text, style: span.style });
        if left == 0 {
            break;
        }
    }
    kept
}

/// `42s`, `3m 07s`, `2h 05m`, `9d 10h`: a figure that is redrawn every second should not change its width.
pub fn elapsed(ms: i64) -> String {
    let s = ms.max(0) / 1000;
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m {:02}s", s / 60, s % 60),
        3600..86_400 => format!("{}h {:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d {:02}h", s / 86_400, s % 86_400 / 3600),
    }
}

/// A line across, with a few words in it.
fn rule(title: &str, columns: usize, width: Width) -> Line {
    let stroke = match width {
        Width::Narrow => "─",
        Width::Wide => "-",
    };
    let title = if title.is_empty() { String::new() } else { format!(" {title} ") };
    let title = width.cut(&fugato_model::escape_for_terminal(&title), columns.saturating_sub(4));
    let rest = columns.saturating_sub(2 + width.of(&title));
    vec![
        Span::new(style::DIM, stroke.repeat(2)),
        Span::new(style::BOLD, title),
        Span::new(style::DIM, stroke.repeat(rest)),
    ]
}

fn say(lang: Lang, words: &Words) -> String {
    words.in_lang(lang).to_owned()
}

/// A place where nothing is, and what to do about it.
fn empty(model: &Model, lines: &[Words]) -> Vec<Shown> {
    let mut shown = vec![Shown::default()];
    for (nth, words) in lines.iter().enumerate() {
        let look = if nth == 0 { style::BOLD } else { style::PLAIN };
        let wrapped =
            wrap(words.in_lang(model.lang), model.columns.saturating_sub(4), model.width).into_iter();
        shown.extend(wrapped.map(|text| Shown::from(vec![Span::plain("  "), Span::new(look, text)])));
    }
    shown
}

fn not_read_yet(model: &Model) -> Vec<Shown> {
    empty(model, &[words!("reading the run …", "正在读取运行 …")])
}

#[cfg(test)]
mod tests;

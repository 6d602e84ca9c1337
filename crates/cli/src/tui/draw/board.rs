//! Everybody in the run, one line each; below, what there is to say about the one under the cursor.

use super::chrome::sign;
use super::{Look, Shown, cut, elapsed, empty, fit, not_read_yet, pointer, rule, say, window};
use crate::printer::style;
use crate::render::Width;
use crate::render::canvas::{Line, Span};
use crate::runs::tokens;
use crate::tui::model::Model;
use crate::tui::roster::{Row, State, silence};
use crate::tui::watched::Watched;
use crate::tui::wrap::wrap;
use anstyle::Style;
use fugato_engine::Run;
use fugato_model::{Lang, words};

/// Lines of the part below; from so many rows on there is one.
const DETAIL: usize = 5;
const ROWS_WITH_DETAIL: usize = 12;
/// From so many rows on, the columns have titles.
const ROWS_WITH_TITLES: usize = 8;
/// `59m 59s`
const TIME: usize = 7;

pub fn rows(model: &Model, room: usize) -> Vec<Shown> {
    let lang = model.lang;
    let Some(watched) = &model.watched else { return not_read_yet(model) };
    let Some(run) = &watched.run else { return not_read_yet(model) };
    let shown = watched.shown(&model.filter, model.scope, lang);
    let detail = detail(model, watched, run);
    let below = if room >= ROWS_WITH_DETAIL && !detail.is_empty() { detail.len().min(DETAIL + 1) } else { 0 };
    let mut room = room - below;
    let has_titles = room >= ROWS_WITH_TITLES && !shown.is_empty();
    room -= usize::from(has_titles);
    let chosen = model.board_row();
    let mut lines = if shown.is_empty() {
        nobody(model, watched)
    } else {
        let place = shown.iter().position(|(at, ..)| Some(*at) == chosen).unwrap_or(0);
        let columns = Columns::of(model, watched, run, &shown);
        let range = window(place, shown.len(), room);
        let part = shown.get(range).unwrap_or_default();
        let line = |(at, depth, state): &(usize, usize, State)| {
            let look = if Some(*at) == chosen { Look::Chosen } else { Look::Plain };
            Shown {
                line: columns.line(model, watched, run, (*at, *depth, *state), look),
                look,
                item: Some(*at),
            }
        };
        part.iter().map(line).collect()
    };
    lines.resize_with(room, Shown::default);
    if has_titles {
        lines.insert(0, Columns::of(model, watched, run, &shown).titles(model).into());
    }
    lines.extend(detail.into_iter().take(below).map(Shown::from));
    lines
}

fn nobody(model: &Model, watched: &Watched) -> Vec<Shown> {
    if watched.roster.rows.is_empty() {
        return empty(model, &[words!("nobody has started yet", "还没有代理开始工作")]);
    }
    empty(
        model,
        &[
            words!("nobody fits", "没有符合的"),
            words!("Esc shows all, a switches between all and open", "Esc 显示全部，a 切换全部与未结束"),
        ],
    )
}

/// Cells of each column; 0: there is no room for it.
struct Columns {
    name: usize,
    role: usize,
    state: usize,
    time: usize,
    tokens: usize,
    last: usize,
}

impl Columns {
    fn of(model: &Model, watched: &Watched, run: &Run, shown: &[(usize, usize, State)]) -> Self {
        let (width, columns) = (model.width, model.columns);
        let rows = || {
            shown
                .iter()
                .filter_map(|(at, depth, state)| Some((watched.roster.rows.get(*at)?, *depth, *state)))
        };
        let widest = |cells: &mut dyn Iterator<Item = usize>| cells.max().unwrap_or(0);
        let name = widest(&mut rows().map(|(row, depth, _)| width.of(&named(row, depth, width))));
        let state =
            widest(&mut rows().map(|(row, _, state)| width.of(&state_words(row, state, run, model.lang))));
        let role = widest(&mut rows().map(|(row, ..)| width.of(&row.role)));
        // Sign and margins, then what must be there.
        let name = name.min(columns * 2 / 5);
        let state = state.min(if columns < 60 { 14 } else { 22 });
        let mut left = columns.saturating_sub(4 + name + 2 + state + 1);
        let mut take = |wish: usize, least_rest: usize| {
            let is_there = wish > 0 && left >= wish + 2 + least_rest;
            left -= if is_there { wish + 2 } else { 0 };
            if is_there { wish } else { 0 }
        };
        let time = take(TIME, 0);
        let has_tokens = rows().any(|(row, ..)| row.tokens(run) > 0);
        let tokens = take(if has_tokens { 6 } else { 0 }, 10);
        let role = take(role.min(20), 24);
        Self { name, role, state, time, tokens, last: left.saturating_sub(2) }
    }

    fn titles(&self, model: &Model) -> Line {
        let say = |english: &str, chinese: &str| match model.lang {
            Lang::En => english.to_owned(),
            Lang::Zh => chinese.to_owned(),
        };
        let left = |text: String, cells: usize| {
            if cells > 0 { format!("  {}", fit(&text, cells, model.width)) } else { String::new() }
        };
        let right = |text: String, cells: usize| {
            let pad = " ".repeat(cells.saturating_sub(model.width.of(&text)));
            if cells > 0 { format!("  {pad}{text}") } else { String::new() }
        };
        let text = [
            format!("   {}", fit(&say("AGENT", "代理"), self.name, model.width)),
            left(say("STATE", "状态"), self.state),
            right(say("TIME", "用时"), self.time),
            right(say("TOKENS", "词元"), self.tokens),
            left(say("KIND", "种类"), self.role),
            left(say("LAST HEARD", "最近动态"), if self.last >= 8 { self.last } else { 0 }),
        ];
        cut(vec![Span::new(style::DIM, text.concat())], model.columns, model.width)
    }

    fn line(
        &self,
        model: &Model,
        watched: &Watched,
        run: &Run,
        (at, depth, state): (usize, usize, State),
        look: Look,
    ) -> Line {
        let (width, lang) = (model.width, model.lang);
        let Some(row) = watched.roster.rows.get(at) else { return Vec::new() };
        let safe = |text: &str| fugato_model::escape_for_terminal(text).into_owned();
        let mut line = vec![
            Span::plain(pointer(look, width)),
            sign(state, model),
            Span::plain(" "),
            Span::new(style::NAME, fit(&safe(&named(row, depth, width)), self.name, width)),
            Span::plain("  "),
            Span::new(look_of(state), fit(&safe(&state_words(row, state, run, lang)), self.state, width)),
        ];
        if self.time > 0 {
            let time = time_of(row, watched, model.now).map(elapsed).unwrap_or_default();
            line.push(Span::new(style::DIM, format!("  {time:>TIME$}")));
        }
        if self.tokens > 0 {
            let used = row.tokens(run);
            let used = if used > 0 { tokens(used) } else { String::new() };
            line.push(Span::new(style::DIM, format!("  {used:>6}")));
        }
        if self.role > 0 {
            line.push(Span::new(style::DIM, format!("  {}", fit(&safe(&row.role), self.role, width))));
        }
        if self.last >= 8 {
            let last = row.last.as_ref().map(|(_, words)| words.in_lang(lang)).unwrap_or_default();
            line.push(Span::plain(format!("  {}", width.cut(&safe(last), self.last))));
        }
        cut(line, model.columns, width)
    }
}

/// Indented below whoever started it.
fn named(row: &Row, depth: usize, width: Width) -> String {
    let branch = match (depth, width) {
        (0, _) => "",
        (_, Width::Narrow) => "└ ",
        (_, Width::Wide) => "` ",
    };
    format!("{}{branch}{}", "  ".repeat(depth.saturating_sub(1).min(8)), row.name)
}

/// What it does, in a few words.
pub fn state_words(row: &Row, state: State, run: &Run, lang: Lang) -> String {
    let word = state.word(lang);
    if state != State::Acting {
        return word.to_owned();
    }
    let tools = row.tools(run);
    match tools.as_slice() {
        [] => State::Running.word(lang).to_owned(),
        [tool] => format!("{word} {tool}"),
        [tool, more @ ..] => format!("{word} {tool} +{}", more.len()),
    }
}

fn time_of(row: &Row, watched: &Watched, now: i64) -> Option<i64> {
    let since = row.since?;
    let stands = if watched.card.is_live { now } else { watched.run.as_ref()?.last_at() };
    Some(row.until.unwrap_or(stands).saturating_sub(since).max(0))
}

/// What there is to say about the one under the cursor; of a run that is over, how it ended.
fn detail(model: &Model, watched: &Watched, run: &Run) -> Vec<Line> {
    let (lang, width, columns) = (model.lang, model.width, model.columns);
    let Some(at) = model.board_row() else { return Vec::new() };
    let Some((row, state)) = watched.row(at) else { return Vec::new() };
    let mut lines =
        vec![rule(&format!("{}  {}", row.name, state_words(row, state, run, lang)), columns, width)];
    let mut say_in = |look: Style, text: &str| {
        let wrapped = wrap(text, columns.saturating_sub(4), width);
        lines.extend(wrapped.into_iter().map(|text| vec![Span::plain("  "), Span::new(look, text)]));
    };
    if let Some(words) = silence(row, state, model.now).filter(|_| watched.card.is_live) {
        say_in(style::WARN, words.in_lang(lang));
    }
    let node = row.node.and_then(|node| run.nodes.get(node as usize));
    for words in node.iter().flat_map(|node| node.message.iter().chain(&node.warnings)) {
        say_in(style::WARN, words.in_lang(lang));
    }
    if let Some((at, words)) = &row.last {
        let ago = elapsed(model.now.saturating_sub(*at));
        let text = words.in_lang(lang);
        let text = match watched.card.is_live {
            true => say(lang, &words!("{text} ({ago} ago)", "{text}（{ago} 前）")),
            false => text.to_owned(),
        };
        say_in(style::PLAIN, &text);
    }
    if let Some((_, reason, result)) = &run.ended {
        say_in(style::BOLD, reason.in_lang(lang));
        if let Some(result) = result {
            let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
            say_in(style::PLAIN, &text.chars().take(2000).collect::<String>());
        }
    }
    lines
}

pub fn look_of(state: State) -> Style {
    match state {
        State::Done => style::GOOD,
        State::Failed | State::LimitReached | State::Blocked => style::BAD,
        State::Running | State::Thinking | State::Acting | State::WaitsForAgents => style::NAME,
        State::Pending | State::Skipped | State::Reused | State::Cancelled => style::DIM,
        State::Queued
        | State::Paused
        | State::WaitsForYou
        | State::Uncertain
        | State::Concerns
        | State::NeedsContext
        | State::FailedOptional
        | State::Interrupted => style::WARN,
    }
}

/// One cell on every terminal.
pub fn glyph(state: State, width: Width) -> &'static str {
    let (narrow, wide) = match state {
        State::Pending | State::Skipped => ("○", "."),
        State::Queued => ("◌", ","),
        State::Running | State::Thinking | State::Acting | State::WaitsForAgents => ("●", "*"),
        State::Paused => ("‖", "="),
        State::WaitsForYou | State::Uncertain | State::NeedsContext => ("?", "?"),
        State::Done | State::Concerns | State::Reused => ("✓", "+"),
        State::Failed | State::FailedOptional | State::LimitReached | State::Blocked => ("✗", "x"),
        State::Cancelled => ("–", "-"),
        State::Interrupted => ("!", "!"),
    };
    match width {
        Width::Narrow => narrow,
        Width::Wide => wide,
    }
}

//! Bars as lines of text: a time axis, one row per node, its calls below it, what is many folded. Pure.

use super::bars::{Bar, State, StepKind, Trace, Why};
use super::glyphs::Glyphs;
use super::scale::{Scale, Since};
use crate::printer::style;
use crate::render::Width;
use crate::render::canvas::{Line, Span, width_of};
use crate::runs::reporter::duration;
use anstyle::Style;
use fugato_model::Lang;

/// How a trace is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    pub lang: Lang,
    pub width: Width,
    pub columns: usize,
    /// More nodes are folded.
    pub nodes: usize,
    pub steps: Steps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    None,
    All,
}

/// Time that is drawn shorter than it was.
const SQUEEZED: &str = "/";
/// Right of the bars: `12 m 34 s`.
const TIME: usize = 9;
/// Narrower bars say nothing.
const MIN_BARS: usize = 8;
/// Longer names are cut.
const MAX_NAMES: usize = 44;

/// A row before it is drawn.
struct Row {
    name: String,
    name_style: Style,
    /// What covers the cells, later pieces over earlier ones.
    pieces: Vec<Piece>,
    time: String,
    note: String,
    note_style: Style,
}

/// Cells beside the bars; none where there is no room.
#[derive(Clone, Copy)]
struct Columns {
    names: usize,
    time: usize,
    notes: usize,
}

struct Piece {
    from: i64,
    to: i64,
    glyph: &'static str,
    style: Style,
}

impl Chart {
    pub fn draw(&self, trace: &Trace) -> Vec<Line> {
        let glyphs = Glyphs::of(self.width);
        let rows = self.rows(trace, glyphs);
        if rows.is_empty() {
            let text = match self.lang {
                Lang::En => "nothing has started yet",
                Lang::Zh => "尚未开始任何步骤",
            };
            return vec![vec![Span::new(style::DIM, text)]];
        }
        let widest = rows.iter().map(|row| self.width.of(&row.name)).max().unwrap_or(0);
        let names = widest.min(MAX_NAMES).min(self.columns * 2 / 5);
        let notes = rows.iter().map(|row| self.width.of(&row.note)).max().unwrap_or(0);
        // A narrow screen has no room for figures beside the bars.
        let time = if names + 2 + MIN_BARS + 2 + TIME <= self.columns { TIME + 2 } else { 0 };
        let beside = names + 2 + time;
        // Notes are the first to go.
        let with_notes = beside + if notes > 0 { notes + 2 } else { 0 };
        let notes = if with_notes + MIN_BARS * 2 <= self.columns { notes } else { 0 };
        let taken = if notes > 0 { with_notes } else { beside };
        let bars = self.columns.saturating_sub(taken).max(MIN_BARS);
        let scale = Scale::new(trace, bars);
        let mut lines = self.axis(names, bars + time, &scale, glyphs, trace);
        for row in &rows {
            lines.push(self.line(row, Columns { names, time, notes }, &scale, trace, glyphs));
        }
        lines.push(Vec::new());
        lines.extend(self.legend(trace, &scale, glyphs));
        lines.into_iter().map(|line| self.cut(line)).collect()
    }

    fn rows(&self, trace: &Trace, glyphs: &'static Glyphs) -> Vec<Row> {
        let shown = shown(trace, self.nodes);
        let mut rows = Vec::new();
        let mut folded: Vec<&Bar> = Vec::new();
        for (bar, is_shown) in trace.bars.iter().zip(shown) {
            if !is_shown {
                folded.push(bar);
                continue;
            }
            rows.extend(self.fold(&mut folded, trace, glyphs));
            rows.push(self.bar(bar, trace, glyphs));
            if self.steps == Steps::All {
                rows.extend(self.step_rows(bar, trace, glyphs));
            }
        }
        rows.extend(self.fold(&mut folded, trace, glyphs));
        rows
    }

    /// Finished rows that are not worth a line each.
    fn fold(&self, folded: &mut Vec<&Bar>, trace: &Trace, glyphs: &'static Glyphs) -> Option<Row> {
        let start = folded.iter().map(|bar| bar.start).min()?;
        let end = folded.iter().map(|bar| bar.end.unwrap_or(trace.to)).max()?;
        let count = folded.len();
        folded.clear();
        let name = match self.lang {
            Lang::En => format!("  +{count} more"),
            Lang::Zh => format!("  另有 {count} 个"),
        };
        let piece = Piece { from: start, to: end, glyph: glyphs.ruler.1, style: style::DIM };
        Some(Row {
            name,
            name_style: style::DIM,
            pieces: vec![piece],
            time: duration(end - start),
            note: String::new(),
            note_style: style::DIM,
        })
    }

    fn bar(&self, bar: &Bar, trace: &Trace, glyphs: &'static Glyphs) -> Row {
        let end = bar.end.unwrap_or(trace.to);
        let (look, note) = match (bar.state, self.lang) {
            (State::Done, _) => (style::GOOD, ""),
            (State::Failed, Lang::En) => (style::BAD, "failed"),
            (State::Failed, Lang::Zh) => (style::BAD, "失败"),
            (State::FailedOptional, Lang::En) => (style::WARN, "failed, optional"),
            (State::FailedOptional, Lang::Zh) => (style::WARN, "失败（可选）"),
            (State::FellBack, Lang::En) => (style::WARN, "failed, then inline"),
            (State::FellBack, Lang::Zh) => (style::WARN, "失败，改为内联"),
            (State::LimitReached, Lang::En) => (style::WARN, "reached a limit"),
            (State::LimitReached, Lang::Zh) => (style::WARN, "到达上限"),
            (State::Concerns, Lang::En) => (style::WARN, "done, with concerns"),
            (State::Concerns, Lang::Zh) => (style::WARN, "完成（有疑虑）"),
            (State::Blocked, Lang::En) => (style::BAD, "blocked"),
            (State::Blocked, Lang::Zh) => (style::BAD, "受阻"),
            (State::NeedsContext, Lang::En) => (style::BAD, "needs context"),
            (State::NeedsContext, Lang::Zh) => (style::BAD, "需要更多信息"),
            (State::Cancelled, Lang::En) => (style::WARN, "cancelled"),
            (State::Cancelled, Lang::Zh) => (style::WARN, "已取消"),
            (State::Reused, Lang::En) => (style::DIM, "reused"),
            (State::Reused, Lang::Zh) => (style::DIM, "沿用"),
            (State::Stopped, Lang::En) => (style::DIM, "stopped"),
            (State::Stopped, Lang::Zh) => (style::DIM, "已停止"),
            (State::Running, _) if waits(bar) => {
                (style::WARN, if self.lang == Lang::En { "waits for you" } else { "等您回答" })
            }
            (State::Running, Lang::En) => (style::NAME, "not finished"),
            (State::Running, Lang::Zh) => (style::NAME, "未完成"),
        };
        let is_failed = matches!(bar.state, State::Failed | State::FailedOptional | State::FellBack);
        let mut pieces = vec![Piece { from: bar.start, to: end, glyph: glyphs.work, style: look }];
        for pause in &bar.breaks {
            let (glyph, style) = match pause.why {
                Why::Person => (glyphs.person, style::WARN),
                Why::Nobody => (glyphs.nobody, style::DIM),
            };
            pieces.push(Piece { from: pause.start, to: pause.end.unwrap_or(end), glyph, style });
        }
        let again = if bar.attempt > 1 { format!(" ({})", bar.attempt) } else { String::new() };
        Row {
            name: format!("{}{again}", bar.id),
            name_style: style::PLAIN,
            pieces,
            time: duration(bar.took(trace.to)),
            note: if is_failed { format!("{} {note}", glyphs.failed) } else { note.to_owned() },
            note_style: look,
        }
    }

    fn step_rows<'b>(
        &self,
        bar: &'b Bar,
        trace: &'b Trace,
        glyphs: &'static Glyphs,
    ) -> impl Iterator<Item = Row> + use<'b> {
        let (lang, bar_end) = (self.lang, bar.end.unwrap_or(trace.to));
        bar.steps.iter().map(move |step| {
            let end = step.end.unwrap_or(bar_end);
            let (glyph, look) = match step.kind {
                StepKind::Model => (glyphs.model, style::NAME),
                StepKind::Tool => (glyphs.tool, style::GOOD),
                StepKind::Question => (glyphs.person, style::WARN),
            };
            let look = if step.failed { style::BAD } else { look };
            let label = match (step.kind, lang) {
                (StepKind::Question, Lang::En) => "question to you".to_owned(),
                (StepKind::Question, Lang::Zh) => "向您提问".to_owned(),
                _ => model_name(&step.label),
            };
            let mut pieces = vec![Piece { from: step.start, to: end, glyph, style: look }];
            let dead = bar.breaks.iter().filter(|pause| pause.why == Why::Nobody);
            for pause in dead.filter(|pause| pause.start < end && pause.end.unwrap_or(end) > step.start) {
                let (from, to) = (pause.start.max(step.start), pause.end.unwrap_or(end).min(end));
                pieces.push(Piece { from, to, glyph: glyphs.nobody, style: style::DIM });
            }
            Row {
                name: format!("  {label}"),
                name_style: style::DIM,
                pieces,
                time: duration(end - step.start),
                note: if step.failed { glyphs.failed.to_owned() } else { String::new() },
                note_style: style::BAD,
            }
        })
    }

    /// Labels over ticks: `0    200 ms    400 ms`.
    fn axis(&self, names: usize, room: usize, scale: &Scale, glyphs: &Glyphs, trace: &Trace) -> Vec<Line> {
        let mut labels = " ".repeat(names + 2);
        let mut ruler = vec![glyphs.ruler.1; scale.cells];
        let mut ends_at = 0;
        let mut mark = |cells: std::ops::Range<usize>, glyph: &'static str| {
            ruler.get_mut(cells).into_iter().flatten().for_each(|cell| *cell = glyph);
        };
        for tick in scale.ticks() {
            mark(tick.cell..tick.cell + 1, glyphs.ruler.0);
            let label = match (tick.time, tick.since) {
                (0, _) => "0".to_owned(),
                (time, Since::Beginning) => duration(time),
                (time, Since::Squeeze) => format!("+{}", duration(time)),
            };
            let cells = self.width.of(&label);
            if tick.cell >= ends_at && tick.cell + cells <= room {
                labels.push_str(&" ".repeat(tick.cell - ends_at));
                labels.push_str(&label);
                // A blank at least, or two labels are one.
                labels.push(' ');
                ends_at = tick.cell + cells + 1;
            }
        }
        scale.squeezed().for_each(|cells| mark(cells, SQUEEZED));
        for cell in trace.resumed.iter().map(|at| scale.cell(*at)) {
            mark(cell..cell + 1, glyphs.resumed);
        }
        let ruler = format!("{}{}", " ".repeat(names + 2), ruler.concat());
        vec![vec![Span::new(style::DIM, labels.trim_end())], vec![Span::new(style::DIM, ruler)]]
    }

    fn line(
        &self,
        row: &Row,
        Columns { names, time, notes }: Columns,
        scale: &Scale,
        trace: &Trace,
        glyphs: &'static Glyphs,
    ) -> Line {
        let name = self.width.cut(&fugato_model::escape_for_terminal(&row.name), names);
        let pad = " ".repeat(names.saturating_sub(self.width.of(&name)) + 2);
        let mut line = vec![Span::new(row.name_style, name), Span::plain(pad)];
        let mut cells: Vec<(&'static str, Style)> = vec![(" ", style::PLAIN); scale.cells];
        for at in &trace.resumed {
            if let Some(cell) = cells.get_mut(scale.cell(*at)) {
                *cell = (glyphs.resumed, style::WARN);
            }
        }
        for (nth, piece) in row.pieces.iter().enumerate() {
            let from = scale.cell(piece.from);
            let to = scale.end_cell(piece.to).max(if nth == 0 { from + 1 } else { from });
            for cell in cells.get_mut(from..to.min(scale.cells)).into_iter().flatten() {
                *cell = (piece.glyph, piece.style);
            }
        }
        for (glyph, look) in cells {
            match line.last_mut() {
                Some(last) if last.style == look => last.text.push_str(glyph),
                _ => line.push(Span { text: glyph.to_owned(), style: look }),
            }
        }
        if time > 0 {
            line.push(Span::new(style::DIM, format!("{:>time$}", row.time)));
        }
        if notes > 0 && !row.note.is_empty() {
            line.push(Span::new(row.note_style, format!("  {}", row.note)));
        }
        line
    }

    /// Only what is there.
    fn legend(&self, trace: &Trace, scale: &Scale, glyphs: &Glyphs) -> Vec<Line> {
        let has = |why: Why| trace.bars.iter().flat_map(|bar| &bar.breaks).any(|pause| pause.why == why);
        let has_step = |kind: StepKind| {
            self.steps == Steps::All
                && trace.bars.iter().flat_map(|bar| &bar.steps).any(|step| step.kind == kind)
        };
        let entries = [
            (true, glyphs.work, style::GOOD, "at work", "执行"),
            (has_step(StepKind::Model), glyphs.model, style::NAME, "model", "模型"),
            (has_step(StepKind::Tool), glyphs.tool, style::GOOD, "tool", "工具"),
            (has(Why::Person), glyphs.person, style::WARN, "waiting for you", "等您回答"),
            (has(Why::Nobody), glyphs.nobody, style::DIM, "nobody at work", "无人执行"),
            (!trace.resumed.is_empty(), glyphs.resumed, style::WARN, "resumed", "恢复"),
            (scale.squeezed().next().is_some(), SQUEEZED, style::DIM, "shortened", "已缩短"),
        ];
        let mut lines: Vec<Line> = vec![Vec::new()];
        for (_, glyph, look, english, chinese) in entries.into_iter().filter(|(is_there, ..)| *is_there) {
            let word = if self.lang == Lang::En { english } else { chinese };
            let entry = [Span::new(look, glyph), Span::new(style::DIM, format!(" {word}   "))];
            match lines.last_mut() {
                Some(line)
                    if width_of(line, self.width) + width_of(&entry, self.width) <= self.columns + 3 =>
                {
                    line.extend(entry);
                }
                _ => lines.push(entry.into()),
            }
        }
        lines
    }

    fn cut(&self, line: Line) -> Line {
        if width_of(&line, self.width) <= self.columns {
            return line;
        }
        let mut left = self.columns;
        let mut kept = Vec::new();
        for span in line {
            let text = self.width.cut(&span.text, left);
            left = left.saturating_sub(self.width.of(&text));
            kept.push(Span { text, style: span.style });
            if left == 0 {
                break;
            }
        }
        kept
    }
}

/// `script:/a/long/path/model.yaml` → `script:model.yaml`.
fn model_name(label: &str) -> String {
    match label.split_once(':') {
        Some((kind @ ("script" | "replay"), path)) => {
            format!("{kind}:{}", path.rsplit('/').next().unwrap_or(path))
        }
        _ => label.to_owned(),
    }
}

fn waits(bar: &Bar) -> bool {
    bar.breaks.iter().any(|pause| pause.why == Why::Person && pause.end.is_none())
}

/// Which bars get a row: all, or those unfinished, failed or asked, then the longest.
fn shown(trace: &Trace, limit: usize) -> Vec<bool> {
    if trace.bars.len() <= limit {
        return vec![true; trace.bars.len()];
    }
    let mut ranked: Vec<usize> = (0..trace.bars.len()).collect();
    ranked.sort_by_key(|at| {
        let bar = trace.bars.get(*at);
        let is_quiet = bar.is_some_and(|bar| bar.state == State::Done && bar.breaks.is_empty());
        (is_quiet, std::cmp::Reverse(bar.map_or(0, |bar| bar.took(trace.to))), *at)
    });
    let mut shown = vec![false; trace.bars.len()];
    for at in ranked.into_iter().take(limit) {
        if let Some(slot) = shown.get_mut(at) {
            *slot = true;
        }
    }
    shown
}

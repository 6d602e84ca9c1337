//! From letters on a page to text in reading order: letters become pieces, pieces lines, lines columns, tables, headings.
//!
//! A PDF knows only where ink goes. Everything here is a guess from distances, in units of the size of the letters.

use super::device::Glyph;
use crate::office::markdown;
use std::collections::HashSet;

/// Letters that follow each other without a wide gap: a word of a table, or a line of text.
#[derive(Clone, Debug)]
struct Piece {
    text: String,
    left: f64,
    right: f64,
    /// The line the letters stand on, from the top.
    base: f64,
    size: f64,
}

#[derive(Clone, Debug)]
struct Line {
    pieces: Vec<Piece>,
    base: f64,
    size: f64,
}

/// In sizes of letters: a gap wider than this is a blank, one wider than that begins another piece.
const BLANK: f64 = 0.17;
const APART: f64 = 1.1;
/// Columns of text have at least this many lines side by side; less is a table or chance.
const COLUMN_LINES: usize = 8;
/// Columns are looked for inside columns, no deeper.
const MOST_SPLITS: u32 = 3;
/// What has more is no table that anybody could read. A row has a cell in every column, so both are bounded.
const MOST_COLUMNS: usize = 200;
const MOST_ROWS: usize = 5_000;

pub(super) fn text(glyphs: Vec<Glyph>) -> String {
    let body_size = median(glyphs.iter().map(|glyph| glyph.size).collect());
    let lines = lines(pieces(glyphs));
    let mut text = String::new();
    write_region(lines, body_size, MOST_SPLITS, &mut text);
    text.push('\n');
    text
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

fn pieces(glyphs: Vec<Glyph>) -> Vec<Piece> {
    let (mut pieces, mut seen): (Vec<Piece>, _) = (Vec::new(), HashSet::new());
    for glyph in glyphs {
        // Bold letters are sometimes the same letters drawn twice.
        let step = (glyph.size / 4.0).max(0.1);
        #[expect(clippy::cast_possible_truncation, reason = "places on a page are small, and only compared")]
        let place = ((glyph.x / step).round() as i64, (glyph.y / step).round() as i64, glyph.text.clone());
        if !glyph.text.trim().is_empty() && !seen.insert(place) {
            continue;
        }
        match pieces.last_mut() {
            Some(piece) if follows(piece, &glyph) => extend(piece, &glyph),
            _ if glyph.text.trim().is_empty() => {}
            _ => pieces.push(Piece {
                left: glyph.x,
                right: glyph.x + glyph.width,
                base: glyph.y,
                size: glyph.size,
                text: glyph.text,
            }),
        }
    }
    for piece in &mut pieces {
        piece.text.truncate(piece.text.trim_end().len());
    }
    pieces
}

fn follows(piece: &Piece, glyph: &Glyph) -> bool {
    let size = piece.size.max(glyph.size);
    let gap = glyph.x - piece.right;
    let is_wide_blank = piece.text.ends_with("   ");
    (glyph.y - piece.base).abs() < 0.35 * size && (-0.6 * size..APART * size).contains(&gap) && !is_wide_blank
}

fn extend(piece: &mut Piece, glyph: &Glyph) {
    let gap = (glyph.x - piece.right) / piece.size.max(glyph.size);
    let has_blank = piece.text.ends_with(' ') || glyph.text.starts_with(' ');
    // Chinese is set with gaps that are no blanks.
    let limit = if is_wide(piece.text.chars().next_back()) && is_wide(glyph.text.chars().next()) {
        0.6
    } else {
        BLANK
    };
    if gap > limit && !has_blank {
        piece.text.push(' ');
    }
    piece.text.push_str(&glyph.text);
    piece.right = piece.right.max(glyph.x + glyph.width);
    piece.size = piece.size.max(glyph.size);
}

fn is_wide(c: Option<char>) -> bool {
    c.is_some_and(|c| {
        ('\u{2e80}'..='\u{9fff}').contains(&c) || ('\u{f900}'..='\u{ffef}').contains(&c) || c >= '\u{20000}'
    })
}

fn lines(mut pieces: Vec<Piece>) -> Vec<Line> {
    pieces.retain(|piece| !piece.text.trim().is_empty());
    pieces.sort_by(|a, b| a.base.total_cmp(&b.base));
    let mut lines: Vec<Line> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if (piece.base - line.base).abs() < 0.45 * piece.size.max(line.size) => {
                line.size = line.size.max(piece.size);
                line.pieces.push(piece);
            }
            _ => lines.push(Line { base: piece.base, size: piece.size, pieces: vec![piece] }),
        }
    }
    for line in &mut lines {
        line.pieces.sort_by(|a, b| a.left.total_cmp(&b.left));
        line.pieces = joined(std::mem::take(&mut line.pieces));
    }
    lines
}

/// Neighbours on a line that were drawn at different times.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if piece.left - last.right < 0.8 * last.size.max(piece.size) => {
                let gap = (piece.left - last.right) / last.size.max(piece.size);
                let is_one_word = gap < BLANK
                    || (is_wide(last.text.chars().next_back()) && is_wide(piece.text.chars().next()));
                if !is_one_word {
                    last.text.push(' ');
                }
                // A number before an item may be larger than the item.
                if piece.text.len() > last.text.len() {
                    last.size = piece.size;
                }
                last.text.push_str(&piece.text);
                last.right = last.right.max(piece.right);
            }
            _ => joined.push(piece),
        }
    }
    joined
}

/// A part of the page: columns one after the other if it has them, else its lines.
fn write_region(lines: Vec<Line>, body_size: f64, splits: u32, text: &mut String) {
    let Some(gutter) = (splits > 0).then(|| gutter(&lines)).flatten() else {
        return write_lines(&lines, body_size, text);
    };
    let crosses = |line: &Line| line.pieces.iter().any(|piece| piece.left < gutter && piece.right > gutter);
    let (mut left, mut right, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        if crosses(&line) {
            flush(&mut left, &mut right, body_size, splits, text);
            whole.push(line);
            continue;
        }
        write_lines(&std::mem::take(&mut whole), body_size, text);
        let (before, after): (Vec<_>, Vec<_>) =
            line.pieces.into_iter().partition(|piece| piece.right <= gutter);
        for (pieces, side) in [(before, &mut left), (after, &mut right)] {
            if !pieces.is_empty() {
                side.push(Line { pieces, base: line.base, size: line.size });
            }
        }
    }
    write_lines(&whole, body_size, text);
    flush(&mut left, &mut right, body_size, splits, text);
}

fn flush(left: &mut Vec<Line>, right: &mut Vec<Line>, body_size: f64, splits: u32, text: &mut String) {
    for side in [left, right] {
        if !side.is_empty() {
            write_region(std::mem::take(side), body_size, splits - 1, text);
            text.push('\n');
        }
    }
}

/// Where two columns of text part: a place that many lines leave free and few cross, with full lines on both sides.
fn gutter(lines: &[Line]) -> Option<f64> {
    let gaps = lines.iter().flat_map(|line| {
        line.pieces.windows(2).filter_map(|pair| match pair {
            [a, b] => Some((a.right, b.left)),
            _ => None,
        })
    });
    // The place that most gaps have in common: each beginning opens one, each end closes one.
    let mut edges: Vec<(f64, i32)> = gaps.flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut open, mut best, mut gutter) = (0, 0, None);
    for pair in edges.windows(2) {
        if let [(from, step), (to, _)] = pair {
            open += step;
            if open > best && to - from > 2.0 {
                (best, gutter) = (open, Some((from + to) / 2.0));
            }
        }
    }
    let gutter = gutter.filter(|_| usize::try_from(best).is_ok_and(|best| best >= COLUMN_LINES))?;
    let crossing = lines
        .iter()
        .flat_map(|line| &line.pieces)
        .filter(|piece| piece.left < gutter && piece.right > gutter);
    let is_text = |pieces: Vec<&Piece>| {
        let left = pieces.iter().map(|piece| piece.left).fold(f64::MAX, f64::min);
        let right = pieces.iter().map(|piece| piece.right).fold(f64::MIN, f64::max);
        let size = median(pieces.iter().map(|piece| piece.size).collect());
        let width = median(pieces.iter().map(|piece| piece.right - piece.left).collect());
        // Cells of a table are short and ragged; lines of a column fill it.
        right - left > 12.0 * size && width > 0.7 * (right - left)
    };
    let all = || lines.iter().flat_map(|line| &line.pieces);
    let before: Vec<_> = all().filter(|piece| piece.right <= gutter).collect();
    let after: Vec<_> = all().filter(|piece| piece.left >= gutter).collect();
    (crossing.count() * 3 < lines.len() && is_text(before) && is_text(after)).then_some(gutter)
}

fn write_lines(lines: &[Line], body_size: f64, text: &mut String) {
    let steps = lines.windows(2).filter_map(|pair| match pair {
        [a, b] => Some(b.base - a.base),
        _ => None,
    });
    let step = median(steps.collect());
    let (mut rest, mut before) = (lines, None);
    while let Some((line, after)) = rest.split_first() {
        let is_new = before.is_some_and(|base: f64| line.base - base > 1.35 * step.max(0.5 * line.size));
        if is_new && !text.ends_with("\n\n") {
            text.push('\n');
        }
        let (rows, used) = table(rest);
        if used > 0 {
            if !text.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
            text.push_str(&markdown::table(&rows));
            before = None;
            rest = rest.get(used..).unwrap_or_default();
            continue;
        }
        write_line(line, body_size, text);
        before = Some(line.base);
        rest = after;
    }
}

fn write_line(line: &Line, body_size: f64, text: &mut String) {
    let words: Vec<_> = line.pieces.iter().map(|piece| piece.text.trim()).collect();
    let words = words.join("  ");
    let is_short = words.chars().count() <= 100 && words.chars().any(char::is_alphabetic);
    let longest = line.pieces.iter().max_by_key(|piece| piece.text.len());
    let level = match longest.map_or(0.0, |piece| piece.size) / body_size.max(0.1) {
        ratio if ratio > 1.55 => 2,
        ratio if ratio > 1.18 => 3,
        _ => 0,
    };
    if level > 0 && is_short {
        if !text.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        text.push_str(&markdown::heading(level, &words));
        return;
    }
    text.push_str(&words);
    text.push('\n');
}

/// The table at the beginning of these lines, and how many of them it takes; 0 if there is none.
fn table(lines: &[Line]) -> (Vec<Vec<String>>, usize) {
    let none = (Vec::new(), 0);
    let mut columns: Vec<(f64, f64)> = Vec::new();
    let (mut used, mut full) = (0, 0);
    let mut base = None;
    for line in lines {
        let is_near = base.is_none_or(|base: f64| line.base - base < 3.5 * line.size);
        let is_row = line.pieces.len() >= 2;
        let is_inside = |piece: &Piece| {
            columns.iter().any(|(left, right)| piece.left >= left - 1.0 && piece.right <= right + 1.0)
        };
        // The second line of a cell stands alone on its line, under the first.
        let is_more = used > 0
            && line.pieces.first().is_some_and(is_inside)
            && base.is_some_and(|base| line.base - base < 1.6 * line.size);
        if !is_near || !(is_row || is_more) {
            break;
        }
        let widened = merged(&columns, line);
        let is_readable = (2..=MOST_COLUMNS).contains(&widened.len()) && used < MOST_ROWS;
        if !is_readable || widened.len() < columns.len() {
            break;
        }
        columns = widened;
        used += 1;
        full += usize::from(is_row);
        base = Some(line.base);
    }
    let is_table = full >= 3 || (full == 2 && columns.len() >= 3);
    // Trailing lines of one piece belong to the text below.
    while used > 0 && lines.get(used - 1).is_some_and(|line| line.pieces.len() < 2) {
        used -= 1;
    }
    if !is_table {
        return none;
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines.iter().take(used) {
        let mut row = vec![String::new(); columns.len()];
        for piece in &line.pieces {
            let at = columns
                .iter()
                .position(|(left, right)| piece.left < *right && piece.right > *left)
                .unwrap_or(0);
            if let Some(cell) = row.get_mut(at) {
                append(cell, &piece.text);
            }
        }
        match rows.last_mut() {
            Some(last) if line.pieces.len() < 2 => {
                for (cell, more) in last.iter_mut().zip(&row) {
                    append(cell, more);
                }
            }
            _ => rows.push(row),
        }
    }
    (rows, used)
}

fn append(cell: &mut String, more: &str) {
    if !cell.is_empty() && !more.is_empty() {
        cell.push(' ');
    }
    cell.push_str(more);
}

/// The columns with this line's pieces laid over them: what overlaps is one column.
fn merged(columns: &[(f64, f64)], line: &Line) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = columns.to_vec();
    all.extend(line.pieces.iter().map(|piece| (piece.left, piece.right)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for (left, right) in all {
        match merged.last_mut() {
            Some(last) if left < last.1 => last.1 = last.1.max(right),
            _ => merged.push((left, right)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, x: f64, y: f64, size: f64) -> Vec<Glyph> {
        let mut x = x;
        let mut glyphs = Vec::new();
        for c in text.chars() {
            let width = if is_wide(Some(c)) { size } else { size * 0.5 };
            glyphs.push(Glyph { text: c.to_string(), x, y, size, width });
            x += width;
        }
        glyphs
    }

    #[test]
    fn lines_in_any_order_come_out_from_top_to_bottom() {
        let mut glyphs = line("second line", 50.0, 120.0, 10.0);
        glyphs.extend(line("first line", 50.0, 108.0, 10.0));
        glyphs.extend(line("中文在此", 50.0, 132.0, 10.0));
        assert_eq!(text(glyphs), "first line\nsecond line\n中文在此\n\n");
    }

    #[test]
    fn letters_drawn_twice_are_there_once_and_gaps_are_blanks() {
        let mut glyphs = line("bold", 50.0, 100.0, 10.0);
        glyphs.extend(line("bold", 50.2, 100.0, 10.0));
        glyphs.extend(line("word", 73.0, 100.0, 10.0));
        assert_eq!(text(glyphs), "bold word\n\n");
    }

    #[test]
    fn a_table_is_a_table_and_columns_of_text_are_not() {
        let mut glyphs = Vec::new();
        for (row, cells) in
            [["Name", "City", "Sum"], ["Ann", "Oslo", "12"], ["Bo", "Rome", "7"]].iter().enumerate()
        {
            for (column, cell) in cells.iter().enumerate() {
                glyphs.extend(line(cell, 50.0 + 100.0 * column as f64, 100.0 + 14.0 * row as f64, 10.0));
            }
        }
        assert_eq!(
            text(glyphs),
            "| Name | City | Sum |\n|---|---|---|\n| Ann | Oslo | 12 |\n| Bo | Rome | 7 |\n\n\n"
        );
        let mut glyphs = Vec::new();
        for row in 0..12 {
            let y = 100.0 + 12.0 * f64::from(row);
            glyphs.extend(line(&format!("left column text of line {row:02}"), 50.0, y, 10.0));
            glyphs.extend(line(&format!("right column text of line {row:02}"), 220.0, y, 10.0));
        }
        let shown = text(glyphs);
        let at = |words: &str| shown.find(words).unwrap();
        assert!(at("left column text of line 11") < at("right column text of line 00"), "{shown}");
        assert!(!shown.contains('|'));
    }

    #[test]
    fn larger_letters_are_headings() {
        let mut glyphs = line("Heading", 50.0, 80.0, 20.0);
        glyphs.extend(line("Text of the usual size, much of it.", 50.0, 110.0, 10.0));
        assert_eq!(text(glyphs), "## Heading\n\nText of the usual size, much of it.\n\n");
    }
}

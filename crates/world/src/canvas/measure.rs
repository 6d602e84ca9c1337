//! How large a node must be for what it shows.

use super::model::{Node, NodeKind};
use crate::picture::{width, wrap};

/// Of text in nodes, as the usual applications show it.
pub const TEXT: f64 = 16.0;
pub const LINE: f64 = 24.0;
/// Between border and text, on every side.
pub const PADDING: f64 = 20.0;
/// Of the label above a group.
pub const LABEL: f64 = 20.0;
/// Wider text is wrapped.
const WIDEST: f64 = 320.0;
const NARROWEST: f64 = 100.0;
/// A page of text is scrolled, not shown whole.
const HIGHEST: f64 = 600.0;
/// Sizes are multiples of this, so that nodes of similar text look alike.
const STEP: f64 = 20.0;
/// More text than a node shows does not have to be measured.
const MEASURED: usize = 4000;

/// Width and height for this text.
pub fn text_size(text: &str) -> (i64, i64) {
    let head: String = text.chars().take(MEASURED).collect();
    let lines = text_lines(&head, WIDEST);
    let widest = lines.iter().map(|line| width(&line.text, line.size)).fold(NARROWEST, f64::max);
    let high: f64 = lines.iter().map(|line| line.height).sum::<f64>().min(HIGHEST);
    (stepped(widest + 2.0 * PADDING), stepped(high.max(LINE) + 2.0 * (PADDING - 6.0)))
}

/// What a node needs: text is measured, the rest has a usual size.
pub fn natural_size(node: &Node) -> (i64, i64) {
    match node.kind() {
        NodeKind::Text => text_size(node.content()),
        NodeKind::Group | NodeKind::Other => (300, 200),
        NodeKind::File => (320, 240),
        NodeKind::Link => (320, 160),
    }
}

fn stepped(size: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the widest and highest text")]
    let steps = (size / STEP).ceil() as i64;
    steps * 20
}

/// A line as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct TextLine {
    pub text: String,
    pub size: f64,
    pub height: f64,
    pub bold: bool,
}

/// The lines of Markdown text: headings larger and bold, list marks as dots, emphasis without its marks.
pub fn text_lines(text: &str, widest: f64) -> Vec<TextLine> {
    let mut lines = Vec::new();
    for source in text.lines() {
        let (level, shown) = heading(source);
        let (size, height) = match level {
            1 => (TEXT * 1.4, LINE * 1.4),
            2 => (TEXT * 1.2, LINE * 1.2),
            _ => (TEXT, LINE),
        };
        let bold = level > 0 || is_wholly_bold(shown);
        // Bold text is wider than the widths that are measured.
        let room = if bold { widest * 0.92 } else { widest };
        for text in wrap(&plain(shown), size, room) {
            lines.push(TextLine { text, size, height, bold });
        }
    }
    lines
}

fn heading(line: &str) -> (usize, &str) {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    match line.get(marks..) {
        Some(rest) if (1..=6).contains(&marks) && rest.starts_with(' ') => (marks, rest.trim()),
        _ => (0, line),
    }
}

fn is_wholly_bold(line: &str) -> bool {
    let inner = line.trim().strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    inner.is_some_and(|inner| !inner.is_empty() && !inner.contains("**"))
}

fn plain(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let trimmed = line.trim_start();
    let item = ["- [ ] ", "- [x] ", "- ", "* ", "+ "].into_iter().zip(["☐ ", "☑ ", "• ", "• ", "• "]);
    let mut marks = item.filter_map(|(mark, dot)| trimmed.strip_prefix(mark).map(|rest| (dot, rest)));
    let (dot, rest) = marks.next().unwrap_or(("", trimmed));
    let text = rest.replace("**", "").replace('`', "");
    format!("{}{dot}{text}", " ".repeat(indent.min(12)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_text_is_measured_by_its_full_width() {
        assert_eq!(text_size("发布"), (140, 60));
        assert_eq!(text_size(&"发布计划".repeat(5)).1, 60, "twenty characters fit on a line");
        assert_eq!(text_size(&"发布计划".repeat(6)).1, 80, "twenty-four need two");
        assert!(text_size("# Title").1 > text_size("Title").1);
    }

    #[test]
    fn endless_text_has_a_bounded_size() {
        let (wide, high) = text_size(&"word ".repeat(100_000));
        assert!(wide <= 400 && high <= 640, "{wide} {high}");
    }
}

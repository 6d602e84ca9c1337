//! The code blocks of a Markdown text. Also used to know which lines are not in one.

use std::ops::Range;

#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// What stands behind the opening fence, lower case, first word.
    pub language: String,
    pub content: &'a str,
    /// From the opening fence to past the closing one.
    pub range: Range<usize>,
    pub closed: bool,
}

impl Block<'_> {
    /// Says that it is JSON; or says nothing, and is.
    pub(crate) fn is_json(&self) -> bool {
        match self.language.as_str() {
            "json" | "jsonc" | "json5" => true,
            "" => {
                let content = self.content.trim_start();
                content.starts_with(['{', '['])
                    && serde_json::from_str::<serde::de::IgnoredAny>(content).is_ok()
            }
            _ => false,
        }
    }
}

/// Every fenced block, in order. A block that is not closed goes to the end.
pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Open> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some(marker) = marker(line) else { continue };
        match &open {
            None => {
                open = Some(Open { start, content: end, marker, language: language(line, marker) });
            }
            Some(fence) if fence.is_closed_by(line, marker) => {
                if let Some(fence) = open.take() {
                    blocks.push(fence.block(text, start, end, true));
                }
            }
            Some(_) => {}
        }
    }
    if let Some(fence) = open {
        blocks.push(fence.block(text, text.len(), text.len(), false));
    }
    blocks
}

struct Open {
    start: usize,
    content: usize,
    marker: Marker,
    language: String,
}

/// Backticks or tildes, and how many.
#[derive(Clone, Copy)]
struct Marker {
    character: char,
    width: usize,
}

impl Open {
    fn is_closed_by(&self, line: &str, marker: Marker) -> bool {
        marker.character == self.marker.character
            && marker.width >= self.marker.width
            && line.trim().trim_start_matches(marker.character).is_empty()
    }

    fn block(self, text: &str, content_end: usize, end: usize, closed: bool) -> Block<'_> {
        let content = text.get(self.content..content_end.max(self.content)).unwrap_or_default();
        Block { language: self.language, content, range: self.start..end, closed }
    }
}

/// Models indent fences inside lists, so any indentation counts.
fn marker(line: &str) -> Option<Marker> {
    let line = line.trim_start_matches([' ', '\t']);
    let character = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = line.chars().take_while(|c| *c == character).count();
    // An inline code span of three backticks closes on its own line and is no fence.
    let inline = character == '`' && line.get(width..).is_some_and(|rest| rest.contains('`'));
    (width >= 3 && !inline).then_some(Marker { character, width })
}

fn language(line: &str, marker: Marker) -> String {
    let info = line.trim().trim_start_matches(marker.character);
    info.split_whitespace().next().unwrap_or_default().to_lowercase()
}

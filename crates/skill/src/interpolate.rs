//! Templates: text with references `{{CALENDAR.events[0].title}}` to the variables of a run.
//!
//! One pass: a template is cut once, values are inserted and never looked at again, so no value can name a variable.
//! `{{{{` is a literal `{{`. This room knows neither phases nor files; offsets are the caller's.

mod render;
#[cfg(test)]
mod tests;

pub use render::{RenderError, RenderProblem, Rendered};

use crate::limits::REFERENCE_BYTES;
use crate::place::{Lines, Place, Position};
use crate::variable::VarName;
use fugato_model::{Words, words};
use serde::{Deserialize, Serialize};

/// A text cut at its references.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Piece {
    Text(String),
    Reference(Reference),
}

/// One `{{NAME.key[0] | filter}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    pub variable: VarName,
    pub path: Vec<Step>,
    pub filter: Option<Filter>,
    pub place: Place,
    /// Where a person finds it, once the file it stands in is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// How a value becomes text when the usual way (strings raw, all else compact JSON) is not wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filter {
    /// Strings in quotes as well.
    Json,
    /// The elements of a list, one per line.
    Lines,
}

/// Why a text is not a template, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    pub message: Words,
    pub start: usize,
    pub end: usize,
}

impl Template {
    /// Cuts a text. `base_offset` is added to every place. The first mistake is the error.
    pub fn parse(text: &str, base_offset: usize) -> Result<Self, TemplateError> {
        let (template, mut errors) = cut(text, base_offset, 1);
        if errors.is_empty() { Ok(template) } else { Err(errors.swap_remove(0)) }
    }

    /// Cuts a Markdown text, in which braces may be somebody's sample: what is not a reference stays as it is written and is
    /// told (at most [`crate::limits::REPORTED_KEYS`] times).
    pub fn parse_markdown(text: &str, base_offset: usize) -> (Self, Vec<TemplateError>) {
        cut(text, base_offset, usize::MAX)
    }

    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Reference(reference) => Some(reference),
            Piece::Text(_) => None,
        })
    }

    /// Every variable that is named, with its place, in order; repetitions too.
    pub fn variables(&self) -> impl Iterator<Item = (&VarName, Place)> {
        self.references().map(|reference| (&reference.variable, reference.place))
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Notes line and column of every reference, so that an error years later can still say where it stands.
    pub(crate) fn note_positions(&mut self, lines: &Lines<'_>) {
        for piece in &mut self.pieces {
            if let Piece::Reference(reference) = piece {
                reference.position = Some(lines.position(reference.place.start));
            }
        }
    }

    pub(crate) fn forget_places(&mut self) {
        for piece in &mut self.pieces {
            if let Piece::Reference(reference) = piece {
                (reference.place, reference.position) = (Place::default(), None);
            }
        }
    }

    /// Changes every place: for text that stands in its file in another form (quoted, folded).
    pub(crate) fn map_places(&mut self, map: &impl Fn(Place) -> Place) {
        for piece in &mut self.pieces {
            if let Piece::Reference(reference) = piece {
                reference.place = map(reference.place);
            }
        }
    }
}

impl Reference {
    /// As a person would write it, without braces: `CALENDAR.events[0].title`.
    pub fn written(&self) -> String {
        self.written_up_to(self.path.len())
    }

    pub(crate) fn written_up_to(&self, steps: usize) -> String {
        let mut text = self.variable.as_str().to_owned();
        for step in self.path.iter().take(steps) {
            match step {
                Step::Key(key) => {
                    text.push('.');
                    text.push_str(key);
                }
                Step::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }
}

/// Stops after `max_errors`; before that, what is wrong is taken as text.
fn cut(text: &str, base: usize, max_errors: usize) -> (Template, Vec<TemplateError>) {
    let mut pieces = Pieces::default();
    let mut errors = Vec::new();
    let (mut closes, mut breaks) = (Ahead::new(text, "}}"), Ahead::new(text, "\n"));
    let mut at = 0;
    let mut rest = text;
    while let Some(found) = memchr::memmem::find(rest.as_bytes(), b"{{") {
        pieces.text(rest.get(..found).unwrap_or_default());
        let open = at + found;
        let after = rest.get(found + 2..).unwrap_or_default();
        let used = if after.starts_with("{{") {
            pieces.text("{{");
            4
        } else {
            let close =
                closes.from(open + 2).filter(|close| breaks.from(open).is_none_or(|end| *close < end));
            match reference(after, close.map(|close| close - open - 2), base + open) {
                Ok((reference, len)) => {
                    pieces.0.push(Piece::Reference(reference));
                    2 + len
                }
                Err(error) => {
                    if errors.len() < crate::limits::REPORTED_KEYS {
                        errors.push(error);
                    }
                    if errors.len() >= max_errors {
                        return (Template::default(), errors);
                    }
                    pieces.text("{{");
                    2
                }
            }
        };
        at = open + used;
        rest = text.get(at..).unwrap_or_default();
    }
    pieces.text(rest);
    (Template { pieces: pieces.0 }, errors)
}

#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }
}

/// The next place of a mark, for questions that only go forward: the whole text is searched once, however often it is asked.
struct Ahead<'a> {
    text: &'a str,
    mark: &'static str,
    next: Option<usize>,
}

impl<'a> Ahead<'a> {
    fn new(text: &'a str, mark: &'static str) -> Self {
        Self { text, mark, next: text.find(mark) }
    }

    fn from(&mut self, at: usize) -> Option<usize> {
        if self.next.is_some_and(|next| next < at) {
            self.next = self.text.get(at..).and_then(|rest| rest.find(self.mark)).map(|found| at + found);
        }
        self.next
    }
}

/// Reads what follows `{{`, up to a closing pair `len` bytes later. Also gives how many bytes it took, with the closing braces.
fn reference(after: &str, len: Option<usize>, open: usize) -> Result<(Reference, usize), TemplateError> {
    let Some(len) = len.filter(|len| *len <= REFERENCE_BYTES) else { return Err(unclosed(after, open)) };
    let inner = after.get(..len).unwrap_or_default();
    let place = Place::new(open, open + len + 4);
    let error = |message, start: usize, end: usize| TemplateError { message, start, end };
    if inner.trim().is_empty() {
        let message = words!("`{{{{}}}}` names no variable", "`{{{{}}}}` 里没有变量名");
        return Err(error(message, place.start, place.end));
    }
    let lead = inner.len() - inner.trim_start().len();
    let mut cursor = Cursor { rest: inner.trim(), at: open + 2 + lead };
    let parsed = cursor.reference(place);
    match parsed {
        Ok(reference) => Ok((reference, len + 2)),
        Err(message) => {
            // At the character that does not belong; at the end, at the whole reference.
            let width = cursor.rest.chars().next().map_or(0, char::len_utf8);
            let (start, end) =
                if width == 0 { (place.start, place.end) } else { (cursor.at, cursor.at + width) };
            Err(error(message, start, end))
        }
    }
}

fn unclosed(after: &str, open: usize) -> TemplateError {
    let len: usize = after
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '-'))
        .take(40)
        .map(char::len_utf8)
        .sum();
    let shown = after.get(..len).unwrap_or_default();
    TemplateError {
        message: words!(
            "`{{{{{shown}` is not closed by `}}}}` on its line",
            "`{{{{{shown}` 在本行内没有用 `}}}}` 结束"
        ),
        start: open,
        end: open + 2 + len,
    }
}

/// Reads a reference from left to right; after an error it stands at what did not fit.
struct Cursor<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn reference(&mut self, place: Place) -> Result<Reference, Words> {
        let variable = self.variable()?;
        let mut path = Vec::new();
        while let Some(step) = self.step()? {
            path.push(step);
        }
        let filter = self.filter()?;
        match self.rest.chars().next() {
            None => Ok(Reference { variable, path, filter, place, position: None }),
            Some(c) => Err(words!(
                "unexpected {c:?} in a reference; `{{{{NAME.key[0]}}}}` is expected",
                "引用中出现了意外的 {c:?}；应为 `{{{{NAME.key[0]}}}}`"
            )),
        }
    }

    fn variable(&mut self) -> Result<VarName, Words> {
        let end = self.rest.find(|c| !crate::variable::is_name_character(c)).unwrap_or(self.rest.len());
        let name = self.rest.get(..end).unwrap_or_default();
        let parsed = if name.is_empty() {
            // Says which character is in the way.
            VarName::parse(self.rest)
        } else {
            VarName::parse(name)
        };
        let variable = parsed.map_err(|error| {
            let words = error.words();
            Words { en: format!("not a variable: {}", words.en), zh: format!("不是变量：{}", words.zh) }
        })?;
        self.advance(end);
        Ok(variable)
    }

    fn step(&mut self) -> Result<Option<Step>, Words> {
        if let Some(after) = self.rest.strip_prefix('.') {
            let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            let end = after.find(|c| !is_key(c)).unwrap_or(after.len());
            let key = after.get(..end).unwrap_or_default().to_owned();
            self.advance(1);
            if key.is_empty() {
                return Err(words!("a key is expected after `.`", "`.` 之后应有键名"));
            }
            self.advance(end);
            return Ok(Some(Step::Key(key)));
        }
        let Some(after) = self.rest.strip_prefix('[') else { return Ok(None) };
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let number = after.get(..end).and_then(|digits| digits.parse().ok());
        self.advance(1);
        match (number, after.get(end..).is_some_and(|rest| rest.starts_with(']'))) {
            (Some(index), true) => {
                self.advance(end + 1);
                Ok(Some(Step::Index(index)))
            }
            _ => Err(words!("a number is expected in `[…]`", "`[…]` 里应是数字")),
        }
    }

    fn filter(&mut self) -> Result<Option<Filter>, Words> {
        let Some(after) = self.rest.trim_start().strip_prefix('|') else { return Ok(None) };
        let name = after.trim();
        let filter = match name {
            "json" => Filter::Json,
            "lines" => Filter::Lines,
            _ => {
                let shown = crate::problems::shorten(name);
                return Err(words!(
                    "unknown filter `{shown}`; there are `json` and `lines`",
                    "未知的过滤器 `{shown}`；可用的有 `json` 和 `lines`"
                ));
            }
        };
        self.advance(self.rest.len());
        Ok(Some(filter))
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.at += bytes;
    }
}

//! A line of text that a person edits: by graphemes, so that a Chinese word, an emoji or an accent is one step of the
//! cursor. Knows no terminal; what an input method composes arrives as ordinary text.

use unicode_segmentation::UnicodeSegmentation as _;

/// The text and where the cursor stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Editor {
    /// Graphemes; a line break is one.
    pieces: Vec<String>,
    at: usize,
}

/// Where the cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Left,
    Right,
    WordLeft,
    WordRight,
    Start,
    End,
}

/// What is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    Before,
    After,
    WordBefore,
    ToStart,
    ToEnd,
}

/// Longer instructions belong into a file. What is pasted beyond it is left out.
const MOST_BYTES: usize = 64 * 1024;

impl Editor {
    pub fn with(text: &str) -> Self {
        let mut editor = Self::default();
        editor.insert(text);
        editor
    }

    pub fn text(&self) -> String {
        self.pieces.concat()
    }

    /// What stands before the cursor.
    pub fn before(&self) -> String {
        self.pieces.iter().take(self.at).map(String::as_str).collect()
    }

    pub fn is_blank(&self) -> bool {
        self.pieces.iter().all(|piece| piece.trim().is_empty())
    }

    /// Typed, composed or pasted. Line breaks stay, other control characters do not.
    pub fn insert(&mut self, text: &str) {
        let mut size: usize = self.pieces.iter().map(String::len).sum();
        let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
        let kept =
            |c: &char| *c == '\n' || !fugato_model::is_hidden(*c) || matches!(c, '\u{200c}' | '\u{200d}');
        let text: String = text
            .chars()
            .filter(kept)
            .take_while(|c| {
                size += c.len_utf8();
                size <= MOST_BYTES
            })
            .collect();
        // A mark that is typed after its letter belongs to it: what touches the cursor is cut anew.
        let whole = self.before() + &text;
        let after: Vec<String> = self.pieces.split_off(self.at.min(self.pieces.len()));
        self.pieces = whole.graphemes(true).map(str::to_owned).collect();
        self.at = self.pieces.len();
        self.pieces.extend(after);
    }

    pub fn go(&mut self, how: Move) {
        self.at = match how {
            Move::Left => self.at.saturating_sub(1),
            Move::Right => (self.at + 1).min(self.pieces.len()),
            Move::WordLeft => self.word_left(),
            Move::WordRight => self.word_right(),
            Move::Start => 0,
            Move::End => self.pieces.len(),
        };
    }

    pub fn erase(&mut self, what: Erase) {
        let end = self.pieces.len();
        let range = match what {
            Erase::Before => self.at.saturating_sub(1)..self.at,
            Erase::After => self.at..(self.at + 1).min(end),
            Erase::WordBefore => self.word_left()..self.at,
            Erase::ToStart => 0..self.at,
            Erase::ToEnd => self.at..end,
        };
        self.at = range.start;
        self.pieces.drain(range);
    }

    fn word_left(&self) -> usize {
        let is_blank = |at: &usize| self.pieces.get(at - 1).is_some_and(|piece| piece.trim().is_empty());
        let mut at = self.at;
        while at > 0 && is_blank(&at) {
            at -= 1;
        }
        while at > 0 && !is_blank(&at) {
            at -= 1;
        }
        at
    }

    fn word_right(&self) -> usize {
        let is_blank = |at: usize| self.pieces.get(at).is_some_and(|piece| piece.trim().is_empty());
        let mut at = self.at;
        while at < self.pieces.len() && is_blank(at) {
            at += 1;
        }
        while at < self.pieces.len() && !is_blank(at) {
            at += 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_steps_over_what_a_person_sees_as_one_character() {
        let mut editor = Editor::with("写👩‍🚀e\u{301}x");
        editor.go(Move::Left);
        assert_eq!(editor.before(), "写👩‍🚀e\u{301}");
        editor.erase(Erase::Before);
        assert_eq!(editor.text(), "写👩‍🚀x");
        editor.erase(Erase::Before);
        assert_eq!(editor.text(), "写x");
        editor.go(Move::Start);
        editor.erase(Erase::After);
        assert_eq!((editor.text().as_str(), editor.before().as_str()), ("x", ""));
    }

    #[test]
    fn a_mark_that_arrives_later_joins_its_letter() {
        let mut editor = Editor::with("e");
        editor.insert("\u{301}");
        editor.erase(Erase::Before);
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn words_lines_and_pastes() {
        let mut editor = Editor::with("one two  三四");
        editor.erase(Erase::WordBefore);
        assert_eq!(editor.text(), "one two  ");
        editor.go(Move::WordLeft);
        editor.insert("\r\n\u{1b}[31m\u{202e}a\tb");
        assert_eq!(editor.text(), "one \n[31ma    btwo  ");
        editor.erase(Erase::ToEnd);
        editor.erase(Erase::ToStart);
        assert!(editor.is_blank());
        editor.insert(&"长".repeat(100_000));
        assert!(editor.text().len() <= MOST_BYTES);
    }
}

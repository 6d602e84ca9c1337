//! Bytes of a terminal as keys and pastes. Pure: what is not whole yet waits for more bytes, or for [`Parser::flush`]
//! when no more have come for a moment: then an escape is the key of that name.
//!
//! Our own, because the library's reader turns in circles when a terminal is gone, and loses the first key after a change
//! of the screen's size.

use super::mouse::{Mouse, Pressed};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    Key(KeyEvent),
    Paste(String),
    Mouse(Mouse),
}

/// What has arrived and is not understood yet.
#[derive(Debug, Default)]
pub struct Parser {
    bytes: Vec<u8>,
    /// Inside a paste: what it has so far.
    paste: Option<Vec<u8>>,
}

/// A paste that is longer is cut; nobody edits a megabyte in a line.
const MOST_PASTED: usize = 1 << 20;
/// No sequence of a terminal is longer.
const LONGEST_SEQUENCE: usize = 64;
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// The beginning of the bytes, read.
enum Read {
    /// Understood, and so many bytes are done with.
    Taken(Option<Typed>, usize),
    PasteBegins(usize),
    /// The rest has not come yet.
    Incomplete,
}

impl Parser {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Typed> {
        self.bytes.extend_from_slice(bytes);
        let mut typed = Vec::new();
        loop {
            if self.paste.is_some() {
                match self.pasted() {
                    Some(text) => typed.push(Typed::Paste(text)),
                    None => return typed,
                }
                continue;
            }
            match read(&self.bytes) {
                Read::Taken(what, used) => {
                    typed.extend(what);
                    self.drop_first(used);
                }
                Read::PasteBegins(used) => {
                    self.drop_first(used);
                    self.paste = Some(Vec::new());
                }
                Read::Incomplete => return typed,
            }
        }
    }

    /// Is something begun?
    pub fn is_waiting(&self) -> bool {
        !self.bytes.is_empty() && self.paste.is_none()
    }

    /// Nothing more has come: an escape was the key; half a sequence means nothing.
    pub fn flush(&mut self) -> Option<Typed> {
        let is_escape = self.bytes.first() == Some(&0x1b) && self.paste.is_none();
        if self.paste.is_none() {
            self.bytes.clear();
        }
        is_escape.then(|| key(KeyCode::Esc, KeyModifiers::NONE))
    }

    fn drop_first(&mut self, count: usize) {
        self.bytes.drain(..count.min(self.bytes.len()));
    }

    /// Moves bytes into the paste; its text when the end is there.
    fn pasted(&mut self) -> Option<String> {
        let end = self.bytes.windows(PASTE_ENDS.len()).position(|part| part == PASTE_ENDS);
        // The end may be cut in two: its beginning stays.
        let safe = end.unwrap_or_else(|| self.bytes.len().saturating_sub(PASTE_ENDS.len() - 1));
        let moved: Vec<u8> = self.bytes.drain(..safe).collect();
        let paste = self.paste.as_mut()?;
        let room = MOST_PASTED.saturating_sub(paste.len());
        paste.extend(moved.into_iter().take(room));
        end?;
        self.drop_first(PASTE_ENDS.len());
        Some(String::from_utf8_lossy(&self.paste.take()?).into_owned())
    }
}

fn key(code: KeyCode, held: KeyModifiers) -> Typed {
    Typed::Key(KeyEvent::new(code, held))
}

fn read(bytes: &[u8]) -> Read {
    match bytes {
        [] | [0x1b] | [0x1b, b'[' | b'O'] | [0x1b, b'[', b'['] => Read::Incomplete,
        [0x1b, b'[', rest @ ..] => sequence(rest),
        [0x1b, b'O', letter, ..] => Read::Taken(by_letter(*letter, KeyModifiers::NONE), 3),
        // Twice: the first was the key.
        [0x1b, 0x1b, ..] => Read::Taken(Some(key(KeyCode::Esc, KeyModifiers::NONE)), 1),
        [0x1b, rest @ ..] => match character(rest) {
            Some((Some((code, held)), used)) => {
                Read::Taken(Some(key(code, held | KeyModifiers::ALT)), used + 1)
            }
            Some((None, used)) => Read::Taken(None, used + 1),
            None => Read::Incomplete,
        },
        rest => match character(rest) {
            Some((found, used)) => Read::Taken(found.map(|(code, held)| key(code, held)), used),
            None => Read::Incomplete,
        },
    }
}

/// One character, or the key that sends it, and its bytes; `None`: not all of it is there.
fn character(bytes: &[u8]) -> Option<(Option<(KeyCode, KeyModifiers)>, usize)> {
    let first = *bytes.first()?;
    let plain = |code| Some((Some((code, KeyModifiers::NONE)), 1));
    match first {
        b'\r' => plain(KeyCode::Enter),
        b'\t' => plain(KeyCode::Tab),
        0x7f | 0x08 => plain(KeyCode::Backspace),
        0x01..=0x1a => Some((Some((KeyCode::Char(char::from(first - 1 + b'a')), KeyModifiers::CONTROL)), 1)),
        0x00 | 0x1b..=0x1f => Some((None, 1)),
        0x20..=0x7e => plain(KeyCode::Char(char::from(first))),
        _ => {
            let length = match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                // Not the beginning of a character.
                _ => return Some((None, 1)),
            };
            if bytes.len() < length {
                return None;
            }
            let text = bytes.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
            let Some(c) = text.and_then(|text| text.chars().next()) else { return Some((None, 1)) };
            Some((Some((KeyCode::Char(c), KeyModifiers::NONE)), length))
        }
    }
}

/// What follows `ESC [`.
fn sequence(rest: &[u8]) -> Read {
    // The console of Linux: F1 to F5.
    if let [b'[', letter, ..] = rest {
        let number = letter.checked_sub(b'A').filter(|number| *number < 5);
        return Read::Taken(number.map(|number| key(KeyCode::F(number + 1), KeyModifiers::NONE)), 4);
    }
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let is_hopeless = rest.len() > LONGEST_SEQUENCE;
        return if is_hopeless { Read::Taken(None, rest.len() + 2) } else { Read::Incomplete };
    };
    let used = end + 3;
    let (Some(letter), Some(parameters)) = (rest.get(end), rest.get(..end)) else {
        return Read::Taken(None, used);
    };
    if let Some(where_and_what) = parameters.strip_prefix(b"<") {
        return Read::Taken(mouse(where_and_what, *letter), used);
    }
    let mut numbers = parameters.split(|byte| *byte == b';').map(|part| {
        let digits = part.split(|byte| *byte == b':').next().unwrap_or_default();
        std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u32>().ok())
    });
    let first = numbers.next().flatten();
    let held = held(numbers.next().flatten());
    match (letter, first) {
        (b'~', Some(200)) => Read::PasteBegins(used),
        (b'~', Some(number)) => Read::Taken(by_number(number, held), used),
        (b'u', Some(code)) => {
            let code = match code {
                13 => Some(KeyCode::Enter),
                27 => Some(KeyCode::Esc),
                9 => Some(KeyCode::Tab),
                127 => Some(KeyCode::Backspace),
                code => char::from_u32(code).map(KeyCode::Char),
            };
            Read::Taken(code.map(|code| key(code, held)), used)
        }
        (letter, _) => Read::Taken(by_letter(*letter, held), used),
    }
}

/// `button;column;row`, counted from 1, and whether it went down. Buttons that are let go and moves say nothing.
fn mouse(parameters: &[u8], letter: u8) -> Option<Typed> {
    /// Shift, Alt and Control held meanwhile.
    const HELD: u32 = 4 | 8 | 16;
    let mut numbers = parameters
        .split(|byte| *byte == b';')
        .map(|part| std::str::from_utf8(part).ok().and_then(|digits| digits.parse::<u32>().ok()));
    let (button, column, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let what = match (button & !HELD, letter) {
        (0, b'M') => Pressed::Click,
        (64, b'M') => Pressed::WheelUp,
        (65, b'M') => Pressed::WheelDown,
        _ => return None,
    };
    let cell = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    Some(Typed::Mouse(Mouse { what, column: cell(column), row: cell(row) }))
}

/// The second number of a sequence, less one, are bits.
fn held(number: Option<u32>) -> KeyModifiers {
    let bits = number.unwrap_or(1).saturating_sub(1);
    let mut held = KeyModifiers::NONE;
    for (bit, modifier) in [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)] {
        if bits & bit != 0 {
            held |= modifier;
        }
    }
    held
}

fn by_letter(letter: u8, held: KeyModifiers) -> Option<Typed> {
    let code = match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'Z' => KeyCode::BackTab,
        b'M' => KeyCode::Enter,
        b'P'..=b'S' => KeyCode::F(letter - b'P' + 1),
        _ => return None,
    };
    Some(key(code, held))
}

fn by_number(number: u32, held: KeyModifiers) -> Option<Typed> {
    let function = |from: u32, first: u32| u8::try_from(number - from + first).ok().map(KeyCode::F);
    let code = match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => function(11, 1)?,
        17..=21 => function(17, 6)?,
        23..=24 => function(23, 11)?,
        _ => return None,
    };
    Some(key(code, held))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Vec<Typed> {
        let mut parser = Parser::default();
        let mut typed = parser.feed(bytes);
        typed.extend(parser.flush());
        typed
    }

    #[test]
    fn keys_of_terminals_are_understood() {
        let (none, control, alt) = (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT);
        for (bytes, code, held) in [
            (b"a".as_slice(), KeyCode::Char('a'), none),
            ("说".as_bytes(), KeyCode::Char('说'), none),
            (b"\r", KeyCode::Enter, none),
            (b"\n", KeyCode::Char('j'), control),
            (b"\x03", KeyCode::Char('c'), control),
            (b"\x7f", KeyCode::Backspace, none),
            (b"\x1b", KeyCode::Esc, none),
            (b"\x1b[A", KeyCode::Up, none),
            (b"\x1bOB", KeyCode::Down, none),
            (b"\x1b[1;5C", KeyCode::Right, control),
            (b"\x1b[3~", KeyCode::Delete, none),
            (b"\x1b[5~", KeyCode::PageUp, none),
            (b"\x1b[Z", KeyCode::BackTab, none),
            (b"\x1bOP", KeyCode::F(1), none),
            (b"\x1b[11~", KeyCode::F(1), none),
            (b"\x1b[[A", KeyCode::F(1), none),
            (b"\x1b\r", KeyCode::Enter, alt),
            (b"\x1bb", KeyCode::Char('b'), alt),
            (b"\x1b[13;2u", KeyCode::Enter, KeyModifiers::SHIFT),
        ] {
            assert_eq!(typed(bytes), [key(code, held)], "{bytes:?}");
            // The same, byte by byte, as a slow line brings it.
            let mut parser = Parser::default();
            let mut slowly: Vec<Typed> = bytes.iter().flat_map(|byte| parser.feed(&[*byte])).collect();
            slowly.extend(parser.flush());
            assert_eq!(slowly, [key(code, held)], "{bytes:?}");
        }
        assert_eq!(typed(b"\x1b\x1b[Ax").len(), 3);
        assert_eq!(
            typed(b"\xff\x1b[?1;2c\x1b[999999999999zx"),
            [key(KeyCode::Char('x'), KeyModifiers::NONE)]
        );
    }

    #[test]
    fn clicks_and_the_wheel_are_understood_and_nothing_else_of_a_mouse() {
        let at = |what, column, row| Typed::Mouse(Mouse { what, column, row });
        for (bytes, expected) in [
            (b"\x1b[<0;1;1M".as_slice(), vec![at(Pressed::Click, 0, 0)]),
            (b"\x1b[<64;80;24M", vec![at(Pressed::WheelUp, 79, 23)]),
            (b"\x1b[<69;300;100M", vec![at(Pressed::WheelDown, 299, 99)]),
            (b"\x1b[<0;1;1m\x1b[<35;4;4M\x1b[<2;4;4M\x1b[<;;M\x1b[<0;99999999999;1M", vec![]),
            (b"\x1b[<0;5;6Mq", vec![at(Pressed::Click, 4, 5), key(KeyCode::Char('q'), KeyModifiers::NONE)]),
        ] {
            assert_eq!(typed(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_paste_is_one_thing_however_it_arrives() {
        let bytes = "\u{1b}[200~第一行\nx\u{1b}[A\u{1b}[201~q".as_bytes();
        let expected =
            [Typed::Paste("第一行\nx\u{1b}[A".into()), key(KeyCode::Char('q'), KeyModifiers::NONE)];
        assert_eq!(typed(bytes), expected);
        let mut parser = Parser::default();
        let slowly: Vec<Typed> = bytes.iter().flat_map(|byte| parser.feed(&[*byte])).collect();
        assert_eq!(slowly, expected);
        let huge = ["\u{1b}[200~", &"y".repeat(3 << 20), "\u{1b}[201~"].concat();
        assert!(
            matches!(typed(huge.as_bytes()).as_slice(), [Typed::Paste(text)] if text.len() == MOST_PASTED)
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_in_any_pieces_end(pieces in proptest::collection::vec(proptest::collection::vec(0u8.., 0..20), 0..20)) {
            let mut parser = Parser::default();
            for piece in &pieces {
                parser.feed(piece);
            }
            parser.flush();
            proptest::prop_assert!(!parser.is_waiting());
        }
    }
}

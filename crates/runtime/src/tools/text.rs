//! Bytes of unknown origin as text: cut between characters, decoded while they arrive, shown on one line.

use std::fmt::Write as _;

/// The largest cut at or before `at` that does not split a character.
pub(super) fn floor_boundary(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    // Four bytes is the longest character; in anything else that is not text every cut is as good.
    (0..4).filter_map(|back| at.checked_sub(back)).find(|cut| is_boundary(bytes, *cut)).unwrap_or(at)
}

/// The smallest cut at or after `at` that does not split a character.
pub(super) fn ceil_boundary(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    (at..at + 4).find(|cut| is_boundary(bytes, *cut)).unwrap_or(at)
}

fn is_boundary(bytes: &[u8], at: usize) -> bool {
    // A continuation byte has the bits 10xxxxxx.
    at == 0 || at == bytes.len() || bytes.get(at).is_some_and(|byte| byte & 0xc0 != 0x80)
}

/// How long these bytes are as text, in which what is not UTF-8 becomes a replacement character.
pub(super) fn shown_length(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| chunk.valid().len() + replaced(chunk.invalid())).sum()
}

/// The longest beginning that is at most `room` bytes long when shown.
pub(super) fn fitting(bytes: &[u8], room: usize) -> usize {
    let (mut used, mut cut) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().as_bytes();
        if used + valid.len() > room {
            return cut + floor_boundary(valid, room - used);
        }
        (used, cut) = (used + valid.len(), cut + valid.len());
        if used + replaced(chunk.invalid()) > room {
            return cut;
        }
        (used, cut) = (used + replaced(chunk.invalid()), cut + chunk.invalid().len());
    }
    cut
}

fn replaced(invalid: &[u8]) -> usize {
    if invalid.is_empty() { 0 } else { char::REPLACEMENT_CHARACTER.len_utf8() }
}

/// Text for a line of its own: a line end in a file name must not look like another file.
pub(super) fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            let _ = write!(line, "{}", c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// Turns chunks into text without breaking characters that span two chunks.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    pub fn push(&mut self, chunk: &[u8], on_text: &mut dyn FnMut(&str)) {
        self.pending.extend_from_slice(chunk);
        let incomplete = match std::str::from_utf8(&self.pending) {
            Ok(_) => 0,
            Err(_) => self.unfinished(),
        };
        let whole = self.pending.len() - incomplete;
        let rest = self.pending.split_off(whole);
        if whole > 0 {
            on_text(&String::from_utf8_lossy(&self.pending));
        }
        self.pending = rest;
    }

    /// What is left when no more will come.
    pub fn finish(&mut self, on_text: &mut dyn FnMut(&str)) {
        if !self.pending.is_empty() {
            on_text(&String::from_utf8_lossy(&std::mem::take(&mut self.pending)));
        }
    }

    /// How many bytes at the end may be the beginning of a character.
    fn unfinished(&self) -> usize {
        let tail = self.pending.iter().rev().take(3).enumerate();
        for (back, byte) in tail {
            let length = match byte {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                0x80..=0xbf => continue,
                _ => return 0,
            };
            return if length > back + 1 { back + 1 } else { 0 };
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cut_anywhere_arrives_whole() {
        let text = "aé中🦀z";
        for size in 1..=text.len() {
            let (mut decoder, mut heard) = (Decoder::default(), String::new());
            for chunk in text.as_bytes().chunks(size) {
                decoder.push(chunk, &mut |piece| heard.push_str(piece));
            }
            decoder.finish(&mut |piece| heard.push_str(piece));
            assert_eq!(heard, text, "chunks of {size}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced_and_never_held_back_for_long() {
        let (mut decoder, mut heard) = (Decoder::default(), String::new());
        decoder.push(b"a\xff\xfeb\xe4", &mut |piece| heard.push_str(piece));
        assert_eq!(heard, "a\u{fffd}\u{fffd}b");
        decoder.finish(&mut |piece| heard.push_str(piece));
        assert_eq!(heard, "a\u{fffd}\u{fffd}b\u{fffd}");
    }

    #[test]
    fn cuts_fall_between_characters() {
        let bytes = "中文".as_bytes();
        assert_eq!((floor_boundary(bytes, 4), ceil_boundary(bytes, 4)), (3, 6));
        assert_eq!((floor_boundary(bytes, 99), ceil_boundary(bytes, 99)), (6, 6));
        assert_eq!(floor_boundary(&[0x80; 9], 5), 5);
    }

    #[test]
    fn bytes_that_are_not_text_take_the_room_of_what_is_shown_for_them() {
        for bytes in [&b"abc"[..], b"\xff\xff\xff", b"a\xffb", "中\u{fffd}".as_bytes(), b"", b"\xe4\xbd"] {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(shown_length(bytes), shown.len());
            for room in 0..=shown.len() {
                let cut = fitting(bytes, room);
                assert!(String::from_utf8_lossy(&bytes[..cut]).len() <= room, "{bytes:?} {room}");
            }
            assert_eq!(fitting(bytes, shown.len()), bytes.len());
        }
        assert_eq!(fitting("中文".as_bytes(), 5), 3);
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(on_one_line("a\nb\u{1b}中"), "a\\nb\\u{1b}中");
    }
}

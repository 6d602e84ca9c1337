//! Bytes as they come from a pipe, cut into lines. A line that is too long is passed over without being kept.

/// Collects lines.
#[derive(Debug)]
pub(super) struct Lines {
    part: Vec<u8>,
    limit: usize,
    /// Inside a line that is already too long.
    is_over: bool,
    /// How many lines were passed over.
    pub passed_over: u32,
}

impl Lines {
    pub fn new(limit: usize) -> Self {
        Self { part: Vec::new(), limit, is_over: false, passed_over: 0 }
    }

    /// Takes a piece of output and gives every line that is whole now.
    pub fn take(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if !self.is_over && self.part.len() + text.len() > self.limit {
                self.is_over = true;
                self.passed_over += 1;
                self.part = Vec::new();
            }
            if !self.is_over {
                self.part.extend_from_slice(text);
            }
            if is_whole {
                self.finish(on_line);
            }
        }
    }

    /// The last line, if it has no end. Half a line is not JSON, so it does no harm.
    pub fn finish(&mut self, on_line: &mut dyn FnMut(&[u8])) {
        let line = std::mem::take(&mut self.part);
        let was_over = std::mem::take(&mut self.is_over);
        if !was_over && !line.trim_ascii().is_empty() {
            on_line(line.trim_ascii());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(limit: usize, pieces: &[&str]) -> (Vec<String>, u32) {
        let (mut lines, mut found) = (Lines::new(limit), Vec::new());
        let mut on_line = |line: &[u8]| found.push(String::from_utf8(line.to_vec()).unwrap());
        for piece in pieces {
            lines.take(piece.as_bytes(), &mut on_line);
        }
        lines.finish(&mut on_line);
        (found, lines.passed_over)
    }

    #[test]
    fn lines_are_put_together_from_any_pieces() {
        let whole = "one\r\n\ntwo 世界\nthree";
        let expected = vec!["one".to_owned(), "two 世界".to_owned(), "three".to_owned()];
        assert_eq!(lines(100, &[whole]), (expected.clone(), 0));
        let pieces: Vec<String> = whole.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(lines(100, &pieces), (expected, 0));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_read() {
        assert_eq!(lines(4, &["12345678\nabcd\n"]), (vec!["abcd".to_owned()], 1));
        assert_eq!(lines(4, &["123", "456", "789", "0\n", "ab\n"]), (vec!["ab".to_owned()], 1));
        assert_eq!(lines(4, &["1234", "5"]), (Vec::new(), 1));
    }
}

//! Bytes to frames: server-sent events or one JSON value per line, for chunks cut at any byte.
//!
//! Written by hand because the ready parser looks at its whole buffer again at every chunk, which is quadratic when a
//! server sends a long line byte by byte. Each byte is looked at once here.

/// How a provider separates what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// `event:` and `data:` lines; a blank line ends an event. Lines end with LF, CR or both.
    Events,
    /// One JSON value per line.
    Lines,
}

/// One event: its name (empty when none was given) and its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawFrame {
    pub event: String,
    pub data: String,
}

/// A stream that is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotUtf8;

#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    /// The last byte was a CR: an LF right after it belongs to the same line end.
    after_cr: bool,
    at_start: bool,
    pending: RawFrame,
    has_data: bool,
}

impl Frames {
    pub fn new(framing: Framing) -> Self {
        let pending = RawFrame::default();
        Self { framing, line: Vec::new(), after_cr: false, at_start: true, pending, has_data: false }
    }

    pub fn is_events(&self) -> bool {
        self.framing == Framing::Events
    }

    /// Takes the next chunk and appends the frames it completes.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<RawFrame>) -> Result<(), NotUtf8> {
        let mut rest = chunk;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest.first() == Some(&b'\n') {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                return Ok(());
            };
            let (head, tail) = rest.split_at(at);
            self.line.extend_from_slice(head);
            self.after_cr = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            self.end_line(out)?;
        }
        Ok(())
    }

    /// The stream ended. A last line without line end counts for [`Framing::Lines`] only; an event whose lines are whole
    /// but whose blank line is missing is given too: servers do that, and its JSON tells whether it is whole.
    pub fn finish(&mut self, out: &mut Vec<RawFrame>) -> Result<(), NotUtf8> {
        if self.framing == Framing::Lines && !self.line.is_empty() {
            self.end_line(out)?;
        }
        self.end_event(out);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<RawFrame>) -> Result<(), NotUtf8> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&bytes).map_err(|_| NotUtf8)?;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        match self.framing {
            Framing::Lines if line.trim().is_empty() => {}
            Framing::Lines => out.push(RawFrame { event: String::new(), data: line.to_owned() }),
            Framing::Events if line.is_empty() => self.end_event(out),
            Framing::Events => self.field(line),
        }
        Ok(())
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.pending.event),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.pending.data.push('\n');
                }
                self.pending.data.push_str(value);
            }
            // Comments (an empty name), `id`, `retry` and what nobody knows.
            _ => {}
        }
    }

    fn end_event(&mut self, out: &mut Vec<RawFrame>) {
        let frame = std::mem::take(&mut self.pending);
        if std::mem::take(&mut self.has_data) {
            out.push(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(framing: Framing, chunks: &[&[u8]]) -> Result<Vec<(String, String)>, NotUtf8> {
        let mut frames = Frames::new(framing);
        let mut out = Vec::new();
        for chunk in chunks {
            frames.push(chunk, &mut out)?;
        }
        frames.finish(&mut out)?;
        Ok(out.into_iter().map(|frame| (frame.event, frame.data)).collect())
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(event, data)| ((*event).to_owned(), (*data).to_owned())).collect()
    }

    #[test]
    fn every_line_end_of_the_standard_is_understood() {
        for end in ["\n", "\r\n", "\r"] {
            let text =
                ["\u{feff}event: a", "data: 1", "", ": ping", "data:2", "data: 3", "", "id: 9", "", ""];
            let frames = read(Framing::Events, &[text.join(end).as_bytes()]).unwrap();
            assert_eq!(frames, pairs(&[("a", "1"), ("", "2\n3")]), "{end:?}");
        }
    }

    #[test]
    fn an_event_without_its_blank_line_is_given_and_half_a_line_is_not() {
        assert_eq!(read(Framing::Events, &[b"data: 1\n"]).unwrap(), pairs(&[("", "1")]));
        assert_eq!(read(Framing::Events, &[b"data: 1"]).unwrap(), []);
        assert_eq!(
            read(Framing::Lines, &[b"{}\n\n{\"a\":1}"]).unwrap(),
            pairs(&[("", "{}"), ("", "{\"a\":1}")])
        );
    }

    #[test]
    fn bad_bytes_are_an_error() {
        assert_eq!(read(Framing::Events, &[b"data: \xff\n\n"]), Err(NotUtf8));
        assert_eq!(read(Framing::Lines, &[b"\xe6\x8a\n"]), Err(NotUtf8));
    }

    proptest! {
        #[test]
        fn where_chunks_are_cut_does_not_matter(
            text in "(event: [a-z]{0,3}|data:( )?[a技😀]{0,4}|:|\n|\r|\r\n|id: 1|\n\n){0,30}",
            cuts in prop::collection::vec(0..200_usize, 0..12),
            lines in any::<bool>(),
        ) {
            let framing = if lines { Framing::Lines } else { Framing::Events };
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(read(framing, &chunks), read(framing, &[bytes]));
        }
    }
}

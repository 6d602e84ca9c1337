//! The XML of office files as a sequence of pieces. Entities are never expanded beyond the five of XML and character
//! numbers, a document type is skipped, nesting and the size of one piece are bounded.

use super::Trouble;
use super::package::told_or;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// Word nests a few dozen deep.
const MOST_DEPTH: u32 = 512;
/// The longest text or tag: Excel allows 32,767 characters in a cell.
const MOST_PIECE_BYTES: usize = 8 << 20;

pub(super) struct Xml<R: BufRead> {
    reader: Reader<Gate<R>>,
    buffer: Vec<u8>,
    depth: u32,
}

/// Names are without their prefixes.
#[derive(Debug)]
pub(super) enum Piece<'b> {
    Open(Tag<'b>),
    Close(Cow<'b, str>),
    Text(Cow<'b, str>),
    End,
}

#[derive(Debug)]
pub(super) struct Tag<'b>(BytesStart<'b>);

impl Tag<'_> {
    pub fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// An attribute by its name without prefix; where two differ only in the prefix, the one without.
    pub fn get(&self, name: &str) -> Option<String> {
        let mut found = None;
        for attribute in self.0.attributes().with_checks(false).flatten() {
            if attribute.key.local_name().into_inner() == name {
                let is_plain = attribute.key.prefix().is_none();
                if is_plain || found.is_none() {
                    found = Some(unescaped(&attribute.value));
                }
                if is_plain {
                    break;
                }
            }
        }
        found
    }

    /// The attribute that has a prefix, like `r:id` beside `id`.
    pub fn get_prefixed(&self, name: &str) -> Option<String> {
        for attribute in self.0.attributes().with_checks(false).flatten() {
            if attribute.key.local_name().into_inner() == name && attribute.key.prefix().is_some() {
                return Some(unescaped(&attribute.value));
            }
        }
        None
    }

    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.trim().parse().ok()
    }
}

fn unescaped(value: &str) -> String {
    unescape(value).map_or_else(|_| value.to_owned(), Cow::into_owned)
}

impl<R: BufRead> Xml<R> {
    pub fn new(source: R) -> Self {
        let mut reader = Reader::from_reader(Gate { source, taken: 0 });
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_end_names = false;
        config.allow_dangling_amp = true;
        Self { reader, buffer: Vec::new(), depth: 0 }
    }

    pub fn next(&mut self) -> Result<Piece<'_>, Trouble> {
        self.buffer.clear();
        self.reader.get_mut().taken = 0;
        let event = self.reader.read_event_into(&mut self.buffer);
        let event = event.map_err(|error| told_or(|| Trouble::damaged("document", error)))?;
        match event {
            Event::Start(_) if self.depth >= MOST_DEPTH => {
                let why = format!("its XML is nested more than {MOST_DEPTH} deep");
                return Err(Trouble::damaged("document", why));
            }
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        Ok(piece(event))
    }

    /// Passes over the rest of the element that was just opened.
    pub fn skip(&mut self) -> Result<(), Trouble> {
        let mut open = 1u32;
        while open > 0 {
            match self.next()? {
                Piece::Open(_) => open += 1,
                Piece::Close(_) => open -= 1,
                Piece::End => return Ok(()),
                Piece::Text(_) => {}
            }
        }
        Ok(())
    }

    /// All text inside the element that was just opened.
    pub fn text(&mut self) -> Result<String, Trouble> {
        let (mut open, mut text) = (1u32, String::new());
        while open > 0 {
            match self.next()? {
                Piece::Open(_) => open += 1,
                Piece::Close(_) => open -= 1,
                Piece::Text(more) if text.len() < MOST_PIECE_BYTES => text.push_str(&more),
                Piece::Text(_) => {}
                Piece::End => break,
            }
        }
        Ok(text)
    }
}

fn piece(event: Event<'_>) -> Piece<'_> {
    match event {
        Event::Start(tag) => Piece::Open(Tag(tag)),
        Event::End(tag) => Piece::Close(Cow::Owned(tag.local_name().into_inner().to_owned())),
        Event::Text(text) => Piece::Text(text.into_inner()),
        Event::CData(text) => Piece::Text(text.into_inner()),
        Event::GeneralRef(name) => Piece::Text(match name.resolve_char_ref() {
            Ok(Some(c)) => Cow::Owned(c.to_string()),
            Ok(None) => Cow::Owned(resolve_predefined_entity(&name).unwrap_or_default().to_owned()),
            Err(_) => Cow::Borrowed(""),
        }),
        Event::Eof => Piece::End,
        // Comments, instructions, a document type: nothing that a reader would see.
        _ => Piece::Text(Cow::Borrowed("")),
    }
}

/// Ends the reading when one piece grows without end.
struct Gate<R> {
    source: R,
    taken: usize,
}

impl<R: BufRead> Read for Gate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer)
    }
}

impl<R: BufRead> BufRead for Gate<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken > MOST_PIECE_BYTES {
            return Err(io::Error::other(format!(
                "one piece of its XML is longer than {MOST_PIECE_BYTES} bytes"
            )));
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount;
        self.source.consume(amount);
    }
}

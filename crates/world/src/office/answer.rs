//! The text that grows while a document is read, and knows when it is enough.

/// Notes at the end are always said, however full it is.
#[derive(Debug)]
pub(super) struct Answer {
    text: String,
    room: usize,
    is_full: bool,
    notes: Vec<String>,
}

impl Answer {
    pub fn new(room: usize) -> Self {
        Self { text: String::new(), room, is_full: false, notes: Vec::new() }
    }

    /// A line of the head: what the document is.
    pub fn about(&mut self, name: &str, value: &str) {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if !value.is_empty() {
            self.push(&format!("{name}: {}\n", shortened(&value, 400)));
        }
    }

    /// Takes what there is room for; what does not fit as a whole is cut at a line if there is one, and ends it.
    pub fn push(&mut self, text: &str) {
        if self.is_full {
            return;
        }
        let left = self.room.saturating_sub(self.text.len());
        if text.len() <= left {
            self.text.push_str(text);
            return;
        }
        self.is_full = true;
        let fitting = shortened(text, left);
        let cut = fitting.rfind('\n').map_or(fitting.len(), |at| at + 1);
        self.text.push_str(fitting.get(..cut).unwrap_or_default());
    }

    pub fn is_full(&self) -> bool {
        self.is_full
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub fn finish(self) -> String {
        let mut text = self.text;
        text.truncate(text.trim_end().len());
        text.push('\n');
        for note in self.notes {
            text.push_str(&format!("\n[{note}]\n"));
        }
        text
    }
}

/// The longest beginning of at most `room` bytes.
pub(super) fn shortened(text: &str, room: usize) -> &str {
    let cut = (0..=room.min(text.len())).rev().find(|cut| text.is_char_boundary(*cut)).unwrap_or(0);
    text.get(..cut).unwrap_or_default()
}

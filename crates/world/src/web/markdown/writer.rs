//! Writing Markdown: collapsed white space, blank lines between blocks, and the marks of lists and quotations before
//! every line. Knows no HTML.

/// A page of 8 MB full of links would otherwise grow a hundredfold, because every link is written whole.
pub(super) const MAX_BYTES: usize = 8 << 20;
/// Deeper lists and quotations are written at this depth: their marks would outgrow the text.
const MAX_DEPTH: usize = 12;

#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    /// Line ends that are due before the next text; none at the very beginning.
    due: usize,
    /// A space is due before the next word of this line.
    space: bool,
    prefixes: Vec<&'static str>,
    /// Only the mark of an item or heading stands on this line: what follows belongs to it.
    marked: bool,
    /// Levels beyond the deepest that is shown.
    beyond: usize,
}

impl Writer {
    pub fn is_full(&self) -> bool {
        self.out.len() >= MAX_BYTES
    }

    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether something was written on the current line.
    pub fn at_line_start(&self) -> bool {
        self.due > 0 || self.out.is_empty()
    }

    /// At least one line end before what follows.
    pub fn line(&mut self) {
        if self.marked {
            return;
        }
        self.due = self.due.max(usize::from(!self.out.is_empty()));
        self.space = false;
    }

    /// A blank line before what follows.
    pub fn block(&mut self) {
        if self.marked {
            return;
        }
        self.due = if self.out.is_empty() { 0 } else { 2 };
        self.space = false;
    }

    /// Only a line end, though a block was asked for: the first block of a list item.
    pub fn tighten(&mut self) {
        self.due = self.due.min(1);
    }

    pub fn enter(&mut self, prefix: &'static str) {
        // The blank line before belongs to what is outside.
        if self.due > 1 {
            self.due -= 1;
            self.flush();
            self.due = 1;
        }
        if self.prefixes.len() < MAX_DEPTH {
            self.prefixes.push(prefix);
        } else {
            self.beyond += 1;
        }
    }

    pub fn leave(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
        } else {
            self.prefixes.pop();
        }
    }

    /// Text of a paragraph: runs of white space are one space.
    pub fn text(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.space = true;
        }
        for (number, word) in text.split_whitespace().enumerate() {
            self.space |= number > 0;
            self.word(word);
        }
        if text.ends_with(char::is_whitespace) {
            self.space = true;
        }
    }

    fn word(&mut self, word: &str) {
        let starts_line = self.at_line_start();
        self.flush();
        if std::mem::take(&mut self.space) && !starts_line {
            self.out.push(' ');
        }
        self.push(word);
    }

    /// A mark that belongs to the word after it.
    pub fn open_mark(&mut self, mark: &str) {
        self.word(mark);
    }

    /// A mark that belongs to the word before it.
    pub fn close_mark(&mut self, mark: &str) {
        self.push(mark);
    }

    /// The mark of an item or heading; the text behind it stays on its line.
    pub fn mark(&mut self, mark: &str) {
        self.marked = false;
        self.raw(mark);
        self.marked = true;
    }

    /// What follows begins here: the block inside a quotation is no second block.
    pub fn hold(&mut self) {
        self.marked = true;
    }

    /// The line of a mark ends here, whether anything followed or not.
    pub fn end_mark(&mut self) {
        self.marked = false;
    }

    /// As it is, on this line.
    pub fn raw(&mut self, text: &str) {
        self.flush();
        self.push(text);
    }

    /// Lines as they are, each behind the marks of its place.
    pub fn verbatim(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.due += 1;
            }
            if !line.is_empty() {
                self.raw(line);
            }
        }
        self.space = false;
    }

    /// Takes back what was written since `length`, if that is only a mark.
    pub fn take_back(&mut self, length: usize, mark: &str) -> bool {
        let is_only_mark = self.out.get(length..).is_some_and(|tail| tail.trim_start() == mark);
        if is_only_mark {
            let kept = self.out.len() - mark.len();
            self.out.truncate(kept);
        }
        is_only_mark
    }

    pub fn finish(mut self) -> String {
        let length = self.out.trim_end().len();
        self.out.truncate(length);
        self.out
    }

    fn flush(&mut self) {
        for left in (0..std::mem::take(&mut self.due)).rev() {
            self.out.push('\n');
            let start = self.out.len();
            for prefix in &self.prefixes {
                self.out.push_str(prefix);
            }
            if left > 0 || self.due > 0 {
                let kept = start + self.out.get(start..).unwrap_or_default().trim_end().len();
                self.out.truncate(kept);
            }
        }
        if self.out.is_empty() {
            for prefix in &self.prefixes {
                self.out.push_str(prefix);
            }
        }
    }

    fn push(&mut self, text: &str) {
        self.marked = false;
        let room = MAX_BYTES.saturating_sub(self.out.len());
        self.out.push_str(text.get(..super::cut_at(text, room)).unwrap_or_default());
    }
}

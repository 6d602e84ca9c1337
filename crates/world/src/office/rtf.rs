//! Rich text: its words without its looks. Letters come as bytes of a code page or as Unicode numbers.

use super::answer::Answer;
use super::{Trouble, Wanted, Watch};
use encoding_rs::{Encoding, GB18030, WINDOWS_1252};

/// Groups that hold no text of the document.
const SILENT: [&str; 12] = [
    "fonttbl",
    "colortbl",
    "stylesheet",
    "info",
    "pict",
    "object",
    "header",
    "footer",
    "listtable",
    "listoverridetable",
    "themedata",
    "datastore",
];
const MOST_DEPTH: usize = 10_000;
/// A text without a single command is decoded piece by piece.
const RAW_BYTES: usize = 64 << 10;
const MOST_RAW_BYTES: usize = 1 << 20;

pub(super) fn read(
    bytes: &[u8],
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_sheets("a text document")?;
    if wanted.pages.is_some() {
        let told = "rich text has no fixed pages; read it without `pages`, it comes whole".to_owned();
        return Err(Trouble::Selection(told));
    }
    answer.about("document", "RTF text");
    answer.push("\n");
    let mut reader = Reader {
        encoding: WINDOWS_1252,
        groups: vec![Group { is_silent: false, skip: 1 }],
        raw: Vec::new(),
        skipped: 0,
        half: None,
        text: String::new(),
    };
    let mut rest = bytes;
    let mut count = 0u32;
    while let Some((first, after)) = rest.split_first() {
        count = count.wrapping_add(1);
        if count.is_multiple_of(1 << 16) {
            watch.check()?;
        }
        rest = reader.step(*first, after);
        if reader.text.len() > 8192 || rest.is_empty() {
            reader.flush();
            answer.push(&reader.text);
            reader.text.clear();
        }
        if answer.is_full() {
            answer.note("The document goes on; only its beginning is shown.");
            break;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Group {
    is_silent: bool,
    /// How many letters stand in for one Unicode number, for readers that know none.
    skip: usize,
}

struct Reader {
    encoding: &'static Encoding,
    groups: Vec<Group>,
    /// Bytes of the code page that are not decoded yet: a Chinese letter has two.
    raw: Vec<u8>,
    /// Letters still to be passed over.
    skipped: usize,
    /// The first half of a letter beyond 65535.
    half: Option<u16>,
    text: String,
}

impl Reader {
    fn step<'a>(&mut self, first: u8, after: &'a [u8]) -> &'a [u8] {
        match first {
            b'{' => {
                self.flush();
                if self.groups.len() < MOST_DEPTH {
                    self.groups.push(self.group());
                }
                after
            }
            b'}' => {
                self.flush();
                if self.groups.len() > 1 {
                    self.groups.pop();
                }
                after
            }
            b'\\' => self.control(after),
            b'\r' | b'\n' => after,
            byte => {
                self.byte(byte);
                after
            }
        }
    }

    fn group(&self) -> Group {
        self.groups.last().copied().unwrap_or(Group { is_silent: false, skip: 1 })
    }

    fn byte(&mut self, byte: u8) {
        if self.skipped > 0 {
            self.skipped -= 1;
        } else if !self.group().is_silent {
            // No letter of any code page ends with a byte this low, so none is cut here; a megabyte without one is no text.
            if (self.raw.len() >= RAW_BYTES && byte < b'0') || self.raw.len() >= MOST_RAW_BYTES {
                self.flush();
            }
            self.raw.push(byte);
        }
    }

    fn push(&mut self, text: &str) {
        self.flush();
        if !self.group().is_silent {
            self.text.push_str(text);
        }
    }

    fn flush(&mut self) {
        if !self.raw.is_empty() {
            let (text, _) = self.encoding.decode_without_bom_handling(&self.raw);
            self.text.extend(text.chars().filter(|c| !c.is_control() || *c == '\t'));
            self.raw.clear();
        }
    }

    /// A word after a backslash: letters, maybe a number, maybe one blank.
    fn control<'a>(&mut self, after: &'a [u8]) -> &'a [u8] {
        let letters = after.iter().take(32).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = after.split_at_checked(letters).unwrap_or((after, &[]));
        if word.is_empty() {
            return self.symbol(rest);
        }
        let digits = rest
            .iter()
            .take(11)
            .enumerate()
            .take_while(|(at, byte)| byte.is_ascii_digit() || (*at == 0 && **byte == b'-'))
            .count();
        let (number, rest) = rest.split_at_checked(digits).unwrap_or((rest, &[]));
        let number: Option<i64> = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
        self.word(std::str::from_utf8(word).unwrap_or_default(), number);
        rest.strip_prefix(b" ").unwrap_or(rest)
    }

    fn symbol<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let Some((first, after)) = rest.split_first() else { return rest };
        match first {
            b'\'' => {
                let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
                if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                    self.byte(byte);
                }
                return after.get(2..).unwrap_or_default();
            }
            b'*' => {
                if let Some(group) = self.groups.last_mut() {
                    group.is_silent = true;
                }
            }
            b'~' => self.push(" "),
            b'_' => self.push("-"),
            b'\\' | b'{' | b'}' => self.byte(*first),
            b'\r' | b'\n' => self.push("\n\n"),
            _ => {}
        }
        after
    }

    fn word(&mut self, word: &str, number: Option<i64>) {
        match word {
            "par" | "sect" | "page" => self.push("\n\n"),
            "line" | "row" => self.push("\n"),
            "tab" => self.push("\t"),
            "cell" | "nestcell" => self.push(" | "),
            "emdash" => self.push("—"),
            "endash" => self.push("–"),
            "lquote" => self.push("‘"),
            "rquote" => self.push("’"),
            "ldblquote" => self.push("“"),
            "rdblquote" => self.push("”"),
            "bullet" => self.push("•"),
            "ansicpg" => {
                let page = number.unwrap_or(1252);
                let label = format!("windows-{page}");
                self.encoding = match page {
                    936 => GB18030,
                    950 => encoding_rs::BIG5,
                    932 => encoding_rs::SHIFT_JIS,
                    949 => encoding_rs::EUC_KR,
                    _ => Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252),
                };
            }
            "uc" => {
                if let Some(group) = self.groups.last_mut() {
                    group.skip = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(16);
                }
            }
            "u" => self.unicode(number.unwrap_or(0)),
            word if SILENT.contains(&word) => {
                if let Some(group) = self.groups.last_mut() {
                    group.is_silent = true;
                }
            }
            _ => {}
        }
    }

    /// Numbers above 32767 are written as negative ones, and letters beyond 65535 as two.
    fn unicode(&mut self, number: i64) {
        self.skipped = self.group().skip;
        let unit = u16::try_from(number.rem_euclid(65_536)).unwrap_or(0);
        if (0xd800..0xdc00).contains(&unit) {
            self.half = Some(unit);
            return;
        }
        let units = [self.half.take(), Some(unit)];
        let text: String = char::decode_utf16(units.into_iter().flatten()).flatten().collect();
        self.push(&text);
    }
}

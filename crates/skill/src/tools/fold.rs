//! Case-folded substring search, at the speed of memory for the scripts people search in.
//!
//! Simple folding, one character to one: `É` finds `é`, `Σ` finds `ς`, Cyrillic and Greek work. Three ways to look:
//! text without case (Chinese, digits) byte by byte, ASCII with both cases of its rarest letter, and the rest by the
//! variants of the first character. An ASCII letter in a query of ASCII only matches ASCII letters, not the Kelvin sign.

use memchr::memmem::Finder;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// A query, prepared once.
#[derive(Debug)]
pub(crate) enum Needle {
    Empty,
    /// No character has another case.
    Exact(Box<Finder<'static>>),
    Ascii {
        query: Vec<u8>,
        anchor: usize,
        lower: u8,
        upper: u8,
    },
    /// Folded characters, and every character the first of them may look like.
    Folded {
        query: Vec<char>,
        first: Vec<Finder<'static>>,
    },
}

impl Needle {
    pub fn new(query: &str) -> Self {
        if query.is_empty() {
            return Self::Empty;
        }
        if query.is_ascii() {
            if !query.bytes().any(|byte| byte.is_ascii_alphabetic()) {
                return Self::Exact(Box::new(Finder::new(query).into_owned()));
            }
            return Self::ascii(query);
        }
        if query.chars().all(|c| variants(c).is_none()) {
            return Self::Exact(Box::new(Finder::new(query).into_owned()));
        }
        let folded: Vec<char> = query.chars().map(fold).collect();
        let first = folded.first().copied().unwrap_or_default();
        let alone = [first];
        let look_alikes = variants(first).unwrap_or(&alone);
        let finders = look_alikes
            .iter()
            .map(|c| Finder::new(c.encode_utf8(&mut [0; 4]).as_bytes()).into_owned())
            .collect();
        Self::Folded { query: folded, first: finders }
    }

    fn ascii(query: &str) -> Self {
        let query = query.to_ascii_lowercase().into_bytes();
        let rarest = query.iter().copied().enumerate().min_by_key(|(_, byte)| commonness(*byte));
        let (anchor, lower) = rarest.unwrap_or_default();
        Self::Ascii { anchor, lower, upper: lower.to_ascii_uppercase(), query }
    }

    pub fn is_in(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// The first match, as a byte range of `text`.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        self.matches(text).find(0)
    }

    /// A walk over the matches in `text`.
    pub fn matches<'n>(&'n self, text: &'n str) -> Matches<'n> {
        let cursors = match self {
            Self::Folded { first, .. } => first.iter().map(|finder| finder.find(text.as_bytes())).collect(),
            _ => Vec::new(),
        };
        Matches { needle: self, text, cursors }
    }
}

/// Looks for matches from left to right in one pass, however many there are: where each way to write the first character
/// comes next is remembered, so one that never occurs is looked for once and not after every match.
#[derive(Debug)]
pub(crate) struct Matches<'n> {
    needle: &'n Needle,
    text: &'n str,
    cursors: Vec<Option<usize>>,
}

impl Matches<'_> {
    /// The first match that starts at `from` or later. `from` never goes back.
    pub fn find(&mut self, from: usize) -> Option<Range<usize>> {
        let rest = self.text.get(from..)?;
        let found = match self.needle {
            Needle::Empty => Some(0..0),
            Needle::Exact(finder) => finder.find(rest.as_bytes()).map(|at| at..at + finder.needle().len()),
            Needle::Ascii { query, anchor, lower, upper } => {
                find_ascii(rest.as_bytes(), query, *anchor, *lower, *upper)
            }
            Needle::Folded { query, first } => return self.find_folded(query, first, from),
        };
        found.map(|range| range.start + from..range.end + from)
    }

    fn find_folded(
        &mut self,
        query: &[char],
        first: &[Finder<'static>],
        from: usize,
    ) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let mut from = from;
        loop {
            for (cursor, finder) in self.cursors.iter_mut().zip(first) {
                if cursor.is_some_and(|at| at < from) {
                    *cursor = bytes.get(from..).and_then(|rest| finder.find(rest)).map(|at| from + at);
                }
            }
            // Always try the nearest next.
            let at = self.cursors.iter().flatten().min().copied()?;
            if let Some(len) = folded_prefix(self.text.get(at..)?, query) {
                return Some(at..at + len);
            }
            from = at + 1;
        }
    }
}

fn find_ascii(text: &[u8], query: &[u8], anchor: usize, lower: u8, upper: u8) -> Option<Range<usize>> {
    memchr::memchr2_iter(lower, upper, text).find_map(|at| {
        let start = at.checked_sub(anchor)?;
        let end = start + query.len();
        text.get(start..end).filter(|found| found.eq_ignore_ascii_case(query)).map(|_| start..end)
    })
}

/// Bytes of `text` that the folded query covers, if it starts with it.
fn folded_prefix(text: &str, query: &[char]) -> Option<usize> {
    let mut chars = text.char_indices();
    for wanted in query {
        let (_, found) = chars.next()?;
        if fold(found) != *wanted {
            return None;
        }
    }
    Some(chars.next().map_or(text.len(), |(at, _)| at))
}

/// Simple case folding: through the upper case, so that `ς`, `σ` and `Σ` meet.
pub(crate) fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let upper = alone(c.to_uppercase()).unwrap_or(c);
    alone(upper.to_lowercase()).unwrap_or(upper)
}

fn alone(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let only = mapped.next()?;
    mapped.next().is_none().then_some(only)
}

/// Every character with the folding of `c`; `None` when there is only `c` itself.
fn variants(c: char) -> Option<&'static [char]> {
    static FAMILIES: OnceLock<HashMap<char, Vec<char>>> = OnceLock::new();
    // Scripts with case end at U+1E943 (Adlam). Walking them once takes a few milliseconds and needs no table of ours.
    let families = FAMILIES.get_or_init(|| {
        let mut families: HashMap<char, Vec<char>> = HashMap::new();
        for c in ('\0'..='\u{1E943}').filter(|c| c.is_alphabetic() || !c.is_ascii()) {
            let folded = fold(c);
            if folded != c {
                families.entry(folded).or_insert_with(|| vec![folded]).push(c);
            }
        }
        families
    });
    families.get(&fold(c)).map(Vec::as_slice)
}

/// How common a letter is in English and Markdown; lower is a better anchor.
fn commonness(byte: u8) -> u8 {
    match byte {
        b' ' | b'e' => 10,
        b't' | b'a' | b'o' | b'i' | b'n' => 9,
        b's' | b'r' | b'h' => 8,
        b'l' | b'd' | b'c' | b'u' | b'm' => 6,
        b'f' | b'p' | b'g' | b'w' | b'y' | b'-' | b'.' | b'\n' => 5,
        b'b' | b'v' | b'k' => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(query: &str, text: &str) -> Option<String> {
        Needle::new(query).find(text).and_then(|range| text.get(range).map(str::to_owned))
    }

    #[test]
    fn case_does_not_matter_in_any_script() {
        for (query, text, hit) in [
            ("SKILL", "a Skill here", "Skill"),
            ("é", "CAFÉ", "É"),
            ("CAFÉ au", "le café AU lait", "café AU"),
            ("привет", "ну ПРИВЕТ!", "ПРИВЕТ"),
            ("σοφος", "ΣΟΦΟΣ", "ΣΟΦΟΣ"),
            ("ΣΟΦΌΣ", "ο σοφός είπε", "σοφός"),
            ("声音", "人物的声音规则", "声音"),
            ("a中B", "xxA中b", "A中b"),
            ("-*-", "x -*- y", "-*-"),
            ("ſ", "S", "S"),
        ] {
            assert_eq!(found(query, text).as_deref(), Some(hit), "{query}");
        }
        assert_eq!(found("声调", "声音"), None);
        assert_eq!(found("skills", "skil"), None);
    }

    proptest! {
        #![proptest_config(crate::fixture::cases())]

        #[test]
        fn the_first_match_is_that_of_folding_everything(
            query in "[a-cA-CéÉßẞ中ςσΣ ]{1,4}", text in "[a-cA-CéÉßẞ中ςσΣ \n]{0,40}"
        ) {
            let folded: Vec<char> = query.chars().map(fold).collect();
            let chars: Vec<(usize, char)> = text.char_indices().collect();
            let expected = chars
                .windows(folded.len())
                .find(|window| window.iter().map(|(_, c)| fold(*c)).eq(folded.iter().copied()))
                .map(|window| window[0].0);
            prop_assert_eq!(Needle::new(&query).find(&text).map(|range| range.start), expected);
        }

        #[test]
        fn any_query_and_text_are_safe(query in "\\PC{0,6}", text in "(\\PC|\n){0,60}", from in 0usize..80) {
            if let Some(range) = Needle::new(&query).matches(&text).find(from) {
                prop_assert!(text.get(range).is_some());
            }
        }

        #[test]
        fn one_walk_finds_what_looking_anew_finds(query in "[aéÉσς]{1,3}", text in "[aAéÉσςΣ\n]{0,40}") {
            let needle = Needle::new(&query);
            let mut walk = needle.matches(&text);
            let mut from = 0;
            while let Some(found) = walk.find(from) {
                let anew = needle.find(text.get(from..).unwrap()).map(|range| range.start + from);
                prop_assert_eq!(Some(found.start), anew);
                from = found.start + text.get(found.start..).unwrap().chars().next().unwrap().len_utf8();
            }
            prop_assert!(text.get(from..).is_none_or(|rest| !needle.is_in(rest)));
        }
    }
}

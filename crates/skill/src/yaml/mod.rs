//! YAML as an untyped tree with byte offsets: the part of YAML 1.2 that people write in skill files.
//!
//! Anchors, aliases, tags, merge keys, several documents and keys that are not scalars are refused: each is a way to say
//! something a reader does not see. Depth and size are bounded, so a tree may be walked by recursion. This room knows
//! nothing of skills; what a scalar means is asked of it ([`Node::resolve`]), never guessed at parsing.

mod build;
mod scalar;
mod simple;

pub use scalar::Resolved;

use std::collections::HashMap;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: NodeKind,
    /// Byte offsets. For an empty value (`key:`) both are the offset of the colon.
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Scalar { text: String, style: Style },
    Sequence { items: Vec<Node>, layout: Layout },
    Mapping { entries: Vec<Entry>, layout: Layout },
}

/// One `key: value`. The key is always a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: Node,
    pub value: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Quoted,
    /// `|` or `>`.
    Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Block,
    /// `[a, b]` or `{a: b}`.
    Flow,
}

/// Why a text is not accepted, and where. Offsets are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    pub problem: Problem,
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The parser's own words.
    Syntax(String),
    /// The same key twice in one mapping; where the first one stands.
    DuplicateKey {
        key: String,
        first_start: usize,
        first_end: usize,
    },
    TooDeep,
    TooManyNodes,
    /// `&name` or `*name`.
    Anchor,
    /// `!tag`.
    Tag,
    /// `<<: …`.
    MergeKey,
    SecondDocument,
    /// `? [a, b]` or `{a: b}: c`.
    KeyNotScalar,
}

/// Parses one document. `base` is added to every offset, so a slice of a file gives offsets of the file. An empty text is
/// an empty plain scalar.
pub fn parse(text: &str, base: usize) -> Result<Node, YamlError> {
    parse_up_to(text, base, crate::limits::YAML_NODES)
}

/// As [`parse`], for files that may hold more values than a frontmatter.
pub fn parse_up_to(text: &str, base: usize, max_nodes: usize) -> Result<Node, YamlError> {
    let Some(node) = simple::parse(text, base) else { return build::parse(text, base, max_nodes) };
    // Under the fuzzer every short answer is held to the long one.
    #[cfg(fuzzing)]
    assert_eq!(build::parse(text, base, max_nodes).as_ref(), Ok(&node));
    Ok(node)
}

impl Node {
    fn scalar(text: impl Into<String>, style: Style, start: usize, end: usize) -> Self {
        Self { kind: NodeKind::Scalar { text: text.into(), style }, start, end }
    }

    /// The text of a scalar as written, whatever it would resolve to.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    pub fn items(&self) -> Option<&[Self]> {
        match &self.kind {
            NodeKind::Sequence { items, .. } => Some(items),
            _ => None,
        }
    }

    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            NodeKind::Mapping { entries, .. } => Some(entries),
            _ => None,
        }
    }

    /// The entry of a mapping by its key. `None` for other nodes.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.name() == key)
    }

    /// The value of a mapping by its key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Changes every offset of the tree, keeping its shape.
    pub fn map_offsets(&mut self, map: &impl Fn(usize, usize) -> (usize, usize)) {
        (self.start, self.end) = map(self.start, self.end);
        match &mut self.kind {
            NodeKind::Scalar { .. } => {}
            NodeKind::Sequence { items, .. } => items.iter_mut().for_each(|item| item.map_offsets(map)),
            NodeKind::Mapping { entries, .. } => {
                for entry in entries {
                    entry.key.map_offsets(map);
                    entry.value.map_offsets(map);
                }
            }
        }
    }
}

impl Entry {
    /// The text of the key.
    pub fn name(&self) -> &str {
        self.key.text().unwrap_or_default()
    }

    /// Where a message about the value should point: at the value, or at the key when there is none.
    pub fn value_span(&self) -> (usize, usize) {
        if self.value.start == self.value.end {
            (self.key.start, self.key.end)
        } else {
            (self.value.start, self.value.end)
        }
    }
}

/// The first key that a mapping has twice, in the order a person reads.
fn duplicate(entries: &[Entry]) -> Option<(&Entry, &Entry)> {
    // Most mappings are small: comparing pairs is cheaper than hashing there, and never done on large ones.
    if entries.len() <= 12 {
        return entries.iter().enumerate().find_map(|(at, entry)| {
            let first = entries.iter().take(at).find(|first| first.name() == entry.name())?;
            Some((first, entry))
        });
    }
    let mut seen: HashMap<&str, &Entry> = HashMap::with_capacity(entries.len());
    entries.iter().find_map(|entry| seen.insert(entry.name(), entry).map(|first| (first, entry)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(text: &str) -> Problem {
        parse(text, 0).unwrap_err().problem
    }

    #[test]
    fn a_tree_has_byte_offsets_of_the_file() {
        let text = "技: [a, 能]\r\nb:\r\n  - 'c'\r\n  - d: |\r\n      ---\r\ne:\r\n";
        let file = format!("---\r\n{text}");
        let root = parse(text, 5).unwrap();
        let shown = |node: &Node| file.get(node.start..node.end).unwrap().to_owned();
        let list = root.entry("技").unwrap();
        assert_eq!((shown(&list.key), shown(&list.value)), ("技".into(), "[a, 能]".into()));
        let items = root.get("b").unwrap().items().unwrap();
        assert_eq!((shown(&items[0]), items[0].text()), ("'c'".into(), Some("c")));
        assert_eq!(items[1].get("d").unwrap().text(), Some("---\n"));
        let empty = root.entry("e").unwrap();
        assert_eq!(empty.value.resolve(), Resolved::Null);
        assert_eq!(file.get(empty.value_span().0..empty.value_span().1).unwrap(), "e");
    }

    #[test]
    fn what_readers_do_not_see_is_refused() {
        for (text, expected) in [
            ("a: &x b\n", Problem::Anchor),
            ("a: *x\n", Problem::Anchor),
            ("a: &x [b]\nc: *x\n", Problem::Anchor),
            ("a: !!str b\n", Problem::Tag),
            ("a: !x {b: c}\n", Problem::Tag),
            ("<<: {a: b}\n", Problem::MergeKey),
            ("a: b\n---\nc: d\n", Problem::SecondDocument),
            ("a: b\n...\nc: d\n", Problem::SecondDocument),
            ("[a]: b\n", Problem::KeyNotScalar),
            ("? {a: b}\n: c\n", Problem::KeyNotScalar),
        ] {
            assert_eq!(problem(text), expected, "{text}");
        }
        for text in
            ["\ta: b\n", "a:\n\tb: c\n", "a: \"x\n", "a: [b\n", "a: b: c\n", "a: b\u{0}c\n", "a: b\nc\n"]
        {
            assert!(matches!(problem(text), Problem::Syntax(_)), "{text:?}");
        }
    }

    #[test]
    fn duplicates_name_both_places_in_small_and_large_mappings() {
        for filler in [0, 40] {
            let lines: String = (0..filler).map(|n| format!("k{n}: v\n")).collect();
            let text = format!("a: 1\n{lines}b: 2\n\"a\": 3\n");
            let error = parse(&text, 0).unwrap_err();
            let Problem::DuplicateKey { key, first_start, .. } = error.problem else { panic!("{error:?}") };
            assert_eq!((key.as_str(), first_start), ("a", 0));
            assert_eq!(text.get(error.start..error.end).unwrap(), "\"a\"");
        }
    }

    #[test]
    fn depth_and_size_are_bounded_without_using_the_stack() {
        for opening in ["[", "{a: ", "- ", "? ", "[\n", "a: {b: ["] {
            let problem = problem(&opening.repeat(10_000));
            assert!(matches!(problem, Problem::TooDeep | Problem::Syntax(_)), "{opening}: {problem:?}");
        }
        assert_eq!(problem(&"[".repeat(10_000)), Problem::TooDeep);
        assert_eq!(problem(&"- ".repeat(10_000)), Problem::TooDeep);
        let deep: String = (0..10_000).map(|n| format!("{}a:\n", " ".repeat(n % 50))).collect();
        assert!(parse(&deep, 0).is_err());
        let ok = format!("{}x{}", "[".repeat(32), "]".repeat(32));
        assert!(parse(&ok, 0).is_ok());
        assert_eq!(problem(&format!("[{ok}]")), Problem::TooDeep);
        assert_eq!(problem(&"- a\n".repeat(10_000)), Problem::TooManyNodes);
        assert!(parse(&"- a\n".repeat(9_999), 0).is_ok());
    }

    #[test]
    fn hostile_texts_of_the_largest_size_are_fast() {
        let started = std::time::Instant::now();
        for text in [
            "[", "{a: ", "[\n", "a: b, ", ": ", "?", "&a ", "\"", "a:\n", "- - ", "x ", "| ", "> \n ", "#",
            "\n",
        ] {
            let _ = parse(&text.repeat(crate::limits::FRONTMATTER_BYTES / text.len()), 0);
            let _ = parse(&format!("[{}]", text.repeat(crate::limits::FRONTMATTER_BYTES / text.len())), 0);
        }
        // Thirty texts; one second would be slow even on a busy machine without optimisation.
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }

    /// Lines like those people write, with what breaks them mixed in.
    fn yamlish() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            4 => "[a-z_-]{1,6}: [A-Za-z0-9é技 ._/-]{0,12}",
            2 => "( |  |    )[a-z]{1,4}: [a-z ]{0,8}",
            1 => "[a-z]{1,3}:( )?",
            1 => "[a-z]{1,3}: (\"[^\"\\\\]{0,6}\"|'[^']{0,6}')( )?",
            1 => "[a-z]{1,3}: [-:#\\[\\]{}&*!|>'\"%@`,? a\u{feff}\u{2028}\u{85}\t]{0,6}",
            2 => "(  )?- [a-z: ]{0,6}",
            1 => "[a-z]{1,3}: \\[[a-z]{0,2}( |, |,)?[a-z.-]{0,3}\\]( )?",
            1 => "[a-z]{1,3}:\n  - [a-z]{1,3}\n  - ['a-z ]{1,4}",
            1 => "(#.{0,4}|---|\\.\\.\\.|)",
        ];
        (prop::collection::vec(line, 0..6), prop_oneof![Just("\n"), Just("\r\n"), Just("\r")], any::<bool>())
            .prop_map(|(lines, end, last)| lines.join(end) + if last { end } else { "" })
    }

    proptest! {
        #![proptest_config(crate::fixture::cases())]

        #[test]
        fn the_short_way_gives_what_the_full_parser_gives(text in yamlish()) {
            if let Some(node) = simple::parse(&text, 7) {
                prop_assert_eq!(Ok(node), build::parse(&text, 7, crate::limits::YAML_NODES));
            }
        }

        #[test]
        fn parsing_is_total_and_offsets_are_inside(text in prop_oneof![yamlish(), "(\\PC|[\n\r\t\0])*"]) {
            if let Ok(node) = parse(&text, 0) {
                prop_assert!(node.start <= node.end && node.end <= text.len());
                prop_assert!(text.is_char_boundary(node.start) && text.is_char_boundary(node.end));
            } else if let Err(error) = parse(&text, 0) {
                prop_assert!(error.start <= error.end && error.end <= text.len(), "{error:?}");
            }
        }
    }
}

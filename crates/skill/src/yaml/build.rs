//! The tree from the parser's events. The stack of open collections is a vector, never the call stack.

use super::{Entry, Layout, Node, NodeKind, Problem, Style, YamlError};
use crate::limits::YAML_DEPTH;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

pub(super) fn parse(text: &str, base: usize, max_nodes: usize) -> Result<Node, YamlError> {
    let mut builder = Builder {
        text,
        offsets: Offsets::new(text),
        base,
        open: Vec::new(),
        root: None,
        nodes: 0,
        max_nodes,
    };
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => builder.take(event, span)?,
            Err(error) => return Err(builder.syntax(&error)),
        }
    }
    Ok(builder.root.unwrap_or_else(|| Node::scalar("", Style::Plain, base, base)))
}

struct Builder<'a> {
    text: &'a str,
    offsets: Offsets,
    base: usize,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
    max_nodes: usize,
}

/// A collection whose end has not come yet.
struct Open {
    start: usize,
    layout: Layout,
    content: Content,
}

enum Content {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<Entry>, key: Option<Node> },
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let (start, end) = self.offsets.bytes(span);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(self.error(Problem::SecondDocument, start, end))
            }
            Event::DocumentStart(_) => Ok(()),
            Event::Alias(_) => Err(self.error(Problem::Anchor, start, end)),
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse(anchor, tag.is_some(), start, end)?;
                self.count(start, end)?;
                // An empty value is reported at whatever token follows; the colon before it is what a person sees.
                let end = if text.is_empty() && style == ScalarStyle::Plain {
                    start
                } else {
                    self.trimmed(start, end)
                };
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let node = Node::scalar(text, style, start + self.base, end + self.base);
                self.place(node)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse(anchor, tag.is_some(), start, end)?;
                self.open(start, end, b'[', Content::Sequence(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse(anchor, tag.is_some(), start, end)?;
                self.open(start, end, b'{', Content::Mapping { entries: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(start),
        }
    }

    fn open(&mut self, start: usize, end: usize, bracket: u8, content: Content) -> Result<(), YamlError> {
        self.count(start, end)?;
        if self.open.len() >= YAML_DEPTH {
            return Err(self.error(Problem::TooDeep, start, end));
        }
        // The parser lets a tab indent the outermost collection; no other YAML reader does.
        let before = self.text.get(..start).unwrap_or_default();
        let indent = before.rsplit('\n').next().unwrap_or_default();
        if self.open.is_empty() && indent.contains('\t') {
            let words = "tabs disallowed within this context (block indentation)".to_owned();
            return Err(self.error(Problem::Syntax(words), start.saturating_sub(1), start));
        }
        let flow = self.text.as_bytes().get(start) == Some(&bracket);
        let layout = if flow { Layout::Flow } else { Layout::Block };
        self.open.push(Open { start, layout, content });
        Ok(())
    }

    fn close(&mut self, closed_at: usize) -> Result<(), YamlError> {
        let Some(Open { start, layout, content }) = self.open.pop() else { return Ok(()) };
        let last_end = match &content {
            Content::Sequence(items) => items.last().map(|item| item.end),
            Content::Mapping { entries, .. } => {
                entries.last().map(|entry| entry.value.end.max(entry.key.end))
            }
        };
        // A block collection ends with its last value; what the parser reports is the start of the next token.
        let end = match layout {
            Layout::Flow => closed_at + 1 + self.base,
            Layout::Block => last_end.unwrap_or(start + self.base),
        };
        let kind = match content {
            Content::Sequence(items) => NodeKind::Sequence { items, layout },
            Content::Mapping { entries, .. } => {
                if let Some((first, second)) = super::duplicate(&entries) {
                    let problem = Problem::DuplicateKey {
                        key: second.name().to_owned(),
                        first_start: first.key.start,
                        first_end: first.key.end,
                    };
                    return Err(YamlError { problem, start: second.key.start, end: second.key.end });
                }
                NodeKind::Mapping { entries, layout }
            }
        };
        let start = start + self.base;
        self.place(Node { kind, start, end: end.max(start) })
    }

    /// The parser counts blanks after a quote and line breaks after a block as part of the scalar.
    fn trimmed(&self, start: usize, end: usize) -> usize {
        let shown = self.text.get(start..end).unwrap_or_default();
        start + shown.trim_end_matches([' ', '\t', '\r', '\n']).len()
    }

    /// Puts a finished node where it belongs: into the open collection, or at the root.
    fn place(&mut self, node: Node) -> Result<(), YamlError> {
        let Some(Open { content, .. }) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match content {
            Content::Sequence(items) => items.push(node),
            Content::Mapping { entries, key } => match key.take() {
                Some(key) => entries.push(Entry { key, value: node }),
                None => {
                    let (start, end) = (node.start, node.end);
                    let problem = match &node.kind {
                        NodeKind::Scalar { text, style: Style::Plain } if text == "<<" => Problem::MergeKey,
                        NodeKind::Scalar { .. } => {
                            *key = Some(node);
                            return Ok(());
                        }
                        _ => Problem::KeyNotScalar,
                    };
                    return Err(YamlError { problem, start, end });
                }
            },
        }
        Ok(())
    }

    fn refuse(&self, anchor: usize, tagged: bool, start: usize, end: usize) -> Result<(), YamlError> {
        match (anchor, tagged) {
            (0, false) => Ok(()),
            (0, true) => Err(self.error(Problem::Tag, start, end)),
            _ => Err(self.error(Problem::Anchor, start, end)),
        }
    }

    fn count(&mut self, start: usize, end: usize) -> Result<(), YamlError> {
        self.nodes += 1;
        if self.nodes > self.max_nodes { Err(self.error(Problem::TooManyNodes, start, end)) } else { Ok(()) }
    }

    fn syntax(&self, error: &ScanError) -> YamlError {
        let at = self.offsets.byte(error.marker().index());
        let problem = match error.info() {
            "recursion limit exceeded" => Problem::TooDeep,
            "while parsing node, found unknown anchor" => Problem::Anchor,
            // What follows an end marker without a start marker of its own is a second document to a person.
            "did not find expected <document start>" if self.root.is_some() => Problem::SecondDocument,
            info => Problem::Syntax(info.to_owned()),
        };
        // One character, so that a caret has something to stand under.
        let next = self.text.get(at..).and_then(|rest| rest.chars().next());
        let end = at + next.filter(|c| !matches!(c, '\n' | '\r')).map_or(0, char::len_utf8);
        self.error(problem, at, end)
    }

    fn error(&self, problem: Problem, start: usize, end: usize) -> YamlError {
        YamlError { problem, start: start + self.base, end: end.max(start) + self.base }
    }
}

/// From the parser's character positions to bytes.
enum Offsets {
    /// Every character is a byte: nothing to look up.
    Ascii {
        len: usize,
    },
    Table(Vec<u32>),
}

impl Offsets {
    fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Self::Ascii { len: text.len() };
        }
        let ends = std::iter::once(text.len());
        let table = text.char_indices().map(|(at, _)| at).chain(ends);
        Self::Table(table.map(|at| u32::try_from(at).unwrap_or(u32::MAX)).collect())
    }

    fn byte(&self, character: usize) -> usize {
        match self {
            Self::Ascii { len } => character.min(*len),
            Self::Table(table) => {
                table.get(character).or(table.last()).map_or(0, |at| usize::try_from(*at).unwrap_or(0))
            }
        }
    }

    fn bytes(&self, span: Span) -> (usize, usize) {
        (self.byte(span.start.index()), self.byte(span.end.index()))
    }
}

//! A Markdown outline: headings and nested lists become a tree, text below one of them becomes part of it.

use super::{Sketch, SketchEdge, SketchNode};
use crate::canvas::error::CanvasError;

/// Longer text of one node is cut: a canvas is an overview.
const LONGEST: usize = 1200;
/// Colours of the branches of a tree: red is left for warnings.
const COLORS: [&str; 5] = ["5", "4", "6", "2", "3"];

pub fn read(text: &str) -> Result<Sketch, CanvasError> {
    let mut tree = Tree::default();
    let mut fence: Option<&str> = None;
    let mut lines = text.lines().peekable();
    skip_front_matter(&mut lines);
    for line in lines {
        let trimmed = line.trim();
        if let Some(mark) = fence {
            if trimmed.starts_with(mark) {
                fence = None;
            }
            tree.append(line.trim_end(), Join::Line);
            continue;
        }
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)) {
            fence = Some(mark);
            tree.append(line.trim_end(), Join::Line);
        } else if trimmed.is_empty() {
            tree.is_apart = true;
        } else if let Some((level, title)) = heading(trimmed) {
            tree.open(Depth::Heading(level), title);
        } else if is_rule(trimmed) {
            tree.is_apart = true;
        } else if let Some((indent, content)) = item(line) {
            tree.open(Depth::Item(indent), content);
        } else {
            tree.append(trimmed, Join::Paragraph);
        }
    }
    Ok(tree.finish())
}

fn skip_front_matter(lines: &mut std::iter::Peekable<std::str::Lines<'_>>) {
    if lines.peek().is_none_or(|line| line.trim_end() != "---") {
        return;
    }
    let rest = lines.clone().skip(1);
    if rest.take(200).any(|line| line.trim_end() == "---") {
        lines.next();
        for line in lines.by_ref() {
            if line.trim_end() == "---" {
                break;
            }
        }
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?;
    let title = rest.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t']) && !title.is_empty()).then_some((level, title))
}

fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|character| !character.is_whitespace());
    let Some(first) = marks.next().filter(|mark| matches!(mark, '-' | '*' | '_')) else { return false };
    let rest: Vec<char> = marks.collect();
    rest.len() >= 2 && rest.iter().all(|mark| *mark == first)
}

/// How far a list item is indented, and what it says.
fn item(line: &str) -> Option<(usize, &str)> {
    let body = line.trim_start();
    let indent: usize =
        line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 4 } else { 1 }).sum();
    let content = match body.strip_prefix(['-', '*', '+', '•']) {
        Some(rest) => rest,
        None => {
            let digits = body.bytes().take_while(u8::is_ascii_digit).count();
            let rest = body.get(digits..).filter(|_| (1..=9).contains(&digits))?;
            rest.strip_prefix(['.', ')', '、'])?
        }
    };
    let spaced = content.starts_with([' ', '\t']) || (content.len() < body.len() && body.contains('、'));
    let content = content.trim();
    (spaced && !content.is_empty()).then_some((indent, content))
}

#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Heading(usize),
    Item(usize),
}

#[derive(Clone, Copy, PartialEq)]
enum Join {
    Line,
    Paragraph,
}

#[derive(Default)]
struct Tree {
    sketch: Sketch,
    /// What is open now, from the outside in.
    open: Vec<(Depth, usize)>,
    /// A blank line went by.
    is_apart: bool,
}

impl Tree {
    fn open(&mut self, depth: Depth, text: &str) {
        let closes = |open: Depth| match (depth, open) {
            (Depth::Heading(level), Depth::Heading(other)) => other >= level,
            (Depth::Heading(_), Depth::Item(_)) => true,
            (Depth::Item(_), Depth::Heading(_)) => false,
            (Depth::Item(indent), Depth::Item(other)) => other >= indent,
        };
        while self.open.last().is_some_and(|(open, _)| closes(*open)) {
            self.open.pop();
        }
        let parent = self.open.last().map(|(_, parent)| *parent);
        let at = self.sketch.nodes.len();
        self.sketch.nodes.push(SketchNode { text: text.to_owned(), ..SketchNode::default() });
        if let Some(from) = parent {
            self.sketch.edges.push(SketchEdge {
                from,
                to: at,
                arrows: (false, false),
                ..SketchEdge::default()
            });
        }
        self.open.push((depth, at));
        self.is_apart = false;
    }

    /// Text of what is open; text before anything else stands alone.
    fn append(&mut self, text: &str, join: Join) {
        let apart = std::mem::take(&mut self.is_apart);
        let at = self.open.last().map(|(_, at)| *at);
        let loose = at.is_none().then(|| self.sketch.nodes.len().checked_sub(1)).flatten().filter(|_| !apart);
        let Some(node) = at.or(loose).and_then(|at| self.sketch.nodes.get_mut(at)) else {
            self.sketch.nodes.push(SketchNode { text: text.to_owned(), ..SketchNode::default() });
            return;
        };
        if node.text.len() >= LONGEST {
            if !node.text.ends_with('…') {
                node.text.push_str("\n…");
            }
            return;
        }
        let continues = join == Join::Paragraph && !apart && node.text.contains('\n');
        node.text.push(if continues { ' ' } else { '\n' });
        node.text.push_str(text);
    }

    /// Each branch of a single root, or each of several roots, has a colour of its own.
    fn finish(mut self) -> Sketch {
        let count = self.sketch.nodes.len();
        let mut parent: Vec<Option<usize>> = vec![None; count];
        for edge in &self.sketch.edges {
            parent.get_mut(edge.to).into_iter().for_each(|slot| *slot = Some(edge.from));
        }
        let roots = parent.iter().filter(|parent| parent.is_none()).count();
        let mut branch: Vec<Option<usize>> = vec![None; count];
        let mut branches = 0;
        for at in 0..count {
            let above = parent.get(at).copied().flatten();
            let is_branch = match above {
                None => roots > 1,
                Some(above) => roots == 1 && parent.get(above).copied().flatten().is_none(),
            };
            let own = match (is_branch, above) {
                (true, _) => {
                    branches += 1;
                    Some(branches - 1)
                }
                (false, Some(above)) => branch.get(above).copied().flatten(),
                (false, None) => None,
            };
            branch.get_mut(at).into_iter().for_each(|slot| *slot = own);
            let color = own.and_then(|own| COLORS.get(own % COLORS.len()));
            if let (Some(node), true) = (self.sketch.nodes.get_mut(at), branches_matter(&self.sketch.edges)) {
                node.color = color.map(|color| (*color).to_owned());
            }
        }
        self.sketch
    }
}

/// Loose paragraphs stay plain.
fn branches_matter(edges: &[SketchEdge]) -> bool {
    !edges.is_empty()
}

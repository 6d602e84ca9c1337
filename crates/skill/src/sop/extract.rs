//! The program in what a model answered: in a code fence, or bare. Whether it is a good one is for others to say.

use super::lines::{Line, lines};
use crate::place::Place;
use fugato_model::{Words, words};
use std::collections::HashMap;
use std::fmt;

/// Why an answer has no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoProgram {
    /// Nothing in it declares anything.
    Missing,
    /// Which of them is meant is anybody's guess.
    Several { blocks: usize },
}

impl fmt::Display for NoProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().en)
    }
}

impl NoProgram {
    pub fn words(&self) -> Words {
        match self {
            Self::Missing => words!(
                "The answer has no program: no line of it starts with @",
                "回答中没有程序：没有以 @ 开头的行"
            ),
            Self::Several { blocks } => words!(
                "The answer has {blocks} programs; write one, in one code block",
                "回答中有 {blocks} 个程序；只写一个，放在一个代码块里"
            ),
        }
    }
}

/// The one program of an answer. Prose before a bare one is left out; behind it, it would be taken for an argument, so
/// models are asked for a fence.
pub fn program_in(answer: &str) -> Result<&str, NoProgram> {
    let lines = lines(answer, Place::new(0, answer.len()));
    let blocks = blocks(answer, &lines);
    let declaring = |part: &&str| part.lines().any(|line| line.trim_start().starts_with('@'));
    let mut programs = blocks.iter().filter(|block| block.is_sop).map(|block| block.text).filter(declaring);
    let first = programs.next();
    match (first, programs.count()) {
        (Some(one), 0) => return Ok(one),
        (Some(_), more) => return Err(NoProgram::Several { blocks: more + 1 }),
        (None, _) => {}
    }
    let others: Vec<&str> = blocks.iter().map(|block| block.text).filter(declaring).collect();
    match others.as_slice() {
        [one] => Ok(one),
        [] => bare(answer, &lines),
        several => Err(NoProgram::Several { blocks: several.len() }),
    }
}

struct Block<'a> {
    text: &'a str,
    is_sop: bool,
}

/// What stands in code fences. A here-doc may contain fences: those are text.
fn blocks<'a>(answer: &'a str, lines: &[Line<'a>]) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    let ends = here_doc_ends(lines);
    while let Some(line) = lines.get(at) {
        at += 1;
        let Some((sign, width, word)) = fence(line.text) else { continue };
        let from = at;
        let is_end = |line: &Line<'_>| matches!(fence(line.text), Some((found, closing, "")) if found == sign && closing >= width);
        while let Some(line) = lines.get(at).filter(|line| !is_end(line)) {
            at = here_doc_end(&ends, at, line).unwrap_or(at + 1);
        }
        let start = lines.get(from).map_or(answer.len(), |line| line.start);
        let end = lines.get(at).map_or(answer.len(), |line| line.start);
        let text = answer.get(start..end).unwrap_or_default();
        blocks.push(Block { text, is_sop: word.eq_ignore_ascii_case("sop") });
        at += 1;
    }
    blocks
}

/// The lines that close a here-doc, by its tag. Looking for each one's end would read the answer once for every
/// here-doc that is never closed.
fn here_doc_ends<'a>(lines: &[Line<'a>]) -> HashMap<&'a str, Vec<usize>> {
    let mut ends: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(tag) = line.text.trim().strip_prefix("--end-").and_then(|rest| rest.strip_suffix("--")) {
            ends.entry(tag).or_default().push(at);
        }
    }
    ends
}

/// The line behind a here-doc that is opened at this line and closed somewhere.
fn here_doc_end(ends: &HashMap<&str, Vec<usize>>, at: usize, line: &Line<'_>) -> Option<usize> {
    let tag = line.text.trim().strip_prefix("--begin-")?.strip_suffix("--")?;
    let ends = ends.get(tag)?;
    ends.get(ends.partition_point(|end| *end < at)).map(|end| end + 1)
}

/// Sign, width and first word of a line that opens or closes a fence.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim();
    let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let rest = text.trim_start_matches(sign);
    let width = text.len() - rest.len();
    (width >= 3).then(|| (sign, width, rest.split_whitespace().next().unwrap_or_default()))
}

/// From the first declaration, with the comments directly above it, to the end.
fn bare<'a>(answer: &'a str, lines: &[Line<'a>]) -> Result<&'a str, NoProgram> {
    let first = lines.iter().position(Line::is_declaration).ok_or(NoProgram::Missing)?;
    let before = lines.get(..first).unwrap_or_default();
    let comments = before.iter().rev().take_while(|line| line.is_comment()).count();
    let start = lines.get(first - comments).map_or(0, |line| line.start);
    Ok(answer.get(start..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_its_fence_or_bare() {
        for answer in [
            "@a emit 1\n",
            "Here it is:\n\n```sop\n@a emit 1\n```\nDone.",
            "~~~~\n@a emit 1\n~~~~",
            "```\n@a emit 1\n",
            "First some code:\n```py\nprint(1)\n```\nand then\n```SOP\n@a emit 1\n```",
            "```sh\n@echo off\n```\n```sop\n@a emit 1\n```",
        ] {
            assert_eq!(program_in(answer).map(str::trim), Ok("@a emit 1"), "{answer}");
        }
        let described = "I would do it so.\n# Read it.\n@a emit 1\n@b emit $a\n";
        assert_eq!(program_in(described), Ok("# Read it.\n@a emit 1\n@b emit $a\n"));
    }

    #[test]
    fn a_fence_inside_of_a_here_doc_is_text() {
        let program = "@a assign\n--begin-x--\n```\ncode\n```\n--end-x--\n@b emit $a\n";
        let answer = format!("```sop\n{program}```\n");
        assert_eq!(program_in(&answer), Ok(program));
        assert_eq!(program_in("```sop\n@a assign\n--begin-x--\n```\n"), Ok("@a assign\n--begin-x--\n"));
    }

    /// With a look at everything behind for each of them, this is a matter of minutes.
    #[test]
    fn here_docs_that_are_never_closed_cost_a_line_each() {
        let open = "--begin-x--\n".repeat(200_000);
        let answer = format!("```sop\n@a assign\n{open}```\n");
        assert_eq!(program_in(&answer).map(str::len), Ok(answer.len() - "```sop\n```\n".len()));
    }

    #[test]
    fn no_program_and_several_are_told_apart() {
        assert_eq!(program_in("I cannot do that."), Err(NoProgram::Missing));
        assert_eq!(program_in(""), Err(NoProgram::Missing));
        assert_eq!(program_in("```sop\n```"), Err(NoProgram::Missing));
        let two = "```sop\n@a emit 1\n```\n```sop\n@b emit 1\n```";
        assert_eq!(program_in(two), Err(NoProgram::Several { blocks: 2 }));
        assert_eq!(program_in(&two.replace("sop", "")), Err(NoProgram::Several { blocks: 2 }));
    }
}

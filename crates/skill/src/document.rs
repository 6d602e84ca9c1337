//! From the bytes of a skill file to its frontmatter tree, or to the one reason why there is none.

use crate::frontmatter::{self, BYTE_ORDER_MARK};
use crate::limits::{FRONTMATTER_BYTES, SKILL_FILE_BYTES};
use crate::yaml::{Node, NodeKind};
use crate::{SkillText, problems, requote};
use fugato_model::{Code, Diagnostic, Fix, Words, words};
use std::ops::Range;

/// A skill file whose frontmatter parses.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub source: &'a str,
    /// The YAML between the delimiters.
    pub yaml: Range<usize>,
    pub body_start: usize,
    /// A mapping. Offsets are bytes of `source`.
    pub root: Node,
    /// What had to be overlooked to parse it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why nothing can be read.
#[derive(Debug)]
pub(crate) struct Broken {
    pub diagnostic: Diagnostic,
    pub body_start: usize,
}

/// Opens a skill file. Never looks past the limits.
pub(crate) fn open(text: SkillText<'_>) -> Result<Document<'_>, Box<Broken>> {
    let source = decode(text).map_err(|diagnostic| broken(*diagnostic, 0))?;
    let split = frontmatter::split(source).map_err(|error| {
        let blank = if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        broken(problems::no_frontmatter(text.path, source, error, text.dir_name), blank)
    })?;
    let body_start = split.body_start;
    if split.yaml.len() > FRONTMATTER_BYTES {
        return Err(broken(problems::frontmatter_too_large(text.path, source, split.yaml.len()), body_start));
    }
    let yaml = source.get(split.yaml.clone()).unwrap_or_default();
    let (root, requoted) = requote::parse(yaml, split.yaml.start)
        .map_err(|error| broken(problems::yaml(text.path, source, &error), body_start))?;
    if !matches!(root.kind, NodeKind::Mapping { .. }) {
        return Err(broken(not_a_mapping(text.path, source, &root), body_start));
    }
    let diagnostics = requoted.into_iter().map(|value| unquoted(text.path, source, value)).collect();
    Ok(Document { source, yaml: split.yaml, body_start, root, diagnostics })
}

/// The text of a skill file, if it is text and not too long.
pub(crate) fn decode(text: SkillText<'_>) -> Result<&str, Box<Diagnostic>> {
    if text.bytes.len() > SKILL_FILE_BYTES {
        return Err(Box::new(problems::too_large(text.path, text.bytes.len() as u64, SKILL_FILE_BYTES)));
    }
    match std::str::from_utf8(text.bytes) {
        // Plain characters in UTF-16 without its mark are valid UTF-8 full of zeros.
        Ok(source) if !(source.contains('\0') && problems::looks_like_utf16(text.bytes)) => Ok(source),
        Ok(_) => Err(Box::new(problems::not_utf8(text.path, text.bytes, ""))),
        Err(error) => {
            let valid = text.bytes.get(..error.valid_up_to()).unwrap_or_default();
            let valid = std::str::from_utf8(valid).unwrap_or_default();
            Err(Box::new(problems::not_utf8(text.path, text.bytes, valid)))
        }
    }
}

fn broken(diagnostic: Diagnostic, body_start: usize) -> Box<Broken> {
    Box::new(Broken { diagnostic, body_start })
}

fn not_a_mapping(path: &str, source: &str, root: &Node) -> Diagnostic {
    let found = problems::found(root);
    let message = Words {
        en: format!("frontmatter must be `key: value` lines, found {}", found.en),
        zh: format!("frontmatter 应由 `键: 值` 行组成，实际是{}", found.zh),
    };
    Diagnostic::error(Code::F0107, path, message).at(source, root.start, root.end).hint(words!(
        "write at least `name: …` and `description: …`",
        "至少写上 `name: …` 和 `description: …`"
    ))
}

/// The warning about a value that was read as if it were quoted.
pub(crate) fn unquoted(path: &str, source: &str, value: requote::Requote) -> Diagnostic {
    let colon =
        source.get(value.start..value.end).is_some_and(|text| text.contains(": ") || text.ends_with(':'));
    let message = if colon {
        words!("the value has an unquoted `: `; it was read as text", "值里有未加引号的 `: `，已按文字读取")
    } else {
        words!(
            "the value is YAML syntax without quotes; it was read as text",
            "值未加引号却是 YAML 语法，已按文字读取"
        )
    };
    Diagnostic::warning(Code::F0119, path, message)
        .at(source, value.start, value.end)
        .hint(words!("put the value in double quotes", "给值加上双引号"))
        .fix(Fix {
            start: problems::offset(value.start),
            end: problems::offset(value.end),
            replacement: value.quoted,
        })
}

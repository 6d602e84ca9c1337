//! A new `name:` in a skill file, with every other byte kept.
//!
//! Works on lines, not on YAML values: comments, quotes, order and line endings of the author survive. What cannot be
//! edited this way is said, never guessed.

use fugato_model::{SkillName, Words, words};

/// Why the name could not be replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    #[error("the file has no frontmatter")]
    NoFrontmatter,
    #[error("`name:` is written in a way that cannot be replaced")]
    NotPlain,
}

impl RenameError {
    pub fn words(&self) -> Words {
        match self {
            Self::NoFrontmatter => words!("the file has no frontmatter", "文件没有 frontmatter"),
            Self::NotPlain => {
                words!("`name:` is written in a way that cannot be replaced", "`name:` 的写法无法自动替换")
            }
        }
    }
}

/// The file with `name: new`; added as the first key when there was none.
pub fn rename_in_frontmatter(text: &str, new: &SkillName) -> Result<String, RenameError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = lines.first().ok_or(RenameError::NoFrontmatter)?;
    if !is_fence(first.trim_start_matches('\u{feff}')) {
        return Err(RenameError::NoFrontmatter);
    }
    let closing = lines.iter().skip(1).position(|line| is_fence(line)).ok_or(RenameError::NoFrontmatter)? + 1;
    let at = lines.iter().take(closing).skip(1).position(|line| key_length(line).is_some()).map(|at| at + 1);
    let mut renamed = String::with_capacity(text.len() + 80);
    for (number, line) in lines.iter().enumerate() {
        if Some(number) == at {
            // A value that goes on below would be left behind as rubbish.
            let next = lines.get(number + 1).filter(|_| number + 1 < closing);
            if next.is_some_and(|next| next.starts_with([' ', '\t']) && !next.trim().is_empty()) {
                return Err(RenameError::NotPlain);
            }
            renamed.push_str(&replaced(line, new)?);
        } else {
            renamed.push_str(line);
        }
        if number == 0 && at.is_none() {
            let ending = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
            renamed.push_str(&format!("name: {}{ending}", written(new)));
        }
    }
    Ok(renamed)
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n']) == "---"
}

/// Bytes up to and including the colon, when this line is the top-level key `name`.
fn key_length(line: &str) -> Option<usize> {
    let after = ["name", "\"name\"", "'name'"].into_iter().find_map(|key| line.strip_prefix(key))?;
    let rest = after.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])).then(|| line.len() - rest.len())
}

fn replaced(line: &str, new: &SkillName) -> Result<String, RenameError> {
    let (key, rest) =
        key_length(line).and_then(|at| line.split_at_checked(at)).ok_or(RenameError::NotPlain)?;
    let value = rest.trim_start_matches([' ', '\t']);
    let (space, _) = rest.split_at_checked(rest.len() - value.len()).ok_or(RenameError::NotPlain)?;
    let space = if space.is_empty() { " " } else { space };
    let tail = after_value(value).ok_or(RenameError::NotPlain)?;
    Ok(match value.chars().next() {
        Some(quote @ ('"' | '\'')) => format!("{key}{space}{quote}{new}{quote}{tail}"),
        _ => format!("{key}{space}{}{tail}", written(new)),
    })
}

/// What follows the scalar on its line: spaces, a comment, the line ending. `None` for what is not one plain or
/// quoted scalar.
fn after_value(value: &str) -> Option<&str> {
    let tail = match value.chars().next() {
        Some('"') => value.strip_prefix('"').filter(|rest| !rest.contains('\\'))?.split_once('"')?.1,
        Some('\'') => value.strip_prefix('\'').filter(|rest| !rest.contains("''"))?.split_once('\'')?.1,
        Some('|' | '>' | '{' | '[' | '&' | '*' | '!') => return None,
        _ => {
            let line = value.trim_end_matches(['\r', '\n']);
            let end = if line.starts_with('#') { 0 } else { line.find(" #").unwrap_or(line.len()) };
            let scalar = line.get(..end)?.trim_end();
            value.get(scalar.len()..)?
        }
    };
    let comment = tail.trim();
    (comment.is_empty() || comment.starts_with('#')).then_some(tail)
}

/// A name that YAML would read as something else (`123`, `true`, `1e3`) is quoted.
fn written(name: &SkillName) -> String {
    let text = name.as_str();
    let is_word = matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    let starts_like_number = text.starts_with(|c: char| c.is_ascii_digit());
    if is_word || starts_like_number { format!("\"{text}\"") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rename(text: &str, to: &str) -> Result<String, RenameError> {
        rename_in_frontmatter(text, &SkillName::parse(to).unwrap())
    }

    #[test]
    fn only_the_name_changes() {
        for (before, after) in [
            (
                "---\nname: old\ndescription: d\n---\nname: old\n",
                "---\nname: new\ndescription: d\n---\nname: old\n",
            ),
            ("---\r\nname:   old  # mine\r\n---\r\n", "---\r\nname:   new  # mine\r\n---\r\n"),
            ("---\na: 1\nname: \"old\" # c\n---", "---\na: 1\nname: \"new\" # c\n---"),
            ("---\n'name': 'old'\n---\n", "---\n'name': 'new'\n---\n"),
            ("\u{feff}---\nname: old\n---\n", "\u{feff}---\nname: new\n---\n"),
            ("---\ndescription: d\n---\nx", "---\nname: new\ndescription: d\n---\nx"),
            ("---\nname:\n---\n", "---\nname: new\n---\n"),
            (
                "---\nmetadata:\n  name: other\nname: old\n---\n",
                "---\nmetadata:\n  name: other\nname: new\n---\n",
            ),
            ("---\nname: a:b c\n---\n", "---\nname: new\n---\n"),
        ] {
            assert_eq!(rename(before, "new").as_deref(), Ok(after), "{before:?}");
        }
        assert_eq!(rename("---\nname: old\n---\n", "1e3").unwrap(), "---\nname: \"1e3\"\n---\n");
        assert_eq!(rename("---\nname: old\n---\n", "新名").unwrap(), "---\nname: 新名\n---\n");
    }

    #[test]
    fn what_cannot_be_replaced_is_said() {
        for text in [
            "---\nname: >-\n  old\n---\n",
            "---\nname: old\n  more\n---\n",
            "---\nname: {a: b}\n---\n",
            "---\nname: \"a\\\"b\"\n---\n",
            "---\nname: &x old\n---\n",
        ] {
            assert_eq!(rename(text, "new"), Err(RenameError::NotPlain), "{text:?}");
        }
        for text in ["", "# hi\n", "---\nname: x\n", "--- \nname: x\n---\n"] {
            assert_eq!(rename(text, "new"), Err(RenameError::NoFrontmatter), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn renaming_there_and_back_gives_the_same_bytes(
            before in "([a-z]{1,5}: [a-z ]{0,8}\r?\n){0,3}",
            after in "(description: [a-z #:]{0,8}\r?\n)?",
            body in "\\PC{0,40}",
        ) {
            prop_assume!(!before.contains("name:"));
            let text = format!("---\n{before}name: old\n{after}---\n{body}");
            let there = rename(&text, "brand-new").unwrap();
            prop_assert!(there.contains("name: brand-new\n"));
            prop_assert_eq!(rename(&there, "old").unwrap(), text);
        }

        #[test]
        fn any_text_is_safe(text in "(---\n)?\\PC{0,40}(\n---)?") {
            let _ = rename(&text, "new");
        }
    }
}

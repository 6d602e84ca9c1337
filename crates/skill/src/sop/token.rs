//! One line of a declaration as tokens: bare words, quoted strings with escapes, and the comment that ends it.

use super::error::Problem;
use std::borrow::Cow;
use std::ops::Range;

/// One token of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub text: Cow<'t, str>,
    /// No part of it stood in quotes: only then `$x` is a reference.
    pub bare: bool,
    /// Bytes of the line.
    pub range: Range<usize>,
}

/// The tokens of a line up to its comment. The place of a problem is that of the string it is in.
pub(super) fn tokens(line: &str) -> Result<Vec<Token<'_>>, (Problem, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let rest = line.get(at..).unwrap_or_default();
        at += rest.len() - rest.trim_start().len();
        match line.get(at..).and_then(|rest| rest.chars().next()) {
            None | Some('#') => return Ok(found),
            Some(_) => {
                let token = token(line, at)?;
                at = token.range.end;
                found.push(token);
            }
        }
    }
}

/// The token that starts at a byte which is neither blank nor `#`. Quoted and bare parts that touch are one token, as
/// in a shell.
fn token(line: &str, start: usize) -> Result<Token<'_>, (Problem, Range<usize>)> {
    let mut text: Cow<'_, str> = Cow::Borrowed("");
    let mut bare = true;
    let mut at = start;
    while let Some(first) = line.get(at..).and_then(|rest| rest.chars().next()) {
        if first.is_whitespace() || first == '#' {
            break;
        }
        if is_quote(first) {
            bare = false;
            at = quoted(line, at, first, text.to_mut())?;
            continue;
        }
        let rest = line.get(at..).unwrap_or_default();
        let len = rest.find(|c: char| c.is_whitespace() || c == '#' || is_quote(c)).unwrap_or(rest.len());
        let part = rest.get(..len).unwrap_or_default();
        match text.is_empty() && bare {
            true => text = Cow::Borrowed(part),
            false => text.to_mut().push_str(part),
        }
        at += len;
    }
    Ok(Token { text, bare, range: start..at })
}

/// Reads the string whose opening quote is at `start` into `text`. Gives the byte after its closing quote.
fn quoted(
    line: &str,
    start: usize,
    quote: char,
    text: &mut String,
) -> Result<usize, (Problem, Range<usize>)> {
    let mut chars = line.get(start..).unwrap_or_default().char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next().and_then(|(_, escaped)| unescape(escaped)) {
                Some(meant) => text.push(meant),
                None => return Err((Problem::InvalidEscape, start + at..(start + at + 2).min(line.len()))),
            },
            c if c == quote => return Ok(start + at + 1),
            c => text.push(c),
        }
    }
    Err((Problem::UnterminatedString, start..line.len()))
}

fn unescape(c: char) -> Option<char> {
    Some(match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '\\' | '"' | '\'' => c,
        _ => return None,
    })
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<(String, bool)> {
        tokens(line).unwrap().into_iter().map(|token| (token.text.into_owned(), token.bare)).collect()
    }

    #[test]
    fn words_strings_and_the_comment() {
        let found = texts(r#"emit "a # b" '$x' $x	a"b c"'d' "" # rest "never closed"#);
        let expected =
            [("emit", true), ("a # b", false), ("$x", false), ("$x", true), ("ab cd", false), ("", false)];
        assert_eq!(found, expected.map(|(text, bare)| (text.to_owned(), bare)));
        assert_eq!(texts("a#b"), [("a".to_owned(), true)]);
        assert_eq!(texts(r#""\n\t\r\\\"\'""#), [("\n\t\r\\\"'".to_owned(), false)]);
        assert_eq!(texts("  "), []);
    }

    #[test]
    fn strings_that_do_not_end_and_escapes_that_do_not_exist() {
        assert_eq!(tokens("x \"abc"), Err((Problem::UnterminatedString, 2..6)));
        assert_eq!(tokens("don't"), Err((Problem::UnterminatedString, 3..5)));
        assert_eq!(tokens("\"abc\\"), Err((Problem::InvalidEscape, 4..5)));
        assert_eq!(tokens(r#""\q""#), Err((Problem::InvalidEscape, 1..3)));
        assert_eq!(tokens("'\\技'").unwrap_err().0, Problem::InvalidEscape);
    }
}

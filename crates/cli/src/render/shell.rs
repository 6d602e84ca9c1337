//! Words of a command line that can be pasted into a shell, whatever a file is called.

use std::ffi::OsStr;
use std::fmt::Write as _;

/// Quotes what a shell would split or expand; what a terminal would obey is written as an escape.
pub fn shell_word(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) if fugato_model::escape_for_terminal(text) == text => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => bytes_as_escapes(word),
    }
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | ',' | ':' | '@' | '%' | '=')
}

/// `$'…'`, which bash, zsh and fish's neighbours read: control characters and bytes that are not text.
fn bytes_as_escapes(word: &OsStr) -> String {
    let mut quoted = String::from("$'");
    for byte in word.as_encoded_bytes() {
        match byte {
            b'\'' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(*byte));
            }
            0x20..0x7f => quoted.push(char::from(*byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt as _;

    #[test]
    fn plain_words_stay_and_the_rest_is_quoted() {
        assert_eq!(shell_word("skills/写作-1"), "skills/写作-1");
        assert_eq!(shell_word("my skills"), "'my skills'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a\nb\u{1b}[2J"), r"$'a\x0ab\x1b[2J'");
        assert_eq!(shell_word(OsStr::from_bytes(b"a\xff")), r"$'a\xff'");
    }
}

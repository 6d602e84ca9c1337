//! Characters that a person cannot see but a model or a terminal obeys.

use std::fmt::Write as _;

/// Invisible tag characters (U+E0000–U+E007F): text that a model reads and a person does not.
pub const fn is_tag_block(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

/// Control, bidirectional, zero-width and tag characters. Tabs and line breaks count: in one-line contexts they are
/// just as able to break a frame.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || is_tag_block(c)
        || matches!(c,
            '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}')
}

/// Code points for eyes: `U+202E U+0041`. Only the characters that need showing.
pub fn show_code_points(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut shown = String::new();
    for c in text.chars().filter(|c| which(*c)).take(8) {
        let _ = write!(shown, "{}U+{:04X}", if shown.is_empty() { "" } else { " " }, u32::from(c));
    }
    shown
}

/// Makes any text safe for one terminal line: control, bidi and tag characters become visible escapes.
pub fn escape_for_terminal(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            // Joins emoji and shapes Indic and Arabic letters; harmless to a terminal.
            '\u{200D}' | '\u{200C}' => safe.push(c),
            c if is_hidden(c) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_get_nothing_to_obey() {
        assert_eq!(escape_for_terminal("a\u{1b}[31mb\n\u{202e}c"), "a\\u{1b}[31mb\\n\\u{202e}c");
        assert_eq!(escape_for_terminal("中文 👩‍🚀"), "中文 👩‍🚀");
    }

    #[test]
    fn code_points_are_shown() {
        assert_eq!(show_code_points("a\u{200b}b\u{e0041}", is_hidden), "U+200B U+E0041");
    }
}

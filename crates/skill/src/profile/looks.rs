//! Does a JSON file look like a profile? Asked of every JSON file in a directory, so broken ones must get an answer, too.

/// Is there a `"mode":` at the top of the text? Comments and what is inside strings and inner objects do not count.
pub fn has_mode(text: &str) -> bool {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let mut depth = 0_u32;
    let mut at = 0;
    while at < bytes.len() {
        match byte(at) {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'/' if byte(at + 1) == b'/' => at += length_to(bytes, at, b"\n"),
            b'/' if byte(at + 1) == b'*' => at += length_to(bytes, at, b"*/"),
            b'"' => {
                let end = string_end(bytes, at + 1);
                if depth == 1 && text.get(at + 1..end) == Some("mode") && is_key(bytes, end + 1) {
                    return true;
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    false
}

fn length_to(bytes: &[u8], from: usize, mark: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    memchr::memmem::find(rest, mark).map_or(rest.len(), |found| found + mark.len() - 1)
}

/// Where the closing quote of a string is, or the end of the text.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn is_key(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mode_at_the_top_makes_a_profile() {
        for (text, expected) in [
            ("{\"mode\": \"loop\"}", true),
            ("// \"x\" { [\n{ /* { */ \"a\": [1, {\"b\": \"\\\"}\"}], \"mode\" :\n \"spec\"", true),
            ("{\"a\": {\"mode\": 1}}", false),
            ("{\"a\": \"mode\", \"b\": 1}", false),
            ("[\"mode\"]", false),
            ("// \"mode\": 1\n{}", false),
            ("{\"a\": \"\\", false),
            ("", false),
        ] {
            assert_eq!(has_mode(text), expected, "{text}");
        }
    }
}

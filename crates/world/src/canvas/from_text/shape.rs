//! The text of a Mermaid node or label, and what its shape means: a canvas has no shapes, so a decision and an end are
//! told apart by colour.

/// Opening, closing, and the colour of what they mean. Longer openings first.
pub const SHAPES: &[(&str, &[&str], Option<&str>)] = &[
    ("(((", &[")))"], Some("4")),
    ("((", &["))"], Some("4")),
    ("([", &["])"], Some("4")),
    ("[(", &[")]"], Some("5")),
    ("[[", &["]]"], None),
    ("[/", &["/]", "\\]"], None),
    ("[\\", &["\\]", "/]"], None),
    ("{{", &["}}"], None),
    ("{", &["}"], Some("3")),
    ("(", &[")"], None),
    ("[", &["]"], None),
    (">", &["]"], None),
];

/// Most text of one label.
const LONGEST: usize = 4000;

/// Without quotes, with line breaks and entities as characters.
pub fn clean(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let text = text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(text);
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '#', '&', '\\']) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        cleaned.push_str(before);
        let (character, length) = special(after);
        cleaned.push_str(&character);
        rest = after.get(length..).unwrap_or_default();
        if length == 0 {
            break;
        }
    }
    cleaned.push_str(rest);
    cleaned.chars().take(LONGEST).collect::<String>().trim().to_owned()
}

/// What stands at the beginning: a break, an entity, or one character as it is.
fn special(text: &str) -> (String, usize) {
    let lower: String = text.chars().take(6).collect::<String>().to_ascii_lowercase();
    for tag in ["<br/>", "<br />", "<br>", "\\n"] {
        if lower.starts_with(tag) {
            return ("\n".into(), tag.len());
        }
    }
    if let Some(end) = text.char_indices().take(12).find(|(_, c)| *c == ';').map(|(at, _)| at)
        && let Some(name) = text.get(1..end)
        && text.starts_with(['#', '&'])
        && let Some(character) = entity(name.trim_start_matches('#'))
    {
        return (character.to_string(), end + 1);
    }
    let first = text.chars().next();
    (first.map(String::from).unwrap_or_default(), first.map_or(0, char::len_utf8))
}

fn entity(name: &str) -> Option<char> {
    match name {
        "quot" => Some('"'),
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        number => number.parse().ok().and_then(char::from_u32).filter(|c| !c.is_control()),
    }
}

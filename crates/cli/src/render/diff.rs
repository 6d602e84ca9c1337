//! A unified diff with colours.

use crate::printer::{paint, style};

/// Colours an existing unified diff line by line.
pub fn diff(unified: &str) -> String {
    let mut out = String::new();
    for line in unified.lines() {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => style::BOLD,
            Some(b'+') => style::GOOD,
            Some(b'-') => style::BAD,
            Some(b'@') => style::DIM,
            _ => style::PLAIN,
        };
        let shown: Vec<_> = line.split('\t').map(fugato_model::escape_for_terminal).collect();
        out.push_str(&paint(style, shown.join("\t")));
        out.push('\n');
    }
    out
}

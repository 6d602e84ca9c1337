//! The catalog an agent finds in its system prompt: name and description of what it may read, within a byte budget.
//!
//! Descriptions are other people's text in front of a model: here they lose everything that could break the frame.

use crate::Installed;
use crate::policy::Resolution;
use fugato_model::{SkillName, is_hidden};

const OPEN: &str = "<available_skills>";
const CLOSE: &str = "</available_skills>";
const HINT: &str = "(Use skill_read to consult specific content; skill_search to grep within a skill.)";

/// About 6,000 tokens: room for some 150 full entries, small beside any context window. Past it the catalog shortens
/// instead of growing with the inventory.
pub const DEFAULT_BUDGET: usize = 24 * 1024;
/// The longest description the skill format allows; files in the wild have longer ones.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// A rendered catalog and how much of it is what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Empty when there is nothing to show.
    pub text: String,
    /// Estimated tokens of `text`, see [`estimate_tokens`].
    pub tokens: u32,
    /// Entries with their description.
    pub full: usize,
    /// Entries shortened to their name.
    pub names_only: usize,
    /// Entries only `skill_list` knows.
    pub omitted: usize,
}

/// Renders the catalog of an agent. The text never has more than `budget_bytes` bytes.
pub fn render(resolution: &Resolution<'_>, budget_bytes: usize) -> Catalog {
    render_entries(resolution.catalog_entries(), budget_bytes)
}

fn render_entries<'a>(entries: impl Iterator<Item = &'a Installed>, budget: usize) -> Catalog {
    let entries: Vec<(&SkillName, &Installed)> =
        entries.filter_map(|skill| Some((skill.head.name.as_ref()?, skill))).collect();
    if entries.is_empty() {
        return Catalog::default();
    }
    let frame = OPEN.len() + 1 + CLOSE.len() + 1 + HINT.len();
    let Some(room) = budget.checked_sub(frame) else {
        return Catalog { omitted: entries.len(), ..Catalog::default() };
    };
    let plan = plan(&entries, room);
    let mut text = String::with_capacity(budget.min(64 * 1024));
    text.push_str(OPEN);
    text.push('\n');
    plan.lines.iter().for_each(|line| text.push_str(line));
    for (name, _) in entries.iter().skip(plan.lines.len()).take(plan.names) {
        push_name(&mut text, name);
    }
    let omitted = entries.len() - plan.lines.len() - plan.names;
    if omitted > 0 {
        let line = more_line(omitted);
        if text.len() + line.len() + CLOSE.len() + 1 + HINT.len() > budget {
            return Catalog { omitted: entries.len(), ..Catalog::default() };
        }
        text.push_str(&line);
    }
    text.push_str(CLOSE);
    text.push('\n');
    text.push_str(HINT);
    let bare = plan.lines.iter().filter(|line| !line.contains(": ")).count();
    Catalog {
        tokens: estimate_tokens(&text),
        text,
        full: plan.lines.len() - bare,
        names_only: plan.names + bare,
        omitted,
    }
}

/// The first entries in full, then `names` more as names.
struct Plan {
    lines: Vec<String>,
    names: usize,
}

/// When every name fits, as many leading entries as possible keep their description. When not even the names fit,
/// descriptions may take half the room: the first entries are the ones the author of the policy named.
fn plan(entries: &[(&SkillName, &Installed)], room: usize) -> Plan {
    let all_names: usize = entries.iter().map(|(name, _)| name_line_len(name)).sum();
    let every_name_fits = all_names <= room;
    // What is left once every entry has at least its name.
    let mut spare = if every_name_fits { room - all_names } else { room / 2 };
    let mut lines = Vec::new();
    let mut used = 0;
    for (name, skill) in entries {
        let line = full_line(name, &skill.head.description);
        let cost = if every_name_fits { line.len() - name_line_len(name) } else { line.len() };
        let Some(left) = spare.checked_sub(cost) else { break };
        spare = left;
        used += line.len();
        lines.push(line);
    }
    let rest = entries.iter().skip(lines.len());
    if every_name_fits {
        return Plan { names: entries.len() - lines.len(), lines };
    }
    let mut left = room.saturating_sub(used + more_line(entries.len()).len());
    let names = rest
        .take_while(|(name, _)| {
            let fits = left.checked_sub(name_line_len(name));
            left = fits.unwrap_or(0);
            fits.is_some()
        })
        .count();
    Plan { lines, names }
}

fn name_line_len(name: &SkillName) -> usize {
    "- \n".len() + name.as_str().len()
}

fn push_name(text: &mut String, name: &SkillName) {
    text.push_str("- ");
    text.push_str(name.as_str());
    text.push('\n');
}

fn full_line(name: &SkillName, description: &str) -> String {
    let mut line = String::with_capacity(description.len() + name.as_str().len() + 8);
    line.push_str("- ");
    line.push_str(name.as_str());
    let clean = clean_description(description);
    if !clean.is_empty() {
        line.push_str(": ");
        escape_into(&mut line, &clean);
    }
    line.push('\n');
    line
}

fn more_line(count: usize) -> String {
    format!("({count} more skills: call skill_list to find them.)\n")
}

/// A description as one harmless line: white space collapsed, invisible characters gone, at most 1,024 characters.
pub fn clean_description(description: &str) -> String {
    let mut clean = String::with_capacity(description.len().min(4 * MAX_DESCRIPTION_CHARS));
    let mut chars = 0;
    let mut gap = false;
    for c in description.chars() {
        if c.is_whitespace() {
            gap = !clean.is_empty();
        } else if !is_stripped(c) {
            if chars + usize::from(gap) >= MAX_DESCRIPTION_CHARS {
                break;
            }
            if std::mem::take(&mut gap) {
                clean.push(' ');
                chars += 1;
            }
            clean.push(c);
            chars += 1;
        }
    }
    clean
}

/// Joiners shape Persian and Indic words and emoji, so they stay. Variation selectors beyond the first sixteen can carry
/// hidden text just like tag characters.
fn is_stripped(c: char) -> bool {
    (is_hidden(c) && !matches!(c, '\u{200C}' | '\u{200D}')) || matches!(c, '\u{E0100}'..='\u{E01EF}')
}

fn escape_into(line: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => line.push_str("&amp;"),
            '<' => line.push_str("&lt;"),
            '>' => line.push_str("&gt;"),
            c => line.push(c),
        }
    }
}

/// Reads a rendered catalog back: name, and the cleaned description (empty for an entry without one).
pub fn parse(text: &str) -> Vec<(SkillName, String)> {
    let inside =
        text.strip_prefix(OPEN).and_then(|rest| rest.split_once(CLOSE)).map_or("", |(inside, _)| inside);
    inside
        .lines()
        .filter_map(|line| line.strip_prefix("- "))
        .filter_map(|line| {
            let (name, description) = line.split_once(": ").unwrap_or((line, ""));
            let plain = description.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            Some((SkillName::parse(name).ok()?, plain))
        })
        .collect()
}

/// A rough number of tokens, for people and budgets: no tokenizer of any vendor, within about a quarter of the common
/// ones on prose. ASCII: four characters per token; Chinese, Japanese, Korean: one token per character; other scripts:
/// two characters per token.
pub fn estimate_tokens(text: &str) -> u32 {
    let (mut ascii, mut wide, mut other) = (0usize, 0usize, 0usize);
    for c in text.chars() {
        match c {
            c if c.is_ascii() => ascii += 1,
            '\u{1100}'..='\u{11FF}'
            | '\u{2E80}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{FF00}'..='\u{FFEF}'
            | '\u{20000}'..='\u{3FFFF}' => wide += 1,
            _ => other += 1,
        }
    }
    u32::try_from(ascii.div_ceil(4) + wide + other.div_ceil(2)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

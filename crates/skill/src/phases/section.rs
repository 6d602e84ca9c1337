//! The Markdown section of each phase: the heading that says its name, up to the next heading of that rank.

use super::Phase;
use std::collections::HashMap;
use std::ops::Range;

/// Gives every phase its section, if the body has one.
pub(super) fn attach(phases: &mut [Phase], text: &str, body_start: usize) {
    let sections = sections(text, body_start);
    for phase in phases {
        phase.section = sections.get(&key(&phase.name)).cloned();
    }
}

/// What a heading is compared by: `Pre-flight` is `preflight`.
fn key(title: &str) -> String {
    title.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The first section of each name, without its heading, as bytes of the whole file.
fn sections(text: &str, body_start: usize) -> HashMap<String, Range<usize>> {
    let body = text.get(body_start..).unwrap_or_default();
    let mut found: HashMap<String, Range<usize>> = HashMap::new();
    // Sections that have not ended: rank, names, where their content starts. Ranks only grow.
    let mut open: Vec<(usize, Vec<String>, usize)> = Vec::new();
    let mut at = body_start;
    let mut close = |open: &mut Vec<(usize, Vec<String>, usize)>, rank: usize, end: usize| {
        while open.last().is_some_and(|(level, ..)| *level >= rank) {
            if let Some((_, names, start)) = open.pop() {
                for name in names {
                    // Of two sections with one name the upper counts, though the lower may end first.
                    match found.get(&name) {
                        Some(before) if before.start < start => {}
                        _ => {
                            found.insert(name, start..end);
                        }
                    }
                }
            }
        }
    };
    for line in crate::orchestrator::lines_outside_code(body) {
        let (start, end) = (at, at + line.text.len());
        at = end;
        if let Some((rank, title)) = line.heading {
            close(&mut open, rank, start);
            open.push((rank, names(title), end));
        }
    }
    close(&mut open, 0, at);
    found
}

/// `3. Interact`, `Phase 2: interact` and `Phase: interact` name the phase `interact`, too.
fn names(title: &str) -> Vec<String> {
    let title = title.trim().trim_matches(['*', '`']);
    let mut names = vec![key(title)];
    let unnumbered = title.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '));
    let lower = title.to_lowercase();
    if lower.starts_with("phase") || title.starts_with("阶段") {
        names.extend(title.split_once([':', '：']).map(|(_, name)| key(name)));
    } else if unnumbered.len() < title.len() {
        names.push(key(unnumbered));
    }
    names.retain(|name| !name.is_empty());
    names
}

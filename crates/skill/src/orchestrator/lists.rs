//! Lists of skills in a descriptor: one name per line, in any of the ways people write lists.

use super::markdown::{InCode, lines_outside_code};
use super::report::Report;
use super::sections::Section;
use super::{Allowed, ListedSkill};
use crate::place::Place;
use fugato_model::{Code, SkillName, words};
use std::collections::HashSet;

/// Reads the list of a section. A wrong entry is told and left out: a mistake never allows more.
pub(super) fn read(
    source: &str,
    section: &Section<'_>,
    own: Option<&SkillName>,
    report: &mut Report<'_>,
) -> Listed {
    let mut listed = Listed::default();
    let mut words_alone: Vec<(Allowed, Place)> = Vec::new();
    let mut seen = HashSet::new();
    let mut at = section.body.start;
    let body = source.get(section.body.start..section.body.end).unwrap_or_default();
    for line in lines_outside_code(body) {
        let start = at;
        at += line.text.len();
        if line.code != InCode::Outside || line.heading.is_some() {
            continue;
        }
        let Some(name) = item(line.text) else { continue };
        let from = start + line.text.find(name).unwrap_or_default();
        let place = Place::new(from, from + name.len());
        listed.count += 1;
        match name {
            "*" | "-" | "+" => unclear(name, place, report),
            "all" => words_alone.push((Allowed::All, place)),
            "none" => words_alone.push((Allowed::Only(Vec::new()), place)),
            name if own.is_some_and(|own| own.as_str() == name) => itself(name, place, report),
            name => {
                if seen.insert(name.to_owned()) {
                    listed.names.push(ListedSkill { name: name.to_owned(), place });
                }
            }
        }
    }
    if let Some((allowed, place)) = words_alone.pop() {
        if listed.count == 1 {
            listed.word = Some(allowed);
        } else {
            let message =
                words!("`all` and `none` stand alone in their list", "`all` 和 `none` 必须单独使用");
            let hint = words!("delete the other lines, or this one", "删除其他行，或删除这一行");
            report.error(Code::F1203, place, message, hint);
        }
    }
    listed
}

/// What a list says.
#[derive(Debug, Default)]
pub(super) struct Listed {
    names: Vec<ListedSkill>,
    /// `all` or `none`.
    word: Option<Allowed>,
    /// Lines with something on them.
    count: usize,
}

impl Listed {
    /// There is nothing in it, not even a mistake.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn allowed(self) -> Allowed {
        self.word.unwrap_or(Allowed::Only(self.names))
    }
}

/// What a line names, without bullet or number, remark and decoration. `None`: nothing.
pub(super) fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    if matches!(line, "*" | "-" | "+") {
        return Some(line);
    }
    if line.starts_with("<!--") && line.ends_with("-->") {
        return None;
    }
    let text = without_marker(line);
    let text = [" (", "（", " - ", " – ", " — ", ": ", "："]
        .iter()
        .filter_map(|remark| text.find(remark))
        .chain(text.starts_with('(').then_some(0))
        .min()
        .map_or(text, |at| text.get(..at).unwrap_or_default());
    let text = text.trim().trim_end_matches([',', ';', '.', ':']).trim_end();
    let bare = text.trim_matches(['`', '"', '\'', '_']);
    let bare = if bare.len() > 1 { bare.trim_matches('*') } else { bare };
    let bare = bare.trim_matches('`').trim();
    if bare.is_empty() { (!text.is_empty()).then_some(text) } else { Some(bare) }
}

fn without_marker(line: &str) -> &str {
    if let Some(rest) = line.strip_prefix(['-', '*', '+'])
        && rest.starts_with([' ', '\t'])
    {
        return rest.trim_start();
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..).unwrap_or_default();
    match rest.strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 && rest.starts_with([' ', '\t']) => rest.trim_start(),
        _ => line,
    }
}

fn unclear(found: &str, place: Place, report: &mut Report<'_>) {
    let message = words!("`{found}` is not the name of a skill", "`{found}` 不是技能名称");
    let hint =
        words!("write `- all` for every skill, or `- none`", "要全部技能写 `- all`，不要任何技能写 `- none`");
    report.error(Code::F1203, place, message, hint);
}

fn itself(name: &str, place: Place, report: &mut Report<'_>) {
    let message = words!("`{name}` allows itself", "`{name}` 允许了自身");
    report.error(Code::F1205, place, message, words!("delete this line", "删除这一行"));
}

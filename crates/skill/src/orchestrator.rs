//! Recognising an `oskill.md`: Markdown whose headings are its fields. Name and description only; the sections that
//! say how it runs are read when it runs.

use crate::frontmatter::{self, BYTE_ORDER_MARK, SplitError};
use crate::yaml::Node;
use crate::{Kind, Reading, SkillHead, SkillText, document, limits};
use fugato_model::{Code, Diagnostic, SkillName, words};

pub(crate) fn read(text: SkillText<'_>) -> Reading {
    let source = match document::decode(text) {
        Ok(source) => source,
        Err(diagnostic) => {
            return Reading { diagnostics: vec![*diagnostic], head: head(), ..Reading::default() };
        }
    };
    match frontmatter::split(source) {
        // Frontmatter is allowed, and read like that of a skill; headings fill what it leaves open.
        Ok(_) => with_frontmatter(text, source),
        Err(SplitError::Missing { .. } | SplitError::Unclosed { .. }) => {
            let start = if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
            finish(text, source, start, head(), Vec::new())
        }
    }
}

fn head() -> SkillHead {
    SkillHead { kind: Kind::Orchestrator, ..SkillHead::default() }
}

fn with_frontmatter(text: SkillText<'_>, source: &str) -> Reading {
    match document::open(text) {
        Ok(opened) => {
            let field = |key: &str| opened.root.get(key).and_then(Node::text).map(str::trim);
            let mut head = head();
            head.description = field("description").unwrap_or_default().to_owned();
            head.declared_name = field("name").filter(|name| !name.is_empty()).map(str::to_owned);
            head.internal = opened.root.get("internal").and_then(Node::as_bool) == Some(true);
            finish(text, source, opened.body_start, head, opened.diagnostics)
        }
        Err(broken) => Reading {
            diagnostics: vec![broken.diagnostic],
            body_start: broken.body_start,
            head: head(),
            usable: false,
        },
    }
}

/// Fills name and description from headings and checks that both are there.
fn finish(
    text: SkillText<'_>,
    source: &str,
    body_start: usize,
    mut head: SkillHead,
    mut diagnostics: Vec<Diagnostic>,
) -> Reading {
    let found = scan(source.get(body_start..).unwrap_or_default());
    let declared = head.declared_name.take().or(found.title).unwrap_or_else(|| text.dir_name.to_owned());
    // A heading is written for people (`# Trip Planner`), so its canonical form is the name without a complaint.
    head.name = SkillName::parse(&declared).ok().or_else(|| SkillName::suggest(&declared));
    if head.name.as_ref().is_none_or(|name| name.as_str() != declared) {
        head.declared_name = Some(declared.clone());
    }
    if head.name.is_none() {
        let shown = crate::problems::shorten(&declared);
        let message = words!("`{shown}` cannot be made a skill name", "`{shown}` 无法作为技能名称");
        let diagnostic = Diagnostic::error(Code::F0109, text.path, message).field("name").at(source, 0, 1);
        diagnostics.push(diagnostic.hint(words!("# my-orchestrator", "# my-orchestrator")));
    }
    if head.description.is_empty() {
        head.description = found.description;
    }
    if head.description.is_empty() {
        let message = words!("there is no `## Description` section", "缺少 `## Description` 小节");
        diagnostics.push(
            Diagnostic::error(Code::F0113, text.path, message)
                .field("description")
                .at(source, 0, source.lines().next().unwrap_or_default().len())
                .hint(words!(
                    "## Description\nWhat it does, and when to use it.",
                    "## Description\n它做什么、什么时候用。"
                )),
        );
    }
    if head.description.chars().any(fugato_model::is_tag_block) {
        let shown = fugato_model::show_code_points(&head.description, fugato_model::is_tag_block);
        let message = words!(
            "the description has invisible tag characters ({shown})",
            "描述含有不可见的标签字符（{shown}）"
        );
        diagnostics.push(Diagnostic::error(Code::F0116, text.path, message).field("description"));
        head.description.clear();
    }
    let usable = head.name.is_some() && !head.description.is_empty();
    Reading { head, diagnostics, usable, body_start }
}

#[derive(Default)]
struct Headings {
    title: Option<String>,
    description: String,
}

/// Walks the lines of the Markdown body.
fn scan(body: &str) -> Headings {
    let mut found = Headings::default();
    let mut in_description = false;
    let mut chars = 0;
    for line in lines_outside_code(body) {
        if let Some((level, title)) = line.heading {
            if level == 1 && found.title.is_none() && !title.is_empty() {
                found.title = Some(title.to_owned());
            }
            // The first section that says something is the description.
            let describes = matches!(section_key(title).as_str(), "description" | "summary");
            in_description = level >= 2 && found.description.is_empty() && describes;
            continue;
        }
        let text = line.text.trim();
        if in_description && !text.is_empty() && chars < limits::KEPT_DESCRIPTION_CHARS {
            if !found.description.is_empty() {
                found.description.push(' ');
            }
            found.description.extend(text.chars().take(limits::KEPT_DESCRIPTION_CHARS - chars));
            chars += text.chars().count() + 1;
        }
    }
    found
}

/// A line with its break, and its rank and title if it is a heading.
pub(crate) struct Line<'a> {
    pub text: &'a str,
    pub heading: Option<(usize, &'a str)>,
}

/// Every line of a Markdown text; what stands in a code fence is not a heading.
pub(crate) fn lines_outside_code(body: &str) -> impl Iterator<Item = Line<'_>> {
    let mut fence: Option<(char, usize)> = None;
    body.split_inclusive('\n').map(move |text| {
        let line = text.trim_end_matches(['\n', '\r']);
        if fence.is_none()
            && let Some(heading) = heading(line)
        {
            return Line { text, heading: Some(heading) };
        }
        match (fence, fence_marker(line)) {
            (Some((open, width)), Some((close, closing)))
                if open == close && closing >= width && line.trim_matches([open, ' ', '\t']).is_empty() =>
            {
                fence = None;
            }
            (None, marker @ Some(_)) => fence = marker,
            _ => {}
        }
        Line { text, heading: None }
    })
}

/// Three or more backticks or tildes, indented less than a code block.
fn fence_marker(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start_matches(' ');
    let first = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = text.chars().take_while(|c| *c == first).count();
    (width >= 3 && line.len() - text.len() < 4).then_some((first, width))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let rest = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t', '\r']));
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

/// Lower case, with runs of anything but letters and digits as one hyphen.
pub(crate) fn section_key(title: &str) -> String {
    let mut key = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            key.push(c);
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    key.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(dir_name: &str, source: &str) -> Reading {
        read(SkillText { dir_name, path: "oskill.md", bytes: source.as_bytes() })
    }

    #[test]
    fn headings_give_name_and_description() {
        let trip = reading(
            "x",
            "# Trip Planner\n\nIntro.\n\n## Description\nPlans a trip,\nstep by step.\n\n## Allowed Skills\n- a\n",
        );
        assert!(trip.usable, "{:?}", trip.diagnostics);
        assert_eq!(trip.head.name.unwrap().as_str(), "trip-planner");
        assert_eq!(trip.head.declared_name.as_deref(), Some("Trip Planner"));
        assert_eq!(trip.head.description, "Plans a trip, step by step.");
        assert_eq!(trip.head.kind, Kind::Orchestrator);
    }

    #[test]
    fn the_directory_names_what_has_no_title_and_summary_is_a_description() {
        let plain = reading("helper", "\u{feff}## Summary\r\nHelps.\r\n");
        assert_eq!(
            (plain.head.name.unwrap().as_str(), plain.head.description.as_str()),
            ("helper", "Helps.")
        );
        assert_eq!(plain.head.declared_name, None);
    }

    #[test]
    fn headings_in_code_fences_do_not_count() {
        let source = "```md\n# Wrong\n## Description\nNo.\n~~~\n```\n# right\n## Description\nYes.\n";
        let fenced = reading("x", source);
        assert_eq!(fenced.head.name.unwrap().as_str(), "right");
        assert_eq!(fenced.head.description, "Yes.");
    }

    #[test]
    fn frontmatter_wins_over_headings() {
        let both = reading(
            "x",
            "---\nname: front\ndescription: From the front.\n---\n# Title\n## Description\nNo.\n",
        );
        assert_eq!(both.head.name.unwrap().as_str(), "front");
        assert_eq!(both.head.description, "From the front.");
    }

    #[test]
    fn without_a_description_it_is_not_usable() {
        let none = reading("x", "# x\n");
        assert!(!none.usable);
        assert_eq!(none.diagnostics[0].code, Code::F0113);
        assert_eq!(none.head.kind, Kind::Orchestrator);
        assert!(!reading("x", "---\nname: [\n---\n# x\n").usable);
    }
}

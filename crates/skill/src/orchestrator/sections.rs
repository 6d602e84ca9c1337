//! Cuts a descriptor into its sections: which heading opens which field, and what stands below it.

use super::markdown::{Line, lines_outside_code, section_key};
use super::report::Report;
use crate::place::Place;
use fugato_model::{Code, Diagnostic, Severity, Span, nearest, words};

/// The fields of a descriptor that headings open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Description,
    Instructions,
    Preparation,
    Allowed,
    PrepAllowed,
    Session,
    Sop,
}

/// Every heading of a field as a person writes it, the usual one first.
const HEADINGS: [(Field, &[&str]); 7] = [
    (Field::Description, &["Description", "Summary"]),
    (Field::Instructions, &["Instructions", "Guidance", "Overview", "Orchestration Guidance"]),
    (Field::Preparation, &["Preparation", "Prep", "Context Prep"]),
    (Field::Allowed, &["Allowed Skills", "Skill Allowlist", "Skills"]),
    (Field::PrepAllowed, &["Allowed-Prep-Skills", "Allowed Preparation Skills", "Prep Skills"]),
    (Field::Session, &["Session", "Session Type"]),
    (Field::Sop, &["SOP"]),
];

/// One section.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    pub field: Option<Field>,
    pub title: &'a str,
    /// The heading's line.
    pub heading: Place,
    /// What follows, up to the next section.
    pub body: Place,
    /// `## Session: loop` says it in the heading.
    pub inline: Option<&'a str>,
    level: usize,
}

/// The first `# ` heading, and the sections.
#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    pub title: Option<&'a str>,
    sections: Vec<Section<'a>>,
}

impl<'a> Outline<'a> {
    pub(super) fn read(source: &'a str, body_start: usize) -> Self {
        let mut outline = Self::default();
        let mut is_open = false;
        let mut at = body_start;
        for line in lines_outside_code(source.get(body_start..).unwrap_or_default()) {
            let start = at;
            at += line.text.len();
            if let Some(heading) = line.heading {
                match outline.opens(heading, is_open) {
                    Opens::Section { field, inline } => {
                        let (level, title) = heading;
                        let heading = Place::new(start, start + line.text.trim_end().len());
                        let body = Place::new(at, at);
                        outline.sections.push(Section { field, title, heading, body, inline, level });
                        is_open = true;
                        continue;
                    }
                    Opens::Title => {
                        outline.title = outline.title.or(Some(heading.1).filter(|title| !title.is_empty()));
                        is_open = false;
                    }
                    Opens::Nothing => {}
                }
            }
            if is_open && let Some(section) = outline.sections.last_mut() {
                section.body.end = at;
            }
        }
        outline
    }

    fn opens(&self, (level, title): (usize, &'a str), is_open: bool) -> Opens<'a> {
        let current = self.sections.last().filter(|_| is_open);
        let is_text = current.and_then(|section| section.field).is_some_and(Field::is_text);
        if level == 1 {
            // Inside a text it is a part of the text: a prompt with headings, a comment of a program.
            return if is_text && (self.title.is_some() || self.is_in_program()) {
                Opens::Nothing
            } else {
                Opens::Title
            };
        }
        let (key, inline) = match title.split_once(':') {
            Some((before, after)) if field_of(&section_key(before)) == Some(Field::Session) => {
                (section_key(before), Some(after.trim()).filter(|after| !after.is_empty()))
            }
            _ => (section_key(title), None),
        };
        let field = field_of(&key);
        let is_part = current.is_some_and(|section| section.field.is_none() && section.level < level);
        if field.is_none() && level > 2 && (is_text || is_part) {
            return Opens::Nothing;
        }
        Opens::Section { field, inline }
    }

    fn is_in_program(&self) -> bool {
        self.sections.last().is_some_and(|section| section.field == Some(Field::Sop))
    }

    /// The first section of a field.
    pub(super) fn get(&self, field: Field) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.field == Some(field))
    }

    /// Two sections of one field, and sections that no field has.
    pub(super) fn check(&self, report: &mut Report<'_>) {
        let mut firsts: Vec<(Field, &Section<'_>)> = Vec::new();
        for section in &self.sections {
            let Some(field) = section.field else {
                unknown(section, report);
                continue;
            };
            match firsts.iter().find(|(seen, _)| *seen == field) {
                Some((_, first)) => twice(first, section, report),
                None => firsts.push((field, section)),
            }
        }
    }
}

enum Opens<'a> {
    Title,
    Section {
        field: Option<Field>,
        inline: Option<&'a str>,
    },
    /// It is a part of the text around it.
    Nothing,
}

impl Field {
    /// Read as a whole, with headings inside.
    fn is_text(self) -> bool {
        matches!(self, Self::Instructions | Self::Preparation | Self::Sop)
    }

    /// The heading to write.
    pub(super) fn heading(self) -> &'static str {
        let headings = HEADINGS.iter().find(|(field, _)| *field == self);
        headings.and_then(|(_, headings)| headings.first()).copied().unwrap_or_default()
    }
}

/// The field that a heading of this key opens.
pub(super) fn field_of(key: &str) -> Option<Field> {
    let is_named = |headings: &[&str]| headings.iter().any(|heading| section_key(heading) == key);
    HEADINGS.iter().find(|(_, headings)| is_named(headings)).map(|(field, _)| *field)
}

fn twice(first: &Section<'_>, second: &Section<'_>, report: &mut Report<'_>) {
    report.add(Code::F1207, Severity::Error, |path, source| {
        let line = |place: Place| Span::of(source, place.start, place.end).line;
        let lines = (line(first.heading), line(second.heading));
        let (one, other) = (crate::problems::shorten(first.title), crate::problems::shorten(second.title));
        let message = words!(
            "`{one}` (line {}) and `{other}` (line {}) fill one field",
            "`{one}`（第 {} 行）和 `{other}`（第 {} 行）是同一个字段",
            lines.0,
            lines.1
        );
        Diagnostic::error(Code::F1207, path, message)
            .at(source, second.heading.start, second.heading.end)
            .related(source, first.heading.start, first.heading.end, words!("the other one", "另一个"))
            .hint(words!("keep one of the two sections", "只保留一个小节"))
    });
}

fn unknown(section: &Section<'_>, report: &mut Report<'_>) {
    let title = crate::problems::shorten(section.title);
    let known = HEADINGS.iter().flat_map(|(_, headings)| headings.iter().copied());
    let hint = match nearest(section.title, known) {
        Some(near) => words!("did you mean `## {near}`?", "是不是 `## {near}`？"),
        None => words!(
            "make it `### {title}` below `## Instructions` if it is meant for the model, or delete it",
            "若是写给模型的，改成 `## Instructions` 之下的 `### {title}`，否则删除"
        ),
    };
    let message = words!("nothing reads the section `{title}`", "小节 `{title}` 不会被读取");
    report.warning(Code::F1208, section.heading, message, hint);
}

/// A misspelt `### Allowed Skils` inside a text is part of that text; tell it all the same.
pub(super) fn misplaced(source: &str, body: Place, report: &mut Report<'_>) {
    let mut at = body.start;
    for Line { text, heading, .. } in lines_outside_code(source.get(body.start..body.end).unwrap_or_default())
    {
        let place = Place::new(at, at + text.trim_end().len());
        at += text.len();
        let Some((2.., title)) = heading else { continue };
        let known = HEADINGS.iter().flat_map(|(_, headings)| headings.iter().copied());
        let is_close = |heading: &str| strsim::osa_distance(&section_key(heading), &section_key(title)) <= 2;
        if let Some(near) = known.filter(|heading| heading.len() > 5).find(|heading| is_close(heading)) {
            let title = crate::problems::shorten(title);
            let message = words!(
                "`{title}` is read as a part of the text around it",
                "`{title}` 被当作周围文字的一部分"
            );
            let hint = words!("did you mean `## {near}`?", "是不是 `## {near}`？");
            report.warning(Code::F1208, place, message, hint);
        }
    }
}

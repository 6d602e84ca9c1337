//! The program a descriptor carries itself, so that no model has to plan.

use super::markdown::{InCode, lines_outside_code};
use super::report::Report;
use super::sections::{Field, Outline, Section};
use super::{Allowed, Session};
use crate::place::Place;
use crate::sop::{INPUT, Program, SopError};
use fugato_model::{Code, Severity, words};

/// Does a preparation give the program variables?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prepared {
    Yes,
    No,
}

/// Reads and checks the program of a `## SOP` section.
pub(super) fn read(
    source: &str,
    section: &Section<'_>,
    session: Session,
    allowed: &Allowed,
    prepared: Prepared,
    report: &mut Report<'_>,
) -> Option<Program> {
    if session == Session::Loop {
        let message = words!("a loop session has no SOP program", "loop 会话没有 SOP 程序");
        let hint = words!(
            "delete this section, or write `sop` in `## Session`",
            "删除这个小节，或在 `## Session` 中写 `sop`"
        );
        report.error(Code::F1206, section.heading, message, hint);
    }
    let part = program_place(source, section, report)?;
    // What preparation will find out has names that nobody knows yet.
    let given = |name: &str| (name == INPUT || prepared == Prepared::Yes).then(|| "".into());
    let program = match Program::parse_inside(source, part, &given) {
        Ok(program) => program,
        Err(errors) => {
            tell(&errors, report);
            return None;
        }
    };
    if program.is_empty() {
        let message = words!("the SOP section has no program", "SOP 小节中没有程序");
        let hint = words!("@result final_answer \"…\"", "@result final_answer \"…\"");
        report.error(Code::F1209, section.heading, message, hint);
        return None;
    }
    // Which skills there are is known here only if they are listed.
    if let Allowed::Only(names) = allowed {
        let known: Vec<&str> = names.iter().map(|listed| listed.name.as_str()).collect();
        tell(&program.unknown_commands(&known), report);
    }
    Some(program)
}

/// A program inside of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramPart {
    /// Where it stands.
    pub place: Place,
    /// A preparation gives it variables whose names nobody knows yet.
    pub is_prepared: bool,
}

/// Where the program of a descriptor stands, whatever else is wrong there. `None`: there is no `## SOP` section.
pub fn program_part(source: &str) -> Option<ProgramPart> {
    let start = crate::frontmatter::split(source).map_or(0, |split| split.body_start);
    let outline = Outline::read(source, start);
    let section = outline.get(Field::Sop)?;
    let preparation = outline.get(Field::Preparation);
    let preparation = preparation.and_then(|it| source.get(it.body.start..it.body.end)).unwrap_or_default();
    // Of two blocks `skill check` tells; read as one text, the fences between them are told as well.
    let place = block(source, section).ok().flatten().unwrap_or(section.body);
    Some(ProgramPart { place, is_prepared: !preparation.trim().is_empty() })
}

pub(super) fn tell(errors: &[SopError], report: &mut Report<'_>) {
    for error in errors {
        report.add(error.code(), Severity::Error, |path, source| error.diagnostic(path, source).field("SOP"));
    }
}

/// The whole section, or what stands in its code block: the rest is then prose.
fn program_place(source: &str, section: &Section<'_>, report: &mut Report<'_>) -> Option<Place> {
    match block(source, section) {
        Ok(block) => Some(block.unwrap_or(section.body)),
        Err(second) => {
            let message = words!("the SOP section has two code blocks", "SOP 小节中有两个代码块");
            let hint = words!("put the program into one block", "把程序写在一个代码块里");
            report.error(Code::F1209, second, message, hint);
            None
        }
    }
}

/// What stands in the code block of a section, if it has one. The error is the line that opens a second one.
fn block(source: &str, section: &Section<'_>) -> Result<Option<Place>, Place> {
    let body = source.get(section.body.start..section.body.end).unwrap_or_default();
    let mut at = section.body.start;
    let mut block: Option<Place> = None;
    for line in lines_outside_code(body) {
        let start = at;
        at += line.text.len();
        match line.code {
            InCode::Opens if block.is_some() => {
                return Err(Place::new(start, start + line.text.trim_end().len()));
            }
            InCode::Opens => block = Some(Place::new(at, at)),
            InCode::Inside => {
                if let Some(block) = &mut block {
                    block.end = at;
                }
            }
            InCode::Outside | InCode::Closes => {}
        }
    }
    Ok(block)
}

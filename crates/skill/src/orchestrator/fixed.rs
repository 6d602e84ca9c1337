//! The program a descriptor carries itself, so that no model has to plan.

use super::markdown::{InCode, lines_outside_code};
use super::report::Report;
use super::sections::Section;
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

pub(super) fn tell(errors: &[SopError], report: &mut Report<'_>) {
    for error in errors {
        report.add(error.code(), Severity::Error, |path, source| error.diagnostic(path, source).field("SOP"));
    }
}

/// The whole section, or what stands in its code block: the rest is then prose.
fn program_place(source: &str, section: &Section<'_>, report: &mut Report<'_>) -> Option<Place> {
    let body = source.get(section.body.start..section.body.end).unwrap_or_default();
    let mut at = section.body.start;
    let mut block: Option<Place> = None;
    for line in lines_outside_code(body) {
        let start = at;
        at += line.text.len();
        match line.code {
            InCode::Opens if block.is_some() => {
                let message = words!("the SOP section has two code blocks", "SOP 小节中有两个代码块");
                let hint = words!("put the program into one block", "把程序写在一个代码块里");
                let place = Place::new(start, start + line.text.trim_end().len());
                report.error(Code::F1209, place, message, hint);
                return None;
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
    Some(block.unwrap_or(section.body))
}

//! Which session a descriptor asks for.

use super::Session;
use super::lists::item;
use super::report::Report;
use super::sections::Section;
use crate::place::Place;
use fugato_model::{Code, nearest, words};

/// `loop` is a loop session; everything else is SOP, with a warning for what looks like a misspelt word.
pub(super) fn read(source: &str, section: &Section<'_>, report: &mut Report<'_>) -> Session {
    let body = source.get(section.body.start..section.body.end).unwrap_or_default();
    let said = section.inline.or_else(|| body.lines().find_map(item)).map(|said| item(said).unwrap_or(said));
    let Some(said) = said else { return Session::Sop };
    let word = said.to_lowercase();
    if word == "loop" {
        return Session::Loop;
    }
    if let Some(near) = nearest(&word, ["loop", "sop"]).filter(|_| !word.starts_with("sop")) {
        let place = match section.inline {
            Some(_) => section.heading,
            None => {
                let from = section.body.start + body.find(said).unwrap_or_default();
                Place::new(from, from + said.len())
            }
        };
        let said = crate::problems::shorten(said);
        let message = words!(
            "session `{said}` is read as `sop` (`loop` or `sop` is expected)",
            "会话 `{said}` 按 `sop` 处理（应为 `loop` 或 `sop`）"
        );
        let hint = words!("did you mean `{near}`?", "是不是 `{near}`？");
        report.warning(Code::F1206, place, message, hint);
    }
    Session::Sop
}

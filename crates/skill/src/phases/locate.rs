//! Where the phases of a skill stand: in the frontmatter, or in the side file it names.

use super::empty_words;
use super::fields::{expected, node_place, place};
use super::report::File;
use crate::document::{self, Document};
use crate::limits::{PHASES_FILE_BYTES, PHASES_NODES};
use crate::place::Place;
use crate::problems::{self, shorten};
use crate::requote;
use crate::yaml::{Node, Problem, Resolved};
use fugato_model::{Code, Diagnostic, words};

/// The list of phases and the file it is in.
pub(super) struct Located<'a> {
    pub list: Node,
    pub file: File<'a>,
    pub debug: bool,
    pub diagnostics: Vec<Diagnostic>,
}

/// Finds the list. `Err`: there is none to run, with the reason if that is worth saying.
pub(super) fn locate<'a>(
    document: &Document<'_>,
    skill: File<'a>,
    side_file: Option<(&'a str, &'a str)>,
) -> Result<Located<'a>, Vec<Diagnostic>> {
    let debug = is_debug(&document.root);
    let own = document.root.entry("phases").filter(|entry| !entry.value.is_null());
    let named = side_file_field(&document.root);
    if let Some(entry) = own {
        let mut diagnostics = Vec::new();
        if let Some((field, node)) = named {
            // Which of the two is meant would be a guess, and other clients would guess otherwise.
            let message = words!(
                "the skill has `phases` of its own and names a file with phases",
                "技能自身有 `phases`，又指定了阶段文件"
            );
            let file = shorten(node.text().unwrap_or_default());
            let note = words!("and here", "以及这里");
            let error = skill.error(Code::F0801, node_place(node), message).field(field);
            let error = error.related(skill.text, entry.key.start, entry.key.end, note);
            diagnostics.push(error.hint(words!(
                "delete `phases` here, or the line that names `{file}`",
                "删除这里的 `phases`，或删除指定 `{file}` 的那一行"
            )));
        }
        let list = as_list(&entry.value, place(entry), skill)?;
        return Ok(Located { list, file: skill, debug, diagnostics });
    }
    match (side_file, named) {
        (Some((path, text)), _) => side(File { path, text }, debug),
        (None, Some((field, node))) => {
            let file = node.text().unwrap_or_default();
            let missing = problems::side_file_missing(skill.path, field, &shorten(file));
            Err(vec![missing.at(skill.text, node.start, node.end)])
        }
        (None, None) => Err(match document.root.entry("phases") {
            Some(entry) => vec![skill.warning(Code::F0801, place(entry), empty_words()).field("phases")],
            None => Vec::new(),
        }),
    }
}

fn is_debug(root: &Node) -> bool {
    let metadata = root.get("metadata").and_then(|metadata| metadata.get("fugato-debug"));
    [root.get("debug"), metadata].into_iter().flatten().any(|node| node.as_bool() == Some(true))
}

fn side_file_field(root: &Node) -> Option<(&'static str, &Node)> {
    let metadata = root.get("metadata")?;
    [("metadata.fugato-phases", "fugato-phases"), ("metadata.phases_file", "phases_file")]
        .into_iter()
        .find_map(|(field, key)| Some((field, metadata.get(key).filter(|node| !node.is_null())?)))
}

/// Reads the side file: `phases:` in a map, or the list itself.
fn side(file: File<'_>, debug: bool) -> Result<Located<'_>, Vec<Diagnostic>> {
    if file.text.len() > PHASES_FILE_BYTES {
        let limit = PHASES_FILE_BYTES / 1024;
        let message = words!("the file is larger than {limit} KiB", "文件超过 {limit} KiB");
        return Err(vec![Diagnostic::error(Code::F0812, file.path, message)]);
    }
    let mark = if file.text.starts_with('\u{FEFF}') { 3 } else { 0 };
    let yaml = file.text.get(mark..).unwrap_or_default();
    let (root, requoted) =
        requote::parse_up_to(yaml, mark, PHASES_NODES).map_err(|error| match error.problem {
            Problem::TooManyNodes => {
                let message = words!(
                    "the file has more than {PHASES_NODES} values",
                    "文件中的值超过 {PHASES_NODES} 个"
                );
                vec![file.error(Code::F0812, Place::new(error.start, error.end), message)]
            }
            _ => vec![problems::yaml(file.path, file.text, &error)],
        })?;
    let diagnostics =
        requoted.into_iter().map(|value| document::unquoted(file.path, file.text, value)).collect();
    let debug = debug || is_debug(&root);
    let list = match (root.entries(), root.entry("phases")) {
        (Some(_), Some(entry)) => as_list(&entry.value, place(entry), file)?,
        (Some(_), None) => {
            let message = words!("the file has no `phases:`", "文件里没有 `phases:`");
            let diagnostic = file.error(Code::F0801, Place::new(root.start, root.start), message);
            return Err(vec![diagnostic.hint(words!("phases:\n  - name: …", "phases:\n  - name: …"))]);
        }
        (None, _) => as_list(&root, node_place(&root), file)?,
    };
    Ok(Located { list, file, debug, diagnostics })
}

fn as_list(node: &Node, place: Place, file: File<'_>) -> Result<Node, Vec<Diagnostic>> {
    match node.resolve() {
        Resolved::Sequence if node.items().is_some_and(|items| !items.is_empty()) => Ok(node.clone()),
        Resolved::Sequence | Resolved::Null => {
            Err(vec![file.warning(Code::F0801, place, empty_words()).field("phases")])
        }
        _ => {
            let message = expected(&words!("a list of phases", "阶段列表"), node);
            let diagnostic = file.error(Code::F0801, place, message).field("phases");
            Err(vec![diagnostic.hint(words!(
                "phases:\n  - name: setup\n    inline: true",
                "phases:\n  - name: setup\n    inline: true"
            ))])
        }
    }
}

//! The lenient reading of a skill file: what loading uses. The signature other rooms build on.

use crate::fields::{Fields, cut_at_commas, cut_tools};
use crate::limits::COMPATIBILITY_CHARS;
use crate::yaml::{Entry, Node, Resolved};
use crate::{Kind, SkillHead, description, document, fields, identity, orchestrator};
use fugato_model::{Code, Diagnostic, RelPath, words};

/// One skill file and what surrounds it.
#[derive(Clone, Copy, Debug)]
pub struct SkillText<'a> {
    /// Name of the directory the file is in.
    pub dir_name: &'a str,
    /// The file as diagnostics should name it.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

/// What a reading found. Always a value: a broken file has diagnostics and is not usable.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub head: SkillHead,
    pub diagnostics: Vec<Diagnostic>,
    pub usable: bool,
    /// Byte offset at which the Markdown body starts.
    pub body_start: usize,
}

/// The names a file that makes its directory a skill may have, in order of preference.
pub const SKILL_FILE_NAMES: [&str; 3] = ["SKILL.md", "skill.md", ORCHESTRATOR_FILE];
const ORCHESTRATOR_FILE: &str = "oskill.md";

/// Is this the name of a file that makes its directory a skill?
pub fn is_skill_file(file_name: &str) -> bool {
    SKILL_FILE_NAMES.contains(&file_name)
}

/// Reads a skill file as its name says: [`read_orchestrator`] or [`read_skill`].
pub fn read_named(file_name: &str, text: SkillText<'_>) -> Reading {
    if file_name == ORCHESTRATOR_FILE { read_orchestrator(text) } else { read_skill(text) }
}

/// Reads a `SKILL.md` (or `skill.md`).
///
/// Not usable only without parseable frontmatter, without a description, with text hidden in the description, or
/// without any identity; everything else is a diagnostic of a skill that loads.
pub fn read_skill(text: SkillText<'_>) -> Reading {
    let document = match document::open(text) {
        Ok(document) => document,
        Err(broken) => {
            let diagnostics = vec![broken.diagnostic];
            return Reading { diagnostics, body_start: broken.body_start, ..Reading::default() };
        }
    };
    let mut fields = Fields { path: text.path, source: document.source, diagnostics: document.diagnostics };
    let known = Known::sort(document.root.entries().unwrap_or_default());
    let identity = identity::read(&mut fields, known.name, text.dir_name);
    let description = description::read(&mut fields, known.description);
    let usable = identity.name.is_some() && description.is_some();
    let mut head = SkillHead {
        name: identity.name,
        declared_name: identity.declared,
        description: description.unwrap_or_default(),
        ..SkillHead::default()
    };
    for entry in &known.others {
        read_field(&mut fields, &mut head, entry);
    }
    if !known.unknown.is_empty() {
        fields.unknown(&known.unknown, &|key| document.root.entry(key).is_some());
    }
    Reading { head, diagnostics: fields.diagnostics, usable, body_start: document.body_start }
}

/// Reads an `oskill.md` to list and check it. What it says to whoever runs it: [`orchestrator::read_descriptor`].
pub fn read_orchestrator(text: SkillText<'_>) -> Reading {
    orchestrator::read(text)
}

/// The entries of the frontmatter by what reads them.
#[derive(Default)]
struct Known<'a> {
    name: Option<&'a Entry>,
    description: Option<&'a Entry>,
    others: Vec<&'a Entry>,
    unknown: Vec<&'a Entry>,
}

impl<'a> Known<'a> {
    fn sort(entries: &'a [Entry]) -> Self {
        let mut known = Self::default();
        for entry in entries {
            match entry.name() {
                "name" => known.name = Some(entry),
                "description" => known.description = Some(entry),
                key if fields::is_known(key) => known.others.push(entry),
                _ => known.unknown.push(entry),
            }
        }
        known
    }
}

fn read_field(fields: &mut Fields<'_>, head: &mut SkillHead, entry: &Entry) {
    match entry.name() {
        "license" => head.license = fields.text("license", entry),
        "compatibility" => head.compatibility = compatibility(fields, entry),
        "allowed-tools" => head.allowed_tools = fields.list("allowed-tools", entry, cut_tools),
        "tags" => add_tags(&mut head.tags, fields.list("tags", entry, cut_at_commas)),
        "version" => head.version = head.version.take().or(fields.text("version", entry)),
        "internal" => head.internal = fields.boolean("internal", entry).unwrap_or_default(),
        "disable-model-invocation" => {
            head.model_hidden = fields.boolean("disable-model-invocation", entry).unwrap_or_default();
        }
        "user-invocable" => head.user_hidden = fields.boolean("user-invocable", entry) == Some(false),
        "debug" => {
            fields.boolean("debug", entry);
        }
        "phases" => phases(fields, head, entry),
        "metadata" => metadata(fields, head, entry),
        // Text that other clients act on; only its shape is looked at.
        field @ ("when_to_use" | "model" | "context" | "agent" | "author") => {
            fields.text(field, entry);
        }
        field @ "disallowed-tools" => {
            fields.list(field, entry, cut_tools);
        }
        // `argument-hint: [file]` is a list to YAML; `hooks`, `arguments` and `paths` have many accepted shapes.
        _ => {}
    }
}

fn compatibility(fields: &mut Fields<'_>, entry: &Entry) -> Option<String> {
    let text = fields.text("compatibility", entry)?;
    let chars = text.chars().count();
    if chars > COMPATIBILITY_CHARS {
        let message = words!(
            "`compatibility` has {chars} characters (limit {COMPATIBILITY_CHARS})",
            "`compatibility` 有 {chars} 个字符（上限 {COMPATIBILITY_CHARS}）"
        );
        let diagnostic = fields.warning(Code::F0123, "compatibility", entry, message);
        fields.diagnostics.push(diagnostic);
    }
    Some(text)
}

/// Says only whether there are phases. What they say is checked before they run.
fn phases(fields: &mut Fields<'_>, head: &mut SkillHead, entry: &Entry) {
    match entry.value.resolve() {
        Resolved::Sequence if entry.value.items().is_some_and(|items| !items.is_empty()) => {
            head.kind = Kind::Phases;
        }
        Resolved::Sequence | Resolved::Null => {
            let message = words!(
                "`phases` is empty; the skill runs as one agent",
                "`phases` 是空的；技能将作为单个代理运行"
            );
            let diagnostic = fields.warning(Code::F0118, "phases", entry, message);
            fields.diagnostics.push(diagnostic);
        }
        _ => fields.wrong_type("phases", entry, &words!("a list of phases", "阶段列表")),
    }
}

fn metadata(fields: &mut Fields<'_>, head: &mut SkillHead, entry: &Entry) {
    if entry.value.is_null() {
        return;
    }
    let Some(entries) = entry.value.entries() else {
        return fields.wrong_type("metadata", entry, &words!("a map", "一个映射"));
    };
    for entry in entries {
        match entry.name() {
            "tags" => add_tags(&mut head.tags, fields.list("metadata.tags", entry, cut_at_commas)),
            // The portable place wins over a top-level field.
            "version" => {
                if let Some(version) = fields.text("metadata.version", entry) {
                    head.version = Some(version);
                }
            }
            "author" => check_author(fields, entry),
            "internal" => {
                head.internal |= fields.boolean("metadata.internal", entry).unwrap_or_default();
            }
            "fugato-phases" => side_file(fields, head, "metadata.fugato-phases", entry),
            "phases_file" if head.phases_file.is_none() => {
                side_file(fields, head, "metadata.phases_file", entry);
            }
            _ => {}
        }
    }
}

/// An author may be text or a map with a name; anything else is a slip.
fn check_author(fields: &mut Fields<'_>, entry: &Entry) {
    if entry.value.resolve() == Resolved::Sequence
        && entry.value.items().is_some_and(|items| items.iter().any(|item| item.text().is_none()))
    {
        fields.wrong_type("metadata.author", entry, &words!("text", "文本"));
    }
}

fn side_file(fields: &mut Fields<'_>, head: &mut SkillHead, field: &str, entry: &Entry) {
    let Some(text) = fields.text(field, entry) else { return };
    match RelPath::parse(&text) {
        Ok(path) => {
            head.phases_file = Some(path.as_str().to_owned());
            head.kind = Kind::Phases;
        }
        Err(error) => {
            let shown = crate::problems::shorten(&text);
            let fugato_model::Words { en, zh } = error.words();
            let message = words!(
                "`{shown}` is not a path inside the skill: {en}",
                "`{shown}` 不是技能目录内的路径：{zh}"
            );
            let diagnostic = fields.error(Code::F0125, field, entry, message);
            fields.diagnostics.push(diagnostic.hint(words!("{field}: phases.yaml", "{field}: phases.yaml")));
        }
    }
}

fn add_tags(tags: &mut Vec<String>, more: Vec<String>) {
    let seen: std::collections::HashSet<String> = tags.iter().cloned().collect();
    let mut added = std::collections::HashSet::new();
    tags.extend(more.into_iter().filter(|tag| !seen.contains(tag) && added.insert(tag.clone())));
}

/// For rooms that look further into the frontmatter than loading does.
pub fn read_frontmatter(text: SkillText<'_>) -> Result<Node, Vec<Diagnostic>> {
    document::open(text).map(|document| document.root).map_err(|broken| vec![broken.diagnostic])
}

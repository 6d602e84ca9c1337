//! Orchestration skills: an `oskill.md` is Markdown whose headings are its fields.
//!
//! Reads the whole descriptor, with all problems and their lines. Knows no files and no other skills; what is wrong only
//! because of what is installed is [`lint`]'s, and what runs is the engine's.

mod admit;
mod fixed;
mod lint;
mod lists;
mod markdown;
mod report;
mod sections;
mod session;
#[cfg(test)]
mod tests;

pub use admit::{Admitted, admit};
pub use fixed::{ProgramPart, program_part};
pub use lint::{CallCycle, lint, lint_text, refuse_cycle};
pub(crate) use markdown::lines_outside_code;

use crate::frontmatter::{self, BYTE_ORDER_MARK, SplitError};
use crate::place::Place;
use crate::sop::Program;
use crate::yaml::Node;
use crate::{Kind, Reading, SkillHead, SkillText, document, limits};
use fugato_model::{Code, Diagnostic, SkillName, words};
use markdown::section_key;
use report::Report;
use sections::{Field, Outline, Section};

/// A descriptor without errors.
#[derive(Clone, Debug, PartialEq)]
pub struct OrchestratorSkill {
    pub name: SkillName,
    pub description: String,
    /// What the session is told; may be empty.
    pub instructions: String,
    /// What is done before the session, if anything.
    pub preparation: Option<String>,
    pub allowed: Allowed,
    pub prep_allowed: PrepAllowed,
    pub session: Session,
    /// A SOP program that runs as it is, without a planner.
    pub program: Option<Program>,
}

/// Which skills may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// There is no list: every skill but itself.
    Unstated,
    /// The list says `all`: every skill but itself.
    All,
    /// These and no others. Names that nobody has stay in the list and allow nothing.
    Only(Vec<ListedSkill>),
}

/// Which skills preparation may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepAllowed {
    /// There is no list of its own.
    AsMain,
    Own(Allowed),
}

/// A name of a list, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSkill {
    pub name: String,
    pub place: Place,
}

/// How an orchestrator works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Session {
    /// A model calls skills step by step.
    Loop,
    /// A program is planned (or given), checked and run.
    #[default]
    Sop,
}

/// The part of a run that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Preparation,
    Main,
}

impl OrchestratorSkill {
    /// May this skill be called? The one question every call goes through.
    pub fn admits(&self, stage: Stage, name: &str) -> bool {
        name != self.name.as_str() && self.list(stage).admits(name)
    }

    /// The list that holds for a stage.
    pub fn list(&self, stage: Stage) -> &Allowed {
        match (stage, &self.prep_allowed) {
            (Stage::Preparation, PrepAllowed::Own(allowed)) => allowed,
            _ => &self.allowed,
        }
    }

    /// Listed by name, and so no longer on the surface of others.
    pub fn owns(&self, name: &str) -> bool {
        self.allowed.names().iter().any(|listed| listed.name == name)
    }
}

impl Allowed {
    /// The listed names; none for what is not a list of names.
    pub fn names(&self) -> &[ListedSkill] {
        match self {
            Self::Only(names) => names,
            Self::Unstated | Self::All => &[],
        }
    }

    fn admits(&self, name: &str) -> bool {
        match self {
            Self::Unstated | Self::All => true,
            Self::Only(names) => names.iter().any(|listed| listed.name == name),
        }
    }
}

impl Session {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Sop => "sop",
        }
    }
}

/// Reads a descriptor to run it. `None`: it has errors and must not run.
pub fn read_descriptor(text: SkillText<'_>) -> (Option<OrchestratorSkill>, Vec<Diagnostic>) {
    let (reading, skill) = read_whole(text);
    (skill, reading.diagnostics)
}

/// Reads a descriptor to list it.
pub(crate) fn read(text: SkillText<'_>) -> Reading {
    read_whole(text).0
}

fn read_whole(text: SkillText<'_>) -> (Reading, Option<OrchestratorSkill>) {
    let unreadable = |diagnostic, body_start| {
        (Reading { head: head(), diagnostics: vec![diagnostic], usable: false, body_start }, None)
    };
    let source = match document::decode(text) {
        Ok(source) => source,
        Err(diagnostic) => return unreadable(*diagnostic, 0),
    };
    match frontmatter::split(source) {
        // Frontmatter is allowed, and read like that of a skill; headings fill what it leaves open.
        Ok(_) => match document::open(text) {
            Ok(opened) => {
                let mut report = Report::new(text.path, source, opened.diagnostics);
                let head = from_frontmatter(&opened.root, &mut report);
                finish(text, source, opened.body_start, head, report)
            }
            Err(broken) => unreadable(broken.diagnostic, broken.body_start),
        },
        Err(SplitError::Missing { .. } | SplitError::Unclosed { .. }) => {
            let start = if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
            finish(text, source, start, head(), Report::new(text.path, source, Vec::new()))
        }
    }
}

fn head() -> SkillHead {
    SkillHead { kind: Kind::Orchestrator, ..SkillHead::default() }
}

fn from_frontmatter(root: &Node, report: &mut Report<'_>) -> SkillHead {
    let field = |key: &str| root.get(key).and_then(Node::text).map(str::trim);
    let mut head = head();
    head.description = field("description").unwrap_or_default().to_owned();
    head.declared_name = field("name").filter(|name| !name.is_empty()).map(str::to_owned);
    head.internal = root.get("internal").and_then(Node::as_bool) == Some(true);
    for entry in root.entries().unwrap_or_default() {
        // A list that nobody reads would leave every skill allowed, and its author would never know.
        let field = sections::field_of(&section_key(entry.name()));
        let Some(field) = field.filter(|field| *field != Field::Description) else { continue };
        let (key, heading) = (crate::problems::shorten(entry.name()), field.heading());
        let message = words!("`{key}` in the frontmatter is not read", "frontmatter 中的 `{key}` 不会被读取");
        let hint = words!("write a section `## {heading}`", "改写成小节 `## {heading}`");
        report.warning(Code::F1208, Place::new(entry.key.start, entry.key.end), message, hint);
    }
    head
}

/// Reads the sections, and fills from headings what the frontmatter left open.
fn finish(
    text: SkillText<'_>,
    source: &str,
    body_start: usize,
    mut head: SkillHead,
    mut report: Report<'_>,
) -> (Reading, Option<OrchestratorSkill>) {
    let outline = Outline::read(source, body_start);
    let title = outline.title.map(str::to_owned);
    let declared = head.declared_name.take().or(title).unwrap_or_else(|| text.dir_name.to_owned());
    name(&declared, &mut head, &mut report);
    description(&outline, &mut head, &mut report);
    outline.check(&mut report);
    let skill = sections_of(&outline, source, &head, &mut report);
    head.owns =
        skill.iter().flat_map(|skill| skill.allowed.names()).map(|listed| listed.name.clone()).collect();
    let diagnostics = report.finish();
    let usable =
        head.name.is_some() && !head.description.is_empty() && !diagnostics.iter().any(Diagnostic::is_error);
    (Reading { head, diagnostics, usable, body_start }, skill.filter(|_| usable))
}

fn name(declared: &str, head: &mut SkillHead, report: &mut Report<'_>) {
    // A heading is written for people (`# Trip Planner`), so its canonical form is the name without a complaint.
    head.name = SkillName::parse(declared).ok().or_else(|| SkillName::suggest(declared));
    if head.name.as_ref().is_none_or(|name| name.as_str() != declared) {
        head.declared_name = Some(declared.to_owned());
    }
    if head.name.is_none() {
        let shown = crate::problems::shorten(declared);
        let message = words!("`{shown}` cannot be made a skill name", "`{shown}` 无法作为技能名称");
        let diagnostic =
            Diagnostic::error(Code::F0109, report.path, message).field("name").at(report.source, 0, 1);
        report.push(diagnostic.hint(words!("# my-orchestrator", "# my-orchestrator")));
    }
}

fn description(outline: &Outline<'_>, head: &mut SkillHead, report: &mut Report<'_>) {
    if head.description.is_empty()
        && let Some(section) = outline.get(Field::Description)
    {
        head.description = one_line(body(report.source, section));
    }
    if head.description.is_empty() {
        let message = words!("there is no `## Description` section", "缺少 `## Description` 小节");
        let first_line = report.source.lines().next().unwrap_or_default().len();
        report.push(
            Diagnostic::error(Code::F0113, report.path, message)
                .field("description")
                .at(report.source, 0, first_line)
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
        report.push(Diagnostic::error(Code::F0116, report.path, message).field("description"));
        head.description.clear();
    }
}

/// The lines of a text as one, as far as they are kept.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ").chars().take(limits::KEPT_DESCRIPTION_CHARS).collect()
}

fn body<'s>(source: &'s str, section: &Section<'_>) -> &'s str {
    source.get(section.body.start..section.body.end).unwrap_or_default()
}

/// Everything but name and description.
fn sections_of(
    outline: &Outline<'_>,
    source: &str,
    head: &SkillHead,
    report: &mut Report<'_>,
) -> Option<OrchestratorSkill> {
    let text = |field| outline.get(field).map(|section| body(source, section).trim()).unwrap_or_default();
    for field in [Field::Instructions, Field::Preparation] {
        if let Some(section) = outline.get(field) {
            sections::misplaced(source, section.body, report);
        }
    }
    let own = head.name.as_ref();
    let allowed = allowed(outline, source, own, report);
    let prep_allowed = match outline.get(Field::PrepAllowed) {
        Some(section) => PrepAllowed::Own(lists::read(source, section, own, report).allowed()),
        None => PrepAllowed::AsMain,
    };
    let session =
        outline.get(Field::Session).map(|section| session::read(source, section, report)).unwrap_or_default();
    let prepared =
        if text(Field::Preparation).is_empty() { fixed::Prepared::No } else { fixed::Prepared::Yes };
    let program = outline
        .get(Field::Sop)
        .and_then(|section| fixed::read(source, section, session, &allowed, prepared, report));
    Some(OrchestratorSkill {
        name: own?.clone(),
        description: head.description.clone(),
        instructions: text(Field::Instructions).to_owned(),
        preparation: Some(text(Field::Preparation)).filter(|text| !text.is_empty()).map(str::to_owned),
        allowed,
        prep_allowed,
        session,
        program,
    })
}

fn allowed(outline: &Outline<'_>, source: &str, own: Option<&SkillName>, report: &mut Report<'_>) -> Allowed {
    let Some(section) = outline.get(Field::Allowed) else {
        let message = words!(
            "all skills exposed: there is no `## Allowed Skills` section",
            "所有技能都可被调用：缺少 `## Allowed Skills` 小节"
        );
        let hint = words!("## Allowed Skills\n- my-skill", "## Allowed Skills\n- my-skill");
        let end = report.source.lines().next().unwrap_or_default().len();
        report.warning(Code::F1201, Place::new(0, end), message, hint);
        return Allowed::Unstated;
    };
    let listed = lists::read(source, section, own, report);
    if listed.is_empty() {
        let message = words!("the list is empty: no skill may be called", "列表为空：不能调用任何技能");
        let hint = words!(
            "name the skills; `- all` for every skill, `- none` if none is meant",
            "写上技能名称；要全部写 `- all`，确实不要任何技能写 `- none`"
        );
        report.warning(Code::F1202, section.heading, message, hint);
    }
    listed.allowed()
}

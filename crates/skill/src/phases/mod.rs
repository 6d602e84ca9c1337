//! Skills with phases: reading them, and finding every problem before anything runs.
//!
//! The schema is that of the phase orchestrator: phases with dependencies, subagents with outputs, `{{VAR}}` between them.
//! This room knows no files (the caller answers what a path holds), no clock and no model; what runs is the engine's.

mod fields;
mod flow;
pub(crate) mod graph;
mod locate;
mod parse;
pub mod prompt;
mod report;
mod section;
mod sub_skill;
mod subagent;
#[cfg(test)]
mod tests;
mod variables;
mod writers;

pub use crate::place::Place;
pub(crate) use fields::to_json;
pub use sub_skill::{SubSkill, entry_point};

use crate::interpolate::Template;
use crate::place::Lines;
use crate::variable::{VarName, identifiers};
use crate::{SkillText, document};
use fugato_model::{Diagnostic, RelPath, words};
use report::{File, Report};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;
use std::ops::Range;

/// A skill whose phases have passed every check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phased {
    /// In declared order.
    pub phases: Vec<Phase>,
    /// Indexes of `phases`, every phase after the ones it depends on.
    pub order: Vec<usize>,
    pub debug: bool,
    /// The file the phases stand in, as diagnostics name it: what every [`Place`] here is a place of.
    pub file: String,
    /// Where the Markdown body of the SKILL.md starts.
    pub body_start: usize,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    /// All subagents at once, except where one reads what a sibling writes.
    pub parallel: bool,
    pub depends_on: Vec<String>,
    /// Runs in the main agent's context instead of in subagents.
    pub inline: bool,
    /// `false`: counts as complete, its outputs are null.
    pub enabled: bool,
    /// What an inline phase says it sets.
    pub sets: Vec<VarName>,
    /// What later phases expect this inline phase to set although it does not say so.
    pub sets_by_use: Vec<VarName>,
    pub subagents: Vec<Subagent>,
    /// Its Markdown section, as bytes of the whole SKILL.md. `None`: an inline phase runs the whole body.
    pub section: Option<Range<usize>>,
    pub place: Place,
    /// Where each of `depends_on` stands.
    pub(crate) dependency_places: Vec<Place>,
}

/// One subagent of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subagent {
    /// The last component of its path, unique in the phase: `get-config`, `get-config.2`.
    pub id: String,
    pub skill: RelPath,
    pub agent_type: AgentType,
    pub args: Template,
    pub output: Option<VarName>,
    pub requires: Vec<Requirement>,
    pub optional: bool,
    pub fallback_inline: bool,
    pub on_error: Option<String>,
    /// A JSON Schema its result has to meet.
    pub schema: Option<Value>,
    /// In a parallel phase: indexes of the siblings whose outputs it reads, and so waits for.
    pub after: Vec<usize>,
    /// The variables its prompt shows: those it requires and those its sub-skill's text mentions.
    pub relevant: Vec<VarName>,
    pub place: Place,
    pub(crate) output_place: Place,
}

/// A variable that must be set before a subagent runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    pub name: VarName,
    /// `X?`: null will do.
    pub optional: bool,
    pub place: Place,
}

/// Who does the work, and so what it may do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AgentType {
    /// Read-only tools.
    Explore,
    /// May write.
    GeneralPurpose,
    /// No model: the sub-skill's own program.
    Script,
    /// Another delegation type, by its name.
    Other(String),
}

impl AgentType {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Explore => "explore",
            Self::GeneralPurpose => "general-purpose",
            Self::Script => "script",
            Self::Other(name) => name,
        }
    }
}

/// The delegation types every installation has, besides those of [`AgentType`].
pub const BUILT_IN_TYPES: [&str; 7] =
    ["plan", "doc-editor", "browser", "data-analyst", "extractor", "canvas-designer", "coder"];

/// The texts a skill with phases is made of.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The SKILL.md as diagnostics should name it.
    pub path: &'a str,
    /// The whole SKILL.md.
    pub text: &'a str,
    /// Path and text of the file that `metadata.fugato-phases` (or `metadata.phases_file`) names.
    pub side_file: Option<(&'a str, &'a str)>,
}

/// Reads and checks phases, all problems at once.
///
/// `None` with no error: the skill has no phases and runs as one agent. `None` with an error: it must not run.
/// `files` says what a sub-skill path holds.
pub fn read(source: Source<'_>, files: &dyn Fn(&RelPath) -> SubSkill) -> (Option<Phased>, Vec<Diagnostic>) {
    read_knowing(source, files, &|_| false)
}

/// As [`read`], where `is_type` also knows agent types that somebody defined.
pub fn read_knowing(
    source: Source<'_>,
    files: &dyn Fn(&RelPath) -> SubSkill,
    is_type: &dyn Fn(&str) -> bool,
) -> (Option<Phased>, Vec<Diagnostic>) {
    let text = SkillText { dir_name: "", path: source.path, bytes: source.text.as_bytes() };
    let document = match document::open(text) {
        Ok(document) => document,
        Err(broken) => return (None, vec![broken.diagnostic]),
    };
    let skill = File { path: source.path, text: source.text };
    let located = match locate::locate(&document, skill, source.side_file) {
        Ok(located) => located,
        Err(diagnostics) => return (None, diagnostics),
    };
    let mut report = Report::new(located.file, skill);
    report.extend(located.diagnostics);
    let Some(mut phases) = parse::phases(&located.list, &mut report, is_type) else {
        return (None, report.finish());
    };
    section::attach(&mut phases, source.text, document.body_start);
    let graph = graph::Graph::build(&phases, &mut report);
    sub_skill::check(&mut phases, source.path, files, &mut report);
    variables::check(&mut phases, &graph, document.body_start, &mut report);
    let lines = Lines::new(located.file.text);
    for subagent in phases.iter_mut().flat_map(|phase| &mut phase.subagents) {
        subagent.args.note_positions(&lines);
    }
    let phased = Phased {
        phases,
        order: graph.order,
        debug: located.debug,
        file: located.file.path.to_owned(),
        body_start: document.body_start,
    };
    let is_broken = report.has_errors();
    ((!is_broken).then_some(phased), report.finish())
}

/// The sub-skills that the phases of a skill name, each once: enough to see where they lead, however broken the rest is.
/// `None`: it has no phases.
pub fn named_skills(source: Source<'_>) -> Option<Vec<RelPath>> {
    let text = SkillText { dir_name: "", path: source.path, bytes: source.text.as_bytes() };
    let skill = File { path: source.path, text: source.text };
    let document = document::open(text).ok()?;
    let located = match locate::locate(&document, skill, source.side_file) {
        Ok(located) => located,
        // Phases that cannot be read are phases: whoever reads them tells why.
        Err(diagnostics) => return diagnostics.iter().any(Diagnostic::is_error).then(Vec::new),
    };
    let mut report = Report::new(located.file, skill);
    let phases = parse::phases(&located.list, &mut report, &|_| true).unwrap_or_default();
    let mut seen = HashSet::new();
    let enabled = phases.into_iter().filter(|phase| phase.enabled);
    let named = enabled.flat_map(|phase| phase.subagents).map(|subagent| subagent.skill);
    Some(named.filter(|skill| seen.insert(skill.clone())).collect())
}

impl Phased {
    /// The same without anything that says where it stands: equal for two files that mean the same.
    #[must_use]
    pub fn meaning(mut self) -> Self {
        (self.file, self.body_start) = (String::new(), 0);
        for phase in &mut self.phases {
            (phase.place, phase.section) = (Place::default(), None);
            phase.dependency_places.clear();
            for subagent in &mut phase.subagents {
                (subagent.place, subagent.output_place) = (Place::default(), Place::default());
                subagent.requires.iter_mut().for_each(|required| required.place = Place::default());
                subagent.args.forget_places();
            }
        }
        self
    }

    /// The Markdown an inline phase runs: its section, or the whole body. `skill_text` is the SKILL.md that was read.
    pub fn markdown<'t>(&self, phase: &Phase, skill_text: &'t str) -> &'t str {
        let range = phase.section.clone().unwrap_or(self.body_start..skill_text.len());
        skill_text.get(range).unwrap_or_default()
    }

    /// The same as a template; its places are bytes of the SKILL.md.
    pub fn markdown_template(&self, phase: &Phase, skill_text: &str) -> Template {
        let start = phase.section.as_ref().map_or(self.body_start, |section| section.start);
        let mut template = Template::parse_markdown(self.markdown(phase, skill_text), start).0;
        template.note_positions(&Lines::new(skill_text));
        template
    }
}

/// The variables a subagent should be shown: those it requires, then those its sub-skill's text mentions, as `{{X}}`, `$X` or
/// in capitals. The caller keeps the ones that exist; [`Subagent::relevant`] is this for the variables of its skill.
pub fn relevant_variables(subagent: &Subagent, sub_skill_text: &str) -> Vec<VarName> {
    let looks_like_one = |word: &str| {
        word.len() >= 2 && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    let referred = |at: usize| {
        let before = sub_skill_text.get(..at).unwrap_or_default().trim_end_matches(' ');
        before.ends_with(['$']) || before.ends_with("${") || before.ends_with("{{")
    };
    relevant_among(subagent, sub_skill_text, &|word, at| looks_like_one(word) || referred(at))
}

/// Requirements first, then every word that counts, each once. `counts` is asked for a word and its offset.
fn relevant_among(subagent: &Subagent, text: &str, counts: &dyn Fn(&str, usize) -> bool) -> Vec<VarName> {
    let mut seen = HashSet::new();
    let mut relevant = Vec::new();
    for requirement in &subagent.requires {
        if seen.insert(requirement.name.clone()) {
            relevant.push(requirement.name.clone());
        }
    }
    for (at, word) in identifiers(text) {
        if !seen.contains(word)
            && counts(word, at)
            && let Ok(name) = VarName::parse(word)
        {
            seen.insert(name.clone());
            relevant.push(name);
        }
    }
    relevant
}

/// Every name the checker and the prompt treat as a variable of this skill.
fn known_variables(phases: &[Phase]) -> HashSet<VarName> {
    let built_in = VarName::BUILT_IN.iter().filter_map(|name| VarName::parse(name).ok());
    let outputs = phases.iter().flat_map(|phase| {
        let outputs = phase.subagents.iter().filter_map(|subagent| subagent.output.clone());
        outputs.chain(phase.sets.iter().cloned())
    });
    built_in.chain(outputs).collect()
}

/// The sentence for an empty list: it is not an error, the skill is just a plain one.
fn empty_words() -> fugato_model::Words {
    words!("`phases` is empty; the skill runs as one agent", "`phases` 是空的；技能将作为单个代理运行")
}

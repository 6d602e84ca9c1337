//! Published documents: what `--json` prints. Fields are added, never renamed; each document names its schema.

use crate::{Diagnostic, Digest, Lang, Scope, Severity, SkillName, Span};
use serde::Serialize;

/// A diagnostic as programs see it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiagnosticView {
    pub code: &'static str,
    pub severity: Severity,
    pub path: String,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub span: Option<Span>,
    pub field: Option<String>,
    pub message: String,
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<RelatedView>,
    pub fixable: bool,
}

/// A second place of a diagnostic.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedView {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

impl DiagnosticView {
    pub fn new(diagnostic: &Diagnostic, lang: Lang) -> Self {
        Self {
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity,
            path: diagnostic.path.clone(),
            line: diagnostic.span.map(|span| span.line),
            column: diagnostic.span.map(|span| span.column),
            span: diagnostic.span,
            field: diagnostic.field.clone(),
            message: diagnostic.message.in_lang(lang).to_owned(),
            hint: diagnostic.hint.as_ref().map(|hint| hint.in_lang(lang).to_owned()),
            related: diagnostic
                .related
                .iter()
                .map(|related| RelatedView {
                    line: related.span.line,
                    column: related.span.column,
                    message: related.message.in_lang(lang).to_owned(),
                })
                .collect(),
            fixable: diagnostic.fix.is_some(),
        }
    }
}

/// Is a skill usable?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillStatus {
    Ok,
    /// Loaded, with something to repair.
    Warning,
    /// Not loaded; listed so that nobody has to wonder where it went.
    Invalid,
}

/// `skill ls --json`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SkillsView {
    pub schema: &'static str,
    pub skills: Vec<SkillView>,
}

impl SkillsView {
    pub const SCHEMA: &str = "fugato.skills/v1";

    pub fn new(skills: Vec<SkillView>) -> Self {
        Self { schema: Self::SCHEMA, skills }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillView {
    /// The canonical name, or for an invalid skill what it calls itself, else its directory.
    pub name: String,
    pub kind: String,
    pub scope: Scope,
    pub path: String,
    pub description: String,
    pub tags: Vec<String>,
    pub digest: Option<Digest>,
    pub status: SkillStatus,
    pub diagnostics: Vec<DiagnosticView>,
    pub shadowed: bool,
}

/// `policy resolve --json`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PolicyView {
    pub schema: &'static str,
    pub mode: String,
    pub agents: Vec<AgentPolicyView>,
}

impl PolicyView {
    pub const SCHEMA: &str = "fugato.policy/v1";

    pub fn new(mode: String, agents: Vec<AgentPolicyView>) -> Self {
        Self { schema: Self::SCHEMA, mode, agents }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentPolicyView {
    pub id: String,
    pub visible: Vec<VisibleSkillView>,
    pub denied: Vec<SkillName>,
    pub missing: Vec<SkillName>,
    pub catalog: String,
    pub catalog_tokens: u32,
}

#[derive(Clone, Debug, Serialize)]
pub struct VisibleSkillView {
    pub name: SkillName,
    pub scope: Scope,
    pub description: String,
}

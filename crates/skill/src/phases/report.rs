//! Collects what is wrong with phases: bounded, in file order, each problem with its place.

use crate::limits::REPORTED_KEYS;
use crate::place::Place;
use fugato_model::{Code, Diagnostic, Severity, Words, words};
use std::collections::BTreeMap;

/// A file and what it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

impl File<'_> {
    pub(super) fn error(&self, code: Code, place: Place, message: Words) -> Diagnostic {
        Diagnostic::error(code, self.path, message).at(self.text, place.start, place.end)
    }

    pub(super) fn warning(&self, code: Code, place: Place, message: Words) -> Diagnostic {
        Diagnostic::warning(code, self.path, message).at(self.text, place.start, place.end)
    }

    /// The line a place is in, for messages that name two.
    pub(super) fn line(&self, place: Place) -> u32 {
        fugato_model::Span::of(self.text, place.start, place.end).line
    }
}

pub(super) struct Report<'a> {
    /// Where the phases stand.
    pub file: File<'a>,
    /// The SKILL.md: the same file, or the one whose side file that is.
    pub skill: File<'a>,
    diagnostics: Vec<Diagnostic>,
    /// How many of each code there are, told or not, by severity.
    counts: BTreeMap<(Code, Severity), usize>,
    has_errors: bool,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: File<'a>, skill: File<'a>) -> Self {
        Self { file, skill, diagnostics: Vec::new(), counts: BTreeMap::new(), has_errors: false }
    }

    /// An error in the phases. What makes the diagnostic is called only if there is room for it: to find a line costs a
    /// walk over the file.
    pub(super) fn error(&mut self, code: Code, make: impl FnOnce(File<'a>) -> Diagnostic) {
        self.has_errors = true;
        self.add(code, Severity::Error, make);
    }

    pub(super) fn warning(&mut self, code: Code, make: impl FnOnce(File<'a>) -> Diagnostic) {
        self.add(code, Severity::Warning, make);
    }

    fn add(&mut self, code: Code, severity: Severity, make: impl FnOnce(File<'a>) -> Diagnostic) {
        let count = self.counts.entry((code, severity)).or_default();
        *count += 1;
        if *count <= REPORTED_KEYS {
            self.diagnostics.push(make(self.file));
        }
    }

    pub(super) fn extend(&mut self, diagnostics: Vec<Diagnostic>) {
        self.has_errors |= diagnostics.iter().any(Diagnostic::is_error);
        self.diagnostics.extend(diagnostics);
    }

    pub(super) fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// In the order of the file, and what there was no room for as a number.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        let skill = self.skill.path;
        self.diagnostics.sort_by_key(|found| {
            let place = found.span.map(|span| (span.line, span.column));
            (found.path != skill, place)
        });
        for ((code, severity), count) in &self.counts {
            let more = count.saturating_sub(REPORTED_KEYS);
            if more > 0 {
                let title = code.title();
                let message = words!("{more} more: {title}", "另有 {more} 处同类问题（{code}）");
                self.diagnostics.push(match severity {
                    Severity::Error => Diagnostic::error(*code, self.file.path, message),
                    Severity::Warning => Diagnostic::warning(*code, self.file.path, message),
                });
            }
        }
        self.diagnostics
    }
}

//! Collects what is wrong with a descriptor: bounded per code, each problem with its place.

use crate::limits::REPORTED_KEYS;
use crate::place::Place;
use fugato_model::{Code, Diagnostic, Severity, Words, words};
use std::collections::BTreeMap;

pub(super) struct Report<'a> {
    pub path: &'a str,
    pub source: &'a str,
    diagnostics: Vec<Diagnostic>,
    counts: BTreeMap<(Code, Severity), usize>,
}

impl<'a> Report<'a> {
    pub(super) fn new(path: &'a str, source: &'a str, diagnostics: Vec<Diagnostic>) -> Self {
        Self { path, source, diagnostics, counts: BTreeMap::new() }
    }

    pub(super) fn error(&mut self, code: Code, place: Place, message: Words, hint: Words) {
        self.add(code, Severity::Error, |path, source| {
            Diagnostic::error(code, path, message).at(source, place.start, place.end).hint(hint)
        });
    }

    pub(super) fn warning(&mut self, code: Code, place: Place, message: Words, hint: Words) {
        self.add(code, Severity::Warning, |path, source| {
            Diagnostic::warning(code, path, message).at(source, place.start, place.end).hint(hint)
        });
    }

    /// What makes the diagnostic is called only if there is room for it: to find a line costs a walk over the file.
    pub(super) fn add(
        &mut self,
        code: Code,
        severity: Severity,
        make: impl FnOnce(&'a str, &'a str) -> Diagnostic,
    ) {
        let count = self.counts.entry((code, severity)).or_default();
        *count += 1;
        if *count <= REPORTED_KEYS {
            self.diagnostics.push(make(self.path, self.source));
        }
    }

    /// A diagnostic of its own kind.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// In the order of the file, and what there was no room for as a number.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|found| found.span.map(|span| (span.line, span.column)));
        for ((code, severity), count) in &self.counts {
            let more = count.saturating_sub(REPORTED_KEYS);
            if more > 0 {
                let title = code.title();
                let message = words!("{more} more: {title}", "另有 {more} 处同类问题（{code}）");
                let mut diagnostic = Diagnostic::error(*code, self.path, message);
                diagnostic.severity = *severity;
                self.diagnostics.push(diagnostic);
            }
        }
        self.diagnostics
    }
}

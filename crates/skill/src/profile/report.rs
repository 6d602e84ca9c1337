//! Collects the diagnostics of one profile, with a limit, and counts errors so that a block knows it is broken.

use super::block::{Place, Standing};
use fugato_model::{Code, Diagnostic, Fix, Severity, Words, words};
use jsonc_parser::common::Range;

/// Each diagnostic carries its line of the file, and finding a line costs a scan; past this many of one severity
/// nobody reads on. The rest is counted in one closing line.
const MAX_EACH: usize = 100;

#[derive(Debug)]
pub(crate) struct Report<'s> {
    pub path: &'s str,
    pub source: &'s str,
    /// Bytes of a byte-order mark before `source`: fixes are offsets into the file.
    pub base: usize,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl<'s> Report<'s> {
    pub fn new(path: &'s str, source: &'s str, base: usize) -> Self {
        Self { path, source, base, diagnostics: Vec::new(), errors: 0, warnings: 0 }
    }

    pub fn error(
        &mut self,
        code: Code,
        pointer: &str,
        range: Range,
        message: Words,
    ) -> Option<&mut Diagnostic> {
        self.errors += 1;
        if self.errors > MAX_EACH {
            return None;
        }
        self.push(Diagnostic::error(code, self.path, message), pointer, range)
    }

    pub fn warning(
        &mut self,
        code: Code,
        pointer: &str,
        range: Range,
        message: Words,
    ) -> Option<&mut Diagnostic> {
        self.warnings += 1;
        if self.warnings > MAX_EACH {
            return None;
        }
        self.push(Diagnostic::warning(code, self.path, message), pointer, range)
    }

    fn push(&mut self, diagnostic: Diagnostic, pointer: &str, range: Range) -> Option<&mut Diagnostic> {
        let mut diagnostic = diagnostic.at(self.source, range.start, range.end);
        if !pointer.is_empty() {
            diagnostic = diagnostic.field(pointer);
        }
        self.diagnostics.push(diagnostic);
        self.diagnostics.last_mut()
    }

    pub fn errors(&self) -> usize {
        self.errors
    }

    /// The standing of a block during whose reading the error count went from `before` to now.
    pub fn standing_since(&self, before: usize) -> Standing {
        if self.errors > before { Standing::Refused } else { Standing::Sound }
    }

    /// The finding that was just added.
    pub fn last(&mut self) -> Option<&mut Diagnostic> {
        self.diagnostics.last_mut()
    }

    pub fn finish(mut self) -> Vec<Diagnostic> {
        let hidden_errors = self.errors.saturating_sub(MAX_EACH);
        let hidden_warnings = self.warnings.saturating_sub(MAX_EACH);
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.map(|span| (span.line, span.column)));
        if hidden_errors + hidden_warnings > 0 {
            let severity = if hidden_errors > 0 { Severity::Error } else { Severity::Warning };
            let code = if hidden_errors > 0 { Code::F0217 } else { Code::F0218 };
            let mut closing = Diagnostic::error(
                code,
                self.path,
                words!(
                    "{hidden_errors} more errors and {hidden_warnings} more warnings are not shown",
                    "另有 {hidden_errors} 个错误和 {hidden_warnings} 个警告未显示"
                ),
            );
            closing.severity = severity;
            self.diagnostics.push(closing);
        }
        self.diagnostics
    }
}

/// A repair of `range`, as offsets into a file whose text starts at `base`.
pub(super) fn fix(base: usize, range: Range, replacement: String) -> Option<Fix> {
    let narrow = |n: usize| u32::try_from(n + base).ok();
    Some(Fix { start: narrow(range.start)?, end: narrow(range.end)?, replacement })
}

impl From<Range> for Place {
    fn from(range: Range) -> Self {
        Self { start: range.start, end: range.end }
    }
}

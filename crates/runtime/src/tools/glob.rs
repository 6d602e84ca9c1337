//! Glob: paths of files by pattern.

use super::outcome::{Failure, ToolOutcome};
use super::place::Place;
use super::walk::{Walked, Watch, walk};
use super::{CancelToken, ToolContext};
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

pub(super) fn describe() -> (&'static str, Value) {
    let description = "Finds files by name pattern, such as `src/**/*.rs` or `*.{ts,tsx}`. A pattern without `/` \
        is looked for in every directory. Leaves out what .gitignore names. Gives at most 1000 paths, sorted.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "`*`, `**`, `?`, `[a-z]`, `{a,b}`"},
            "path": {"type": "string", "description": "Directory to look in (default: the project)"}
        },
        "required": ["pattern"],
        "additionalProperties": false
    });
    (description, parameters)
}

pub(super) fn glob(
    wanted: &Arguments,
    context: &ToolContext,
    cancel: &CancelToken,
) -> Result<ToolOutcome, Failure> {
    let pattern = Pattern::new(&wanted.pattern)?;
    let place = Place::new(context, wanted.path.as_deref().unwrap_or("."))?;
    let watch = Watch::new(cancel, context.limits.time);
    let (mut lines, mut count) = (String::new(), 0usize);
    let walked = walk(&place, &watch, &mut |found| {
        if pattern.fits(found.below, found.name) {
            if count == context.limits.results {
                return ControlFlow::Break(());
            }
            count += 1;
            lines.push_str(&place.show(found.path));
            lines.push('\n');
        }
        ControlFlow::Continue(())
    })?;
    let note = match walked {
        Walked::Whole if count == 0 => format!("no file matches `{}`", wanted.pattern),
        Walked::Whole => String::new(),
        Walked::Stopped => format!("[these are the first {count}; there are more, so narrow the pattern]"),
        Walked::Cut(why) => format!("[not everything was looked at: {why}]"),
    };
    lines.push_str(&note);
    let outcome = ToolOutcome::fitted(lines.trim_end().as_bytes().to_vec(), context.limits.inline_bytes);
    Ok(ToolOutcome { truncated: outcome.truncated || walked != Walked::Whole, ..outcome })
}

/// A glob as people write it: without `/` it means a name anywhere, with one a path.
#[derive(Debug)]
pub(super) struct Pattern {
    matcher: GlobMatcher,
    is_name: bool,
}

/// Longer than any real pattern, short enough to compile at once.
const MAX_PATTERN: usize = 1000;

impl Pattern {
    pub fn new(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::new(format!("the pattern `{text}` is not usable: {why}"));
        if text.len() > MAX_PATTERN {
            return Err(Failure::new("the pattern is longer than 1000 bytes"));
        }
        if text.is_empty() {
            return Err(wrong("it is empty"));
        }
        let clean = text.strip_prefix("./").unwrap_or(text);
        if clean.starts_with('/') || clean.split('/').any(|part| part == "..") {
            return Err(wrong("it must be relative and without `..`; use `path` for the directory"));
        }
        let glob = GlobBuilder::new(clean).literal_separator(true).build();
        let glob = glob.map_err(|error| wrong(&error.kind().to_string()))?;
        Ok(Self { matcher: glob.compile_matcher(), is_name: !clean.contains('/') })
    }

    /// `below` is the path from where the search began.
    pub fn fits(&self, below: &[u8], name: &[u8]) -> bool {
        let seen = if self.is_name { name } else { below };
        self.matcher.is_match(Path::new(OsStr::from_bytes(seen)))
    }
}

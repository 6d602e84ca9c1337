//! Grep: lines of files by regular expression, with ripgrep's own searcher. Linear in the size of what is searched,
//! whatever the pattern.

use super::arguments::count;
use super::glob::Pattern;
use super::outcome::{Failure, ToolOutcome};
use super::place::{Place, PlaceError};
use super::text::{ceil_boundary, floor_boundary};
use super::walk::{Found, Walked, Watch, walk};
use super::{CancelToken, ToolContext};
use crate::beneath::READ;
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default, alias = "-i")]
    case_insensitive: Option<bool>,
    #[serde(default, alias = "-C", deserialize_with = "count")]
    context: Option<u64>,
    #[serde(default, alias = "head_limit", deserialize_with = "count")]
    limit: Option<u64>,
}

pub(super) fn describe() -> (&'static str, Value) {
    let description = "Searches the text of files with a regular expression, line by line. Gives \
        `path:line:text` for matches and `path-line-text` for context. Leaves out binary files and what .gitignore \
        names.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Regular expression; escape ( ) [ ] { } . to mean themselves"},
            "path": {"type": "string", "description": "File or directory to search (default: the project)"},
            "glob": {"type": "string", "description": "Only files that match, such as `*.rs`; `!*.md` means all others"},
            "case_insensitive": {"type": "boolean"},
            "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines around each match"},
            "limit": {"type": "integer", "minimum": 1, "description": "Most matching lines (default 200)"}
        },
        "required": ["pattern"],
        "additionalProperties": false
    });
    (description, parameters)
}

const DEFAULT_MATCHES: u64 = 200;
const MAX_CONTEXT: u64 = 20;
/// A longer line is no text that people read; its file is passed over and counted.
const MAX_LINE: usize = 32 << 20;
/// What is shown of a long line, around its first match.
const SHOWN_LINE: usize = 400;
/// An expression that compiles to more is refused instead of built.
const MAX_PROGRAM: usize = 4 << 20;

pub(super) fn grep(
    wanted: &Arguments,
    context: &ToolContext,
    cancel: &CancelToken,
) -> Result<ToolOutcome, Failure> {
    let place = Place::new(context, wanted.path.as_deref().unwrap_or("."))?;
    let watch = Watch::new(cancel, context.limits.time);
    let mut hunt = Hunt::new(wanted, context, &place, &watch)?;
    let walked = match place.open_file() {
        Ok(file) => {
            hunt.search(file, place.rel.as_bytes())?;
            Walked::Whole
        }
        Err(PlaceError::IsDirectory(_)) => {
            let filter = Filter::new(wanted.glob.as_deref())?;
            let mut failure = None;
            let walked = walk(&place, &watch, &mut |found| {
                if found.is_link || !filter.fits(found) {
                    return ControlFlow::Continue(());
                }
                match open(found).map_or(Ok(()), |file| hunt.search(file, found.path)) {
                    Ok(()) if !hunt.is_full() => ControlFlow::Continue(()),
                    Ok(()) => ControlFlow::Break(()),
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            match failure {
                Some(failure) => return Err(failure),
                None => walked,
            }
        }
        Err(error) => return Err(error.into()),
    };
    Ok(hunt.answer(walked, context.limits.inline_bytes))
}

fn open(found: &Found<'_>) -> Option<File> {
    let fd = openat(found.dir, found.name, READ | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let stat = fstat(&fd).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| File::from(fd))
}

/// Which files are searched.
enum Filter {
    All,
    Only(Pattern),
    Except(Pattern),
}

impl Filter {
    fn new(glob: Option<&str>) -> Result<Self, Failure> {
        Ok(match glob {
            None | Some("") => Self::All,
            Some(text) => match text.strip_prefix('!') {
                Some(text) => Self::Except(Pattern::new(text)?),
                None => Self::Only(Pattern::new(text)?),
            },
        })
    }

    fn fits(&self, found: &Found<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Only(pattern) => pattern.fits(found.below, found.name),
            Self::Except(pattern) => !pattern.fits(found.below, found.name),
        }
    }
}

/// A search over many files.
struct Hunt<'a> {
    place: &'a Place,
    watch: &'a Watch<'a>,
    matcher: RegexMatcher,
    searcher: Searcher,
    limit: u64,
    most_bytes: usize,
    with_context: bool,
    pattern: &'a str,
    text: String,
    matches: u64,
    files: u64,
    too_long: u64,
}

impl<'a> Hunt<'a> {
    fn new(
        wanted: &'a Arguments,
        context: &ToolContext,
        place: &'a Place,
        watch: &'a Watch<'a>,
    ) -> Result<Self, Failure> {
        let around = wanted.context.unwrap_or(0).min(MAX_CONTEXT);
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(wanted.case_insensitive.unwrap_or(false))
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_PROGRAM)
            .build(&wanted.pattern)
            .map_err(|error| Failure::new(format!("the pattern is not usable: {error}")))?;
        let lines = usize::try_from(around).unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(lines)
            .after_context(lines)
            .heap_limit(Some(MAX_LINE))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let most = u64::try_from(context.limits.results).unwrap_or(u64::MAX);
        Ok(Self {
            place,
            watch,
            matcher,
            searcher,
            limit: wanted.limit.unwrap_or(DEFAULT_MATCHES).clamp(1, most.max(1)),
            most_bytes: context.limits.output_bytes,
            with_context: around > 0,
            pattern: &wanted.pattern,
            text: String::new(),
            matches: 0,
            files: 0,
            too_long: 0,
        })
    }

    fn is_full(&self) -> bool {
        self.matches >= self.limit || self.text.len() >= self.most_bytes
    }

    fn search(&mut self, file: File, path: &[u8]) -> Result<(), Failure> {
        let shown = self.place.show(path);
        let (mut searcher, matcher, watch) = (self.searcher.clone(), self.matcher.clone(), self.watch);
        let before = (self.matches, self.text.len());
        let mut lines = Lines { hunt: self, shown: &shown };
        let done = searcher.search_reader(&matcher, Watched { file, watch }, &mut lines);
        watch.check()?;
        if let Err(error) = done {
            // A file that breaks off in the middle (a line too long, an unreadable block) is passed over.
            self.too_long += u64::from(error.kind() != io::ErrorKind::PermissionDenied);
        }
        self.files += u64::from(self.matches > before.0);
        Ok(())
    }

    fn answer(self, walked: Walked, limit: usize) -> ToolOutcome {
        let mut text = self.text;
        let is_full = self.matches >= self.limit || text.len() >= self.most_bytes;
        if self.matches == 0 {
            text.push_str(&format!("no match for `{}`\n", self.pattern));
        } else if is_full {
            text.push_str(&format!(
                "[the first {} matches, in {} files; there may be more, so narrow the search]\n",
                self.matches, self.files
            ));
        } else {
            text.push_str(&format!("[{} matches in {} files]\n", self.matches, self.files));
        }
        if let Walked::Cut(why) = walked {
            text.push_str(&format!("[not everything was searched: {why}]\n"));
        }
        if self.too_long > 0 {
            text.push_str(&format!("[{} files could not be searched to their end]\n", self.too_long));
        }
        let outcome = ToolOutcome::fitted(text.trim_end().as_bytes().to_vec(), limit);
        ToolOutcome { truncated: outcome.truncated || is_full || walked != Walked::Whole, ..outcome }
    }

    fn add(&mut self, shown: &str, number: Option<u64>, separator: char, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let number = number.unwrap_or(0);
        let text = self.clip(line);
        self.text.push_str(&format!("{shown}{separator}{number}{separator}{text}\n"));
    }

    /// A long line is shown around what was found in it.
    fn clip(&self, line: &[u8]) -> String {
        if line.len() <= SHOWN_LINE {
            return String::from_utf8_lossy(line).into_owned();
        }
        let at = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let from = ceil_boundary(line, at.saturating_sub(SHOWN_LINE / 4));
        let to = floor_boundary(line, from + SHOWN_LINE);
        let piece = String::from_utf8_lossy(line.get(from..to).unwrap_or_default()).into_owned();
        let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
        format!("{before}{piece}{after} [line of {} bytes]", line.len())
    }
}

/// The lines of one file.
struct Lines<'a, 'b> {
    hunt: &'a mut Hunt<'b>,
    shown: &'a str,
}

impl Sink for &mut Lines<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hunt.matches += 1;
        self.hunt.add(self.shown, found.line_number(), ':', found.bytes());
        Ok(!self.hunt.is_full())
    }

    fn context(&mut self, _searcher: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        self.hunt.add(self.shown, found.line_number(), '-', found.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        if self.hunt.with_context {
            self.hunt.text.push_str("--\n");
        }
        Ok(true)
    }
}

/// A file that stops being readable when time is up, so that no file however large holds a search.
struct Watched<'a> {
    file: File,
    watch: &'a Watch<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.watch.is_cancelled() || self.watch.is_late() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}

//! image-ocr: the text in a picture, or in the pictures of a scanned PDF.

use super::{failure, words};
use crate::process::{self, End, Finished, Spec, Streams, find_program};
use crate::tools::arguments::parse;
use crate::tools::outcome::{Failure, ToolOutcome};
use crate::tools::place::Place;
use crate::tools::{Call, CancelToken, Running, ToolContext};
use fugato_world::office::{self, Watch};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::PathBuf;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "file_path")]
    path: String,
    #[serde(default)]
    language: Option<String>,
    #[serde(default, deserialize_with = "words")]
    pages: Option<String>,
}

/// A page scanned in colour at 600 dots per inch, packed.
const MOST_PICTURE_BYTES: u64 = 64 << 20;
/// What tesseract needs for the largest picture it takes, and no more.
const MOST_MEMORY: u64 = 2 << 30;
/// A name of a language, or several: nothing that could be an option or a path.
const MOST_LANGUAGE: usize = 100;

pub(super) fn describe() -> (&'static str, Value) {
    let description = "Reads the text in a picture of the project (PNG, JPEG, TIFF, WebP), or in the pictures of a \
        scanned PDF, with the program tesseract. Text in a picture may be misread; check numbers that matter.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the project directory"},
            "language": {"type": "string",
                "description": "Languages of the text as tesseract names them, like eng or chi_sim+eng (default: eng, and chi_sim where installed)"},
            "pages": {"type": "string", "description": "Only for a PDF: pages, like 1-3"}
        },
        "required": ["path"],
        "additionalProperties": false
    });
    (description, parameters)
}

pub(super) fn image_ocr(call: Call<'_>) -> Running<'_> {
    Box::pin(run(call))
}

async fn run(call: Call<'_>) -> Result<ToolOutcome, Failure> {
    let Call { arguments, context, cancel, .. } = call;
    let wanted: Arguments = parse(arguments)?;
    let place = Place::new(context, &wanted.path)?;
    let shown = place.shown.clone();
    let pictures = open(place, wanted.clone(), context.clone(), cancel.clone()).await?;
    let tesseract = Tesseract::find(context)?;
    let language = tesseract.language(wanted.language.as_deref(), &cancel).await?;
    let mut text = format!("picture: {}; language: {language}\n\n", pictures.kind);
    for (page, bytes) in pictures.all {
        if let Some(page) = page {
            text.push_str(&format!("--- page {page} ---\n\n"));
        }
        let read = tesseract.read(&shown, bytes, &language, &cancel).await?;
        text.push_str(if read.is_empty() { "[no text was found in this picture]" } else { &read });
        text.push_str("\n\n");
    }
    text.truncate(text.trim_end().len());
    Ok(ToolOutcome::fitted(text.into_bytes(), context.limits.inline_bytes))
}

/// What was found in the file; pictures of a PDF have the number of their page.
struct Pictures {
    kind: String,
    all: Vec<(Option<u32>, Vec<u8>)>,
}

async fn open(
    place: Place,
    wanted: Arguments,
    context: ToolContext,
    cancel: CancelToken,
) -> Result<Pictures, Failure> {
    let token = cancel.child_token();
    let _ends_with_us = token.clone().drop_guard();
    let working = tokio::task::spawn_blocking(move || load(&place, &wanted, &context, &token));
    working.await.unwrap_or_else(|error| Err(Failure::new(format!("the tool broke off: {error}"))))
}

fn load(
    place: &Place,
    wanted: &Arguments,
    context: &ToolContext,
    cancel: &CancelToken,
) -> Result<Pictures, Failure> {
    let mut file = place.open_file()?;
    let told = |error: std::io::Error| Failure::new(format!("`{}` cannot be read: {error}", place.shown));
    let mut bytes = Vec::new();
    (&mut file).take(MOST_PICTURE_BYTES + 1).read_to_end(&mut bytes).map_err(told)?;
    let start = bytes.get(..1024).unwrap_or(&bytes);
    if start.windows(5).any(|window| window == b"%PDF-") {
        let is_cancelled = || cancel.is_cancelled();
        let watch = Watch::new(&is_cancelled, context.limits.time);
        let found = office::page_images(&mut file, wanted.pages.as_deref(), &watch);
        let found = found.map_err(|trouble| failure(&place.shown, &trouble))?;
        if found.is_empty() {
            let hint = "these pages have no pictures that could hold text; use the tool `office-read` for their text";
            return Err(Failure::new(format!("`{}`: {hint}", place.shown)));
        }
        let kind = format!("{} in a PDF", found.len());
        return Ok(Pictures {
            kind,
            all: found.into_iter().map(|image| (Some(image.page), image.bytes)).collect(),
        });
    }
    if bytes.len() as u64 > MOST_PICTURE_BYTES {
        let told =
            format!("`{}` has more than {MOST_PICTURE_BYTES} bytes; make the picture smaller", place.shown);
        return Err(Failure::new(told));
    }
    if wanted.pages.is_some() {
        return Err(Failure::new("`pages` is only for a PDF; leave it out"));
    }
    match office::picture(&bytes) {
        Some(kind) => Ok(Pictures { kind: kind.to_owned(), all: vec![(None, bytes)] }),
        None => Err(Failure::new(format!(
            "`{}` is not a picture (PNG, JPEG, TIFF, WebP) or a PDF; for documents use `office-read`, for text `Read`",
            place.shown
        ))),
    }
}

/// The program and everything it runs with.
struct Tesseract<'c> {
    program: PathBuf,
    context: &'c ToolContext,
}

impl<'c> Tesseract<'c> {
    fn find(context: &'c ToolContext) -> Result<Self, Failure> {
        let program = find_program(OsStr::new("tesseract"), &context.env).ok_or_else(|| {
            Failure::new(
                "image-ocr needs the program `tesseract`, which is not installed. Ask the person to install it: \
                 `apt install tesseract-ocr tesseract-ocr-chi-sim` on Debian and Ubuntu, `dnf install tesseract \
                 tesseract-langpack-chi_sim` on Fedora, `brew install tesseract tesseract-lang` on macOS",
            )
        })?;
        Ok(Self { program, context })
    }

    async fn start(
        &self,
        args: &[&str],
        stdin: Option<Vec<u8>>,
        cancel: &CancelToken,
    ) -> Result<Finished, Failure> {
        let project =
            self.context.roots.first().ok_or_else(|| Failure::new("there is no project directory"))?;
        let mut spec = Spec::new(&self.program, project);
        spec.args = args.iter().map(Into::into).collect();
        spec.stdin = stdin;
        spec.streams = Streams::Separate;
        // One picture at a time: its threads slow each other and their neighbours down.
        spec.env = vec![("OMP_THREAD_LIMIT".into(), "1".into())];
        let mut spec = self.context.confined(spec).map_err(|words| Failure::new(words.en))?;
        spec.memory_limit = Some(spec.memory_limit.unwrap_or(u64::MAX).min(MOST_MEMORY));
        Ok(process::run(spec, cancel.clone(), &mut |_, _| {}).await)
    }

    /// The languages to read in: those asked for, or those that are there.
    async fn language(&self, wanted: Option<&str>, cancel: &CancelToken) -> Result<String, Failure> {
        let finished = self.start(&["--list-langs"], None, cancel).await?;
        let listed = [finished.stdout.as_slice(), b"\n", &finished.stderr].concat();
        let listed = String::from_utf8_lossy(&listed).into_owned();
        // The first line is a sentence with a path.
        let is_name = |line: &&str| !line.is_empty() && line.bytes().all(is_language_byte);
        let installed: Vec<&str> = listed.lines().map(str::trim).filter(is_name).collect();
        if let Some(wanted) = wanted.map(str::trim).filter(|wanted| !wanted.is_empty()) {
            return chosen(wanted, &installed);
        }
        let usual: Vec<_> = ["eng", "chi_sim"].into_iter().filter(|name| installed.contains(name)).collect();
        match (usual.is_empty(), installed.first()) {
            (false, _) => Ok(usual.join("+")),
            (true, Some(first)) => Ok((*first).to_owned()),
            (true, None) => Err(ended(&finished).unwrap_or_else(|| {
                Failure::new("tesseract has no languages; ask the person to install `tesseract-ocr-eng`")
            })),
        }
    }

    async fn read(
        &self,
        shown: &str,
        picture: Vec<u8>,
        language: &str,
        cancel: &CancelToken,
    ) -> Result<String, Failure> {
        let finished = self.start(&["stdin", "stdout", "-l", language], Some(picture), cancel).await?;
        if let Some(failure) = ended(&finished) {
            return Err(failure);
        }
        if finished.end != End::Exited(0) {
            let words = String::from_utf8_lossy(&finished.stderr).into_owned();
            let words: Vec<_> =
                words.lines().map(str::trim).filter(|line| !line.is_empty()).take(5).collect();
            let told = format!("`{shown}`: tesseract cannot read this picture ({})", words.join("; "));
            return Err(Failure::new(told));
        }
        Ok(String::from_utf8_lossy(&finished.stdout).replace('\u{c}', "").trim().to_owned())
    }
}

fn is_language_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/')
}

fn chosen(wanted: &str, installed: &[&str]) -> Result<String, Failure> {
    let is_sane = wanted.len() <= MOST_LANGUAGE && !wanted.starts_with('-');
    let missing = wanted.split('+').find(|name| !installed.contains(name));
    match missing {
        None if is_sane => Ok(wanted.to_owned()),
        _ => {
            let known =
                installed.iter().filter(|name| **name != "osd").copied().collect::<Vec<_>>().join(", ");
            Err(Failure::new(format!(
                "tesseract has no language `{}`; installed are {known}. Others come as packages like \
                 `tesseract-ocr-chi-sim` (Debian, Ubuntu)",
                missing.unwrap_or(wanted)
            )))
        }
    }
}

/// Ends that are not tesseract's own words.
fn ended(finished: &Finished) -> Option<Failure> {
    match &finished.end {
        End::Exited(_) => None,
        End::Signalled(signal) => Some(Failure::new(format!(
            "tesseract was ended by signal {signal}; the picture may be too large for its memory"
        ))),
        End::TimedOut => {
            Some(Failure::new("tesseract took too long; use a smaller picture or fewer `pages`"))
        }
        End::ProcessLimit | End::MemoryLimit => {
            Some(Failure::new("tesseract took too much memory; use a smaller picture or fewer `pages`"))
        }
        End::Cancelled => Some(Failure::cancelled()),
        End::OutputLimit => Some(Failure::new("tesseract wrote too much; use fewer `pages`")),
        End::CouldNotStart(words) => Some(Failure::new(words.en.clone())),
    }
}

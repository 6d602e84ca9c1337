//! PDF: the text of its pages in reading order, and the pictures on them for whoever reads letters from pictures.
//!
//! The parser is a library that promises not to panic, but the files are anyone's: it works on a thread of its own with
//! a deep stack, a panic is an error, and streams are measured before it may unpack them (`guard`).

mod device;
mod guard;
mod layout;
mod picture;

use super::answer::Answer;
use super::select::Pages;
use super::{MOST_BYTES, Source, Trouble, Wanted, Watch};
use device::{Collector, Stopped};
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, interpret_page};
use kurbo::{Affine, Rect};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use picture::PageImage;

/// Deep enough for what `guard` lets through; the system gives memory only for what is used.
const STACK: usize = 512 << 20;
/// Pages nobody can read at once: more than this many are an overview.
const MOST_PICTURES: usize = 20;

pub(super) fn read(
    bytes: Vec<u8>,
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_sheets("a PDF")?;
    let pages = Pages::parse(wanted.pages.as_deref())?;
    apart(bytes, watch, |pdf| text(pdf, pages.as_ref(), watch, answer))
}

/// The pictures on the chosen pages, as they stand, in a format that needs no decoder. At most twenty.
pub fn page_images(
    source: &mut dyn Source,
    pages: Option<&str>,
    watch: &Watch<'_>,
) -> Result<Vec<PageImage>, Trouble> {
    let pages = Pages::parse(pages)?;
    let size = source.seek(std::io::SeekFrom::End(0))?;
    if size > MOST_BYTES {
        return Err(Trouble::TooLarge { what: "the file".into(), limit: MOST_BYTES });
    }
    let bytes = super::load(source)?;
    let mut images = Vec::new();
    apart(bytes, watch, |pdf| {
        for (number, page) in chosen(pdf, pages.as_ref())? {
            let mut collector = Collector::for_pictures(watch, number, MOST_PICTURES - images.len());
            run(pdf, page, &mut collector)?;
            images.append(&mut collector.pictures);
            if images.len() >= MOST_PICTURES {
                break;
            }
        }
        Ok(())
    })?;
    Ok(images)
}

/// Opens the file and works with it on a thread of its own.
fn apart<T: Send>(
    bytes: Vec<u8>,
    watch: &Watch<'_>,
    work: impl FnOnce(&Pdf) -> Result<T, Trouble> + Send,
) -> Result<T, Trouble> {
    let guarded = move || {
        guard::check(&bytes, watch)?;
        let pdf = Pdf::new(bytes).map_err(|error| match error {
            LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Trouble::Protected("PDF"),
            LoadPdfError::Decryption(_) => Trouble::damaged("PDF", "its encryption is not one of PDF"),
            LoadPdfError::Invalid => Trouble::damaged("PDF", "no pages can be found in it"),
        })?;
        guard::check_objects(&pdf, watch)?;
        work(&pdf)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("pdf".into()).stack_size(STACK);
        let caught = move || catch_unwind(AssertUnwindSafe(guarded));
        let joined = thread.spawn_scoped(scope, caught)?.join();
        match joined.and_then(|caught| caught) {
            Ok(answer) => answer,
            Err(panic) if panic.is::<Stopped>() => {
                watch.check()?;
                Err(Trouble::OutOfTime)
            }
            Err(_) => Err(Trouble::damaged("PDF", "its parts contradict each other")),
        }
    })
}

/// The chosen pages with their numbers.
fn chosen<'p>(pdf: &'p Pdf, pages: Option<&Pages>) -> Result<Vec<(u32, &'p Page<'p>)>, Trouble> {
    let all = pdf.pages();
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    if let Some(pages) = pages {
        pages.check(count, "pages")?;
    }
    let is_wanted = |number: &u32| pages.is_none_or(|pages| pages.contain(*number));
    Ok((1u32..).zip(all.iter()).filter(|(number, _)| is_wanted(number)).collect())
}

/// Draws a page for the collector.
fn run<'a>(pdf: &'a Pdf, page: &'a Page<'a>, collector: &mut Collector<'_>) -> Result<(), Trouble> {
    let settings = InterpreterSettings::default();
    let cache = InterpreterCache::new();
    run_with(pdf, page, collector, &cache, settings)
}

fn run_with<'a>(
    pdf: &'a Pdf,
    page: &'a Page<'a>,
    collector: &mut Collector<'_>,
    cache: &InterpreterCache<'a>,
    settings: InterpreterSettings,
) -> Result<(), Trouble> {
    guard::check_page(page, collector.watch)?;
    let turned = page.initial_transform(true);
    let [a, b, c, d, e, f] = transform(turned);
    let (width, height) = page.render_dimensions();
    let bounds = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
    let mut context = Context::new(Affine::new([a, b, c, d, e, f]), bounds, cache, pdf.xref(), settings);
    interpret_page(page, &mut context, collector);
    Ok(())
}

fn transform(matrix: hayro_interpret::hayro_syntax::transform::Transform) -> [f64; 6] {
    matrix.as_coeffs()
}

fn text(pdf: &Pdf, pages: Option<&Pages>, watch: &Watch<'_>, answer: &mut Answer) -> Result<(), Trouble> {
    let count = pdf.pages().len();
    answer.about("document", &format!("PDF, {count} pages"));
    let about = pdf.metadata();
    for (name, value) in [("title", &about.title), ("author", &about.author), ("subject", &about.subject)] {
        let value = value.as_deref().map(words).unwrap_or_default();
        // What programs write when nobody said anything.
        if !matches!(value.to_lowercase().as_str(), "(anonymous)" | "(unspecified)" | "untitled") {
            answer.about(name, &value);
        }
    }
    answer.push("\n");
    let cache = InterpreterCache::new();
    let (mut letters, mut unknown, mut pictures) = (0usize, 0usize, Vec::new());
    for (number, page) in chosen(pdf, pages)? {
        if answer.is_full() {
            let rest = format!("{}-{count}", number.saturating_sub(1).max(1));
            answer.note(format!(
                "Shown up to page {} of {count}. Read on with `pages`: \"{rest}\" or a part of it.",
                number.saturating_sub(1)
            ));
            break;
        }
        let mut collector = Collector::for_text(watch);
        run_with(pdf, page, &mut collector, &cache, InterpreterSettings::default())?;
        answer.push(&format!("--- page {number} of {count} ---\n\n"));
        let glyphs = std::mem::take(&mut collector.glyphs);
        letters += glyphs.len();
        unknown += collector.unknown;
        if glyphs.is_empty() && collector.picture_count > 0 {
            pictures.push(number);
        }
        answer.push(&layout::text(glyphs));
    }
    say_what_is_missing(letters, unknown, &pictures, answer)
}

/// Scans have no letters, and some fonts do not say which letters they draw.
fn say_what_is_missing(
    letters: usize,
    unknown: usize,
    pictures: &[u32],
    answer: &mut Answer,
) -> Result<(), Trouble> {
    let listed: Vec<_> = pictures.iter().take(20).map(u32::to_string).collect();
    let listed = listed.join(",");
    if letters == 0 && unknown == 0 {
        let what = if pictures.is_empty() {
            "these pages have no text".to_owned()
        } else {
            format!(
                "these pages have no text layer: they are pictures (a scan). Use the tool `image-ocr` on this file, with `pages`: \"{listed}\""
            )
        };
        return Err(Trouble::NoText(what));
    }
    if unknown > letters / 4 {
        answer.note(format!(
            "{unknown} letters are drawn with fonts that do not say which letters they are; if the text looks broken, \
             turn the pages into pictures and use `image-ocr`."
        ));
    }
    if !pictures.is_empty() {
        answer.note(format!(
            "Pages {listed} have pictures but no text; use `image-ocr` with `pages` for them."
        ));
    }
    Ok(())
}

/// Words of the properties: UTF-16 or UTF-8 with a mark, else letters of one byte.
fn words(bytes: &[u8]) -> String {
    match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding.decode(bytes).0.into_owned(),
        None => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned(),
        },
    }
}

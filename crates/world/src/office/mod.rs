//! Documents as Markdown: text and tables of PDF, Word, PowerPoint, spreadsheets and their open counterparts.
//!
//! Takes an open file and what is wanted of it, gives text for a model. What a file is, its content says; its name only
//! settles what content leaves open. Files come from anywhere, so everything is counted while it is unpacked: no file
//! takes more than the memory and the time it was given. Knows nothing of agents, projects or where files lie.

mod answer;
mod kind;
mod markdown;
mod open_document;
mod package;
mod pdf;
mod relations;
mod rtf;
mod select;
mod sheet;
mod slides;
#[cfg(test)]
mod tests;
mod text;
mod trouble;
mod watch;
mod word;
mod xml;

use answer::Answer;
use kind::Kind;
use std::io::{Read, Seek, SeekFrom};

pub use kind::picture;
pub use pdf::{PageImage, page_images};
pub use trouble::Trouble;
pub use watch::Watch;

/// An open file, or bytes that act as one.
pub trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// What of a document is wanted. Nothing set: an overview and the first part.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Pages or slides: `3-7,12`.
    pub pages: Option<String>,
    /// The name or number of a sheet.
    pub sheet: Option<String>,
    /// Cells: `A1:F200`, `A:C`, `10:20`.
    pub range: Option<String>,
    pub max_rows: Option<u64>,
}

impl Wanted {
    fn is_part(&self) -> bool {
        self.pages.is_some() || self.sheet.is_some() || self.range.is_some() || self.max_rows.is_some()
    }

    /// Who asks for a part has seen the beginning and wants that part whole.
    fn room(&self) -> usize {
        if self.is_part() { PART_BYTES } else { OVERVIEW_BYTES }
    }

    fn refuse_sheets(&self, what: &str) -> Result<(), Trouble> {
        if self.sheet.is_some() || self.range.is_some() || self.max_rows.is_some() {
            return Err(Trouble::Selection(format!(
                "`sheet`, `range` and `max_rows` are for spreadsheets; this is {what}"
            )));
        }
        Ok(())
    }

    fn refuse_pages(&self, what: &str) -> Result<(), Trouble> {
        if self.pages.is_some() {
            return Err(Trouble::Selection(format!(
                "{what} has no pages; use `sheet`, `range` (like A1:F200) and `max_rows`"
            )));
        }
        Ok(())
    }
}

/// Some twenty printed pages: enough to know a document by, little enough to read.
const OVERVIEW_BYTES: usize = 64 << 10;
/// A book of five hundred pages.
const PART_BYTES: usize = 2 << 20;
/// The largest file that is opened. Spreadsheets are read as they go by; PDF must be in memory as a whole.
pub const MOST_BYTES: u64 = 256 << 20;

/// Reads a document. `name` is what its file is called.
pub fn read(
    source: &mut dyn Source,
    name: &str,
    wanted: &Wanted,
    watch: &Watch<'_>,
) -> Result<String, Trouble> {
    watch.check()?;
    let size = source.seek(SeekFrom::End(0))?;
    if size == 0 {
        return Err(Trouble::Empty);
    }
    if size > MOST_BYTES {
        return Err(Trouble::TooLarge { what: "the file".into(), limit: MOST_BYTES });
    }
    let kind = kind::of(source, name)?;
    let mut answer = Answer::new(wanted.room());
    match kind {
        Kind::Pdf => pdf::read(load(source)?, wanted, watch, &mut answer)?,
        Kind::Word(mut package) => word::read(&mut package, wanted, watch, &mut answer)?,
        Kind::Slides(mut package) => slides::read(&mut package, wanted, watch, &mut answer)?,
        Kind::Workbook(mut package) => sheet::xlsx::read(&mut package, wanted, watch, &mut answer)?,
        Kind::OpenSheet(mut package) => sheet::ods::read(&mut package, wanted, watch, &mut answer)?,
        Kind::OpenText(mut package) => open_document::read(&mut package, wanted, watch, &mut answer)?,
        Kind::OldWorkbook(book) => sheet::xls::read(&book, wanted, watch, &mut answer)?,
        Kind::Rtf => rtf::read(&load(source)?, wanted, watch, &mut answer)?,
        Kind::Separated(separator) => sheet::csv::read(source, separator, wanted, watch, &mut answer)?,
    }
    Ok(answer.finish())
}

fn load(source: &mut dyn Source) -> Result<Vec<u8>, Trouble> {
    source.rewind()?;
    let mut bytes = Vec::new();
    source.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

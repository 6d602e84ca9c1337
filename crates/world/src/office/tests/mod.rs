//! Documents as people make them, and as they are made to do harm.

mod bad;
mod good;
mod large;
mod make;
mod mutated;

use super::{Trouble, Wanted, Watch, read};
use std::io::Cursor;
use std::time::Duration;

fn try_read(bytes: &[u8], name: &str, wanted: &Wanted) -> Result<String, Trouble> {
    let never = || false;
    read(&mut Cursor::new(bytes), name, wanted, &Watch::new(&never, Duration::from_secs(900)))
}

fn shown(bytes: &[u8], name: &str) -> String {
    try_read(bytes, name, &Wanted::default()).unwrap()
}

fn told(bytes: &[u8], name: &str) -> String {
    try_read(bytes, name, &Wanted::default()).unwrap_err().to_string()
}

fn pages(pages: &str) -> Wanted {
    Wanted { pages: Some(pages.into()), ..Wanted::default() }
}

fn sheet(sheet: &str) -> Wanted {
    Wanted { sheet: Some(sheet.into()), ..Wanted::default() }
}

fn range(range: &str) -> Wanted {
    Wanted { range: Some(range.into()), ..Wanted::default() }
}

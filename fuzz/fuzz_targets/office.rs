//! Any bytes as a document of any kind: an answer or an error, in bounded time and memory.
#![no_main]

use fugato_world::office::{Wanted, Watch, page_images, read};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use std::time::Duration;

// The first byte chooses the name and what is wanted; the rest is the file.
fuzz_target!(|bytes: &[u8]| {
    let Some((choice, file)) = bytes.split_first() else { return };
    let never = || false;
    let watch = Watch::new(&never, Duration::from_secs(60));
    let name = ["a.csv", "a.tsv", "a.pdf", "a.docx"][usize::from(choice & 3)];
    let wanted = match choice >> 2 & 3 {
        0 => Wanted::default(),
        1 => Wanted { pages: Some("1-3".into()), ..Wanted::default() },
        2 => Wanted { range: Some("A1:C9".into()), ..Wanted::default() },
        _ => Wanted { sheet: Some("1".into()), max_rows: Some(5), ..Wanted::default() },
    };
    if let Ok(text) = read(&mut Cursor::new(file), name, &wanted, &watch) {
        assert!(text.len() < 4 << 20);
    }
    if choice >> 4 == 0 {
        let _ = page_images(&mut Cursor::new(file), None, &watch);
    }
});

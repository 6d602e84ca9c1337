//! The way back: what a file of settings was before ours came into it. Private, because settings may hold keys.

use crate::atomic::write_privately;
use fugato_skill::digest_bytes;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Where the ways back are kept.
#[derive(Clone, Debug)]
pub struct Shelf {
    dir: PathBuf,
}

/// How to undo an edit of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// `None`: there was no file.
    pub before: Option<String>,
    /// Of the file as we left it: while it is this, nobody else has edited it.
    after: String,
}

/// What becomes of the way back when a change is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Keep(Undo),
    Forget,
    AsItIs,
}

impl Undo {
    pub(super) fn new(before: Option<String>, after: &str) -> Self {
        Self { before, after: digest(after) }
    }

    /// Is this text exactly what we wrote?
    pub fn is_untouched(&self, text: &str) -> bool {
        self.after == digest(text)
    }
}

fn digest(text: &str) -> String {
    digest_bytes(text.as_bytes()).to_string()
}

/// The file of the shelf: which file it is about stands in it, for people who look.
#[derive(Serialize, Deserialize)]
struct Sheet {
    file: String,
    #[serde(rename = "undo")]
    undo: Undo,
}

impl Shelf {
    /// `home`: where fugato keeps its own files.
    pub fn new(home: &Path) -> Self {
        Self { dir: home.join("hooks") }
    }

    /// Where the way back of this file is kept.
    pub fn file_of(&self, settings: &Path) -> PathBuf {
        let whole = std::path::absolute(settings).unwrap_or_else(|_| settings.to_owned());
        let digest = digest_bytes(whole.as_os_str().as_encoded_bytes());
        let name = settings.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.dir.join(format!("{name}.{}.json", digest.short()))
    }

    /// A sheet that cannot be read is none: then entries are taken out one by one.
    pub fn undo(&self, settings: &Path) -> Option<Undo> {
        let bytes = std::fs::read(self.file_of(settings)).ok()?;
        serde_json::from_slice::<Sheet>(&bytes).ok().map(|sheet| sheet.undo)
    }

    pub(super) fn keep(&self, settings: &Path, undo: &Undo) -> io::Result<()> {
        std::fs::create_dir_all(&self.dir)?;
        let sheet = Sheet { file: settings.to_string_lossy().into_owned(), undo: undo.clone() };
        let text = serde_json::to_string_pretty(&sheet)?;
        write_privately(&self.file_of(settings), |out| out.write_all(text.as_bytes()))
    }

    pub(super) fn forget(&self, settings: &Path) {
        // It may never have been there.
        let _ = std::fs::remove_file(self.file_of(settings));
    }
}

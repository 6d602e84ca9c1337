//! Whatever a person names on the command line → a [`Bundle`]. Judged by content: a directory, a zip, a card.

use super::disk::{DiskError, at};
use super::error::ManageError;
use super::tree::{open_file, read_all};
use fugato_model::{Code, Diagnostic, RelPath, Words, escape_for_terminal, words};
use fugato_skill::archive::{
    Bundle, Content, MAX_PACKED_BYTES, Tally, Twins, collides, gather, is_clutter, read_zip, safe_path, sniff,
};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// Reads a directory, a `.zip` or a character card / preset with embedded skills. Installs nothing.
pub fn add_from_path(path: &Path) -> Result<Bundle, ManageError> {
    let shown = path.to_string_lossy();
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ManageError::NoSource { path: path.to_owned() });
        }
        metadata => at(path, metadata)?,
    };
    if metadata.is_dir() {
        return directory(path);
    }
    if !metadata.is_file() {
        let why = words!("it is not a file or directory", "它不是文件或目录");
        return Err(refuse(&shown, Code::F0302, why));
    }
    if metadata.len() > MAX_PACKED_BYTES {
        return Err(too_large(&shown));
    }
    let read = File::open(path).and_then(|file| read_all(file, MAX_PACKED_BYTES));
    let bytes = at(path, read)?.bytes;
    let bundle = match sniff(&bytes) {
        Content::Json | Content::Png => fugato_skill::payload::read(&shown, &bytes),
        Content::Text => return Err(not_packed(path, &shown)),
        _ => read_zip(&shown, &bytes),
    };
    bundle.map_err(ManageError::Invalid)
}

fn too_large(shown: &str) -> ManageError {
    let limit = MAX_PACKED_BYTES >> 20;
    refuse(shown, Code::F0303, words!("it is larger than {limit} MiB", "超过 {limit} MiB"))
}

/// A text file is most often the `SKILL.md` itself.
fn not_packed(path: &Path, shown: &str) -> ManageError {
    let why = words!(
        "this is a text file (expected a directory, a zip, or a card with embedded skills)",
        "这是文本文件（应为目录、zip，或带有技能的角色卡）"
    );
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = escape_for_terminal(&parent.to_string_lossy()).into_owned();
    ManageError::invalid(Diagnostic::error(Code::F0306, shown, why).hint(words!(
        "add its directory: `fugato skill add {parent}`",
        "请添加它所在的目录：`fugato skill add {parent}`"
    )))
}

/// A directory passes the same gate as an archive: names, twins, limits, no way out. Files that belong to no skill are not
/// even opened, so a skill can be added from the middle of a large repository.
fn directory(path: &Path) -> Result<Bundle, ManageError> {
    let shown = path.to_string_lossy();
    let mut walk = Walk {
        root: path,
        shown: &shown,
        seen: 0,
        tally: Tally::default(),
        twins: Twins::default(),
        files: BTreeMap::new(),
    };
    walk.run()?;
    let real = at(path, path.canonicalize())?;
    let top = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    gather(&shown, &top, walk.files, Vec::new()).map_err(ManageError::Invalid)
}

/// Two more than a skill may be deep, so that one which is too deep is named rather than missed.
const MAX_SEARCH_DEPTH: usize = 6;
/// Names looked at in search of skills; some seconds of work. A larger tree has a directory that can be named instead.
const MAX_SEEN: usize = 20_000;

struct Walk<'a> {
    root: &'a Path,
    shown: &'a str,
    seen: usize,
    tally: Tally,
    twins: Twins,
    files: BTreeMap<RelPath, fugato_skill::archive::BundledFile>,
}

/// A directory on the way, and whether a skill file was found in it or above.
struct Waiting {
    dir: PathBuf,
    prefix: String,
    depth: usize,
    in_skill: bool,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<(), ManageError> {
        let mut waiting =
            vec![Waiting { dir: self.root.to_owned(), prefix: String::new(), depth: 0, in_skill: false }];
        while let Some(Waiting { dir, prefix, depth, in_skill }) = waiting.pop() {
            let entries = self.list(&dir)?;
            let in_skill = in_skill
                || entries.iter().any(|(name, _)| name.to_str().is_some_and(fugato_skill::is_skill_file));
            for (name, kind) in entries {
                let text = name.to_string_lossy();
                let inner = format!("{prefix}{text}");
                // Left out before its name is judged: what is not taken need not be portable.
                if RelPath::parse(&text).is_ok_and(|path| is_clutter(&path)) {
                    continue;
                }
                if in_skill {
                    self.enter(&name, &inner, kind.is_dir())?;
                }
                if kind.is_dir() && (in_skill || depth < MAX_SEARCH_DEPTH) {
                    let prefix = format!("{inner}/");
                    waiting.push(Waiting { dir: dir.join(&name), prefix, depth: depth + 1, in_skill });
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, dir: &Path) -> Result<Vec<(OsString, FileType)>, ManageError> {
        let mut entries = Vec::new();
        for entry in at(dir, std::fs::read_dir(dir))? {
            let entry = at(dir, entry)?;
            entries.push((entry.file_name(), at(&entry.path(), entry.file_type())?));
            self.seen += 1;
            if self.seen > MAX_SEEN {
                let why = words!("it has more than {MAX_SEEN} entries", "其中的条目超过 {MAX_SEEN} 个");
                return Err(self.too_many(Code::F0303, why));
            }
        }
        Ok(entries)
    }

    /// Takes one entry of a skill.
    fn enter(&mut self, name: &OsStr, inner: &str, is_dir: bool) -> Result<(), ManageError> {
        if name.to_str().is_none() {
            return Err(self.at(inner, Code::F0308, &words!("its name is not UTF-8", "名称不是 UTF-8")));
        }
        let path = safe_path(inner).map_err(|(code, why)| self.at(inner, code, &why))?;
        self.tally.entry().map_err(|(code, why)| self.too_many(code, why))?;
        if is_dir {
            self.twins.directory(&path).map_err(|other| self.twin(inner, &other))
        } else {
            self.twins.file(&path).map_err(|other| self.twin(inner, &other))?;
            self.take(path)
        }
    }

    fn too_many(&self, code: Code, why: Words) -> ManageError {
        ManageError::invalid(Diagnostic::error(code, self.shown, why).hint(words!(
            "name the directory of one skill: `fugato skill add DIR`",
            "请指定单个技能的目录：`fugato skill add DIR`"
        )))
    }

    fn take(&mut self, path: RelPath) -> Result<(), ManageError> {
        let full = self.root.join(&path);
        let file = match open_file(self.root, &path) {
            Ok(file) => file,
            Err(error) => {
                let is_link = full.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
                let is_file = full.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
                let why = if is_link {
                    words!(
                        "a link that leaves the directory or leads to no file",
                        "链接指向目录之外，或没有指向文件"
                    )
                } else if is_file {
                    return Err(DiskError { path: full, source: error }.into());
                } else {
                    words!("a device, pipe or other special file", "设备、管道或其他特殊文件")
                };
                return Err(self.at(path.as_str(), Code::F0302, &why));
            }
        };
        let read = read_all(file, self.tally.left());
        let file = read.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => refuse(
                self.shown,
                Code::F0303,
                words!("the files are larger than 50 MB together", "所有文件合计超过 50 MB"),
            ),
            _ => DiskError { path: full, source: error }.into(),
        })?;
        self.tally.bytes(file.bytes.len() as u64).map_err(|(code, why)| refuse(self.shown, code, why))?;
        self.files.insert(path, file);
        Ok(())
    }

    fn twin(&self, path: &str, other: &str) -> ManageError {
        let (code, why) = collides(other);
        self.at(path, code, &why)
    }

    fn at(&self, path: &str, code: Code, why: &Words) -> ManageError {
        let path = escape_for_terminal(path);
        let Words { en, zh } = why;
        refuse(self.shown, code, Words { en: format!("`{path}`: {en}"), zh: format!("`{path}`：{zh}") })
    }
}

fn refuse(shown: &str, code: Code, why: Words) -> ManageError {
    ManageError::invalid(Diagnostic::error(code, shown, why))
}

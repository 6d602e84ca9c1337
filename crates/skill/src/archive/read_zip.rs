//! `.zip` bytes → skills. Names first, then kinds, then contents; the first stage with a problem ends the reading.

use super::bundle::{Bundle, BundledFile, gather, is_clutter};
use super::central::{Broken, Entry, Node, entries};
use super::inflate::inflate;
use super::limit::Tally;
use super::name::{Twins, safe_path};
use super::sniff::{Content, sniff};
use fugato_model::{Code, Diagnostic, RelPath, Words, escape_for_terminal, words};
use std::collections::BTreeMap;

/// Enough to see the pattern; a hostile archive does not get to print 500 lines.
const MAX_REPORTED: usize = 20;

/// Reads an archive. `name` is the file as a person would name it.
pub fn read_zip(name: &str, bytes: &[u8]) -> Result<Bundle, Vec<Diagnostic>> {
    read_zip_within(name, bytes, &mut Tally::default())
}

/// As [`read_zip`], counting on: several archives in one payload share one limit.
pub(crate) fn read_zip_within(
    archive: &str,
    bytes: &[u8],
    tally: &mut Tally,
) -> Result<Bundle, Vec<Diagnostic>> {
    let entries = entries(bytes).map_err(|broken| vec![structure(archive, bytes, broken)])?;
    let mut warnings = Vec::new();
    let wanted = check_names(archive, &entries, tally, &mut warnings)?;
    let mut files = BTreeMap::new();
    for (entry, path) in wanted {
        let bytes = inflate(entry, tally).map_err(|problem| vec![at_entry(archive, entry, problem)])?;
        files.insert(path, BundledFile { bytes, executable: entry.permissions & 0o111 != 0 });
    }
    let file = archive.rsplit(['/', '\\']).next().unwrap_or(archive);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    gather(archive, stem, files, warnings)
}

/// Checks every name and kind before a byte is unpacked. Gives the files worth unpacking.
fn check_names<'e, 'a>(
    archive: &str,
    entries: &'e [Entry<'a>],
    tally: &mut Tally,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<(&'e Entry<'a>, RelPath)>, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut twins = Twins::default();
    let mut wanted = Vec::with_capacity(entries.len());
    let mut clutter = 0;
    for entry in entries {
        if errors.len() >= MAX_REPORTED {
            break;
        }
        let path = match tally.entry().and_then(|()| check_entry(entry)) {
            Ok(path) => path,
            Err(problem) => {
                errors.push(at_entry(archive, entry, problem));
                continue;
            }
        };
        let added = match entry.node {
            Node::Directory => twins.directory(&path),
            _ => twins.file(&path),
        };
        if let Err(other) = added {
            errors.push(at_entry(archive, entry, collides(&other)));
        }
        if entry.permissions & 0o7000 != 0 {
            let mode = entry.permissions;
            let why = words!(
                "its setuid, setgid or sticky bits ({mode:04o}) are dropped",
                "已去掉 setuid、setgid 或 sticky 位（{mode:04o}）"
            );
            warnings.push(Diagnostic {
                severity: fugato_model::Severity::Warning,
                ..at_entry(archive, entry, (Code::F0302, why))
            });
        }
        if is_clutter(&path) {
            clutter += 1;
        } else if entry.node != Node::Directory {
            wanted.push((entry, path));
        }
    }
    if clutter > 0 {
        warnings.push(Diagnostic::warning(
            Code::F0305,
            archive,
            words!(
                "skipped {clutter} entries that belong to a file manager or to version control (`__MACOSX`, `.DS_Store`, `.git`)",
                "跳过 {clutter} 个属于文件管理器或版本控制的条目（`__MACOSX`、`.DS_Store`、`.git`）"
            ),
        ));
    }
    if errors.is_empty() { Ok(wanted) } else { Err(errors) }
}

fn check_entry(entry: &Entry<'_>) -> Result<RelPath, (Code, Words)> {
    let name = std::str::from_utf8(entry.name)
        .map_err(|_| (Code::F0308, words!("its name is not UTF-8", "名称不是 UTF-8")))?;
    let is_directory = entry.node == Node::Directory;
    let bare = if is_directory { name.strip_suffix('/').unwrap_or(name) } else { name };
    let path = safe_path(bare)?;
    match entry.node {
        Node::Link => Err((Code::F0302, words!("it is a link", "它是链接"))),
        Node::Special => Err((
            Code::F0302,
            words!("it is a device, pipe or other special file", "它是设备、管道或其他特殊文件"),
        )),
        Node::Directory if entry.claimed != 0 || !entry.packed.is_empty() && entry.method == 0 => {
            Err((Code::F0306, words!("it is a directory with content", "它是带有内容的目录")))
        }
        _ if entry.encrypted => Err((Code::F0306, words!("it is encrypted", "已加密"))),
        _ => Ok(path),
    }
}

/// The words for two names that are one somewhere.
pub fn collides(other: &str) -> (Code, Words) {
    let other = escape_for_terminal(other);
    (
        Code::F0304,
        words!(
            "it collides with `{other}` where names ignore case or Unicode form",
            "在忽略大小写或 Unicode 形式的文件系统上与 `{other}` 冲突"
        ),
    )
}

fn at_entry(archive: &str, entry: &Entry<'_>, (code, why): (Code, Words)) -> Diagnostic {
    named(archive, entry.number, entry.name, code, &why)
}

fn named(archive: &str, number: usize, name: &[u8], code: Code, why: &Words) -> Diagnostic {
    let name = shown(name);
    let Words { en, zh } = why;
    let message = Words {
        en: format!("entry {number} `{name}`: {en}"),
        zh: format!("条目 {number} `{name}`：{zh}"),
    };
    Diagnostic::error(code, archive, message).field(name)
}

/// A name for eyes: what is not text or not visible is escaped, what is long is cut.
fn shown(name: &[u8]) -> String {
    const MOST: usize = 120;
    let text = match std::str::from_utf8(name) {
        Ok(text) => escape_for_terminal(text).into_owned(),
        Err(_) => name.escape_ascii().to_string(),
    };
    if text.chars().count() <= MOST { text } else { text.chars().take(MOST).chain(['…']).collect() }
}

fn structure(archive: &str, bytes: &[u8], broken: Broken<'_>) -> Diagnostic {
    match (broken.entry, sniff(bytes)) {
        (Some((number, name)), _) => named(archive, number, name, broken.code, &broken.why),
        (None, Content::Other(kind)) => Diagnostic::error(
            Code::F0306,
            archive,
            words!("this is {kind}, not zip (judged by its content)", "这是 {kind}，不是 zip（按内容判断）"),
        )
        .hint(words!(
            "unpack it and add the directory: `fugato skill add DIR`",
            "先解压，再添加目录：`fugato skill add DIR`"
        )),
        (None, _) => Diagnostic::error(broken.code, archive, broken.why),
    }
}

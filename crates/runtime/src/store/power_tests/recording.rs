//! The system calls of a process that change files or make them durable, in order, as `strace` saw them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One call that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// A file was opened that may have been made by it.
    Open {
        path: PathBuf,
        truncates: bool,
    },
    Write {
        path: PathBuf,
        at: Option<u64>,
        bytes: Vec<u8>,
    },
    Truncate {
        path: PathBuf,
        length: u64,
    },
    /// Of a file or a directory.
    Sync(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Unlink(PathBuf),
    MakeDir(PathBuf),
    /// Something was written to standard output.
    Said(String),
}

const TRACED: &str = "trace=open,openat,creat,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,\
fsync,fdatasync,sync_file_range,msync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat";

/// Runs a command and gives its calls that concern files beneath `root`, and what it said.
pub fn record(command: &[OsString], variable: (&str, &OsStr), root: &Path) -> Vec<Call> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let status = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "1048576", "-e", TRACED, "-o"])
        .arg(file.path())
        .args(command)
        .env(variable.0, variable.1)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("`strace` is needed (apt-get install strace): {error}"));
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    let text = std::fs::read_to_string(file.path()).unwrap();
    let mut unfinished = std::collections::HashMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let (thread, rest) = line.split_once(' ').unwrap();
        let rest = rest.trim_start();
        let whole = if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.insert(thread.to_owned(), begun.to_owned());
            continue;
        } else if let Some((_, ended)) = rest.split_once(" resumed>").filter(|_| rest.starts_with("<...")) {
            unfinished.remove(thread).unwrap() + ended
        } else {
            rest.to_owned()
        };
        calls.extend(read(&whole, root));
    }
    calls
}

/// `None`: it failed, or concerns nothing here.
fn read(line: &str, root: &Path) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(") = ")?;
    if result.starts_with('-') || result.starts_with('?') {
        return None;
    }
    let arguments: Vec<&str> = arguments.split(", ").collect();
    let here = |path: PathBuf| path.starts_with(root).then_some(path);
    let file = |at: usize| described(arguments.get(at)?).and_then(here);
    let text = |at: usize| Some(PathBuf::from(String::from_utf8(quoted(arguments.get(at)?)?).ok()?));
    let given = |at: usize| text(at).and_then(here);
    let number = |at: usize| arguments.get(at)?.trim().parse::<u64>().ok();
    match name {
        "write" if arguments.first()?.starts_with("1<") => {
            Some(Call::Said(String::from_utf8_lossy(&quoted(arguments.get(1)?)?).into_owned()))
        }
        "write" | "pwrite64" => {
            let mut bytes = quoted(arguments.get(1)?)?;
            // What did not fit was not written.
            bytes.truncate(result.trim().parse().ok()?);
            Some(Call::Write { path: file(0)?, at: number(3), bytes })
        }
        "open" | "creat" => panic!("unexpected: {line}"),
        "openat" => {
            let flags = arguments.get(2)?;
            let path = here(described(result)?)?;
            let writes = flags.contains("O_CREAT") || flags.contains("O_TRUNC");
            writes.then(|| Call::Open { path, truncates: flags.contains("O_TRUNC") })
        }
        "ftruncate" => Some(Call::Truncate { path: file(0)?, length: number(1)? }),
        "fsync" | "fdatasync" => Some(Call::Sync(file(0)?)),
        "rename" => Some(Call::Rename { from: given(0)?, to: text(1)? }),
        "renameat" | "renameat2" => Some(Call::Rename { from: given(1)?, to: text(3)? }),
        "link" => Some(Call::Link { from: given(0)?, to: text(1)? }),
        "linkat" => Some(Call::Link { from: given(1)?, to: text(3)? }),
        "unlink" => Some(Call::Unlink(given(0)?)),
        "unlinkat" => Some(Call::Unlink(given(1)?)),
        "mkdir" => Some(Call::MakeDir(given(0)?)),
        "mkdirat" => Some(Call::MakeDir(given(1)?)),
        // Room for later, without content: nothing reads it.
        "fallocate" => None,
        // A call that this room does not understand must not pass for nothing.
        _ => {
            assert!(file(0).is_none(), "unexpected: {line}");
            None
        }
    }
}

/// The path of `5<\x2f…>`.
fn described(argument: &str) -> Option<PathBuf> {
    let (_, path) = argument.split_once('<')?;
    let (path, _) = path.split_once('>')?;
    Some(PathBuf::from(String::from_utf8(unescaped(path)).ok()?))
}

fn quoted(argument: &str) -> Option<Vec<u8>> {
    let inner = argument.trim().strip_prefix('"')?;
    assert!(!inner.ends_with("..."), "cut off: the limit of strace is too small");
    Some(unescaped(inner.strip_suffix('"')?))
}

fn unescaped(text: &str) -> Vec<u8> {
    text.split("\\x")
        .filter(|pair| !pair.is_empty())
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

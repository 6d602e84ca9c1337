//! Scripts of skills: a program instead of a model. Arguments go in as JSON, text comes out.

use super::text::Decoder;
use super::{CancelToken, ToolContext};
use crate::beneath::{READ, open_beneath};
use crate::process::{self, End, Spec, Stream};
use fugato_model::{Code, RelPath, Words, words};
use rustix::fd::AsFd as _;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use serde_json::Value;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;

/// Why a script gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptFailure {
    /// The entry is missing, outside the skill, or nothing that can be run.
    Entry(Words),
    CouldNotStart(Words),
    /// It ended badly; the last line it wrote to standard error usually says why.
    Failed {
        entry: RelPath,
        end: BadEnd,
        last_line: Option<String>,
    },
    TimedOut {
        entry: RelPath,
        seconds: u64,
    },
    OutputLimit {
        entry: RelPath,
        bytes: usize,
    },
    /// It and what it started had more processes, or more memory, than allowed.
    Overrun {
        entry: RelPath,
        limit: Words,
    },
    Cancelled,
}

/// A bad end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadEnd {
    Exited(i32),
    Signalled(i32),
}

impl ScriptFailure {
    /// `None`: someone wanted it to end, which is no problem.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Entry(_) => Some(Code::F0901),
            Self::CouldNotStart(_) => Some(Code::F0902),
            Self::Failed { .. } => Some(Code::F0903),
            Self::TimedOut { .. } | Self::OutputLimit { .. } | Self::Overrun { .. } => Some(Code::F0904),
            Self::Cancelled => None,
        }
    }

    /// It was ended before it could say how far it had come: some of its work may have been done.
    pub fn was_cut_short(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::OutputLimit { .. } | Self::Overrun { .. } => true,
            Self::Failed { end, .. } => matches!(end, BadEnd::Signalled(_)),
            Self::Entry(_) | Self::CouldNotStart(_) | Self::Cancelled => false,
        }
    }

    /// What it said at last, if it failed by itself.
    pub fn last_line(&self) -> Option<&str> {
        match self {
            Self::Failed { last_line, .. } => last_line.as_deref(),
            _ => None,
        }
    }

    pub fn words(&self) -> Words {
        match self {
            Self::Entry(words) | Self::CouldNotStart(words) => words.clone(),
            Self::Failed { entry, end, last_line } => {
                let said_en = last_line.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
                let said_zh = last_line.as_ref().map(|line| format!("：{line}")).unwrap_or_default();
                match end {
                    BadEnd::Exited(code) => words!(
                        "the script `{entry}` failed with exit code {code}{said_en}",
                        "脚本 `{entry}` 失败，退出码为 {code}{said_zh}"
                    ),
                    BadEnd::Signalled(signal) => words!(
                        "the script `{entry}` was ended by signal {signal}{said_en}",
                        "脚本 `{entry}` 被信号 {signal} 终止{said_zh}"
                    ),
                }
            }
            Self::TimedOut { entry, seconds } => words!(
                "the script `{entry}` took longer than {seconds} s and was ended",
                "脚本 `{entry}` 运行超过 {seconds} 秒，已被终止"
            ),
            Self::OutputLimit { entry, bytes } => words!(
                "the script `{entry}` wrote more than {bytes} bytes and was ended",
                "脚本 `{entry}` 的输出超过 {bytes} 字节，已被终止"
            ),
            Self::Overrun { entry, limit: Words { en, zh } } => {
                words!("the script `{entry}` was ended: {en}", "脚本 `{entry}` 已被终止：{zh}")
            }
            Self::Cancelled => words!("the script was cancelled", "脚本已被取消"),
        }
    }
}

impl std::fmt::Display for ScriptFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words().en)
    }
}

impl std::error::Error for ScriptFailure {}

/// The variable that tells a script where its skill is; it runs in the project directory.
const SKILL_DIR: &str = "FUGATO_SKILL_DIR";

/// Runs a script of the skill in `dir` with the limits of the context; gives what it wrote to standard output.
///
/// Whether a script may run at all was decided before: it is a program and can do what its user can.
pub async fn run(
    dir: &Path,
    entry: &RelPath,
    arguments: &Value,
    context: &ToolContext,
    cancel: CancelToken,
) -> Result<String, ScriptFailure> {
    run_heard(dir, entry, arguments, context, cancel, &mut |_| {}).await
}

/// The same, for somebody who hears what it writes as it writes it: both streams, up to 256 KiB.
pub async fn run_heard(
    dir: &Path,
    entry: &RelPath,
    arguments: &Value,
    context: &ToolContext,
    cancel: CancelToken,
    on_text: &mut (dyn FnMut(&str) + Send),
) -> Result<String, ScriptFailure> {
    let (program, args) = invocation(dir, entry)?;
    let cwd = context.roots.first().map_or(dir, |root| root.as_path());
    let mut spec = Spec::new(program, cwd);
    spec.args = args;
    spec.stdin = Some(arguments.to_string().into_bytes());
    spec.env.push((SKILL_DIR.into(), absolute(dir)));
    let spec = context.confined_with(spec, &[dir]).map_err(ScriptFailure::CouldNotStart)?;
    let mut heard = Heard::new(on_text);
    let finished = process::run(spec, cancel, &mut |stream, bytes| heard.bytes(stream, bytes)).await;
    heard.finish();
    let failed =
        |end| ScriptFailure::Failed { entry: entry.clone(), end, last_line: last_line(&finished.stderr) };
    match finished.end {
        End::Exited(0) => Ok(String::from_utf8_lossy(&finished.stdout).into_owned()),
        End::Exited(code) => Err(failed(BadEnd::Exited(code))),
        End::Signalled(signal) => Err(failed(BadEnd::Signalled(signal))),
        End::TimedOut => {
            Err(ScriptFailure::TimedOut { entry: entry.clone(), seconds: context.limits.time.as_secs() })
        }
        End::OutputLimit => {
            Err(ScriptFailure::OutputLimit { entry: entry.clone(), bytes: context.limits.output_bytes })
        }
        End::ProcessLimit | End::MemoryLimit => {
            let limit = context.limits.overrun(&finished.end);
            Err(ScriptFailure::Overrun { entry: entry.clone(), limit })
        }
        End::Cancelled => Err(ScriptFailure::Cancelled),
        End::CouldNotStart(words) => Err(ScriptFailure::CouldNotStart(words)),
    }
}

/// Of one script. Nobody reads more while it runs; what it gives is kept whole elsewhere, and the queue to whoever
/// watches must not hold a flood.
const HEARD_BYTES: usize = 256 * 1024;

/// Passes on what a program writes, as text, until it is too much.
struct Heard<'t> {
    on_text: &'t mut (dyn FnMut(&str) + Send),
    out: Decoder,
    err: Decoder,
    left: usize,
}

impl<'t> Heard<'t> {
    fn new(on_text: &'t mut (dyn FnMut(&str) + Send)) -> Self {
        Self { on_text, out: Decoder::default(), err: Decoder::default(), left: HEARD_BYTES }
    }

    fn bytes(&mut self, stream: Stream, bytes: &[u8]) {
        if self.left == 0 {
            return;
        }
        let fits = bytes.get(..self.left).unwrap_or(bytes);
        let decoder = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        decoder.push(fits, &mut *self.on_text);
        self.left -= fits.len();
        if self.left == 0 {
            (self.on_text)("\n[more is not shown while it runs]\n");
        }
    }

    fn finish(&mut self) {
        if self.left > 0 {
            self.out.finish(&mut *self.on_text);
            self.err.finish(&mut *self.on_text);
        }
    }
}

/// What to start for an entry: itself if it may be executed, else the interpreter of its ending.
fn invocation(dir: &Path, entry: &RelPath) -> Result<(OsString, Vec<OsString>), ScriptFailure> {
    let (can_execute, start) = look(dir, entry).map_err(ScriptFailure::Entry)?;
    // Absolute, because the script runs in another directory.
    let path = Path::new(&absolute(dir)).join(entry.as_str()).into_os_string();
    let is_program =
        can_execute && (start.starts_with(b"#!") || start.starts_with(b"\x7fELF") || is_mach(&start));
    if is_program {
        return Ok((path, Vec::new()));
    }
    match Path::new(entry.as_str()).extension().and_then(|ending| ending.to_str()) {
        Some("sh") => Ok(("/bin/sh".into(), vec![path])),
        Some("py") => Ok(("python3".into(), vec![path])),
        _ => Err(ScriptFailure::Entry(words!(
            "the script `{entry}` cannot be run: it needs a `#!` line and `chmod +x`, or the ending `.sh` or `.py`",
            "脚本 `{entry}` 无法运行：需要 `#!` 行并执行 `chmod +x`，或使用 `.sh`、`.py` 扩展名"
        ))),
    }
}

/// Programs of macOS.
fn is_mach(start: &[u8]) -> bool {
    matches!(start, [0xcf, 0xfa, 0xed, 0xfe] | [0xca, 0xfe, 0xba, 0xbe])
}

/// Whether the entry may be executed, and its first bytes.
fn look(dir: &Path, entry: &RelPath) -> Result<(bool, Vec<u8>), Words> {
    let unreadable = |error: std::io::Error| {
        words!("the script `{entry}` cannot be read: {error}", "无法读取脚本 `{entry}`：{error}")
    };
    let root = std::fs::File::open(dir).map_err(unreadable)?;
    let fd = open_beneath(root.as_fd(), entry.as_str(), READ).map_err(|error| match error {
        Errno::NOENT | Errno::NOTDIR => {
            words!("the script `{entry}` does not exist in the skill", "技能中不存在脚本 `{entry}`")
        }
        Errno::XDEV | Errno::LOOP => {
            words!("the script `{entry}` leads out of the skill", "脚本 `{entry}` 指向技能目录之外")
        }
        error => unreadable(error.into()),
    })?;
    let stat = fstat(&fd).map_err(|error| unreadable(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(words!("the script `{entry}` is not a regular file", "脚本 `{entry}` 不是普通文件"));
    }
    let mut start = Vec::new();
    std::fs::File::from(fd).take(4).read_to_end(&mut start).map_err(unreadable)?;
    Ok((stat.st_mode & 0o111 != 0, start))
}

fn absolute(dir: &Path) -> OsString {
    std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()).into_os_string()
}

/// The last line with anything on it, cut to what fits into a sentence.
fn last_line(stderr: &[u8]) -> Option<String> {
    let tail = stderr.get(stderr.len().saturating_sub(4096)..).unwrap_or_default();
    let text = String::from_utf8_lossy(tail);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(300).collect())
}

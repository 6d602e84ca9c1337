//! Every way the store can refuse or fail, with its code, its exit and its words in both languages.
//!
//! Errors can be cloned: one failed commit answers every batch that was in it.

use super::lease::LeaseRow;
use fugato_model::{Code, Digest, Exit, Words, escape_for_terminal, words};
use std::io;
use std::path::{Path, PathBuf};

/// Why the store did not do what was asked. Nothing is acknowledged, and nothing half done is visible, when one of these
/// is returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The run has, or had, another owner since this epoch was given out.
    #[error("run `{run}`: epoch {epoch} is over, the run is at epoch {current}")]
    Fenced { run: String, epoch: u64, current: u64 },
    #[error("no space left for `{}`", path.display())]
    DiskFull { path: PathBuf },
    #[error("`{}`: {detail}", path.display())]
    Io { path: PathBuf, detail: String },
    /// The events do not continue the log.
    #[error("the log continues at event {expected_seq}")]
    Conflict { expected_seq: u64 },
    #[error("run `{}` is held by process {}", by.run, by.owner.pid)]
    Held { by: Box<LeaseRow> },
    #[error("`{}` cannot be written: {detail}", path.display())]
    ReadOnly { path: PathBuf, detail: String },
    #[error("`{}` has schema {found}, this program knows up to {supported}", path.display())]
    Newer { path: PathBuf, found: i64, supported: i64 },
    #[error("`{}` has schema {found} and must first be migrated to {supported}", path.display())]
    Older { path: PathBuf, found: i64, supported: i64 },
    #[error("`{}` is damaged or not a store: {detail}", path.display())]
    Damaged { path: PathBuf, detail: String },
    #[error("`{}` is in use by another process", path.display())]
    Busy { path: PathBuf },
    #[error("run `{id}` is not in the store")]
    UnknownRun { id: String },
    #[error("run `{id}` is already in the store")]
    RunExists { id: String },
    #[error("`{id}` cannot be the id of a run")]
    InvalidId { id: String },
    #[error("blob {digest} is missing or damaged")]
    LostBlob { digest: Digest },
    #[error("line {line}: {}", detail.en)]
    Archive { line: u64, detail: Words },
    #[error("run `{run}` is one of agents outside")]
    Outside { run: String },
    /// Somebody else spoke in the conversation first.
    #[error("conversation `{conversation}` went on with another request")]
    Overtaken { conversation: String, by: Option<String> },
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// An error of the file system, sorted by what a person can do about it.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        let path = path.to_owned();
        match error.kind() {
            Kind::StorageFull | Kind::QuotaExceeded => Self::DiskFull { path },
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem | Kind::NotADirectory => {
                Self::ReadOnly { path, detail: error.to_string() }
            }
            _ => Self::Io { path, detail: error.to_string() },
        }
    }

    /// An error of the database.
    pub(crate) fn sql(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Sql;
        let (path, detail) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(Sql::DiskFull) => Self::DiskFull { path },
            // Growing the shared index or the file may report "no space" only as an I/O error.
            Some(Sql::SystemIoFailure) if has_no_space(&path) => Self::DiskFull { path },
            Some(Sql::ReadOnly | Sql::PermissionDenied | Sql::CannotOpen) => Self::ReadOnly { path, detail },
            Some(Sql::DatabaseBusy | Sql::DatabaseLocked) => Self::Busy { path },
            Some(Sql::SystemIoFailure | Sql::OutOfMemory) => Self::Io { path, detail },
            _ => Self::Damaged { path, detail },
        }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::ReadOnly { .. } => Code::F0701,
            Self::Newer { .. } | Self::Older { .. } => Code::F0702,
            Self::Damaged { .. } => Code::F0703,
            Self::DiskFull { .. } => Code::F0704,
            Self::Held { .. } | Self::Outside { .. } => Code::F0705,
            Self::Fenced { .. } | Self::Conflict { .. } | Self::Overtaken { .. } => Code::F0706,
            Self::UnknownRun { .. } | Self::RunExists { .. } | Self::InvalidId { .. } => Code::F0707,
            Self::LostBlob { .. } => Code::F0709,
            Self::Busy { .. } | Self::Closed => Code::F0710,
            Self::Archive { .. } => Code::F0711,
            Self::Io { .. } => Code::F0712,
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::UnknownRun { .. } => Exit::NotFound,
            Self::Held { .. }
            | Self::Fenced { .. }
            | Self::Conflict { .. }
            | Self::RunExists { .. }
            | Self::Overtaken { .. }
            | Self::Outside { .. } => Exit::Conflict,
            Self::ReadOnly { .. } | Self::Newer { .. } | Self::Older { .. } => Exit::Refused,
            Self::InvalidId { .. } => Exit::Usage,
            _ => Exit::Failed,
        }
    }

    /// What happened.
    pub fn words(&self) -> Words {
        match self {
            Self::Fenced { run, epoch, current } => words!(
                "run `{run}` was taken over by another process (epoch {epoch} is over, now {current})",
                "运行 `{run}` 已被另一个进程接管（纪元 {epoch} 已失效，当前为 {current}）"
            ),
            Self::Conflict { expected_seq } => words!(
                "these events do not continue the log, which goes on at event {expected_seq}",
                "这些事件与日志不相接，日志的下一个事件应为 {expected_seq}"
            ),
            Self::Held { by } => {
                let (run, pid, host) = (&by.run, by.owner.pid, &by.owner.host);
                words!(
                    "run `{run}` is held by process {pid} on `{host}`",
                    "运行 `{run}` 正由 `{host}` 上的进程 {pid} 持有"
                )
            }
            Self::UnknownRun { id } => {
                let id = escape_for_terminal(id);
                words!("there is no run `{id}`", "没有运行 `{id}`")
            }
            Self::RunExists { id } => words!("run `{id}` is already in the store", "运行 `{id}` 已存在"),
            Self::InvalidId { id } => {
                let id = escape_for_terminal(id);
                words!(
                    "`{id}` cannot be the id of a run: expected 1 to 128 letters, digits, `_`, `-` or `.`",
                    "`{id}` 不能作为运行的标识：应为 1 到 128 个字母、数字、`_`、`-` 或 `.`"
                )
            }
            Self::LostBlob { digest } => {
                words!("the content {digest} is missing or damaged", "内容 {digest} 缺失或已损坏")
            }
            Self::Archive { line, detail } => {
                let (en, zh) = (&detail.en, &detail.zh);
                words!("line {line} of the archive: {en}", "归档第 {line} 行：{zh}")
            }
            Self::Outside { run } => words!(
                "the agents of run `{run}` are processes of other programs, which continue it themselves",
                "运行 `{run}` 的代理是其他程序的进程，由那些程序自行继续"
            ),
            Self::Overtaken { conversation, by } => {
                let conversation = escape_for_terminal(conversation);
                let by = by.as_deref().unwrap_or("-");
                words!(
                    "somebody else spoke in the conversation `{conversation}` first (run `{by}`)",
                    "会话 `{conversation}` 中已有别人先发言（运行 `{by}`）"
                )
            }
            Self::Closed => words!("the store is closed", "存储已关闭"),
            about_a_file => about_a_file.file_words(),
        }
    }

    fn file_words(&self) -> Words {
        match self {
            Self::DiskFull { path } => {
                let path = shown(path);
                words!("no space left for `{path}`", "磁盘空间不足，无法写入 `{path}`")
            }
            Self::ReadOnly { path, detail } => {
                let path = shown(path);
                words!(
                    "the state in `{path}` cannot be written: {detail}",
                    "无法写入 `{path}` 中的状态：{detail}"
                )
            }
            Self::Newer { path, found, supported } => {
                let path = shown(path);
                words!(
                    "`{path}` was written by a newer fugato: found schema {found}, this one knows up to {supported}",
                    "`{path}` 由更新版本的 fugato 写入：其结构版本为 {found}，本程序最高支持 {supported}"
                )
            }
            Self::Older { path, found, supported } => {
                let path = shown(path);
                words!(
                    "`{path}` was written by an older fugato: found schema {found}, expected {supported}",
                    "`{path}` 由旧版本的 fugato 写入：其结构版本为 {found}，应为 {supported}"
                )
            }
            Self::Damaged { path, detail } => {
                let path = shown(path);
                words!(
                    "`{path}` is damaged or not a store of fugato: {detail}",
                    "`{path}` 已损坏，或不是 fugato 的存储：{detail}"
                )
            }
            Self::Busy { path } => {
                let path = shown(path);
                words!("`{path}` is in use by another process", "`{path}` 正被另一个进程使用")
            }
            Self::Io { path, detail } => {
                let path = shown(path);
                words!("`{path}`: {detail}", "`{path}`：{detail}")
            }
            _ => words!("the store failed", "存储出错"),
        }
    }

    /// Something to type, when there is something.
    pub fn hint(&self) -> Option<Words> {
        Some(match self {
            Self::DiskFull { .. } => words!(
                "free some space, then continue with `fugato resume`; nothing acknowledged is lost",
                "请腾出空间后用 `fugato resume` 继续；已确认的内容不会丢失"
            ),
            Self::ReadOnly { .. } => words!(
                "set `HARNESS_DIR` or `FUGATO_HOME` to a directory that can be written",
                "请将 `HARNESS_DIR` 或 `FUGATO_HOME` 设为可写的目录"
            ),
            Self::Newer { .. } => words!(
                "use the newer fugato, or point `HARNESS_DIR` at another directory",
                "请使用新版本的 fugato，或将 `HARNESS_DIR` 指向其他目录"
            ),
            Self::Older { .. } => {
                words!("`fugato run` migrates it and keeps a backup", "运行 `fugato run` 会升级并保留备份")
            }
            Self::Held { by } => {
                let run = &by.run;
                words!("look at it: `fugato trace {run}`", "查看：`fugato trace {run}`")
            }
            Self::Outside { .. } => {
                words!("look at them: `fugato status`", "查看它们：`fugato status`")
            }
            Self::UnknownRun { .. } => {
                words!("list them: `fugato runs`", "列出所有运行：`fugato runs`")
            }
            _ => return None,
        })
    }
}

/// Less than a page or two left on the file system of this path.
fn has_no_space(path: &Path) -> bool {
    let dir = path.parent().unwrap_or(path);
    rustix::fs::statvfs(dir).is_ok_and(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) < 64 * 1024)
}

fn shown(path: &Path) -> String {
    escape_for_terminal(&path.to_string_lossy()).into_owned()
}

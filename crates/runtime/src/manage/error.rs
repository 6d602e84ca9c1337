//! Every way a change can be refused or fail, with its code, its exit and its words in both languages.

use super::disk::DiskError;
use fugato_model::{Code, Diagnostic, Digest, Exit, RelPath, SkillName, Words, escape_for_terminal, words};
use std::io::ErrorKind;
use std::path::PathBuf;

/// Why a change was not made. Nothing is half done when one of these is returned.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    #[error("`{name}` is already installed in `{}` with other content", dir.display())]
    Conflict { name: String, dir: PathBuf },
    #[error("`{}` holds no skill any more", dir.display())]
    NotInstalled { dir: PathBuf },
    #[error("there is no `{}`", path.display())]
    NoSource { path: PathBuf },
    #[error("`{skill}` has no file `{path}`")]
    NoFile { skill: String, path: RelPath },
    #[error("`{skill}/{path}` changed since it was read")]
    FileChanged { skill: String, path: RelPath, expected: Digest, found: Option<Digest> },
    #[error("`{name}` has digest {found}, the lock pins {expected}")]
    PinDiffers { name: SkillName, expected: Digest, found: Digest },
    #[error("`{}` is a link to `{}`", dir.display(), target.display())]
    IsLink { dir: PathBuf, target: PathBuf },
    #[error("the content is refused")]
    Invalid(Vec<Diagnostic>),
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl ManageError {
    pub(super) fn invalid(diagnostic: Diagnostic) -> Self {
        Self::Invalid(vec![diagnostic])
    }

    pub fn code(&self) -> Code {
        match self {
            Self::Conflict { .. } => Code::F0307,
            Self::NotInstalled { .. } | Self::NoSource { .. } | Self::NoFile { .. } => Code::F0310,
            Self::FileChanged { .. } => Code::F0313,
            Self::PinDiffers { .. } => Code::F0309,
            Self::IsLink { .. } | Self::Disk(_) => Code::F0314,
            Self::Invalid(diagnostics) => {
                let first = diagnostics.iter().find(|diagnostic| diagnostic.is_error());
                first.or(diagnostics.first()).map_or(Code::F0306, |diagnostic| diagnostic.code)
            }
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Conflict { .. } | Self::FileChanged { .. } => Exit::Conflict,
            Self::NotInstalled { .. } | Self::NoSource { .. } | Self::NoFile { .. } => Exit::NotFound,
            Self::PinDiffers { .. } | Self::IsLink { .. } => Exit::Refused,
            Self::Disk(error) => match error.source.kind() {
                ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => Exit::Refused,
                _ => Exit::Failed,
            },
            Self::Invalid(_) => Exit::Failed,
        }
    }

    /// What happened.
    pub fn words(&self) -> Words {
        match self {
            Self::Conflict { name, dir } => {
                let dir = shown(dir);
                words!(
                    "`{name}` is already installed in `{dir}` with other content",
                    "`{name}` 已安装在 `{dir}`，但内容不同"
                )
            }
            Self::NotInstalled { dir } => {
                let dir = shown(dir);
                words!("`{dir}` holds no skill any more", "`{dir}` 中已没有技能")
            }
            Self::NoSource { path } => {
                let path = shown(path);
                words!("there is no `{path}`", "`{path}` 不存在")
            }
            Self::NoFile { skill, path } => {
                words!("`{skill}` has no file `{path}`", "`{skill}` 中没有文件 `{path}`")
            }
            Self::FileChanged { skill, path, expected, found } => {
                let found = found.map_or_else(|| "-".to_owned(), |digest| digest.to_string());
                words!(
                    "`{skill}/{path}` changed since it was read: found {found}, expected {expected}",
                    "`{skill}/{path}` 在读取之后被修改：现在是 {found}，应为 {expected}"
                )
            }
            Self::PinDiffers { name, expected, found } => words!(
                "`{name}` has digest {found}, but the lock pins {expected}",
                "`{name}` 的摘要是 {found}，而锁定文件要求 {expected}"
            ),
            Self::IsLink { dir, target } => {
                let (dir, target) = (shown(dir), shown(target));
                words!("`{dir}` is a link to `{target}`", "`{dir}` 是指向 `{target}` 的链接")
            }
            Self::Invalid(diagnostics) => match diagnostics.first() {
                Some(first) => first.message.clone(),
                None => words!("the content is refused", "内容被拒绝"),
            },
            Self::Disk(error) => disk_words(error),
        }
    }

    /// Something to type, when there is something.
    pub fn hint(&self) -> Option<Words> {
        Some(match self {
            Self::Conflict { .. } => words!(
                "`--on-conflict replace` keeps the old one in the trash; `--on-conflict skip` keeps it installed",
                "`--on-conflict replace` 会把旧的移到回收处；`--on-conflict skip` 保留已安装的"
            ),
            Self::NotInstalled { .. } => {
                words!("see what is installed: `fugato skill ls`", "查看已安装的技能：`fugato skill ls`")
            }
            Self::FileChanged { skill, path, .. } => {
                words!(
                    "read it again: `fugato skill read {skill} {path}`",
                    "请重新读取：`fugato skill read {skill} {path}`"
                )
            }
            Self::PinDiffers { .. } => words!(
                "check what changed, then pin it with `fugato skill lock`",
                "确认改动之后，用 `fugato skill lock` 重新锁定"
            ),
            Self::IsLink { target, .. } => {
                let target = shown(target);
                words!("change the directory it leads to: `{target}`", "请改动它指向的目录：`{target}`")
            }
            Self::Invalid(diagnostics) => diagnostics.first()?.hint.clone()?,
            Self::Disk(error) => match error.source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    words!(
                        "free some space and try again; nothing was changed",
                        "请腾出空间后重试；没有任何改动"
                    )
                }
                ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => words!(
                    "choose a writable scope with `--scope`, or set FUGATO_HOME",
                    "用 `--scope` 选择可写的作用域，或设置 FUGATO_HOME"
                ),
                _ => return None,
            },
            Self::NoSource { .. } | Self::NoFile { .. } => return None,
        })
    }
}

fn disk_words(error: &DiskError) -> Words {
    let path = shown(&error.path);
    let why = &error.source;
    match why.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            words!("no space left for `{path}`", "磁盘空间不足，无法写入 `{path}`")
        }
        ErrorKind::ReadOnlyFilesystem => {
            words!("`{path}` is on a read-only file system", "`{path}` 位于只读文件系统")
        }
        ErrorKind::PermissionDenied => words!("no permission to change `{path}`", "没有权限修改 `{path}`"),
        _ => words!("`{path}`: {why}", "`{path}`：{why}"),
    }
}

fn shown(path: &std::path::Path) -> String {
    escape_for_terminal(&path.to_string_lossy()).into_owned()
}

//! What can be wrong with the files of a skill, before anyone reads what is in them; and the words for it.

use super::contents::{MAX_SKILL_BYTES, MAX_SKILL_FILES};
use fugato_model::{Code, Diagnostic, Severity, Words, words};
use fugato_skill::{is_skill_file, problems};
use rustix::fs::FileType;
use rustix::io::Errno;

/// Paths are relative to the skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    TwoSkillFiles { names: Vec<String> },
    NotRegular { path: String, kind: FileType },
    Unreadable { path: String, error: Errno },
    Unnamable { path: String, why: Words },
    TooLarge { path: String, size: u64, limit: u64 },
    SkillTooLarge,
    TooManyFiles,
    LinkLeaves { path: String, target: String },
    LinkBroken { path: String },
    LinkToDirectory { path: String },
}

impl Problem {
    /// The file it is about; empty for the skill as a whole.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::TwoSkillFiles { .. } | Self::SkillTooLarge | Self::TooManyFiles => "",
            Self::NotRegular { path, .. }
            | Self::Unreadable { path, .. }
            | Self::Unnamable { path, .. }
            | Self::TooLarge { path, .. }
            | Self::LinkLeaves { path, .. }
            | Self::LinkBroken { path }
            | Self::LinkToDirectory { path } => path,
        }
    }

    /// Is some content unknown, so that a digest would claim too much?
    pub(crate) fn hides_content(&self) -> bool {
        match self {
            Self::Unreadable { .. } | Self::SkillTooLarge | Self::TooManyFiles => true,
            Self::TooLarge { path, .. } => is_skill_file(path),
            _ => false,
        }
    }

    /// May the finding be remembered? Not when a later scan could see something else without any stamp changing.
    pub(crate) fn is_lasting(&self) -> bool {
        // Exactly what leaves a file without a stamp.
        !self.hides_content()
    }

    /// Does it leave no usable skill?
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::TwoSkillFiles { .. } => true,
            _ => is_skill_file(self.path()),
        }
    }

    /// The diagnostic, with paths below `shown`, the skill's directory as people name it.
    pub(crate) fn diagnostic(&self, shown: &str) -> Diagnostic {
        let path = self.path();
        let place = if path.is_empty() { shown.to_owned() } else { format!("{shown}/{path}") };
        let mut diagnostic = self.worded(&place);
        diagnostic.severity = if self.is_fatal() { Severity::Error } else { Severity::Warning };
        diagnostic
    }

    fn worded(&self, place: &str) -> Diagnostic {
        match self {
            Self::TwoSkillFiles { names } => {
                let name = |at: usize| names.get(at).map_or("", String::as_str);
                problems::two_skill_files(place, name(0), name(1))
            }
            Self::NotRegular { kind, .. } => problems::not_regular(place, &kind_words(*kind)),
            Self::Unreadable { error, .. } => problems::unreadable(place, &error.to_string()),
            Self::Unnamable { why: Words { en, zh }, .. } => Diagnostic::warning(
                Code::F0121,
                place,
                words!("file is left out of the skill: {en}", "该文件不计入技能，因为文件名不可用：{zh}"),
            ),
            Self::TooLarge { size, limit, .. } => {
                problems::too_large(place, *size, usize::try_from(*limit).unwrap_or(usize::MAX))
            }
            Self::SkillTooLarge => Diagnostic::warning(
                Code::F0122,
                place,
                words!(
                    "skill has more than {MAX_SKILL_BYTES} bytes: it gets no digest and cannot be pinned",
                    "技能超过 {MAX_SKILL_BYTES} 字节：无法计算摘要，也无法锁定"
                ),
            ),
            Self::TooManyFiles => Diagnostic::warning(
                Code::F0122,
                place,
                words!(
                    "skill has more than {MAX_SKILL_FILES} files: it gets no digest and cannot be pinned",
                    "技能超过 {MAX_SKILL_FILES} 个文件：无法计算摘要，也无法锁定"
                ),
            ),
            Self::LinkLeaves { target, .. } => problems::link_leaves(place, target),
            Self::LinkBroken { .. } => Diagnostic::warning(
                Code::F0126,
                place,
                words!("link leads to nothing or to itself", "链接的目标不存在，或指向自身"),
            ),
            Self::LinkToDirectory { .. } => Diagnostic::warning(
                Code::F0126,
                place,
                words!("link leads to a directory and is not followed", "链接指向目录，不会跟随"),
            ),
        }
    }
}

fn kind_words(kind: FileType) -> Words {
    match kind {
        FileType::Directory => words!("a directory", "目录"),
        FileType::Fifo => words!("a FIFO", "命名管道"),
        FileType::Socket => words!("a socket", "套接字"),
        FileType::CharacterDevice | FileType::BlockDevice => words!("a device", "设备文件"),
        FileType::Symlink => words!("a link", "链接"),
        _ => words!("a special file", "特殊文件"),
    }
}

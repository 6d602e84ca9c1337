//! What can be wrong with the files of a skill, before anyone reads what is in them; and the words for it.

use super::contents::{MAX_SKILL_BYTES, MAX_SKILL_FILES, SKILL_FILES};
use fugato_model::{Code, Diagnostic, words};
use rustix::fs::FileType;
use rustix::io::Errno;

/// Paths are relative to the skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    TwoSkillFiles { names: Vec<String> },
    NotRegular { path: String, kind: FileType },
    Unreadable { path: String, error: Errno },
    Unnamable { path: String, why: String },
    TooLarge { path: String, size: u64, limit: u64 },
    SkillTooLarge,
    TooManyFiles,
    LinkLeaves { path: String },
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
            | Self::LinkLeaves { path }
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
        let place = |path: &str| if path.is_empty() { shown.to_owned() } else { format!("{shown}/{path}") };
        let make = |code, path: &str, message| {
            let path = place(path);
            if self.is_fatal() {
                Diagnostic::error(code, path, message)
            } else {
                Diagnostic::warning(code, path, message)
            }
        };
        match self {
            Self::TwoSkillFiles { names } => {
                let both = names.iter().map(|name| format!("`{}`", place(name))).collect::<Vec<_>>();
                let (both_en, both_zh) = (both.join(" and "), both.join(" 和 "));
                let keep = names.first().map_or("SKILL.md", String::as_str);
                make(
                    Code::F0120,
                    "",
                    words!(
                        "found {both_en} in one directory, expected one of them",
                        "同一目录中有 {both_zh}，只能保留其中一个"
                    ),
                )
                .hint(words!("keep `{keep}` and remove the other", "保留 `{keep}`，删除另一个"))
            }
            Self::NotRegular { path, kind } => {
                let (en, zh) = kind_words(*kind);
                make(
                    Code::F0121,
                    path,
                    words!("`{path}` is {en}, expected a regular file", "`{path}` 是{zh}，应当是普通文件"),
                )
            }
            Self::Unreadable { path, error } => {
                let named = if path.is_empty() { shown } else { path };
                make(
                    Code::F0121,
                    path,
                    words!("`{named}` cannot be read: {error}", "无法读取 `{named}`：{error}"),
                )
                .hint(words!("chmod u+r {:?}", "chmod u+r {:?}", place(path)))
            }
            Self::Unnamable { path, why } => make(
                Code::F0121,
                path,
                words!("file is left out of the skill: {why}", "该文件不计入技能，因为文件名不可用：{why}"),
            ),
            Self::TooLarge { path, size, limit } => make(
                Code::F0122,
                path,
                words!(
                    "`{path}` has {size} bytes, expected at most {limit}",
                    "`{path}` 有 {size} 字节，上限为 {limit} 字节"
                ),
            ),
            Self::SkillTooLarge => make(
                Code::F0122,
                "",
                words!(
                    "skill has more than {MAX_SKILL_BYTES} bytes: it gets no digest and cannot be pinned",
                    "技能超过 {MAX_SKILL_BYTES} 字节：无法计算摘要，也无法锁定"
                ),
            ),
            Self::TooManyFiles => make(
                Code::F0122,
                "",
                words!(
                    "skill has more than {MAX_SKILL_FILES} files: it gets no digest and cannot be pinned",
                    "技能超过 {MAX_SKILL_FILES} 个文件：无法计算摘要，也无法锁定"
                ),
            ),
            Self::LinkLeaves { path } => make(
                Code::F0126,
                path,
                words!(
                    "link `{path}` leads out of the skill and is not followed",
                    "链接 `{path}` 指向技能目录之外，不会跟随"
                ),
            )
            .hint(words!("replace the link by a copy of its target", "请用目标文件的副本替换该链接")),
            Self::LinkBroken { path } => make(
                Code::F0126,
                path,
                words!(
                    "link `{path}` leads to nothing or to itself",
                    "链接 `{path}` 的目标不存在，或指向自身"
                ),
            ),
            Self::LinkToDirectory { path } => make(
                Code::F0126,
                path,
                words!(
                    "link `{path}` leads to a directory and is not followed",
                    "链接 `{path}` 指向目录，不会跟随"
                ),
            ),
        }
    }
}

fn is_skill_file(path: &str) -> bool {
    SKILL_FILES.contains(&path)
}

fn kind_words(kind: FileType) -> (&'static str, &'static str) {
    match kind {
        FileType::Directory => ("a directory", "目录"),
        FileType::Fifo => ("a FIFO", "命名管道"),
        FileType::Socket => ("a socket", "套接字"),
        FileType::CharacterDevice | FileType::BlockDevice => ("a device", "设备文件"),
        FileType::Symlink => ("a link", "链接"),
        _ => ("a special file", "特殊文件"),
    }
}

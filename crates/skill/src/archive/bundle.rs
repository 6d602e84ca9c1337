//! Files that came from an archive, a payload or a directory, sorted into skills. Not yet on any disk of ours.

use super::limit::{MAX_FILE_BYTES, MAX_SKILL_BYTES, MAX_SKILL_FILES};
use crate::{Reading, SKILL_FILE_NAMES, SkillText, digest_files, is_skill_file, read_named};
use fugato_model::{Code, Diagnostic, Digest, RelPath, SkillName, escape_for_terminal, nearest, words};
use std::collections::{BTreeMap, BTreeSet};

/// Everything one source brought.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// In path order. Never empty, names distinct.
    pub skills: Vec<BundledSkill>,
    pub warnings: Vec<Diagnostic>,
}

/// One skill of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundledSkill {
    /// Name of its directory in the source; for a skill at the top of an archive, its declared name or the archive's.
    pub dir_name: String,
    pub files: BTreeMap<RelPath, BundledFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundledFile {
    pub bytes: Vec<u8>,
    pub executable: bool,
}

/// Which skills of a bundle are wanted.
#[derive(Clone, Copy, Debug)]
pub enum Select<'a> {
    /// The one there is; several are an error that lists them.
    Only,
    Named(&'a [String]),
    All,
}

impl Bundle {
    /// The chosen skills, in bundle order. `source` names the bundle in the error.
    pub fn select(&self, source: &str, select: Select<'_>) -> Result<Vec<&BundledSkill>, Vec<Diagnostic>> {
        match select {
            Select::All => Ok(self.skills.iter().collect()),
            Select::Only if self.skills.len() == 1 => Ok(self.skills.iter().collect()),
            Select::Only => {
                let count = self.skills.len();
                let names = self.names();
                let first = self.skills.first().map(|skill| skill.dir_name.as_str()).unwrap_or_default();
                let why = words!("it holds {count} skills: {names}", "其中有 {count} 个技能：{names}");
                Err(vec![Diagnostic::error(Code::F0305, source, why).hint(words!(
                    "choose with `--skill {first}`, or take all with `--all`",
                    "用 `--skill {first}` 选择一个，或用 `--all` 全部添加"
                ))])
            }
            Select::Named(wanted) => {
                wanted.iter().map(|name| self.find(source, name)).collect::<Result<Vec<_>, _>>()
            }
        }
    }

    fn find(&self, source: &str, name: &str) -> Result<&BundledSkill, Vec<Diagnostic>> {
        self.skills.iter().find(|skill| skill.dir_name == name).ok_or_else(|| {
            let names = self.names();
            let shown = escape_for_terminal(name);
            let error = Diagnostic::error(
                Code::F0305,
                source,
                words!("it holds no skill `{shown}`; it holds {names}", "其中没有技能 `{shown}`；有 {names}"),
            );
            vec![match nearest(name, self.skills.iter().map(|skill| skill.dir_name.as_str())) {
                Some(near) => {
                    error.hint(words!("did you mean `--skill {near}`?", "是否想输入 `--skill {near}`？"))
                }
                None => error,
            }]
        })
    }

    fn names(&self) -> String {
        let names: Vec<_> =
            self.skills.iter().map(|skill| format!("`{}`", escape_for_terminal(&skill.dir_name))).collect();
        names.join(", ")
    }
}

impl BundledSkill {
    /// SHA-256 over the sorted files, the same as of the installed skill.
    pub fn digest(&self) -> Digest {
        digest_files(self.files.iter().map(|(path, file)| (path, file.bytes.as_slice())))
    }

    /// The file that describes the skill.
    pub fn skill_file(&self) -> Option<(&RelPath, &BundledFile)> {
        SKILL_FILE_NAMES.iter().find_map(|name| self.files.iter().find(|(path, _)| path.as_str() == *name))
    }

    /// What its skill file says when it is installed as `dir_name`.
    pub fn reading(&self, dir_name: &str) -> Reading {
        let Some((path, file)) = self.skill_file() else { return Reading::default() };
        let shown = format!("{dir_name}/{path}");
        let text = SkillText { dir_name, path: &shown, bytes: &file.bytes };
        read_named(path.as_str(), text)
    }

    pub fn size(&self) -> u64 {
        self.files.values().map(|file| file.bytes.len() as u64).sum()
    }
}

/// Directories above a skill: `repository-main/plugins/writing/skills/NAME` is as deep as collections go.
const MAX_SKILL_DEPTH: usize = 4;

/// Entries that file managers and version control leave behind; never part of a skill.
pub fn is_clutter(path: &RelPath) -> bool {
    !crate::belongs(path)
}

/// Sorts files into skills: a directory with a skill file is one, and everything below it belongs to it. `top` is the
/// name for a skill at the very top that does not name itself.
pub fn gather(
    source: &str,
    top: &str,
    files: BTreeMap<RelPath, BundledFile>,
    mut warnings: Vec<Diagnostic>,
) -> Result<Bundle, Vec<Diagnostic>> {
    let roots = skill_roots(&files);
    check_roots(source, &roots)?;
    let mut skills: BTreeMap<String, BTreeMap<RelPath, BundledFile>> = BTreeMap::new();
    let mut outside = 0;
    for (path, file) in files {
        let Some(root) = root_of(&path, &roots) else {
            outside += 1;
            continue;
        };
        let inner = path.as_str().strip_prefix(root).unwrap_or_default().trim_start_matches('/');
        // The path was accepted as a whole, so its tail is a path too.
        if let Ok(inner) = RelPath::parse(inner) {
            skills.entry(root.to_owned()).or_default().insert(inner, file);
        }
    }
    if outside > 0 {
        warnings.push(Diagnostic::warning(
            Code::F0305,
            source,
            words!(
                "left out {outside} files that belong to no skill",
                "忽略了 {outside} 个不属于任何技能的文件"
            ),
        ));
    }
    let named = skills.into_iter().map(|(root, files)| (named(top, &root, files), root)).collect();
    let skills = distinct(source, named, &mut warnings)?;
    let too_large: Vec<_> = skills.iter().filter_map(|skill| check_size(source, skill)).collect();
    if too_large.is_empty() { Ok(Bundle { skills, warnings }) } else { Err(too_large) }
}

/// Directories with a skill file that lie in no other such directory. `""` is the top.
fn skill_roots(files: &BTreeMap<RelPath, BundledFile>) -> BTreeSet<String> {
    let all: BTreeSet<&str> = files
        .keys()
        .filter(|path| is_skill_file(path.file_name()))
        .map(|path| path.as_str().rsplit_once('/').map_or("", |(parent, _)| parent))
        .collect();
    let inside_another = |root: &str| {
        !root.is_empty() && (all.contains("") || ancestors(root).any(|above| all.contains(above)))
    };
    all.iter().filter(|root| !inside_another(root)).map(|root| (*root).to_owned()).collect()
}

/// `a/b/c` → `a`, `a/b`.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

fn root_of<'r>(path: &RelPath, roots: &'r BTreeSet<String>) -> Option<&'r str> {
    if let Some(top) = roots.get("") {
        return Some(top);
    }
    ancestors(path.as_str()).find_map(|above| roots.get(above)).map(String::as_str)
}

fn check_roots(source: &str, roots: &BTreeSet<String>) -> Result<(), Vec<Diagnostic>> {
    if roots.is_empty() {
        let error = Diagnostic::error(
            Code::F0305,
            source,
            words!("it holds no skill (expected a `SKILL.md`)", "其中没有技能（应有 `SKILL.md`）"),
        );
        return Err(vec![
            error.hint(words!(
                "start one with `fugato skill new NAME`",
                "用 `fugato skill new NAME` 新建一个"
            )),
        ]);
    }
    let deep = roots.iter().filter(|root| !root.is_empty() && root.split('/').count() > MAX_SKILL_DEPTH);
    let errors: Vec<_> = deep
        .map(|root| {
            let shown = escape_for_terminal(root);
            Diagnostic::error(
                Code::F0305,
                source,
                words!(
                    "`{shown}/SKILL.md` is deeper than {MAX_SKILL_DEPTH} directories",
                    "`{shown}/SKILL.md` 的目录超过 {MAX_SKILL_DEPTH} 层"
                ),
            )
            .field(format!("{shown}/SKILL.md"))
            .hint(words!(
                "unpack it and add that directory: `fugato skill add DIR`",
                "先解压，再添加那个目录：`fugato skill add DIR`"
            ))
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn named(top: &str, root: &str, files: BTreeMap<RelPath, BundledFile>) -> BundledSkill {
    if let Some(dir_name) = root.rsplit('/').next().filter(|name| !name.is_empty()) {
        return BundledSkill { dir_name: dir_name.to_owned(), files };
    }
    // At the top there is no directory to ask: the skill's own word, else what the caller knows.
    let fallback = SkillName::suggest(top).map_or_else(|| "skill".to_owned(), |name| name.to_string());
    let mut skill = BundledSkill { dir_name: fallback, files };
    let head = skill.reading(&skill.dir_name).head;
    let declared = head.declared_name.filter(|name| SkillName::parse(name).is_ok());
    if let Some(name) = declared.or_else(|| head.name.map(|name| name.to_string())) {
        skill.dir_name = name;
    }
    skill
}

/// Copies of one skill are one skill; two different ones of one name are an error.
fn distinct(
    source: &str,
    named: Vec<(BundledSkill, String)>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<BundledSkill>, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut kept: Vec<(BundledSkill, String)> = Vec::with_capacity(named.len());
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    for (skill, root) in named {
        let Some(earlier) = by_name.get(&skill.dir_name).and_then(|at| kept.get(*at)) else {
            by_name.insert(skill.dir_name.clone(), kept.len());
            kept.push((skill, root));
            continue;
        };
        let (first, second) = (escape_for_terminal(&earlier.1), escape_for_terminal(&root));
        if earlier.0.files == skill.files {
            let why = words!(
                "`{second}` is a copy of `{first}`; one is taken",
                "`{second}` 与 `{first}` 相同，只取一份"
            );
            warnings.push(Diagnostic::warning(Code::F0304, source, why));
        } else {
            let why = words!(
                "`{first}` and `{second}` are different skills of one name",
                "`{first}` 与 `{second}` 同名但内容不同"
            );
            errors.push(Diagnostic::error(Code::F0304, source, why));
        }
    }
    if errors.is_empty() { Ok(kept.into_iter().map(|(skill, _)| skill).collect()) } else { Err(errors) }
}

fn check_size(source: &str, skill: &BundledSkill) -> Option<Diagnostic> {
    let name = escape_for_terminal(&skill.dir_name);
    let large = skill.files.iter().find(|(_, file)| file.bytes.len() as u64 > MAX_FILE_BYTES);
    let message = if let Some((path, file)) = large {
        let (size, limit) = (file.bytes.len(), MAX_FILE_BYTES >> 20);
        words!(
            "`{name}/{path}` has {size} bytes (limit {limit} MiB for one file)",
            "`{name}/{path}` 有 {size} 字节（单个文件最多 {limit} MiB）"
        )
    } else if skill.size() > MAX_SKILL_BYTES {
        let (size, limit) = (skill.size(), MAX_SKILL_BYTES >> 20);
        words!(
            "skill `{name}` has {size} bytes (limit {limit} MiB)",
            "技能 `{name}` 有 {size} 字节（最多 {limit} MiB）"
        )
    } else if skill.files.len() > MAX_SKILL_FILES {
        let count = skill.files.len();
        words!(
            "skill `{name}` has {count} files (limit {MAX_SKILL_FILES})",
            "技能 `{name}` 有 {count} 个文件（最多 {MAX_SKILL_FILES} 个）"
        )
    } else {
        return None;
    };
    Some(Diagnostic::error(Code::F0303, source, message))
}

//! The words for what can be wrong with a skill file as a whole: its place, its bytes, its YAML.
//!
//! Callers that find a problem before there is text to read (two files, a directory instead of a file, a permission)
//! get their diagnostics here, so that every room says the same thing. Problems of single fields are worded where the
//! field is read.

use crate::frontmatter::SplitError;
use crate::yaml::{Node, Problem, Resolved, YamlError};
use fugato_model::{Code, Diagnostic, Fix, Words, words};

/// SK19: `SKILL.md` and `skill.md` in one directory. `path` is the directory.
pub fn two_skill_files(path: &str, first: &str, second: &str) -> Diagnostic {
    Diagnostic::error(
        Code::F0120,
        path,
        words!(
            "both `{first}` and `{second}` are present, and which one counts depends on who reads",
            "同时存在 `{first}` 和 `{second}`，以哪个为准取决于读取者"
        ),
    )
    .hint(words!(
        "delete `{second}` or move it into `references/`",
        "删除 `{second}`，或把它移到 `references/` 里"
    ))
}

/// SK20: the skill file is something else. `found`: what it is (`a directory`, `a FIFO`).
pub fn not_regular(path: &str, found: &Words) -> Diagnostic {
    let message = Words {
        en: format!("expected a regular file, found {}", found.en),
        zh: format!("这里应是普通文件，实际是{}", found.zh),
    };
    Diagnostic::error(Code::F0121, path, message)
}

/// SK20: the skill file cannot be read. `why`: the operating system's words.
pub fn unreadable(path: &str, why: &str) -> Diagnostic {
    Diagnostic::error(Code::F0121, path, words!("cannot read the file: {why}", "无法读取文件：{why}"))
        .hint(words!("chmod u+r '{path}'", "chmod u+r '{path}'"))
}

/// SK21: a link that leads outside of the skill.
pub fn link_leaves(path: &str, target: &str) -> Diagnostic {
    let message = words!(
        "link leads to `{target}`, outside of the skill; it is not followed",
        "链接指向技能目录之外的 `{target}`，不会跟随"
    );
    Diagnostic::error(Code::F0126, path, message)
        .hint(words!("copy the file into the skill", "把文件复制到技能目录里"))
}

/// SK21: a link that leads back to where it is.
pub fn link_loops(path: &str) -> Diagnostic {
    let message =
        words!("link leads back to a directory above it; it is skipped", "链接指回上级目录，已跳过");
    Diagnostic::warning(Code::F0126, path, message)
}

/// SK22: more bytes than accepted. `limit` is one of [`crate::limits`].
pub fn too_large(path: &str, found: u64, limit: usize) -> Diagnostic {
    let (found, limit) = (Size(found), Size(limit as u64));
    Diagnostic::error(
        Code::F0122,
        path,
        words!("the file has {found} (limit {limit})", "文件大小为 {found}（上限 {limit}）"),
    )
    .hint(words!(
        "move long material into files under `references/` and name them in SKILL.md",
        "把较长的内容移到 `references/` 下的文件，并在 SKILL.md 里提到它们"
    ))
}

/// F0125: the side file a field names is not there. The caller looked.
pub fn side_file_missing(path: &str, field: &str, file: &str) -> Diagnostic {
    let message = words!("`{file}` does not exist in the skill", "技能目录里没有 `{file}`");
    Diagnostic::error(Code::F0125, path, message)
        .field(field)
        .hint(words!("create `{file}` or correct `{field}`", "创建 `{file}`，或修正 `{field}`"))
}

/// Bytes that are not UTF-8. `valid`: the text before the first bad byte.
pub(crate) fn not_utf8(path: &str, bytes: &[u8], valid: &str) -> Diagnostic {
    let offset = valid.len();
    if looks_like_utf16(bytes) {
        let message = words!("looks like UTF-16, save as UTF-8", "看起来是 UTF-16 编码，请另存为 UTF-8");
        return Diagnostic::error(Code::F0103, path, message)
            .at("", 0, 0)
            .hint(words!("iconv -f UTF-16 -t UTF-8 '{path}'", "iconv -f UTF-16 -t UTF-8 '{path}'"));
    }
    let byte = bytes.get(offset).copied().unwrap_or_default();
    let line = valid.bytes().filter(|b| *b == b'\n').count() + 1;
    Diagnostic::error(
        Code::F0103,
        path,
        words!(
            "byte 0x{byte:02X} at offset {offset} (line {line}) is not UTF-8",
            "偏移 {offset}（第 {line} 行）处的字节 0x{byte:02X} 不是 UTF-8"
        ),
    )
    .at(valid, offset, offset)
    .hint(words!("save the file as UTF-8", "请把文件保存为 UTF-8"))
}

/// A byte order mark, or text whose every second byte is zero.
pub(crate) fn looks_like_utf16(bytes: &[u8]) -> bool {
    if matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) {
        return true;
    }
    let head = bytes.get(..bytes.len().min(64)).unwrap_or_default();
    let zeros = |first: usize| head.iter().skip(first).step_by(2).filter(|b| **b == 0).count();
    head.len() >= 8 && (zeros(0) * 8 >= head.len() * 3 || zeros(1) * 8 >= head.len() * 3)
}

pub(crate) fn frontmatter_too_large(path: &str, source: &str, found: usize) -> Diagnostic {
    let (found, limit) = (Size(found as u64), Size(crate::limits::FRONTMATTER_BYTES as u64));
    Diagnostic::error(
        Code::F0122,
        path,
        words!("the frontmatter has {found} (limit {limit})", "frontmatter 大小为 {found}（上限 {limit}）"),
    )
    .at(source, 0, 3)
    .hint(words!("move text from the frontmatter into the body", "把 frontmatter 里的文字移到正文"))
}

/// No frontmatter, or no end of it.
pub(crate) fn no_frontmatter(path: &str, source: &str, error: SplitError, dir_name: &str) -> Diagnostic {
    let name = fugato_model::SkillName::suggest(dir_name);
    let name = name.as_ref().map_or("my-skill", fugato_model::SkillName::as_str);
    match error {
        SplitError::Missing { found_at: Some(open) } => Diagnostic::error(
            Code::F0101,
            path,
            words!(
                "frontmatter must start on line 1; there are blank lines before its `---`",
                "frontmatter 必须从第 1 行开始；`---` 之前有空行"
            ),
        )
        .at(source, open, open + 3)
        .hint(words!("delete the blank lines above `---`", "删除 `---` 上面的空行"))
        .fix(Fix { start: blank_start(source), end: offset(open), replacement: String::new() }),
        SplitError::Missing { found_at: None } => Diagnostic::error(
            Code::F0101,
            path,
            words!(
                "frontmatter is missing: the file does not start with a line `---`",
                "缺少 frontmatter：文件没有以 `---` 行开头"
            ),
        )
        .at(source, 0, first_line_len(source))
        .hint(words!(
            "start the file with:\n---\nname: {name}\ndescription: What it does and when to use it.\n---",
            "文件开头应为：\n---\nname: {name}\ndescription: 它做什么、什么时候用。\n---"
        )),
        SplitError::Unclosed { open } => {
            let last = source.lines().count().max(1);
            Diagnostic::error(
                Code::F0102,
                path,
                words!(
                    "frontmatter opened on line 1 is not closed before the end of the file (line {last})",
                    "第 1 行开始的 frontmatter 到文件末尾（第 {last} 行）都没有结束"
                ),
            )
            .at(source, open, open + 3)
            .related(source, source.len(), source.len(), words!("end of file", "文件末尾"))
            .hint(words!(
                "add a line `---` after the last field, not indented",
                "在最后一个字段之后加一行顶格的 `---`"
            ))
        }
    }
}

/// What the YAML parser refused.
pub(crate) fn yaml(path: &str, source: &str, error: &YamlError) -> Diagnostic {
    let (depth, nodes) = (crate::limits::YAML_DEPTH, crate::limits::YAML_NODES);
    let (code, message, hint) = match &error.problem {
        Problem::Syntax(info) => (Code::F0104, syntax_words(info), syntax_hint(info)),
        Problem::DuplicateKey { key, first_start, first_end } => {
            let line = fugato_model::Span::of(source, *first_start, *first_end).line;
            let second = fugato_model::Span::of(source, error.start, error.end).line;
            let message = words!(
                "key `{key}` is on line {line} and again on line {second}",
                "键 `{key}` 在第 {line} 行已有，第 {second} 行又出现"
            );
            return Diagnostic::error(Code::F0105, path, message)
                .field(key.clone())
                .at(source, error.start, error.end)
                .related(source, *first_start, *first_end, words!("first here", "第一次在这里"))
                .hint(words!("delete one of the two", "删除其中一个"));
        }
        Problem::TooDeep => (
            Code::F0106,
            words!("YAML is nested deeper than {depth} levels", "YAML 嵌套超过 {depth} 层"),
            None,
        ),
        Problem::TooManyNodes => {
            (Code::F0106, words!("YAML has more than {nodes} values", "YAML 的值超过 {nodes} 个"), None)
        }
        Problem::Anchor => (
            Code::F0106,
            words!(
                "YAML anchors and aliases (`&x`, `*x`) are not accepted",
                "不接受 YAML 锚点与别名（`&x`、`*x`）"
            ),
            Some(words!(
                "put the value in quotes if it is meant as text, else write it out",
                "如果本意是文字就加引号，否则请直接写出内容"
            )),
        ),
        Problem::Tag => (
            Code::F0106,
            words!("YAML tags (`!x`) are not accepted", "不接受 YAML 标签（`!x`）"),
            Some(words!("put the value in quotes if it is meant as text", "如果本意是文字就加引号")),
        ),
        Problem::MergeKey => (
            Code::F0106,
            words!("the YAML merge key `<<` is not accepted", "不接受 YAML 合并键 `<<`"),
            Some(words!("write the fields out", "请直接写出各字段")),
        ),
        Problem::SecondDocument => (
            Code::F0104,
            words!(
                "a second YAML document starts here; one is expected",
                "这里开始了第二个 YAML 文档，只接受一个"
            ),
            None,
        ),
        Problem::KeyNotScalar => (
            Code::F0104,
            words!("a key must be text, found a collection", "键必须是文字，这里是一个集合"),
            None,
        ),
    };
    let (start, end) = match &error.problem {
        Problem::Syntax(info) if info.contains("tab") => {
            tab_after(source, error.start).unwrap_or((error.start, error.end))
        }
        _ => (error.start, error.end),
    };
    let diagnostic = Diagnostic::error(code, path, message).at(source, start, end);
    match hint {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}

/// The first tab in an indentation from the line of `from` on: the parser points at the value before it.
fn tab_after(source: &str, from: usize) -> Option<(usize, usize)> {
    let from = source.get(..from)?.rfind('\n').map_or(0, |line_break| line_break + 1);
    let mut start = from;
    for line in source.get(from..)?.split_inclusive('\n') {
        let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line.get(..indentation)?.find('\t') {
            return Some((start + tab, start + tab + 1));
        }
        start += line.len();
    }
    None
}

/// The parser's sentence for people. Its common ones in plain words; any other as it is.
fn syntax_words(info: &str) -> Words {
    match info {
        "mapping values are not allowed in this context" => {
            words!("unexpected `: ` inside a value", "值里出现了意外的 `: `")
        }
        info if info.contains("tab") => {
            words!("a tab is used for indentation; YAML needs spaces", "用了制表符缩进；YAML 只接受空格")
        }
        "while scanning a quoted scalar, found unexpected end of stream"
        | "while scanning a quoted scalar, found unexpected document indicator"
        | "invalid indentation in quoted scalar" => {
            words!("the quote opened here is not closed", "这里的引号没有闭合")
        }
        "invalid trailing content after double-quoted scalar" => {
            words!("text after a closing quote", "引号结束之后还有文字")
        }
        "simple key expect ':'" | "simple key expected" => {
            words!("a line is not of the form `key: value`", "有一行不是 `键: 值` 的形式")
        }
        "block sequence entries are not allowed in this context" => {
            words!("a list item `- ` cannot stand on the line of its key", "列表项 `- ` 不能和键写在同一行")
        }
        "found unprintable character" => words!("the text has a NUL character", "文本里有 NUL 字符"),
        "invalid indentation" => words!("the indentation fits no line above", "缩进与上面的行都不一致"),
        info => words!("YAML does not parse: {info}", "YAML 无法解析：{info}"),
    }
}

fn syntax_hint(info: &str) -> Option<Words> {
    match info {
        "mapping values are not allowed in this context" => {
            Some(words!("put the whole value in double quotes", "给整个值加上双引号"))
        }
        info if info.contains("tab") => {
            Some(words!("replace the tab with two spaces", "把制表符换成两个空格"))
        }
        info if info.starts_with("unexpected character") => {
            Some(words!("put the value in double quotes", "给值加上双引号"))
        }
        _ => None,
    }
}

/// What kind of value stands there, for "found …".
pub(crate) fn found(node: &Node) -> Words {
    match node.resolve() {
        Resolved::Null => words!("nothing (null)", "空值（null）"),
        Resolved::Bool(value) => words!("the boolean `{value}`", "布尔值 `{value}`"),
        Resolved::Integer(_) | Resolved::Float(_) => {
            let text = node.text().unwrap_or_default();
            words!("the number `{text}`", "数字 `{text}`")
        }
        Resolved::Text("") => words!("an empty text", "空文本"),
        Resolved::Text(text) => {
            let shown = shorten(text);
            words!("the text `{shown}`", "文本 `{shown}`")
        }
        Resolved::Sequence => words!("a list", "一个列表"),
        Resolved::Mapping => words!("a map", "一个映射"),
    }
}

/// A value of any length as a few safe characters.
pub(crate) fn shorten(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    fugato_model::escape_for_terminal(&shown).into_owned()
}

pub(crate) fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn blank_start(source: &str) -> u32 {
    if source.starts_with(crate::frontmatter::BYTE_ORDER_MARK) { 3 } else { 0 }
}

fn first_line_len(source: &str) -> usize {
    source.lines().next().unwrap_or_default().len()
}

/// Bytes in the unit a person would use.
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const KIB: u64 = 1024;
        const MIB: u64 = 1024 * KIB;
        match self.0 {
            bytes if bytes < KIB => write!(f, "{bytes} bytes"),
            bytes if bytes < MIB && bytes % KIB == 0 => write!(f, "{} KiB", bytes / KIB),
            bytes if bytes < MIB => write!(f, "{}.{} KiB", bytes / KIB, bytes % KIB * 10 / KIB),
            bytes if bytes % MIB == 0 => write!(f, "{} MiB", bytes / MIB),
            bytes => write!(f, "{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_is_recognised_with_and_without_its_mark() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        assert!(looks_like_utf16(&utf16("---\nname: x\n---\n")));
        assert!(looks_like_utf16(&utf16("\u{feff}---\n")));
        assert!(!looks_like_utf16("---\nname: 技能\n".as_bytes()));
        assert!(!looks_like_utf16(b"---\nname: \xff\n"));
    }

    #[test]
    fn sizes_are_said_in_units_of_people() {
        let said = |bytes| Size(bytes).to_string();
        assert_eq!(
            [said(7), said(65536), said(70_000), said(2 << 30)],
            ["7 bytes", "64 KiB", "68.3 KiB", "2048 MiB"]
        );
    }

    #[test]
    fn problems_of_directories_have_their_codes() {
        assert_eq!(two_skill_files("d", "SKILL.md", "skill.md").code, Code::F0120);
        assert_eq!(not_regular("d/SKILL.md", &words!("a FIFO", "命名管道")).code, Code::F0121);
        assert_eq!(unreadable("d/SKILL.md", "permission denied").code, Code::F0121);
        assert_eq!(link_leaves("d/x", "/etc/passwd").code, Code::F0126);
        assert!(!link_loops("d/x").is_error());
        assert_eq!(side_file_missing("d", "metadata.fugato-phases", "p.yaml").code, Code::F0125);
    }
}

//! Skills embedded in JSON: the payload that character cards and presets carry, alone or inside the card.
//!
//! Everything an item brings passes the same gate as an archive: path rules, twins, shared limits. Errors name the JSON
//! pointer, because a card is one line of a megabyte.

use crate::archive::{
    Bundle, BundledFile, BundledSkill, Content, MAX_PACKED_BYTES, Tally, Twins, gather, read_zip_within,
    safe_path, sniff,
};
use crate::digest_bytes;
use base64::Engine as _;
use fugato_model::{Code, Diagnostic, RelPath, Words, escape_for_terminal, words};
use serde_json::Value;
use std::collections::BTreeMap;

mod png;

/// Reads a payload: the JSON object itself, or a card or preset (JSON or PNG) that carries it.
pub fn read(name: &str, bytes: &[u8]) -> Result<Bundle, Vec<Diagnostic>> {
    if bytes.len() as u64 > MAX_PACKED_BYTES {
        let limit = MAX_PACKED_BYTES >> 20;
        let why = words!("it is larger than {limit} MiB", "超过 {limit} MiB");
        return Err(vec![Diagnostic::error(Code::F0303, name, why)]);
    }
    let json = match sniff(bytes) {
        Content::Png => png::card(bytes).map_err(|why| vec![invalid(name, "", why)])?,
        _ => bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).to_vec(),
    };
    let document: Value = serde_json::from_slice(&json).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        vec![invalid(
            name,
            "",
            words!("not JSON: {error} ({line}:{column})", "不是 JSON：{error}（{line}:{column}）"),
        )]
    })?;
    let payloads = find(&document);
    if payloads.is_empty() {
        let why = words!(
            "it carries no skills (expected an object with `version` and `items`, at the top, in `extensions` or in `data.extensions`)",
            "其中没有技能（应在顶层、`extensions` 或 `data.extensions` 中有含 `version` 和 `items` 的对象）"
        );
        return Err(vec![invalid(name, "", why)]);
    }
    let mut reader =
        Reader { source: name, tally: Tally::default(), bundle: Bundle::default(), errors: Vec::new() };
    for (pointer, payload) in payloads {
        reader.payload(&pointer, payload);
    }
    reader.finish()
}

/// Payload objects with their JSON pointers.
fn find(document: &Value) -> Vec<(String, &Value)> {
    let is_payload = |value: &Value| value.get("version").is_some() && value.get("items").is_some();
    if is_payload(document) {
        return vec![(String::new(), document)];
    }
    ["/extensions", "/data/extensions"]
        .into_iter()
        .filter_map(|pointer| Some((pointer, document.pointer(pointer)?.as_object()?)))
        .flat_map(|(pointer, extensions)| {
            let found = extensions.iter().filter(move |(_, value)| is_payload(value));
            found.map(move |(key, value)| (format!("{pointer}/{}", escape_pointer(key)), value))
        })
        .collect()
}

fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

struct Reader<'a> {
    source: &'a str,
    tally: Tally,
    bundle: Bundle,
    errors: Vec<Diagnostic>,
}

/// What is wrong, and where in the item.
type Problem = (String, Code, Words);

impl Reader<'_> {
    fn payload(&mut self, pointer: &str, payload: &Value) {
        let version = payload.get("version").unwrap_or(&Value::Null);
        if version.as_u64() != Some(1) {
            let found = brief(version);
            let why = words!("version {found} is not known (expected 1)", "不认识版本 {found}（应为 1）");
            self.errors.push(invalid(self.source, &format!("{pointer}/version"), why));
            return;
        }
        let Some(items) = payload.get("items").and_then(Value::as_array) else {
            let why = words!("expected a list", "应为列表");
            self.errors.push(invalid(self.source, &format!("{pointer}/items"), why));
            return;
        };
        for (at, item) in items.iter().enumerate() {
            let here = format!("{pointer}/items/{at}");
            match self.item(&here, item) {
                Ok(skill) => self.add(&here, skill),
                Err(errors) => self.errors.extend(errors),
            }
            // One hostile item must not make us read the next five hundred.
            if self.errors.len() >= 20 {
                return;
            }
        }
    }

    fn item(&mut self, here: &str, item: &Value) -> Result<BundledSkill, Vec<Diagnostic>> {
        let one = |(at, code, why): Problem| vec![at_pointer(self.source, code, &format!("{here}{at}"), why)];
        let name = text(item, "name").map_err(one)?;
        let dir_name = safe_path(name).map_err(|(code, why)| one(("/name".into(), code, why)))?;
        if dir_name.components().count() != 1 {
            return Err(one((
                "/name".into(),
                Code::F0301,
                words!("a skill name has no `/`", "技能名称不能含有 `/`"),
            )));
        }
        let format = text(item, "bundleFormat").map_err(one)?;
        match format {
            "inline-files-v1" => {
                let files = inline(item, &mut self.tally).map_err(one)?;
                Ok(BundledSkill { dir_name: dir_name.to_string(), files })
            }
            "archive-base64-v1" => self.archive(here, item, dir_name.as_str()),
            other => {
                let other = escape_for_terminal(other);
                let why = words!(
                    "format `{other}` is not known (expected `inline-files-v1` or `archive-base64-v1`)",
                    "不认识格式 `{other}`（应为 `inline-files-v1` 或 `archive-base64-v1`）"
                );
                Err(one(("/bundleFormat".into(), Code::F0312, why)))
            }
        }
    }

    fn archive(&mut self, here: &str, item: &Value, name: &str) -> Result<BundledSkill, Vec<Diagnostic>> {
        let source = self.source;
        let one = |(at, code, why): Problem| vec![at_pointer(source, code, &format!("{here}{at}"), why)];
        let bytes = decode(text(item, "contentBase64").map_err(one)?).ok_or_else(|| {
            one(("/contentBase64".into(), Code::F0312, words!("not base64", "不是 base64")))
        })?;
        let expected = text(item, "sha256").map_err(one)?;
        let found = digest_bytes(&bytes).to_string();
        let found = found.trim_start_matches("sha256:");
        if !expected.trim_start_matches("sha256:").eq_ignore_ascii_case(found) {
            let expected = escape_for_terminal(expected);
            let why = words!(
                "the archive's SHA-256 is {found}, expected {expected}",
                "归档的 SHA-256 是 {found}，应为 {expected}"
            );
            return Err(one(("/sha256".into(), Code::F0309, why)));
        }
        let file = item.get("fileName").and_then(Value::as_str).unwrap_or("archive.zip");
        let label = format!("{source}{here}/{}", escape_for_terminal(file));
        let mut bundle = read_zip_within(&label, &bytes, &mut self.tally)?;
        self.bundle.warnings.append(&mut bundle.warnings);
        let at = match bundle.skills.len() {
            1 => Some(0),
            _ => bundle.skills.iter().position(|skill| skill.dir_name == name),
        };
        match at {
            Some(at) => Ok(BundledSkill { dir_name: name.to_owned(), ..bundle.skills.swap_remove(at) }),
            None => {
                let count = bundle.skills.len();
                let why = words!(
                    "the archive holds {count} skills and none is `{name}`",
                    "归档中有 {count} 个技能，但没有 `{name}`"
                );
                Err(one(("/contentBase64".into(), Code::F0305, why)))
            }
        }
    }

    fn add(&mut self, here: &str, skill: BundledSkill) {
        if self.bundle.skills.iter().any(|other| other.dir_name == skill.dir_name) {
            let name = &skill.dir_name;
            let why = words!("a second skill `{name}`", "重复的技能 `{name}`");
            self.errors.push(at_pointer(self.source, Code::F0304, &format!("{here}/name"), why));
        } else {
            self.bundle.skills.push(skill);
        }
    }

    fn finish(self) -> Result<Bundle, Vec<Diagnostic>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        if self.bundle.skills.is_empty() {
            let why = words!("its list of skills is empty", "技能列表为空");
            return Err(vec![Diagnostic::error(Code::F0305, self.source, why)]);
        }
        // The same sorting as for archives: sizes, and a skill file in each.
        let mut checked = Vec::with_capacity(self.bundle.skills.len());
        let mut warnings = self.bundle.warnings;
        for skill in self.bundle.skills {
            let name = skill.dir_name;
            let label = format!("{}: {}", self.source, escape_for_terminal(&name));
            let one = gather(&label, &name, skill.files, std::mem::take(&mut warnings))?;
            warnings = one.warnings;
            checked
                .extend(one.skills.into_iter().map(|found| BundledSkill { dir_name: name.clone(), ..found }));
        }
        Ok(Bundle { skills: checked, warnings })
    }
}

fn inline(item: &Value, tally: &mut Tally) -> Result<BTreeMap<RelPath, BundledFile>, Problem> {
    let files = item.get("files").and_then(Value::as_array);
    let files = files.ok_or_else(|| {
        ("/files".to_owned(), Code::F0312, words!("expected a list of files", "应为文件列表"))
    })?;
    let mut twins = Twins::default();
    let mut read = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        let within = |field: &str| format!("/files/{at}{field}");
        let deeper = |(field, code, why): Problem| (within(&field), code, why);
        let path = text(file, "path").map_err(deeper)?;
        let path = safe_path(path).map_err(|(code, why)| (within("/path"), code, why))?;
        twins.file(&path).map_err(|other| {
            let other = escape_for_terminal(&other);
            (
                within("/path"),
                Code::F0304,
                words!("`{path}` collides with `{other}`", "`{path}` 与 `{other}` 冲突"),
            )
        })?;
        let encoding = text(file, "encoding").map_err(deeper)?;
        if encoding != "utf8" {
            let encoding = escape_for_terminal(encoding);
            let why = words!(
                "encoding `{encoding}` is not known (expected `utf8`)",
                "不认识编码 `{encoding}`（应为 `utf8`）"
            );
            return Err((within("/encoding"), Code::F0312, why));
        }
        let content = text(file, "content").map_err(deeper)?;
        let counted = tally.entry().and_then(|()| tally.bytes(content.len() as u64));
        counted.map_err(|(code, why)| (within(""), code, why))?;
        read.insert(path, BundledFile { bytes: content.as_bytes().to_vec(), executable: false });
    }
    if !read.keys().any(|path| crate::is_skill_file(path.as_str())) {
        return Err((
            "/files".into(),
            Code::F0305,
            words!("no `SKILL.md` among the files", "文件中没有 `SKILL.md`"),
        ));
    }
    Ok(read)
}

fn text<'a>(object: &'a Value, field: &str) -> Result<&'a str, Problem> {
    let value = object.get(field);
    value.and_then(Value::as_str).ok_or_else(|| {
        let found = value.map_or_else(|| "nothing".to_owned(), brief);
        (format!("/{field}"), Code::F0312, words!("found {found}, expected text", "值为 {found}，应为文本"))
    })
}

/// A JSON value for a message: short, one line.
fn brief(value: &Value) -> String {
    let text: String = value.to_string().chars().take(40).collect();
    escape_for_terminal(&text).into_owned()
}

/// Standard base64; line breaks of mail-style encoders are fine, padding may be missing.
fn decode(text: &str) -> Option<Vec<u8>> {
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    let compact: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    engine.decode(compact).ok()
}

fn invalid(source: &str, pointer: &str, why: Words) -> Diagnostic {
    at_pointer(source, Code::F0312, pointer, why)
}

fn at_pointer(source: &str, code: Code, pointer: &str, why: Words) -> Diagnostic {
    let error = Diagnostic::error(code, source, why);
    if pointer.is_empty() { error } else { error.field(pointer) }
}

#[cfg(test)]
mod tests;

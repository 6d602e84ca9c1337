//! Single fields of a block, each with its type check.

use super::fields;
use super::json::{self, join, kind_of};
use super::read::Reader;
use super::report::fix;
use super::stages::NameRange as _;
use fugato_model::{Code, Scope, Severity, Words, nearest, words};
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged as _};

impl Reader<'_, '_> {
    pub(super) fn text(&mut self, object: &Object<'_>, pointer: &str, key: &str) -> Option<String> {
        let property = object.get(key)?;
        let at = join(pointer, key);
        let Value::StringLit(text) = &property.value else {
            self.wrong_type(&at, &property.value, "a string", "字符串");
            return None;
        };
        let (bytes, limit) = (text.value.len(), json::MAX_PROMPT_BYTES);
        if bytes > limit {
            self.report.error(
                Code::F0217,
                &at,
                property.name_range(),
                words!(
                    "`{key}` has {bytes} bytes (limit {limit})",
                    "`{key}` 有 {bytes} 字节（上限 {limit}）"
                ),
            );
            return None;
        }
        Some(text.value.clone().into_owned())
    }

    /// One of a few words.
    pub(super) fn word(
        &mut self,
        object: &Object<'_>,
        pointer: &str,
        key: &str,
        accepted: &[&str],
    ) -> Option<String> {
        let found = self.text(object, pointer, key)?;
        if accepted.contains(&found.as_str()) {
            return Some(found);
        }
        let range = object.get(key).map_or(object.range, |property| property.value.range());
        let list: Vec<String> = accepted.iter().map(|word| format!("`{word}`")).collect();
        let (list, shown) = (list.join(", "), found.chars().take(80).collect::<String>());
        self.report.error(
            Code::F0209,
            &join(pointer, key),
            range,
            words!("found `{shown}` (expected {list})", "出现 `{shown}`（应为 {list}）"),
        );
        None
    }

    pub(super) fn texts(
        &mut self,
        object: &Object<'_>,
        pointer: &str,
        key: &str,
    ) -> Option<Vec<(String, Range, String)>> {
        let property = object.get(key)?;
        let pointer = join(pointer, key);
        let Value::Array(array) = &property.value else {
            self.wrong_type(&pointer, &property.value, "a list of strings", "字符串列表");
            return None;
        };
        let mut texts = Vec::with_capacity(array.elements.len());
        for (index, element) in array.elements.iter().enumerate() {
            let at = format!("{pointer}/{index}");
            match element {
                Value::StringLit(text) => texts.push((text.value.clone().into_owned(), text.range, at)),
                other => self.wrong_type(&at, other, "a string", "字符串"),
            }
        }
        Some(texts)
    }

    pub(super) fn flag(&mut self, object: &Object<'_>, pointer: &str, key: &str) -> bool {
        match object.get(key).map(|property| &property.value) {
            Some(Value::BooleanLit(flag)) => flag.value,
            Some(other) => {
                self.wrong_type(&join(pointer, key), other, "true or false", "true 或 false");
                false
            }
            None => false,
        }
    }

    pub(super) fn count(&mut self, object: &Object<'_>, pointer: &str, key: &str) -> Option<u32> {
        let property = object.get(key)?;
        let at = join(pointer, key);
        let Value::NumberLit(number) = &property.value else {
            self.wrong_type(&at, &property.value, "a number", "数字");
            return None;
        };
        let count = number.value.parse::<u32>().ok().filter(|count| *count > 0);
        if count.is_none() {
            let shown: String = number.value.chars().take(40).collect();
            self.report.error(
                Code::F0217,
                &at,
                number.range,
                words!(
                    "{shown} is out of range (expected a whole number from 1)",
                    "{shown} 超出范围（应为不小于 1 的整数）"
                ),
            );
        }
        count
    }

    pub(super) fn wrong_type(&mut self, pointer: &str, found: &Value<'_>, en: &str, zh: &str) {
        let (found_en, found_zh) = kind_of(found);
        let range = found.range();
        // A caret under a whole block says less than one under its first character.
        let end =
            if matches!(found, Value::Object(_) | Value::Array(_)) { range.start + 1 } else { range.end };
        self.report.error(
            Code::F0209,
            pointer,
            Range::new(range.start, end),
            words!("found {found_en} (expected {en})", "出现{found_zh}（应为{zh}）"),
        );
    }

    pub(super) fn unknown_keys(&mut self, object: &Object<'_>, pointer: &str, known: &[&str]) {
        self.unknown_keys_but(object, pointer, known, |_| false);
    }

    /// `reported`: keys that have a diagnostic of their own.
    pub(super) fn unknown_keys_but(
        &mut self,
        object: &Object<'_>,
        pointer: &str,
        known: &[&str],
        reported: impl Fn(&str) -> bool,
    ) {
        for property in &object.properties {
            let key = property.name.as_str();
            // A misspelt `skills` is an error of the block that should have it.
            let is_policy = known.contains(&"skills") && fields::is_misspelt_skills(key);
            if !known.contains(&key) && !fields::is_private(key) && !is_policy && !reported(key) {
                self.unknown_key(property, pointer, known, Severity::Warning);
            }
        }
    }

    pub(super) fn unknown_key(
        &mut self,
        property: &ObjectProp<'_>,
        pointer: &str,
        known: &[&str],
        severity: Severity,
    ) {
        let key = property.name.as_str();
        let shown: String = key.chars().take(80).collect();
        let (range, base, at) = (property.name_range(), self.report.base, join(pointer, key));
        let diagnostic = match severity {
            Severity::Error => self.report.error(
                Code::F0218,
                &at,
                range,
                words!(
                    "unknown key `{shown}`: what it should allow or deny is not known",
                    "未知的键 `{shown}`：无法得知它要允许或禁止什么"
                ),
            ),
            Severity::Warning => self.report.warning(
                Code::F0218,
                &at,
                range,
                words!("unknown key `{shown}`: it has no effect", "未知的键 `{shown}`：不起作用"),
            ),
        };
        let Some(diagnostic) = diagnostic else { return };
        if let Some(near) = nearest(key, known.iter().copied()) {
            diagnostic.hint = Some(words!("did you mean `{near}`?", "是否想写 `{near}`？"));
            diagnostic.fix = fix(base, range, format!("\"{near}\""));
        }
    }

    pub(super) fn limits(&mut self, block: &Object<'_>, pointer: &str) -> Vec<(String, f64)> {
        let Some(property) = block.get("limits") else { return Vec::new() };
        let pointer = join(pointer, "limits");
        let Value::Object(object) = &property.value else {
            self.wrong_type(&pointer, &property.value, "an object", "对象");
            return Vec::new();
        };
        let mut limits = Vec::new();
        for property in &object.properties {
            let at = join(&pointer, property.name.as_str());
            match &property.value {
                Value::NumberLit(number) => match number.value.parse::<f64>() {
                    Ok(value) if value.is_finite() && value >= 0.0 => {
                        limits.push((property.name.as_str().to_owned(), value));
                    }
                    // Out of range in the other direction is reported by the walk over all numbers.
                    Ok(value) if value.is_finite() => self.out_of_range(&at, number.value, number.range),
                    _ => {}
                },
                other => self.wrong_type(&at, other, "a number", "数字"),
            }
        }
        limits
    }

    fn out_of_range(&mut self, pointer: &str, found: &str, range: Range) {
        let shown: String = found.chars().take(40).collect();
        self.report.error(
            Code::F0217,
            pointer,
            range,
            words!("{shown} is out of range (expected 0 or more)", "{shown} 超出范围（应不小于 0）"),
        );
    }

    pub(super) fn scope_name(
        &mut self,
        root: &Object<'_>,
        key: &str,
        check: fn(&str) -> Result<Scope, fugato_model::ScopeError>,
    ) -> Option<String> {
        let name = self.text(root, "", key)?;
        match check(&name) {
            Ok(_) => Some(name),
            Err(error) => {
                let range = root.get(key).map_or(root.range, |property| property.value.range());
                let Words { en, zh } = error.words();
                self.report.error(
                    Code::F0209,
                    &join("", key),
                    range,
                    words!("`{key}` cannot be used: {en}", "`{key}` 不可用：{zh}"),
                );
                None
            }
        }
    }
}

//! The `skills` block and its two lists. Here `+`, `*` and names get their meaning, or the words for why not.

use super::block::{Listed, SkillsBlock};
use super::entry::{Entry, EntryError};
use super::fields;
use super::json::join;
use super::read::Reader;
use super::report::fix;
use super::stages::NameRange as _;
use fugato_model::{Code, Severity, words};
use jsonc_parser::ast::{Array, Object, StringLit, Value};
use jsonc_parser::common::Ranged as _;

/// Where a skills block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Mode,
    Agent,
}

/// Which list an element is in: `+` means something different in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    ModeVisible,
    AgentVisible,
    Deny,
}

impl Reader<'_, '_> {
    pub(super) fn skills(&mut self, owner: &Object<'_>, pointer: &str, level: Level) -> Option<SkillsBlock> {
        let before = self.report.errors();
        let misspelt = owner.properties.iter().filter(|it| fields::is_misspelt_skills(it.name.as_str()));
        for property in misspelt.clone() {
            self.unknown_key(property, pointer, &["skills"], Severity::Error);
        }
        // Without the misspelt block the agent would inherit, and the mode would mean every skill: fail closed.
        let property = owner.get("skills").or_else(|| misspelt.clone().next())?;
        let pointer = join(pointer, property.name.as_str());
        let mut block = SkillsBlock {
            pointer: pointer.clone(),
            place: property.value.range().into(),
            ..Default::default()
        };
        if let Value::Object(object) = &property.value {
            self.skills_object(object, &pointer, level, &mut block);
        } else {
            self.wrong_type(
                &pointer,
                &property.value,
                "an object with `visible` and `deny`",
                "含 `visible` 和 `deny` 的对象",
            );
        }
        // A key written twice inside was reported by the walk over the whole file, before this block was read.
        block.standing = self.report.standing_since(before);
        Some(block)
    }

    fn skills_object(&mut self, object: &Object<'_>, pointer: &str, level: Level, block: &mut SkillsBlock) {
        if let Some(nested) = object.get("skills") {
            let diagnostic = self.report.error(
                Code::F0216,
                &join(pointer, "skills"),
                nested.name_range(),
                words!("`skills` is nested in `skills`", "`skills` 嵌套在 `skills` 中"),
            );
            if let Some(diagnostic) = diagnostic {
                diagnostic.hint = Some(words!(
                    "move `visible` and `deny` up one level",
                    "请把 `visible` 和 `deny` 上移一层"
                ));
            }
        }
        // Unknown here is not harmless: a `deny` that is misspelt denies nothing.
        for property in &object.properties {
            let key = property.name.as_str();
            if !fields::SKILLS_KEYS.contains(&key) && key != "skills" && !fields::is_private(key) {
                self.unknown_key(property, pointer, fields::SKILLS_KEYS, Severity::Error);
            }
        }
        block.none = self.flag(object, pointer, "none");
        block.allow_missing = self.flag(object, pointer, "allowMissing");
        if let Some(property) = object.get("visible") {
            block.visible_place = property.value.range().into();
            let list = match level {
                Level::Mode => List::ModeVisible,
                Level::Agent => List::AgentVisible,
            };
            block.visible = Some(self.entries(&property.value, &join(pointer, "visible"), list));
        }
        if let Some(property) = object.get("deny") {
            block.deny = self.entries(&property.value, &join(pointer, "deny"), List::Deny);
        }
    }

    fn entries(&mut self, value: &Value<'_>, pointer: &str, list: List) -> Vec<Listed> {
        let Value::Array(array) = value else {
            self.wrong_type(pointer, value, "a list of skill names", "技能名列表");
            return Vec::new();
        };
        let starts_with_plus =
            matches!(array.elements.first(), Some(Value::StringLit(first)) if first.value == "+");
        let mut entries = Vec::with_capacity(array.elements.len());
        for (index, element) in array.elements.iter().enumerate() {
            let Value::StringLit(text) = element else {
                self.wrong_type(&format!("{pointer}/{index}"), element, "a skill name", "技能名");
                continue;
            };
            match (Entry::parse(&text.value), list) {
                (Ok(Entry::Inherit), List::AgentVisible) if index > 0 && !starts_with_plus => {
                    self.plus_not_first(array, text, pointer, index);
                }
                (Ok(Entry::Inherit), List::ModeVisible) => self.plus_in_mode(array, text, pointer, index),
                (Ok(Entry::Inherit), List::Deny) => self.plus_in_deny(text, pointer, index),
                (Ok(Entry::Nothing), List::Deny) => self.minus_in_deny(text, pointer, index),
                (Ok(entry), _) => entries.push(Listed { entry, index, place: text.range.into() }),
                (Err(error), _) => self.no_entry(&error, text, pointer, index, list),
            }
        }
        entries
    }

    fn plus_not_first(&mut self, array: &Array<'_>, text: &StringLit<'_>, pointer: &str, index: usize) {
        let base = self.report.base;
        let diagnostic = self.report.error(
            Code::F0204,
            &format!("{pointer}/{index}"),
            text.range,
            words!("`+` inherits only as the first element", "`+` 只有作为第一个元素才表示继承"),
        );
        if let Some(diagnostic) = diagnostic {
            let list = list_text(array, Some("+"));
            diagnostic.hint = Some(words!("write {list}", "请写作 {list}"));
            diagnostic.fix = fix(base, array.range, list);
        }
    }

    fn plus_in_mode(&mut self, array: &Array<'_>, text: &StringLit<'_>, pointer: &str, index: usize) {
        let base = self.report.base;
        let diagnostic = self.report.error(
            Code::F0204,
            &format!("{pointer}/{index}"),
            text.range,
            words!("`+` has nothing to inherit at mode level", "模式级没有可继承的内容，不能用 `+`"),
        );
        if let Some(diagnostic) = diagnostic {
            let list = list_text(array, None);
            diagnostic.hint = Some(words!("write {list}", "请写作 {list}"));
            diagnostic.fix = fix(base, array.range, list);
        }
    }

    fn plus_in_deny(&mut self, text: &StringLit<'_>, pointer: &str, index: usize) {
        let diagnostic = self.report.error(
            Code::F0207,
            &format!("{pointer}/{index}"),
            text.range,
            words!(
                "`+` has no meaning in `deny`: both levels always count",
                "`deny` 中的 `+` 没有意义：两级总是合并"
            ),
        );
        if let Some(diagnostic) = diagnostic {
            diagnostic.hint = Some(words!("remove it", "请删除它"));
        }
    }

    fn minus_in_deny(&mut self, text: &StringLit<'_>, pointer: &str, index: usize) {
        let diagnostic = self.report.error(
            Code::F0205,
            &format!("{pointer}/{index}"),
            text.range,
            words!("`-` is not a skill name", "`-` 不是技能名"),
        );
        if let Some(diagnostic) = diagnostic {
            diagnostic.hint = Some(words!(
                "to deny everything, write \"deny\": [\"*\"]",
                "要全部禁止，请写 \"deny\": [\"*\"]"
            ));
        }
    }

    fn no_entry(
        &mut self,
        error: &EntryError,
        text: &StringLit<'_>,
        pointer: &str,
        index: usize,
        list: List,
    ) {
        let base = self.report.base;
        let code = if matches!(error, EntryError::Name { .. }) { Code::F0212 } else { Code::F0205 };
        let diagnostic = self.report.error(code, &format!("{pointer}/{index}"), text.range, error.words());
        let Some(diagnostic) = diagnostic else { return };
        diagnostic.hint = error.hint();
        diagnostic.fix = match error {
            EntryError::PlusPrefix { name: Some(name), .. } if list == List::AgentVisible && index == 0 => {
                fix(base, text.range, format!("\"+\", \"{name}\""))
            }
            _ => error.suggestion().and_then(|name| fix(base, text.range, format!("\"{name}\""))),
        };
    }
}

/// The texts of a list as JSON, every `+` taken out and `first` put in front.
fn list_text(array: &Array<'_>, first: Option<&str>) -> String {
    let texts = array.elements.iter().filter_map(Value::as_string_lit).map(|text| text.value.as_ref());
    let texts: Vec<&str> = first.into_iter().chain(texts.filter(|text| *text != "+")).collect();
    let quoted: Vec<String> = texts.iter().filter_map(|text| serde_json::to_string(text).ok()).collect();
    format!("[{}]", quoted.join(", "))
}

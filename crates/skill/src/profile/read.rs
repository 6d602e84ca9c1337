//! Syntax tree to [`Profile`]: which mode, which agents, which of their fields make sense.
//!
//! Everything that can be read is read, so that one run reports everything; what has an error is marked refused.

use super::agents::names;
use super::block::Standing;
use super::fields;
use super::json::{self, join};
use super::lists::Level;
use super::report::{Report, fix};
use super::stages::NameRange as _;
use super::{Mode, ModePolicy, Parsed, Profile, stages};
use fugato_model::{Code, Scope, nearest, nearest_first, words};
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Range;

pub(super) fn read(path: &str, text: &str) -> Parsed {
    let (source, base) = json::without_bom(text);
    let mut report = Report::new(path, source, base);
    let profile = json::root(&mut report).and_then(|root| {
        let mut reader = Reader { report: &mut report };
        reader.profile(&root)
    });
    Parsed { profile, diagnostics: report.finish() }
}

/// Reads blocks of one file into its report.
pub(super) struct Reader<'r, 's> {
    pub report: &'r mut Report<'s>,
}

impl Reader<'_, '_> {
    fn profile(&mut self, root: &Object<'_>) -> Option<Profile> {
        json::check_object(self.report, root, "");
        let mut standing = self.report.standing_since(0);
        let named = self.mode(root);
        let (mode, policies) = match root.get("modes") {
            Some(modes) => {
                let before = self.report.errors();
                self.nothing_beside_modes(root);
                if self.report.errors() > before {
                    standing = Standing::Refused;
                }
                self.modes_form(root, modes, named)
            }
            None => self.flat_form(root, named),
        };
        let before = self.report.errors();
        let preset = self.scope_name(root, "preset", Scope::preset);
        let character = self.scope_name(root, "character", Scope::character);
        // Without its scope a name would mean another skill.
        if self.report.errors() > before {
            standing = Standing::Refused;
        }
        let description = self.text(root, "", "description");
        Some(Profile {
            path: self.report.path.to_owned(),
            mode: mode?,
            preset,
            character,
            description,
            standing,
            policies,
            source: self.report.source.into(),
        })
    }

    /// `Ok(None)`: the key is absent. `Err`: it is there and wrong, which was said.
    fn mode(&mut self, root: &Object<'_>) -> Result<Option<Mode>, ()> {
        let Some(property) = root.get("mode") else { return Ok(None) };
        let Value::StringLit(text) = &property.value else {
            self.wrong_type("/mode", &property.value, "a mode", "模式名");
            return Err(());
        };
        match text.value.parse() {
            Ok(mode) => Ok(Some(mode)),
            Err(_) => {
                self.unknown_mode("/mode", &text.value, text.range);
                Err(())
            }
        }
    }

    fn unknown_mode(&mut self, pointer: &str, found: &str, range: Range) {
        let names = Mode::ALL.map(Mode::as_str);
        let quoted: Vec<String> =
            nearest_first(found, names).iter().map(|mode| format!("`{mode}`")).collect();
        let (list, shown) = (quoted.join(", "), found.chars().take(80).collect::<String>());
        let near = nearest(found, names);
        let fix = near.and_then(|near| fix(self.report.base, range, format!("\"{near}\"")));
        let diagnostic = self.report.error(
            Code::F0203,
            pointer,
            range,
            words!("unknown mode `{shown}` (expected {list})", "未知模式 `{shown}`（应为 {list}）"),
        );
        if let (Some(diagnostic), Some(near)) = (diagnostic, near) {
            diagnostic.hint = Some(words!("did you mean `{near}`?", "是否想写 `{near}`？"));
            diagnostic.fix = fix;
        }
    }

    fn flat_form(
        &mut self,
        root: &Object<'_>,
        named: Result<Option<Mode>, ()>,
    ) -> (Option<Mode>, Vec<ModePolicy>) {
        let Ok(named) = named else { return (None, Vec::new()) };
        let Some(mode) = named else {
            self.mode_is_missing(root);
            return (None, Vec::new());
        };
        let known: Vec<_> = [fields::FILE_KEYS, &["modes"]].concat();
        let policy = self.policy(root, mode, "", &known);
        (Some(mode), vec![policy])
    }

    fn mode_is_missing(&mut self, root: &Object<'_>) {
        let guess = root.properties.iter().find_map(|property| fields::owner_of(property.name.as_str()));
        let example = guess.unwrap_or(Mode::Director);
        let diagnostic = self.report.error(
            Code::F0214,
            "/mode",
            Range::new(root.range.start, root.range.start + 1),
            words!("`mode` is missing", "缺少 `mode`"),
        );
        if let Some(diagnostic) = diagnostic {
            diagnostic.hint = Some(words!("add \"mode\": \"{example}\"", "请添加 \"mode\": \"{example}\""));
        }
    }

    /// A policy beside `modes` reads as if it applied to all of them. It would be ignored, deny lists too: refuse.
    fn nothing_beside_modes(&mut self, root: &Object<'_>) {
        for property in &root.properties {
            let key = property.name.as_str();
            let is_policy = fields::MODE_KEYS.contains(&key) || fields::owner_of(key).is_some();
            if key == "modes" || !is_policy {
                continue;
            }
            let owner = fields::owner_of(key).map_or("director", Mode::as_str);
            let diagnostic = self.report.error(
                Code::F0215,
                &join("", key),
                property.name_range(),
                words!(
                    "`{key}` stands beside `modes` and belongs to none of them",
                    "`{key}` 与 `modes` 并列，不属于任何一个模式"
                ),
            );
            if let Some(diagnostic) = diagnostic {
                diagnostic.hint = Some(words!("move it into /modes/{owner}", "请移到 /modes/{owner} 中"));
            }
        }
    }

    fn modes_form(
        &mut self,
        root: &Object<'_>,
        modes: &ObjectProp<'_>,
        named: Result<Option<Mode>, ()>,
    ) -> (Option<Mode>, Vec<ModePolicy>) {
        self.unknown_keys_but(root, "", &[fields::FILE_KEYS, &["modes"]].concat(), |key| {
            fields::MODE_KEYS.contains(&key) || fields::owner_of(key).is_some()
        });
        let Value::Object(block) = &modes.value else {
            self.wrong_type("/modes", &modes.value, "an object", "对象");
            return (None, Vec::new());
        };
        let mut policies: Vec<ModePolicy> = Vec::new();
        for property in &block.properties {
            let key = property.name.as_str();
            let pointer = join("/modes", key);
            match (key.parse::<Mode>(), &property.value) {
                (Err(_), _) => self.unknown_mode(&pointer, key, property.name_range()),
                (Ok(_), value) if value.as_object().is_none() => {
                    self.wrong_type(&pointer, value, "an object", "对象");
                }
                (Ok(mode), Value::Object(policy)) if policies.iter().all(|known| known.mode != mode) => {
                    policies.push(self.policy(policy, mode, &pointer, &[]));
                }
                _ => {}
            }
        }
        let Ok(named) = named else { return (None, policies) };
        let mode = match (named, policies.as_slice()) {
            (Some(mode), _) => {
                if !policies.iter().any(|policy| policy.mode == mode) && block.get(mode.as_str()).is_none() {
                    self.missing(&format!("/modes/{mode}"), mode.as_str(), "modes", modes.name_range());
                }
                Some(mode)
            }
            // One mode only: there is nothing to choose.
            (None, [only]) => Some(only.mode),
            (None, _) => {
                self.mode_is_missing(root);
                None
            }
        };
        (mode, policies)
    }

    fn policy(&mut self, block: &Object<'_>, mode: Mode, pointer: &str, also: &[&str]) -> ModePolicy {
        let keys = fields::mode_fields(mode);
        self.unknown_keys_but(block, pointer, &[keys.as_slice(), also].concat(), |key| {
            fields::owner_of(key).is_some()
        });
        self.other_modes(block, mode, pointer);
        let skills = self.skills(block, pointer, Level::Mode);
        let mut agents = Vec::new();
        for key in fields::agent_keys(mode) {
            self.agents(block, mode, pointer, *key, &mut agents);
        }
        self.unique_ids(&mut agents);
        let stages =
            if mode == Mode::Spec { stages::read(self, block, pointer, &agents) } else { Vec::new() };
        if mode == Mode::Spec {
            self.word(block, pointer, "onReviewLimit", &["continue", "fail"]);
        }
        let tools = self.texts(block, pointer, "tools").map(|tools| names(&tools));
        let limits = self.limits(block, pointer);
        ModePolicy { mode, pointer: pointer.to_owned(), skills, agents, stages, tools, limits }
    }

    fn other_modes(&mut self, block: &Object<'_>, mode: Mode, pointer: &str) {
        for property in &block.properties {
            let key = property.name.as_str();
            let Some(owner) = fields::owner_of(key).filter(|owner| *owner != mode) else { continue };
            let diagnostic = self.report.warning(
                Code::F0215,
                &join(pointer, key),
                property.name_range(),
                words!(
                    "`{key}` belongs to mode {owner}: ignored in mode {mode}",
                    "`{key}` 属于 {owner} 模式：在 {mode} 模式中被忽略"
                ),
            );
            if let Some(diagnostic) = diagnostic {
                diagnostic.hint = Some(words!(
                    "to keep both, write \"modes\": {{\"{mode}\": {{…}}, \"{owner}\": {{…}}}}",
                    "若要两者并存，请写 \"modes\": {{\"{mode}\": {{…}}, \"{owner}\": {{…}}}}"
                ));
            }
        }
    }

    pub(super) fn missing(&mut self, pointer: &str, key: &str, owner: &str, range: Range) {
        let diagnostic = self.report.error(
            Code::F0214,
            pointer,
            range,
            words!("`{key}` is missing in {owner}", "{owner} 中缺少 `{key}`"),
        );
        if let Some(diagnostic) = diagnostic {
            let mode = if owner == "modes" { key } else { owner };
            diagnostic.hint = Some(words!(
                "fugato profile new {mode} prints a complete one",
                "运行 fugato profile new {mode} 可得到完整示例"
            ));
        }
    }
}

//! From YAML to subagents: what each of them says.

use super::fields::{Fields, Placed, node_place, place, to_json};
use super::parse::{first_key, not_a_map};
use super::{AgentType, BUILT_IN_TYPES, Requirement, Subagent};
use crate::interpolate::Template;
use crate::place::Place;
use crate::problems::{self, shorten};
use crate::variable::VarName;
use fugato_model::{Code, Fix, RelPath, Words, words};
use std::collections::{HashMap, HashSet};

/// The subagents of a phase. `optional`: what the phase says for those that do not say it themselves.
pub(super) fn list(
    fields: &mut Fields<'_, '_, '_>,
    optional: bool,
    is_type: &dyn Fn(&str) -> bool,
) -> Vec<Subagent> {
    let Some(entry) = fields.entry("subagents") else { return Vec::new() };
    let Some(items) = entry.value.items() else {
        fields.wrong_type("subagents", entry, &words!("a list", "列表"));
        return Vec::new();
    };
    let mut ids = Ids::default();
    let mut subagents = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let label = format!("{}.subagents[{index}]", fields.label);
        if item.entries().is_none() {
            not_a_map(
                fields.report,
                item,
                label,
                &words!("a subagent", "一个子代理"),
                "- skill: _sub/gather",
            );
            continue;
        }
        let fields = Fields { node: item, label, report: &mut *fields.report };
        subagents.extend(subagent(fields, optional, &mut ids, is_type));
    }
    subagents
}

const SUBAGENT_KEYS: [&str; 11] = [
    "skill",
    "type",
    "args",
    "output",
    "requires",
    "optional",
    "fallback",
    "on_error",
    "schema",
    // An older spelling of `output`.
    "store_as",
    "description",
];

fn subagent(
    mut fields: Fields<'_, '_, '_>,
    optional: bool,
    ids: &mut Ids,
    is_type: &dyn Fn(&str) -> bool,
) -> Option<Subagent> {
    fields.unknown(&SUBAGENT_KEYS);
    let skill = skill(&mut fields);
    let output_key = output_key(&mut fields);
    let output = fields.text(output_key);
    let output_place = output.as_ref().map(|(_, place)| *place).unwrap_or_default();
    let output = output.and_then(|placed| fields.output(output_key, &placed));
    let agent_type = agent_type(&mut fields, is_type);
    let args = args(&mut fields);
    let requires = requires(&mut fields);
    let optional = fields.boolean("optional", optional);
    let fallback_inline = fallback(&mut fields);
    let on_error = fields.text("on_error").map(|(text, _)| text.trim().to_owned());
    let schema = schema(&mut fields);
    let place = fields.entry("skill").map_or_else(|| first_key(fields.node), place);
    // Without a path there is nothing to run; all else was looked at so that every mistake is told at once.
    let skill = skill?;
    Some(Subagent {
        id: ids.next(&skill),
        skill,
        agent_type,
        args,
        output,
        requires,
        optional,
        fallback_inline,
        on_error: on_error.filter(|text| !text.is_empty()),
        schema,
        after: Vec::new(),
        relevant: Vec::new(),
        place,
        output_place,
    })
}

/// Ids of one phase.
#[derive(Default)]
struct Ids {
    taken: HashSet<String>,
    next: HashMap<String, usize>,
}

impl Ids {
    fn next(&mut self, skill: &RelPath) -> String {
        let mut components = skill.components().rev();
        let last = components.next().unwrap_or_default();
        let base = match last {
            "SKILL.md" | "skill.md" => components.next().unwrap_or(last),
            _ => last,
        };
        let number = self.next.entry(base.to_owned()).or_insert(1);
        loop {
            let id = if *number == 1 { base.to_owned() } else { format!("{base}.{number}") };
            *number += 1;
            // A directory may be called `x.2`.
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

fn skill(fields: &mut Fields<'_, '_, '_>) -> Option<RelPath> {
    let label = fields.label("skill");
    let Some((text, place)) = fields.text("skill") else {
        let place = first_key(fields.node);
        if fields.entry("skill").is_none() {
            fields.report.error(Code::F0807, |file| {
                let message = words!("the subagent has no `skill`", "子代理没有 `skill`");
                let hint = words!("skill: _sub/gather", "skill: _sub/gather");
                file.error(Code::F0807, place, message).field(label).hint(hint)
            });
        }
        return None;
    };
    match RelPath::parse(text.trim().trim_end_matches('/')) {
        Ok(path) => Some(path),
        Err(error) => {
            let shown = shorten(&text);
            fields.report.error(Code::F0807, |file| {
                let message = words!(
                    "`{shown}` is not a path inside the skill: {error}",
                    "`{shown}` 不是技能目录内的路径：{error}"
                );
                file.error(Code::F0807, place, message)
                    .field(label)
                    .hint(words!("skill: _sub/gather", "skill: _sub/gather"))
            });
            None
        }
    }
}

fn output_key(fields: &mut Fields<'_, '_, '_>) -> &'static str {
    let Some(entry) = fields.entry("store_as").filter(|_| fields.entry("output").is_none()) else {
        return "output";
    };
    let (label, key) = (fields.label("store_as"), node_place(&entry.key));
    fields.report.warning(Code::F0814, |file| {
        let message = words!("`store_as` is read as `output`", "`store_as` 按 `output` 读取");
        file.warning(Code::F0814, key, message).field(label).hint(words!("output: …", "output: …")).fix(Fix {
            start: problems::offset(key.start),
            end: problems::offset(key.end),
            replacement: "output".to_owned(),
        })
    });
    "store_as"
}

fn agent_type(fields: &mut Fields<'_, '_, '_>, is_type: &dyn Fn(&str) -> bool) -> AgentType {
    let label = fields.label("type");
    let Some((text, place)) = fields.text("type") else {
        if fields.entry("type").is_none() {
            let place = first_key(fields.node);
            fields.report.warning(Code::F0806, |file| {
                let message = words!(
                    "`type` is missing; the subagent is `general-purpose` and may write files",
                    "缺少 `type`；子代理按 `general-purpose` 运行，可以写文件"
                );
                let hint = words!("type: explore  (read-only)", "type: explore（只读）");
                file.warning(Code::F0806, place, message).field(label).hint(hint)
            });
        }
        return AgentType::GeneralPurpose;
    };
    let name = text.trim();
    match name.to_ascii_lowercase().as_str() {
        "explore" => return AgentType::Explore,
        "general-purpose" => return AgentType::GeneralPurpose,
        "script" => return AgentType::Script,
        lower if BUILT_IN_TYPES.contains(&lower) => return AgentType::Other(lower.to_owned()),
        _ if is_type(name) => return AgentType::Other(name.to_owned()),
        _ => {}
    }
    let known = ["explore", "general-purpose", "script"].into_iter().chain(BUILT_IN_TYPES);
    let nearest = fugato_model::nearest(name, known);
    let shown = shorten(name);
    fields.report.error(Code::F0806, |file| {
        let message = words!(
            "unknown type `{shown}`; expected `explore`, `general-purpose`, `script` or the name of an agent",
            "未知的类型 `{shown}`；应为 `explore`、`general-purpose`、`script` 或某个代理的名称"
        );
        let meant = nearest.unwrap_or("explore");
        file.error(Code::F0806, place, message).field(label).hint(words!("type: {meant}", "type: {meant}"))
    });
    AgentType::Explore
}

fn args(fields: &mut Fields<'_, '_, '_>) -> Template {
    let Some((text, whole)) = fields.text("args") else { return Template::default() };
    let label = fields.label("args");
    let file = fields.report.file;
    let written = Written::new(&text, file.text.get(whole.start..whole.end).unwrap_or_default());
    let moved = |found: Place| {
        let again = written.find(found);
        again.map_or(whole, |again| Place::new(whole.start + again.start, whole.start + again.end))
    };
    match Template::parse(&text, 0) {
        Ok(mut template) => {
            template.map_places(&moved);
            template
        }
        Err(error) => {
            let place = moved(Place::new(error.start, error.end));
            fields.report.error(Code::F0810, |file| {
                file.error(Code::F0810, place, error.message).field(label).hint(words!(
                    "write `{{{{{{{{` for a literal `{{{{`",
                    "要写字面的 `{{{{`，请写 `{{{{{{{{`"
                ))
            });
            Template::default()
        }
    }
}

/// A value beside its form in the file, which may have quotes, escapes and folded lines. The n-th `{{` of the one is the
/// n-th of the other.
struct Written<'a> {
    text: &'a str,
    raw: &'a str,
    braces: Vec<(usize, usize)>,
}

impl<'a> Written<'a> {
    fn new(text: &'a str, raw: &'a str) -> Self {
        let at = |text: &'a str| text.match_indices("{{").map(|(at, _)| at);
        Self { text, raw, braces: at(text).zip(at(raw)).collect() }
    }

    fn find(&self, place: Place) -> Option<Place> {
        let after = self.braces.partition_point(|(in_text, _)| *in_text <= place.start);
        let (in_text, in_raw) = *self.braces.get(after.checked_sub(1)?)?;
        let start = in_raw + (place.start - in_text);
        let again = Place::new(start, start + (place.end - place.start));
        let same = self.raw.get(again.start..again.end)? == self.text.get(place.start..place.end)?;
        same.then_some(again)
    }
}

fn requires(fields: &mut Fields<'_, '_, '_>) -> Vec<Requirement> {
    let listed = fields.list("requires");
    listed.into_iter().filter_map(|placed| requirement(fields, placed)).collect()
}

fn requirement(fields: &mut Fields<'_, '_, '_>, (text, place): Placed) -> Option<Requirement> {
    // `{{X}}` and `$X` say the same.
    let inner = text.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
    let (name, optional) = match inner.strip_suffix('?') {
        Some(name) => (name, true),
        None => (inner, false),
    };
    match VarName::parse(name.strip_prefix('$').unwrap_or(name)) {
        Ok(name) => Some(Requirement { name, optional, place }),
        Err(error) => {
            let (label, shown, why) = (fields.label("requires"), shorten(&text), error.words());
            fields.report.error(Code::F0811, |file| {
                let message = Words {
                    en: format!("`{shown}` is not a variable: {}", why.en),
                    zh: format!("`{shown}` 不是变量：{}", why.zh),
                };
                file.error(Code::F0811, place, message).field(label)
            });
            None
        }
    }
}

fn fallback(fields: &mut Fields<'_, '_, '_>) -> bool {
    let Some((text, place)) = fields.text("fallback") else { return false };
    match text.trim() {
        "inline" => true,
        "none" | "false" => false,
        other => {
            let (label, shown) = (fields.label("fallback"), shorten(other));
            fields.report.error(Code::F0813, |file| {
                let message = words!("expected `inline`, found `{shown}`", "应为 `inline`，实际是 `{shown}`");
                file.error(Code::F0813, place, message)
                    .field(label)
                    .hint(words!("fallback: inline", "fallback: inline"))
            });
            false
        }
    }
}

/// A JSON Schema: a map, or JSON as text.
fn schema(fields: &mut Fields<'_, '_, '_>) -> Option<serde_json::Value> {
    let entry = fields.entry("schema")?;
    let value = match entry.value.as_str() {
        Some(text) => serde_json::from_str(text).ok(),
        None => Some(to_json(&entry.value)),
    };
    match value {
        Some(value) if value.is_object() || value.is_boolean() => {
            if let Err(why) = crate::result_schema::check(&value) {
                let (label, place) = (fields.label("schema"), place(entry));
                fields.report.error(Code::F0813, |file| file.error(Code::F0813, place, why).field(label));
            }
            Some(value)
        }
        _ => {
            fields.wrong_type("schema", entry, &words!("a JSON Schema (a map)", " JSON Schema（映射）"));
            None
        }
    }
}

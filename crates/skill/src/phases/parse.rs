//! From YAML to phases: what each of them says. What they mean together is checked elsewhere.

use super::fields::{Fields, expected, node_place, place};
use super::report::Report;
use super::{Phase, subagent};
use crate::limits::{PHASES, SUBAGENTS};
use crate::place::Place;
use crate::problems::shorten;
use crate::variable::VarName;
use crate::yaml::Node;
use fugato_model::{Code, Words, words};
use std::collections::{HashMap, HashSet};

/// Reads every phase. `None`: there are more than anyone should run, and nothing else is looked at.
pub(super) fn phases(
    list: &Node,
    report: &mut Report<'_>,
    is_type: &dyn Fn(&str) -> bool,
) -> Option<Vec<Phase>> {
    let items = list.items().unwrap_or_default();
    let subagents = |phase: &Node| phase.get("subagents").and_then(Node::items).map_or(0, <[Node]>::len);
    for (count, limit, en, zh) in [
        (items.len(), PHASES, "phases", "阶段"),
        (items.iter().map(subagents).sum(), SUBAGENTS, "subagents", "子代理"),
    ] {
        if count > limit {
            report.error(Code::F0812, |file| {
                let message = words!("{count} {en} (limit {limit})", "{count} 个{zh}（上限 {limit}）");
                let place = items.first().map_or(node_place(list), node_place);
                file.error(Code::F0812, Place::new(place.start, place.start + 1), message).field("phases")
            });
            return None;
        }
    }
    let mut phases = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        if item.entries().is_none() {
            not_a_map(
                report,
                item,
                format!("phases[{index}]"),
                &words!("a phase", "一个阶段"),
                "- name: setup",
            );
            continue;
        }
        let fields = Fields { node: item, label: format!("phases[{index}]"), report };
        phases.push(phase(fields, index, is_type));
    }
    duplicates(&phases, report);
    Some(phases)
}

pub(super) fn not_a_map(report: &mut Report<'_>, item: &Node, label: String, what: &Words, hint: &str) {
    let what = Words { en: format!("{} (a map)", what.en), zh: format!("{}（映射）", what.zh) };
    let message = expected(&what, item);
    report.error(Code::F0801, |file| {
        file.error(Code::F0801, node_place(item), message).field(label).hint(words!("{hint}", "{hint}"))
    });
}

const PHASE_KEYS: [&str; 9] = [
    "name",
    "parallel",
    "depends_on",
    "inline",
    "enabled",
    "sets",
    "subagents",
    "optional",
    // For people.
    "description",
];

fn phase(mut fields: Fields<'_, '_, '_>, index: usize, is_type: &dyn Fn(&str) -> bool) -> Phase {
    fields.unknown(&PHASE_KEYS);
    let name = phase_name(&mut fields, index);
    let place = fields.entry("name").map_or_else(|| first_key(fields.node), place);
    let depends_on = fields.list("depends_on");
    let optional = fields.boolean("optional", false);
    let phase = Phase {
        parallel: fields.boolean("parallel", false),
        inline: fields.boolean("inline", false),
        enabled: fields.boolean("enabled", true),
        sets: sets(&mut fields),
        subagents: subagent::list(&mut fields, optional, is_type),
        dependency_places: depends_on.iter().map(|(_, place)| *place).collect(),
        depends_on: depends_on.into_iter().map(|(name, _)| name).collect(),
        sets_by_use: Vec::new(),
        section: None,
        name,
        place,
    };
    inline_or_subagents(&mut fields, &phase);
    phase
}

/// Where a message about a missing field points.
pub(super) fn first_key(node: &Node) -> Place {
    node.entries().and_then(<[_]>::first).map_or(node_place(node), |entry| node_place(&entry.key))
}

/// A name that can stand in an id (`setup/get-config`) and in a sentence.
fn phase_name(fields: &mut Fields<'_, '_, '_>, index: usize) -> String {
    let number = index + 1;
    let Some((text, place)) = fields.text("name") else {
        let label = fields.label("name");
        let place = first_key(fields.node);
        fields.report.error(Code::F0802, |file| {
            let message = words!("phase {number} has no `name`", "第 {number} 个阶段没有 `name`");
            file.error(Code::F0802, place, message).field(label).hint(words!("name: setup", "name: setup"))
        });
        return String::new();
    };
    let name = text.trim();
    let problem = match name {
        "" => Some(words!("the name of phase {number} is empty", "第 {number} 个阶段的名称是空的")),
        _ if name.chars().count() > 64 => {
            Some(words!("the name has more than 64 characters", "名称超过 64 个字符"))
        }
        _ => name
            .chars()
            .find(|c| *c == '/' || fugato_model::is_hidden(*c))
            .map(|c| words!("the name contains {c:?}", "名称含有 {c:?}")),
    };
    if let Some(message) = problem {
        let label = fields.label("name");
        fields.report.error(Code::F0802, |file| file.error(Code::F0802, place, message).field(label));
    }
    name.to_owned()
}

fn duplicates(phases: &[Phase], report: &mut Report<'_>) {
    let mut first: HashMap<&str, &Phase> = HashMap::new();
    for phase in phases.iter().filter(|phase| !phase.name.is_empty()) {
        let Some(before) = first.get(phase.name.as_str()) else {
            first.insert(&phase.name, phase);
            continue;
        };
        report.error(Code::F0802, |file| {
            let name = shorten(&phase.name);
            let (line, again) = (file.line(before.place), file.line(phase.place));
            let message = words!(
                "phase `{name}` is on line {line} and again on line {again}",
                "阶段 `{name}` 在第 {line} 行已有，第 {again} 行又出现"
            );
            file.error(Code::F0802, phase.place, message)
                .field("name")
                .related(
                    file.text,
                    before.place.start,
                    before.place.end,
                    words!("first here", "第一次在这里"),
                )
                .hint(words!("give one of them another name", "给其中一个换个名称"))
        });
    }
}

fn sets(fields: &mut Fields<'_, '_, '_>) -> Vec<VarName> {
    let listed = fields.list("sets");
    let names: Vec<VarName> = listed.iter().filter_map(|placed| fields.output("sets", placed)).collect();
    let mut seen = HashSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}

fn inline_or_subagents(fields: &mut Fields<'_, '_, '_>, phase: &Phase) {
    let has_subagents = fields.entry("subagents").is_some_and(|entry| {
        // A wrong type is told already; a list with nothing usable in it still says what was meant.
        entry.value.items().is_none_or(|items| !items.is_empty())
    });
    let label = fields.label.clone();
    let name = shorten(&phase.name);
    match (phase.inline, has_subagents) {
        (true, true) => {
            let (inline, subagents) = (fields.node.entry("inline"), fields.node.entry("subagents"));
            let (Some(inline), Some(subagents)) = (inline, subagents) else { return };
            fields.report.error(Code::F0805, |file| {
                let message = words!(
                    "phase `{name}` has both `inline: true` and `subagents`",
                    "阶段 `{name}` 同时有 `inline: true` 和 `subagents`"
                );
                file.error(Code::F0805, node_place(&inline.key), message)
                    .field(label)
                    .related(
                        file.text,
                        subagents.key.start,
                        subagents.key.end,
                        words!("and here", "以及这里"),
                    )
                    .hint(words!("make two phases of it", "把它拆成两个阶段"))
            });
        }
        (false, false) => fields.report.error(Code::F0805, |file| {
            let message = words!(
                "phase `{name}` has neither `inline: true` nor `subagents`",
                "阶段 `{name}` 既没有 `inline: true` 也没有 `subagents`"
            );
            file.error(Code::F0805, phase.place, message)
                .field(label)
                .hint(words!("inline: true", "inline: true"))
        }),
        _ => {}
    }
}

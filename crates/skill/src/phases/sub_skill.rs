//! The sub-skills that subagents run: are they there, are they others, can they be started.

use super::report::Report;
use super::{AgentType, Phase, Subagent, known_variables, relevant_among};
use crate::problems::shorten;
use crate::yaml::Node;
use crate::{SkillText, document};
use fugato_model::{Code, Diagnostic, RelPath, Words, words};
use std::collections::HashMap;

/// What a path of a `skill:` field holds. The caller looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubSkill {
    /// Its SKILL.md: the path as diagnostics should name it, and the text.
    Found { path: String, text: String },
    /// The same, and it has phases of its own.
    Phased { path: String, text: String },
    /// Nothing is there. `looked_at`: the places, as a person would name them; `nearest`: what is there and is called
    /// nearly so, the nearest first.
    Missing { looked_at: Vec<String>, nearest: Vec<String> },
    /// Through its own phases it comes back to a skill that is under way already: the names, from this skill on.
    Recursive { names: Vec<String> },
    /// Skills that start skills that start skills, past any use.
    TooDeep { names: Vec<String> },
    /// A link leads out of the skill, or the file cannot be read.
    Unusable { path: String, why: Words },
}

/// Looks at the sub-skill of every subagent once per path, and notes which variables its text speaks of.
pub(super) fn check(
    phases: &mut [Phase],
    own_path: &str,
    files: &dyn Fn(&RelPath) -> SubSkill,
    report: &mut Report<'_>,
) {
    let known = known_variables(phases);
    let mut looked: HashMap<RelPath, SubSkill> = HashMap::new();
    // What is not enabled is often not written yet.
    for phase in phases.iter_mut().filter(|phase| phase.enabled) {
        for subagent in &mut phase.subagents {
            let found = looked.entry(subagent.skill.clone()).or_insert_with(|| files(&subagent.skill));
            match found {
                SubSkill::Found { path, .. } | SubSkill::Phased { path, .. } if path == own_path => {
                    own(subagent, report);
                }
                SubSkill::Found { path, text } | SubSkill::Phased { path, text } => {
                    subagent.relevant = relevant_among(subagent, text, &|word, _| known.contains(word));
                    if subagent.agent_type == AgentType::Script
                        && let Err(why) = entry_point(text)
                    {
                        no_entry_point(subagent, path, &why, report);
                    }
                    if matches!(found, SubSkill::Phased { .. }) && subagent.agent_type == AgentType::Script {
                        passed_over(subagent, report);
                    }
                }
                SubSkill::Missing { looked_at, nearest } => missing(subagent, looked_at, nearest, report),
                SubSkill::Recursive { names } => recursive(subagent, names, report),
                SubSkill::TooDeep { names } => too_deep(subagent, names, report),
                SubSkill::Unusable { path, why } => unusable(subagent, path, why, report),
            }
        }
    }
}

/// The program a sub-skill of type `script` runs: its `metadata.fugato-run`, a path inside the sub-skill.
pub fn entry_point(skill_text: &str) -> Result<RelPath, Words> {
    let text = SkillText { dir_name: "", path: "", bytes: skill_text.as_bytes() };
    let document = document::open(text).map_err(|broken| broken.diagnostic.message)?;
    let run = document.root.get("metadata").and_then(|metadata| metadata.get("fugato-run"));
    let Some(path) = run.and_then(Node::text).map(str::trim).filter(|path| !path.is_empty()) else {
        return Err(words!("there is no `metadata.fugato-run`", "缺少 `metadata.fugato-run`"));
    };
    RelPath::parse(path).map_err(|error| {
        let shown = shorten(path);
        words!(
            "`{shown}` is not a path inside the sub-skill: {error}",
            "`{shown}` 不是子技能目录内的路径：{error}"
        )
    })
}

fn at(report: &mut Report<'_>, subagent: &Subagent, code: Code, make: impl FnOnce() -> (Words, Words)) {
    let place = subagent.place;
    report.error(code, |file| {
        let (message, hint) = make();
        let diagnostic: Diagnostic = file.error(code, place, message);
        diagnostic.field("skill").hint(hint)
    });
}

fn own(subagent: &Subagent, report: &mut Report<'_>) {
    at(report, subagent, Code::F0807, || {
        let path = shorten(subagent.skill.as_str());
        let message = words!(
            "`{path}` is this skill itself: it would start itself without end",
            "`{path}` 就是本技能：会无止境地启动自己"
        );
        (message, words!("name a sub-skill, such as `_sub/gather`", "请写子技能，例如 `_sub/gather`"))
    });
}

fn recursive(subagent: &Subagent, names: &[String], report: &mut Report<'_>) {
    at(report, subagent, Code::F0807, || {
        let drawn = drawn(names);
        let message = words!("the sub-skill leads back to itself: {drawn}", "子技能会绕回自己：{drawn}");
        (message, words!("take one of these out", "去掉其中一个"))
    });
}

fn too_deep(subagent: &Subagent, names: &[String], report: &mut Report<'_>) {
    at(report, subagent, Code::F0807, || {
        let (drawn, depth) = (drawn(names), names.len());
        let message =
            words!("sub-skills name sub-skills {depth} deep: {drawn}", "子技能嵌套达 {depth} 层：{drawn}");
        (message, words!("put their phases into one skill", "把这些阶段合并到一个技能里"))
    });
}

fn drawn(names: &[String]) -> String {
    names.iter().map(|name| shorten(name)).collect::<Vec<_>>().join(" ──→ ")
}

/// A script is its program.
fn passed_over(subagent: &Subagent, report: &mut Report<'_>) {
    let place = subagent.place;
    report.warning(Code::F0807, |file| {
        let path = shorten(subagent.skill.as_str());
        let message = words!(
            "`{path}` has phases of its own; with `type: script` its program runs, and not they",
            "`{path}` 有自己的阶段；`type: script` 只运行它的程序，不执行那些阶段"
        );
        let hint = words!("type: general-purpose", "type: general-purpose");
        file.warning(Code::F0807, place, message).field("type").hint(hint)
    });
}

fn missing(subagent: &Subagent, looked_at: &[String], nearest: &[String], report: &mut Report<'_>) {
    at(report, subagent, Code::F0807, || {
        let path = shorten(subagent.skill.as_str());
        let places: Vec<String> = looked_at.iter().take(4).map(|place| format!("`{place}`")).collect();
        let places = places.join(", ");
        let message = if places.is_empty() {
            words!("there is no sub-skill `{path}`", "没有子技能 `{path}`")
        } else {
            words!(
                "there is no sub-skill `{path}`: looked at {places}",
                "没有子技能 `{path}`：已查找 {places}"
            )
        };
        let near: Vec<String> = nearest.iter().take(3).map(|name| format!("`{}`", shorten(name))).collect();
        let near = near.join(", ");
        let hint = if near.is_empty() {
            words!("create `{path}/SKILL.md` or correct the path", "创建 `{path}/SKILL.md`，或修正路径")
        } else {
            words!(
                "did you mean {near}? Or create `{path}/SKILL.md`",
                "是不是 {near}？或者创建 `{path}/SKILL.md`"
            )
        };
        (message, hint)
    });
}

fn unusable(subagent: &Subagent, path: &str, why: &Words, report: &mut Report<'_>) {
    at(report, subagent, Code::F0807, || {
        let message = Words { en: format!("`{path}`: {}", why.en), zh: format!("`{path}`：{}", why.zh) };
        (message, words!("put the sub-skill inside of the skill", "把子技能放进技能目录"))
    });
}

fn no_entry_point(subagent: &Subagent, path: &str, why: &Words, report: &mut Report<'_>) {
    at(report, subagent, Code::F0816, || {
        let message = Words {
            en: format!("`type: script`, but in `{path}`: {}", why.en),
            zh: format!("类型为 `script`，但在 `{path}` 中：{}", why.zh),
        };
        let hint = "metadata:\n  fugato-run: scripts/main.sh";
        (message, words!("{hint}", "{hint}"))
    });
}

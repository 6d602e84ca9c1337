//! What `skill new` writes: the shortest files that are complete, pass every check, and show where to go on.

use crate::Kind;
use crate::fields::as_yaml_value;
use fugato_model::SkillName;

/// One file of a new skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFile {
    /// Path inside the skill, joined by `/`.
    pub path: &'static str,
    pub content: String,
}

/// The files of a new skill of that name, the describing file first.
///
/// With a `description`, that stands in the describing file instead of the sample sentence.
pub fn files(name: &SkillName, kind: Kind, description: Option<&str>) -> Vec<TemplateFile> {
    let value = as_yaml_value(name.as_str());
    let file = |path, content: String| TemplateFile { path, content };
    let mut files = of_kind(name, kind, &value, file);
    if let (Some(description), Some(first)) = (description, files.first_mut()) {
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let (sample, text) = match kind {
            Kind::Skill => (SAMPLE, as_yaml_value(&description)),
            Kind::Phases => (PHASED_SAMPLE, as_yaml_value(&description)),
            Kind::Orchestrator => (ORCHESTRATOR_SAMPLE, description),
        };
        first.content = first.content.replace(sample, &text);
    }
    files
}

const SAMPLE: &str = "Says in one sentence what this skill does. Use when the user asks for it.";
const PHASED_SAMPLE: &str = "Gathers material, then writes a report. Use when the user asks for a report.";
const ORCHESTRATOR_SAMPLE: &str = "Says in one sentence what this orchestrator does and when to use it.";

fn of_kind(
    name: &SkillName,
    kind: Kind,
    value: &str,
    file: impl Fn(&'static str, String) -> TemplateFile,
) -> Vec<TemplateFile> {
    match kind {
        Kind::Skill => vec![file("SKILL.md", fill(SKILL, name, value))],
        Kind::Phases => vec![
            file("SKILL.md", fill(PHASED_SKILL, name, value)),
            file("phases.yaml", fill(PHASES, name, value)),
            file("_sub/gather/SKILL.md", fill(SUB_SKILL, name, value)),
        ],
        Kind::Orchestrator => vec![file("oskill.md", fill(ORCHESTRATOR, name, value))],
    }
}

fn fill(template: &str, name: &SkillName, value: &str) -> String {
    template.replace("{value}", value).replace("{name}", name.as_str())
}

const SKILL: &str = "\
---
name: {value}
description: Says in one sentence what this skill does. Use when the user asks for it.
---

# {name}

1. Say what to look at first.
2. Say what to do, step by step.
3. Say what a good result looks like.

Put long material into files under `references/` and name them here.
";

const PHASED_SKILL: &str = "\
---
name: {value}
description: Gathers material, then writes a report. Use when the user asks for a report.
metadata:
  fugato-phases: phases.yaml
---

# {name}

## report

Write a short report on {{ARGUMENTS}} from this material:

{{MATERIAL}}
";

const PHASES: &str = "\
# Each phase starts when the phases it depends on are complete.
phases:
  - name: gather
    subagents:
      - skill: _sub/gather
        type: explore
        args: \"{{ARGUMENTS}}\"
        output: MATERIAL
  - name: report
    depends_on: [gather]
    inline: true
";

const SUB_SKILL: &str = "\
---
name: gather
description: Gathers material on a topic and returns it. Started by the skill around it.
---

# gather

Collect what is known about the topic in the arguments. Return the facts as JSON.
";

const ORCHESTRATOR: &str = "\
# {name}

## Description

Says in one sentence what this orchestrator does and when to use it.

## Instructions

Decide which of the allowed skills the request needs, call them, and answer from their results.

## Allowed Skills

- my-skill

## Session

loop
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SkillText, Strictness, check, read_orchestrator, read_skill, yaml};

    #[test]
    fn new_skills_pass_the_strict_check() {
        for name in ["pdf-tools", "技能", "123", "true"] {
            let name = SkillName::parse(name).unwrap();
            for kind in [Kind::Skill, Kind::Phases] {
                let files = files(&name, kind, None);
                let bytes = files[0].content.as_bytes();
                let text = SkillText { dir_name: name.as_str(), path: "SKILL.md", bytes };
                assert_eq!(check(text, Strictness::Lenient), []);
                let reading = read_skill(text);
                assert_eq!((reading.usable, reading.head.kind), (true, kind));
                assert_eq!(reading.head.name.as_ref(), Some(&name));
                assert_eq!(check(text, Strictness::Strict), []);
            }
        }
    }

    #[test]
    fn the_phases_template_is_whole() {
        let files = files(&SkillName::parse("report").unwrap(), Kind::Phases, None);
        let phases = yaml::parse(&files[1].content, 0).unwrap();
        let steps = phases.get("phases").unwrap().items().unwrap();
        let skill =
            steps[0].get("subagents").unwrap().items().unwrap()[0].get("skill").unwrap().text().unwrap();
        assert_eq!(files[2].path, format!("{skill}/SKILL.md"));
        let sub = SkillText { dir_name: "gather", path: "SKILL.md", bytes: files[2].content.as_bytes() };
        assert_eq!(check(sub, Strictness::Strict), []);
        assert!(files[0].content.contains("{{MATERIAL}}"));
        let source = crate::phases::Source {
            path: "SKILL.md",
            text: &files[0].content,
            side_file: Some(("phases.yaml", &files[1].content)),
        };
        let (phased, diagnostics) = crate::phases::read(source, &|path| crate::phases::SubSkill::Found {
            path: format!("{path}/SKILL.md"),
            text: files[2].content.clone(),
        });
        assert_eq!(diagnostics, []);
        assert!(phased.unwrap().phases[1].section.is_some());
    }

    #[test]
    fn a_new_orchestrator_is_recognised() {
        let name = SkillName::parse("trip-planner").unwrap();
        let files = files(&name, Kind::Orchestrator, None);
        let text =
            SkillText { dir_name: "trip-planner", path: "oskill.md", bytes: files[0].content.as_bytes() };
        let reading = read_orchestrator(text);
        assert!(reading.usable && reading.diagnostics.is_empty());
        assert_eq!((reading.head.kind, reading.head.name), (Kind::Orchestrator, Some(name)));
    }
}

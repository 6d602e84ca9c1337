//! The kinds of agents every installation has: the general ones and the six specialists, with their tools and steps.

use super::AgentType;
use crate::plan::Access;

/// The kind that is meant when none is named.
pub const GENERAL_PURPOSE: &str = "general-purpose";

/// What one line of the table says.
struct Built {
    name: &'static str,
    mark: &'static str,
    /// For whoever delegates: short, because all of them stand in every master's prompt.
    description: &'static str,
    /// `None`: all that the parent has.
    tools: Option<&'static [&'static str]>,
    access: Access,
    steps: u32,
    prompt: &'static str,
}

/// What can be read without changing anything, anywhere.
const READERS: &[&str] =
    &["Read", "Glob", "Grep", "office-read", "image-ocr", "canvas-read", "WebFetch", "WebSearch"];

/// How every task ends, and what no worker does.
const ENDING: &str = include_str!("prompts/ending.md");

/// Steps of the general kinds: the most that a specialist has.
const GENERAL_STEPS: u32 = 20;

const BUILT_IN: &[Built] = &[
    Built {
        name: GENERAL_PURPOSE,
        mark: "🧰",
        description: "Any task of several steps that no other type fits.",
        tools: None,
        access: Access::ReadWrite,
        steps: GENERAL_STEPS,
        prompt: include_str!("prompts/general-purpose.md"),
    },
    Built {
        name: "explore",
        mark: "🧭",
        description: "Finds things out in code and documents; reads only.",
        tools: Some(READERS),
        access: Access::ReadOnly,
        steps: GENERAL_STEPS,
        prompt: include_str!("prompts/explore.md"),
    },
    Built {
        name: "plan",
        mark: "📐",
        description: "Designs a solution and writes an implementation plan; reads only.",
        tools: Some(READERS),
        access: Access::ReadOnly,
        steps: GENERAL_STEPS,
        prompt: include_str!("prompts/plan.md"),
    },
    Built {
        name: "doc-editor",
        mark: "📝",
        description: "Edits and rewrites long documents: Markdown, rich text, Word, PDF.",
        // `office-read` is ours: `Read` gives text only, and Word and PDF are no text.
        tools: Some(&["Write", "Read", "Glob", "office-read"]),
        access: Access::ReadWrite,
        steps: 15,
        prompt: include_str!("prompts/doc-editor.md"),
    },
    Built {
        name: "browser",
        mark: "🌐",
        description: "Works web pages: navigates, clicks, fills forms, logs in, pages through, takes screenshots.",
        tools: Some(&["browser-*", "WebSearch"]),
        access: Access::ReadWrite,
        steps: 20,
        prompt: include_str!("prompts/browser.md"),
    },
    Built {
        name: "data-analyst",
        mark: "📊",
        description: "Cleans CSV and Excel data, computes statistics, makes charts.",
        // `chart` and `office-read` are ours: charts and Excel are its job.
        tools: Some(&["Read", "Write", "Bash", "chart", "office-read"]),
        access: Access::ReadWrite,
        steps: 15,
        prompt: include_str!("prompts/data-analyst.md"),
    },
    Built {
        name: "extractor",
        mark: "🔍",
        description: "Extracts tables and fields from PDFs, images (OCR), office files and web pages.",
        // `image-ocr` is ours: reading images is its job.
        tools: Some(&["Read", "office-read", "WebFetch", "image-ocr"]),
        access: Access::ReadOnly,
        steps: 10,
        prompt: include_str!("prompts/extractor.md"),
    },
    Built {
        name: "canvas-designer",
        mark: "🎨",
        description: "Adds, changes and lays out nodes of a canvas; turns text into a canvas.",
        tools: Some(&["canvas-*", "canvas-read"]),
        access: Access::ReadWrite,
        steps: 15,
        prompt: include_str!("prompts/canvas-designer.md"),
    },
    Built {
        name: "coder",
        mark: "💻",
        description: "Writes, reviews and debugs code in any language.",
        tools: Some(&["Write", "Read", "Grep", "Glob", "Bash"]),
        access: Access::ReadWrite,
        steps: 20,
        prompt: include_str!("prompts/coder.md"),
    },
];

/// The built-in types, the default one first.
pub fn built_in_types() -> Vec<AgentType> {
    BUILT_IN.iter().map(Built::agent_type).collect()
}

impl Built {
    fn agent_type(&self) -> AgentType {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        AgentType {
            description: self.description.to_owned(),
            prompt: format!("{}\n{ENDING}", self.prompt),
            tools: self.tools.map(texts),
            access: self.access,
            steps: Some(self.steps),
            mark: Some(self.mark.to_owned()),
            ..AgentType::named(self.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EffectClass;
    use crate::tools;

    fn named(name: &str) -> AgentType {
        built_in_types().into_iter().find(|agent| agent.name == name).unwrap()
    }

    /// Tools of this program that the type may use, as far as it decides that.
    fn tools_of(name: &str) -> Vec<&'static str> {
        let agent = named(name);
        tools::TOOLS.iter().map(|(tool, _)| *tool).filter(|tool| agent.has_tool(tool)).collect()
    }

    #[test]
    fn steps_and_tool_sets_are_those_of_the_table() {
        for (name, steps, listed) in [
            ("doc-editor", 15, &["Write", "Read", "Glob"][..]),
            ("browser", 20, &["browser-*", "WebSearch"]),
            ("data-analyst", 15, &["Read", "Write", "Bash"]),
            ("extractor", 10, &["Read", "office-read", "WebFetch"]),
            ("canvas-designer", 15, &["canvas-*", "canvas-read"]),
            ("coder", 20, &["Write", "Read", "Grep", "Glob", "Bash"]),
        ] {
            let agent = named(name);
            assert_eq!(agent.steps, Some(steps), "{name}");
            let ours = ["chart", "office-read", "image-ocr"];
            let tools = agent.tools.unwrap();
            assert_eq!(&tools[..listed.len()], listed, "{name}");
            assert!(tools[listed.len()..].iter().all(|tool| ours.contains(&tool.as_str())), "{name}");
        }
        assert_eq!(built_in_types()[0].name, GENERAL_PURPOSE);
        assert_eq!(named(GENERAL_PURPOSE).tools, None);
    }

    #[test]
    fn every_listed_tool_exists_and_fits_the_access() {
        for agent in built_in_types() {
            for listed in agent.tools.iter().flatten() {
                let found = tools::TOOLS.iter().filter(|(tool, _)| super::super::matches(listed, tool));
                let classes: Vec<_> = found.map(|(_, class)| *class).collect();
                assert!(!classes.is_empty(), "{}: {listed}", agent.name);
                if agent.access == Access::ReadOnly {
                    assert!(
                        classes.iter().all(|class| *class == EffectClass::Read),
                        "{}: {listed}",
                        agent.name
                    );
                }
            }
        }
        for reader in ["explore", "plan"] {
            let tools = tools_of(reader);
            assert!(
                tools.contains(&"Grep") && !tools.contains(&"Bash") && !tools.contains(&"Write"),
                "{tools:?}"
            );
        }
    }

    #[test]
    fn prompts_are_short_and_say_how_to_end() {
        for agent in built_in_types() {
            let words = agent.prompt.split_whitespace().count();
            assert!((80..=250).contains(&words), "{}: {words} words", agent.name);
            assert!(agent.prompt.contains("submit_result"), "{}", agent.name);
            assert!(agent.description.chars().count() <= 110, "{}", agent.name);
        }
    }

    #[test]
    fn phases_and_delegation_know_the_same_names() {
        let names: Vec<_> = built_in_types().into_iter().map(|agent| agent.name).collect();
        let of_phases =
            ["general-purpose", "explore"].into_iter().chain(fugato_skill::phases::BUILT_IN_TYPES);
        for name in of_phases.clone() {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        assert_eq!(names.len(), of_phases.count());
    }
}

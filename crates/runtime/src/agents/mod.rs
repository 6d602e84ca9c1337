//! The kinds of agents that can be started here: built in, written by the person, written in the project, named by a
//! profile. Finds and reads; what a file means is `skill`'s, what an agent may do is `engine`'s.
//!
//! A later origin takes the place of an earlier one of the same name, and says so. A broken file takes nobody's place.

mod machine;
mod model;
mod roots;
mod scan;
#[cfg(test)]
mod tests;

pub use machine::{Machine, Obstacle, Weight};
pub use model::model_for;
pub use scan::check_file;

use crate::Places;
use fugato_engine::{AgentType, Rights, built_in_types};
use fugato_model::{Code, Diagnostic, words};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Where a kind of agent comes from, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    BuiltIn,
    User,
    Project,
    Profile,
}

impl Origin {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
            Self::Profile => "profile",
        }
    }
}

/// One kind of agent and where it was found.
#[derive(Clone, Debug)]
pub struct Known {
    pub agent: AgentType,
    pub origin: Origin,
    /// The file, for agents that have one.
    pub path: Option<PathBuf>,
    /// The file as people name it; empty for what is built in.
    pub shown: String,
    /// What is odd about the file.
    pub diagnostics: Vec<Diagnostic>,
    /// Tools of other programs it lists that have no counterpart here.
    pub elsewhere: Vec<String>,
    /// Fields of its file that are not read here.
    pub others: BTreeMap<String, serde_json::Value>,
    /// Whose place it takes: origin and file, the nearest first.
    pub replaces: Vec<(Origin, String)>,
}

/// A file that is no agent, and why.
#[derive(Clone, Debug)]
pub struct BrokenFile {
    /// What it calls itself, or its file's name.
    pub name: String,
    pub origin: Origin,
    pub path: PathBuf,
    pub shown: String,
    pub diagnostics: Vec<Diagnostic>,
}

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub struct AgentTypes {
    /// What counts: the built-in ones in their order, then the others by name.
    pub types: Vec<Known>,
    /// Agents whose place another one took.
    pub shadowed: Vec<Known>,
    pub broken: Vec<BrokenFile>,
    /// Of all files and directories, in the order they were read.
    pub diagnostics: Vec<Diagnostic>,
}

/// The kinds of agents of this place.
pub fn agent_types(places: &Places) -> AgentTypes {
    let mut gathering = Gathering::new(AgentTypes::built_in());
    for (number, root) in roots::roots(places).iter().enumerate() {
        let scanned = scan::scan(root, places);
        gathering.found.diagnostics.extend(scanned.problems);
        for file in scanned.files {
            gathering.take(file, number);
        }
    }
    gathering.finish()
}

impl AgentTypes {
    /// What every installation has.
    pub fn built_in() -> Self {
        let types = built_in_types().into_iter().map(|agent| Known::new(agent, Origin::BuiltIn)).collect();
        Self { types, ..Self::default() }
    }

    /// Adds agents that a profile names. `shown` is the profile as people name it.
    #[must_use]
    pub fn with_profile(self, agents: Vec<AgentType>, path: &Path, shown: &str) -> Self {
        let mut gathering = Gathering::new(self);
        for agent in agents {
            let known = Known {
                path: Some(path.to_owned()),
                shown: shown.to_owned(),
                ..Known::new(agent, Origin::Profile)
            };
            gathering.place(known, None);
        }
        gathering.finish()
    }

    /// The types alone, as a run pins them.
    pub fn list(&self) -> Vec<AgentType> {
        self.types.iter().map(|known| known.agent.clone()).collect()
    }

    /// By name, whatever its case.
    pub fn get(&self, name: &str) -> Option<&Known> {
        self.types.iter().find(|known| folded(&known.agent.name) == folded(name))
    }
}

/// Types under way, by their names.
struct Gathering {
    found: AgentTypes,
    /// Place in `types`, and the number of the root it came from.
    by_name: HashMap<String, (usize, Option<usize>)>,
}

impl Gathering {
    fn new(found: AgentTypes) -> Self {
        let names = found.types.iter().enumerate();
        let by_name = names.map(|(at, known)| (folded(&known.agent.name), (at, None))).collect();
        Self { found, by_name }
    }

    fn take(&mut self, file: scan::ReadFile, root: usize) {
        self.found.diagnostics.extend(file.reading.diagnostics.iter().cloned());
        let agent = AgentType::from_file(&file.reading.agent).filter(|_| file.reading.usable);
        let (said, diagnostics) = (file.reading.agent, file.reading.diagnostics);
        let Some(agent) = agent else {
            let name = said.name.map(|name| name.to_string()).or(said.declared_name).unwrap_or(file.stem);
            let (origin, path, shown) = (file.origin, file.path, file.shown);
            self.found.broken.push(BrokenFile { name, origin, path, shown, diagnostics });
            return;
        };
        let known = Known {
            path: Some(file.path),
            shown: file.shown,
            diagnostics,
            elsewhere: said.tools.map(|tools| tools.elsewhere).unwrap_or_default(),
            others: said.others,
            ..Known::new(agent, file.origin)
        };
        self.place(known, Some(root));
    }

    /// Takes the place of an earlier agent of the name, or a place of its own; beside one of the same root, none.
    fn place(&mut self, mut known: Known, root: Option<usize>) {
        let name = folded(&known.agent.name);
        let at = self.by_name.get(&name).copied();
        let before = at.and_then(|(at, root)| Some((self.found.types.get_mut(at)?, at, root)));
        let Some((before, at, before_root)) = before else {
            self.by_name.insert(name, (self.found.types.len(), root));
            self.found.types.push(known);
            return;
        };
        if root.is_some() && root == before_root {
            let diagnostic = twice(&known, before);
            known.diagnostics.push(diagnostic.clone());
            self.found.diagnostics.push(diagnostic);
            self.found.shadowed.push(known);
            return;
        }
        known.replaces = vec![(before.origin, before.shown.clone())];
        known.replaces.extend(before.replaces.iter().cloned());
        self.found.shadowed.push(std::mem::replace(before, known));
        self.by_name.insert(name, (at, root));
    }

    fn finish(mut self) -> AgentTypes {
        let order: HashMap<String, usize> =
            built_in_types().into_iter().enumerate().map(|(at, agent)| (agent.name, at)).collect();
        self.found.types.sort_by_cached_key(|known| {
            let name = folded(&known.agent.name);
            (order.get(&name).copied().unwrap_or(usize::MAX), name)
        });
        self.found
    }
}

impl Known {
    fn new(agent: AgentType, origin: Origin) -> Self {
        Self {
            agent,
            origin,
            path: None,
            shown: String::new(),
            diagnostics: Vec::new(),
            elsewhere: Vec::new(),
            others: BTreeMap::new(),
            replaces: Vec::new(),
        }
    }

    /// What an agent of this kind may use when a master with every tool starts it.
    pub fn effective_tools(&self) -> Vec<String> {
        let engine = [fugato_engine::tools::SUBMIT, fugato_engine::tools::ASK];
        let all = fugato_engine::tools::TOOLS.iter().map(|(name, _)| *name).chain(engine);
        let child =
            Rights::of_master(all.clone(), fugato_engine::Access::ReadWrite, 1).for_child(&self.agent);
        all.filter(|tool| child.has_tool(tool)).map(str::to_owned).collect()
    }
}

fn folded(name: &str) -> String {
    name.to_lowercase()
}

fn twice(known: &Known, first: &Known) -> Diagnostic {
    let (name, first) = (&known.agent.name, &first.shown);
    Diagnostic::warning(
        Code::F1102,
        known.shown.clone(),
        words!(
            "the name `{name}` is used by `{first}` too; that one counts",
            "名称 `{name}` 已被 `{first}` 使用，以那个为准"
        ),
    )
    .field("name")
    .hint(words!("give one of the two another name", "请给其中一个改名"))
}

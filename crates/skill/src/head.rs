//! What the frontmatter of a skill says, after reading.

use fugato_model::SkillName;
use serde::{Deserialize, Serialize};

/// What runs when the skill runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One agent reads the body.
    #[default]
    Skill,
    /// The frontmatter (or its side file) declares phases.
    Phases,
    /// An `oskill.md`: a bounded loop or SOP session over other skills.
    Orchestrator,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Phases => "phases",
            Self::Orchestrator => "orchestrator",
        }
    }
}

/// The fields of a skill that listing, policy and catalogs need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillHead {
    /// The canonical name the skill is known by. `None`: it has no usable identity.
    pub name: Option<SkillName>,
    /// What the file says its name is, when that is not `name`.
    pub declared_name: Option<String>,
    pub description: String,
    pub tags: Vec<String>,
    pub version: Option<String>,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub allowed_tools: Vec<String>,
    pub kind: Kind,
    /// Path of the side file that holds the phases, relative to the skill.
    pub phases_file: Option<String>,
    /// `internal: true`: started by other skills only.
    pub internal: bool,
    /// `disable-model-invocation: true`: never offered to a model.
    pub model_hidden: bool,
    /// `user-invocable: false`: not offered to people as a command.
    pub user_hidden: bool,
    /// What an orchestrator lists by name, and so takes from the surface of others.
    pub owns: Vec<String>,
}

impl SkillHead {
    /// Left out of catalogs and of `*`; naming it in `visible` still grants reading.
    pub fn is_unlisted(&self) -> bool {
        self.internal || self.model_hidden
    }
}

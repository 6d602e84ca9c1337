//! A program without a descriptor: the skills it names are its commands, and nothing plans.

use super::{Descriptor, Failure, Pinning, resolution};
use crate::runs::start::{StartError, Started};
use fugato_engine::{Orchestrator, RunSpec, SessionKind, SkillPin, SopBudget};
use fugato_model::Diagnostic;
use std::path::PathBuf;

/// A program to run.
#[derive(Clone, Debug)]
pub struct ProgramRun {
    /// What the run is called.
    pub name: String,
    /// Where the program stands.
    pub dir: PathBuf,
    pub text: String,
    /// The commands it names, whether anybody has them or not.
    pub commands: Vec<String>,
    pub budget: SopBudget,
}

/// Pins the skills that the program names. What nobody has is no error: the variable fails when its turn comes.
pub fn plan_program(asked: &ProgramRun, started: &Started) -> Result<(RunSpec, Vec<Diagnostic>), StartError> {
    let mut pinning = Pinning::new(started, resolution(started)?);
    let from = Descriptor {
        skill: None,
        diagnostics: Vec::new(),
        path: asked.name.clone(),
        source: asked.text.clone(),
    };
    let mut allowed = Vec::new();
    for name in &asked.commands {
        let Some(found) = pinning.resolution.can_call(name) else { continue };
        if pinning.is_pinned(found, &from).map_err(Failure::error)? {
            allowed.push(name.clone());
        }
    }
    let orchestrator = Orchestrator {
        name: asked.name.clone(),
        description: String::new(),
        instructions: String::new(),
        session: SessionKind::Sop { fixed: Some(asked.text.clone()), budget: asked.budget },
        allowed,
        preparation: None,
        model: None,
    };
    let pin = SkillPin { name: asked.name.clone(), dir: asked.dir.display().to_string(), digest: None };
    Ok(pinning.run(orchestrator, pin))
}

//! From a descriptor to a run: which skills it may call, each of them pinned as what a call becomes, and so on for the
//! orchestrators among them.
//!
//! What a list means is decided in `skill`, by the one function that decides visibility; here files are read. Nothing that
//! is wrong elsewhere ends a run: what cannot be called is told and left out. Only a circle of lists is refused.

mod callable;
mod descriptor;
mod program;
#[cfg(test)]
mod tests;
mod told;

pub use program::{ProgramRun, plan_program};

use super::moment::Moment;
use super::start::{StartError, Started, context_of, new_id, title};
use descriptor::{Descriptor, listed_at, read};
use fugato_engine::{
    Callable, CallableWork, Orchestrator, Phase, Plan, PlanNode, Preparation, RunSpec, SessionKind, SkillPin,
    SopBudget, TURN_STEPS, Work,
};
use fugato_model::{Code, Diagnostic, Digest, SkillName, Words, words};
use fugato_skill::interpolate::Template;
use fugato_skill::orchestrator::{Allowed, OrchestratorSkill, Session, Stage, admit, lint, refuse_cycle};
use fugato_skill::policy::{Resolution, unrestricted};
use fugato_skill::{Installed, Kind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// What sessions may use, unless somebody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orchestration {
    /// Steps of one turn of a loop session.
    pub steps: u32,
    pub sop: SopBudget,
    pub open_lists: OpenLists,
}

/// What a descriptor without a list of allowed skills is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenLists {
    /// Every skill but itself, with a note.
    Allowed,
    Refused,
}

impl Default for Orchestration {
    fn default() -> Self {
        Self { steps: TURN_STEPS, sop: SopBudget::default(), open_lists: OpenLists::Allowed }
    }
}

/// Skills that a list without names offers to a model. More would be a prompt of descriptions; whoever has more writes a
/// list.
const OFFERED: usize = 200;
/// Orchestrators inside orchestrators.
const DEPTH: usize = 8;

/// The one node of the plan, and the variable that takes its answer.
const NODE: &str = "main";
const OUTPUT: &str = "RESULT";

/// Reads, checks and pins. The warnings are for the person.
pub(super) fn plan(skill: &Installed, started: &Started) -> Result<(RunSpec, Vec<Diagnostic>), StartError> {
    let mut pinning = Pinning::new(started, resolution(started)?);
    let orchestrator = pinning.orchestrator(skill).map_err(Failure::error)?;
    let pin = SkillPin { name: skill.label(), dir: skill.dir.display().to_string(), digest: skill.digest };
    Ok(pinning.run(orchestrator, pin))
}

/// What whoever the run works for may see.
fn resolution(started: &Started) -> Result<Resolution<'_>, StartError> {
    match &started.policy {
        Some(policy) => policy.resolve(&started.installed).ok_or_else(|| {
            let words = words!("the profile has no such agent any more", "配置中已没有该代理");
            StartError::Internal(words)
        }),
        None => Ok(unrestricted(&started.installed)),
    }
}

/// The request is what the person typed.
fn request() -> Template {
    Template::parse("{{ARGUMENTS}}", 0).unwrap_or_default()
}

/// Everything that is pinned on the way.
struct Pinning<'s> {
    started: &'s Started,
    resolution: Resolution<'s>,
    skills: BTreeMap<String, Arc<Callable>>,
    digests: BTreeMap<String, Digest>,
    types: BTreeMap<String, Arc<fugato_engine::AgentType>>,
    warnings: Vec<Diagnostic>,
    read: HashMap<String, Arc<Descriptor>>,
    /// Skills that were told to be unusable once.
    unusable: HashSet<String>,
    /// The orchestrators that are being pinned, outermost first.
    path: Vec<SkillName>,
}

/// Why an orchestrator cannot be pinned.
enum Failure {
    /// Something is wrong with it: whoever may call it does without.
    Itself(Vec<Diagnostic>),
    /// The lists are a circle: nobody on the way can run.
    Circle(Box<Diagnostic>),
}

impl Failure {
    fn error(self) -> StartError {
        match self {
            Self::Itself(diagnostics) => StartError::Invalid(diagnostics),
            Self::Circle(diagnostic) => StartError::Invalid(vec![*diagnostic]),
        }
    }
}

impl<'s> Pinning<'s> {
    fn new(started: &'s Started, resolution: Resolution<'s>) -> Self {
        Self {
            started,
            resolution,
            skills: BTreeMap::new(),
            digests: BTreeMap::new(),
            types: BTreeMap::new(),
            warnings: Vec::new(),
            read: HashMap::new(),
            unusable: HashSet::new(),
            path: Vec::new(),
        }
    }

    /// The run of one orchestrator, with all that is pinned.
    fn run(self, orchestrator: Orchestrator, pin: SkillPin) -> (RunSpec, Vec<Diagnostic>) {
        let started = self.started;
        let moment = started.moment.clone().unwrap_or_else(Moment::now);
        let node = PlanNode {
            id: NODE.to_owned(),
            phase: 0,
            after: Vec::new(),
            work: Work::Session { orchestrator: Arc::new(orchestrator), args: request() },
            output: Some(OUTPUT.to_owned()),
            requires: Vec::new(),
            optional: false,
            fallback_inline: false,
            on_error: None,
        };
        let phase = Phase { name: NODE.to_owned(), parallel: false, depends_on: Vec::new(), within: None };
        let spec = RunSpec {
            types: self.types,
            id: new_id(moment.millis),
            title: title(&pin.name, &started.arguments),
            skill: pin,
            plan: Plan { phases: vec![phase], nodes: vec![node] },
            context: context_of(started, &moment),
            limits: started.limits.clone(),
            model: started.model.clone(),
            catalog: started.catalog.clone(),
            visible: started.visible.clone(),
            rates: started.rates.clone(),
            permissions: started.permissions.clone(),
            digests: self.digests,
            skills: self.skills,
            conversation: started.conversation.clone(),
            ..RunSpec::default()
        };
        (spec, self.warnings)
    }

    /// An orchestrator with everything it may call.
    fn orchestrator(&mut self, installed: &Installed) -> Result<Orchestrator, Failure> {
        let descriptor = self.descriptor(installed);
        let Some(skill) = &descriptor.skill else {
            return Err(Failure::Itself(descriptor.diagnostics.clone()));
        };
        let found = lint(skill, &descriptor.path, &descriptor.source, &self.started.installed);
        let all: Vec<Diagnostic> = descriptor.diagnostics.iter().cloned().chain(found).collect();
        if all.iter().any(Diagnostic::is_error) {
            return Err(Failure::Itself(all));
        }
        self.refuse_open(skill, &descriptor)?;
        self.warnings.extend(all);
        self.path.push(skill.name.clone());
        let lists = self.lists(skill, &descriptor);
        self.path.pop();
        let (allowed, preparation) = lists?;
        if let Some(program) = &skill.program {
            let known: Vec<&str> = allowed.iter().map(String::as_str).collect();
            let unknown = program.unknown_commands(&known);
            if !unknown.is_empty() {
                let told = unknown.iter().map(|error| error.diagnostic(&descriptor.path, &descriptor.source));
                return Err(Failure::Itself(told.collect()));
            }
        }
        let Orchestration { steps, sop, .. } = self.started.orchestration;
        Ok(Orchestrator {
            name: skill.name.to_string(),
            description: skill.description.clone(),
            instructions: skill.instructions.clone(),
            session: match skill.session {
                Session::Loop => SessionKind::Loop { steps },
                Session::Sop => {
                    SessionKind::Sop { fixed: skill.program.as_ref().map(ToString::to_string), budget: sop }
                }
            },
            allowed,
            preparation,
            model: None,
        })
    }

    fn lists(
        &mut self,
        skill: &OrchestratorSkill,
        descriptor: &Descriptor,
    ) -> Result<(Vec<String>, Option<Preparation>), Failure> {
        let allowed = self.list(skill, Stage::Main, descriptor)?;
        let preparation = match &skill.preparation {
            None => None,
            Some(instructions) => {
                let instructions = instructions.clone();
                Some(Preparation { instructions, allowed: self.list(skill, Stage::Preparation, descriptor)? })
            }
        };
        Ok((allowed, preparation))
    }

    /// The names of a list that can be called, each of them pinned.
    fn list(
        &mut self,
        skill: &OrchestratorSkill,
        stage: Stage,
        descriptor: &Descriptor,
    ) -> Result<Vec<String>, Failure> {
        let is_named = matches!(skill.list(stage), Allowed::Only(_));
        let admitted = admit(skill, stage, &self.resolution);
        for (name, why) in &admitted.left_out {
            self.tell_left_out(name, why, &descriptor.path);
        }
        let (offered, more) = match admitted.skills.split_at_checked(OFFERED) {
            Some((offered, more)) if !is_named => (offered, more.len()),
            _ => (admitted.skills.as_slice(), 0),
        };
        if more > 0 {
            self.tell_more(skill, more, &descriptor.path);
        }
        let mut names = Vec::with_capacity(offered.len());
        for found in offered {
            let name = found.label();
            if self.started.only.as_ref().is_some_and(|only| !only.contains(&name)) {
                continue;
            }
            if found.head.kind == Kind::Orchestrator && !is_named && self.leads_back(found) {
                self.left_out(
                    &name,
                    &descriptor.path,
                    &words!("it could call one that is waiting for it", "它可能调用正在等待它的编排器"),
                );
                continue;
            }
            if self.is_pinned(found, descriptor)? {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Pins a skill, unless it is. No: it cannot be called, which has been told.
    fn is_pinned(&mut self, found: &Installed, caller: &Descriptor) -> Result<bool, Failure> {
        let name = found.label();
        if let Some(own) = found.head.name.as_ref() {
            refuse_cycle(&self.path, own).map_err(|cycle| {
                let message = cycle.words();
                let hint = words!("take one of them out of the list that names it", "从其中一个列表中去掉它");
                let at = listed_at(caller, &name);
                let told = Diagnostic::error(Code::F1205, &caller.path, message).hint(hint);
                Failure::Circle(Box::new(match at {
                    Some((start, end)) => told.at(&caller.source, start, end),
                    None => told,
                }))
            })?;
        }
        if self.skills.contains_key(&name) {
            return Ok(true);
        }
        let work = match self.work(found) {
            Ok(work) => work,
            Err(circle @ Failure::Circle(_)) => return Err(circle),
            Err(Failure::Itself(problems)) => {
                let first = problems.iter().find(|problem| problem.is_error());
                let why = first.map_or_else(
                    || words!("it cannot be read", "无法读取"),
                    |first| Words {
                        en: first.one_line(fugato_model::Lang::En),
                        zh: first.one_line(fugato_model::Lang::Zh),
                    },
                );
                self.left_out(&name, &caller.path, &why);
                return Ok(false);
            }
        };
        let description = fugato_skill::catalog::clean_description(&found.head.description);
        self.skills.insert(name, Arc::new(Callable { description, work }));
        Ok(true)
    }

    fn work(&mut self, found: &Installed) -> Result<CallableWork, Failure> {
        if found.head.kind != Kind::Orchestrator {
            return self.callable(found);
        }
        if self.path.len() >= DEPTH {
            let path = found.dir.join(&found.file).display().to_string();
            let message = words!(
                "orchestrators inside orchestrators are at most {DEPTH} deep",
                "编排器最多嵌套 {DEPTH} 层"
            );
            return Err(Failure::Itself(vec![Diagnostic::error(Code::F1213, path, message)]));
        }
        Ok(CallableWork::Session { orchestrator: Arc::new(self.orchestrator(found)?) })
    }

    /// Would a call of this orchestrator lead to one that waits, by what the lists name? Then an open list does without it.
    fn leads_back(&mut self, found: &Installed) -> bool {
        let installed = &self.started.installed;
        let mut waiting: Vec<(String, usize)> = vec![(found.label(), 0)];
        let mut on_the_way: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        while let Some((name, depth)) = waiting.pop() {
            on_the_way.truncate(depth);
            if on_the_way.contains(&name) || self.path.iter().any(|waits| waits.as_str() == name) {
                return true;
            }
            if !seen.insert(name.clone()) || depth > DEPTH {
                continue;
            }
            let Some(next) = installed.get(&name).filter(|skill| skill.head.kind == Kind::Orchestrator)
            else {
                continue;
            };
            let descriptor = self.descriptor(next);
            on_the_way.push(name);
            for stage in [Stage::Main, Stage::Preparation] {
                let names = descriptor.skill.iter().flat_map(|skill| skill.list(stage).names());
                waiting.extend(names.map(|listed| (listed.name.clone(), depth + 1)));
            }
        }
        false
    }

    fn descriptor(&mut self, installed: &Installed) -> Arc<Descriptor> {
        let path = installed.dir.join(&installed.file).display().to_string();
        if let Some(known) = self.read.get(&path) {
            return known.clone();
        }
        let read = Arc::new(read(installed, &path));
        self.read.insert(path, read.clone());
        read
    }
}

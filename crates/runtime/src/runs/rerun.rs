//! From a run that was to one that will be: the same skill and arguments, and with `from` the results that need not be
//! made again.

use super::moment::Moment;
use super::orchestrators::Orchestration;
use super::start::{StartError, Started, Task, context_of, new_id, plan_run, plan_task};
use fugato_engine::permission::Permissions;
use fugato_engine::{AgentType, Event, EventKind, Limits, PlanNode, Rate, Run, RunSpec, Setting, results};
use fugato_model::Diagnostic;
use fugato_skill::{Installed, Inventory, dates};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a person wants different this time.
#[derive(Clone, Debug)]
pub struct Rerun<'a> {
    /// The log of the earlier run.
    pub events: &'a [Event],
    /// A node or phase: everything that does not depend on it keeps its result.
    pub from: Option<&'a str>,
    pub sets: BTreeMap<String, Value>,
    pub model: Option<String>,
    pub limits: Limits,
    /// Prices of the models it may call.
    pub rates: BTreeMap<String, Rate>,
    /// Skills that its phases may name.
    pub installed: Arc<Inventory>,
    /// Where it would work now: matters to a master alone.
    pub setting: Setting,
    /// Kinds of agents that its phases may name.
    pub types: Vec<AgentType>,
    /// The rules of now: what was allowed then need not be allowed any more.
    pub permissions: Permissions,
    /// What sessions may use now.
    pub orchestration: Orchestration,
}

/// A run to be made from another, and what the person should know about it.
#[derive(Debug)]
pub struct Again {
    pub spec: RunSpec,
    pub warnings: Vec<Diagnostic>,
    /// Nodes that keep their result although the skill now describes them otherwise.
    pub outdated: Vec<String>,
    /// Variables that were set by hand, and the node that will set them once more.
    pub overwritten: Vec<(String, String)>,
    /// The rules are not those of the old run.
    pub has_other_rules: bool,
    /// What a person had allowed for good in the old run: asked about again if a rule says so.
    pub granted: Vec<String>,
}

#[derive(Debug)]
pub enum RerunError {
    Start(StartError),
    /// The log does not begin with a run.
    NoRun,
    /// `from` was given, and the skill has no phases.
    NoPhases,
    /// What can be named.
    UnknownNode(Vec<String>),
    /// It is a part of this session, which called it while it ran: no plan has it before.
    Called {
        node: String,
        session: String,
    },
}

/// Was it a task for a master, without any skill?
pub fn is_task(spec: &RunSpec) -> bool {
    spec.skill.dir.is_empty() && spec.plan.nodes.is_empty() && !spec.guide.is_empty()
}

/// Plans the new run from the skill as it is now; from the pinned plan when there is no skill any more. A task is begun
/// with the kinds of agents it had, and told the date and limits of today. The permission rules are always those of now.
pub fn plan_rerun(skill: Option<&Installed>, rerun: &Rerun<'_>) -> Result<Again, RerunError> {
    let Some(Event { kind: EventKind::RunCreated { spec: old }, at, .. }) = rerun.events.first() else {
        return Err(RerunError::NoRun);
    };
    let started = started_as(old, *at, rerun);
    let (mut spec, warnings) = match skill {
        Some(skill) => plan_run(skill, &started).map_err(RerunError::Start)?,
        None if is_task(old) => (plan_task(task_of(old, rerun.setting), &started), Vec::new()),
        None => {
            let moment = Moment::now();
            let mut context = old.context.clone();
            context.extend(context_of(&started, &moment));
            let reused = BTreeMap::new();
            (RunSpec { id: new_id(moment.millis), context, reused, ..(**old).clone() }, Vec::new())
        }
    };
    spec.parent = Some(old.id.clone());
    spec.limits = rerun.limits.clone();
    spec.model.clone_from(&started.model);
    spec.permissions.clone_from(&rerun.permissions);
    let mut again = Again {
        has_other_rules: old.permissions.rules != rerun.permissions.rules,
        granted: granted(rerun.events),
        spec,
        warnings,
        outdated: Vec::new(),
        overwritten: Vec::new(),
    };
    if let Some(from) = rerun.from {
        take_over(&mut again, old, from, rerun)?;
    }
    again.note_overwritten(&rerun.sets);
    Ok(again)
}

fn granted(events: &[Event]) -> Vec<String> {
    Run::replay(events).map(|run| run.granted().map(str::to_owned).collect()).unwrap_or_default()
}

fn task_of(old: &RunSpec, setting: Setting) -> Task {
    let is_master = |name: &String| old.main_type.as_ref() == Some(name);
    let kinds = |wanted: bool| old.types.iter().filter(move |(name, _)| is_master(name) == wanted);
    Task {
        text: old.single.clone().unwrap_or_default(),
        types: kinds(false).map(|(_, kind)| (**kind).clone()).collect(),
        master: kinds(true).map(|(_, kind)| (**kind).clone()).next(),
        setting,
    }
}

/// The node that was added by a call and that a person means: by its name or the last part of it; and the node of the plan
/// that it was a part of.
fn called_as(from: &str, old: &RunSpec, events: &[Event]) -> Option<(String, String)> {
    let added = events.iter().filter_map(|event| match &event.kind {
        EventKind::SkillCalled { id, .. } => Some(id.as_str()),
        _ => None,
    });
    let is_meant = |id: &&str| {
        let inside = from.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        inside || id.rsplit_once('/').is_some_and(|(_, last)| last == from)
    };
    let id = added.into_iter().find(is_meant)?;
    let holds =
        |node: &&PlanNode| id.strip_prefix(node.id.as_str()).is_some_and(|rest| rest.starts_with('/'));
    let session = old.plan.nodes.iter().filter(holds).max_by_key(|node| node.id.len())?;
    let is_inside = from.strip_prefix(id).is_some_and(|rest| rest.starts_with('/'));
    Some((if is_inside { from } else { id }.to_owned(), session.id.clone()))
}

fn take_over(again: &mut Again, old: &RunSpec, from: &str, rerun: &Rerun<'_>) -> Result<(), RerunError> {
    let spec = &mut again.spec;
    if spec.plan.nodes.is_empty() {
        return Err(RerunError::NoPhases);
    }
    let nodes = spec.plan.named(from);
    if nodes.is_empty()
        && let Some((node, session)) = called_as(from, old, rerun.events)
    {
        return Err(RerunError::Called { node, session });
    }
    if nodes.is_empty() {
        return Err(RerunError::UnknownNode(spec.plan.names().into_iter().map(str::to_owned).collect()));
    }
    // What is kept was made with these, the day it was made included.
    spec.context.extend(old.context.clone());
    spec.context.extend(rerun.sets.clone());
    spec.reused = spec.plan.unaffected(&nodes, results(rerun.events));
    for (name, value) in &rerun.sets {
        // A variable of a sub-skill is another one, however it is called.
        let own = spec.plan.nodes.iter().filter(|node| spec.plan.call_of(node).is_none());
        for node in own.filter(|node| node.sets().contains(&name.as_str())) {
            let Some(reused) = spec.reused.get_mut(&node.id) else { continue };
            if node.output.as_ref() == Some(name) {
                reused.value = value.clone();
            } else if let Value::Object(fields) = &mut reused.value {
                fields.insert(name.clone(), value.clone());
            } else {
                reused.value = json!({ name: value });
            }
        }
    }
    let before: HashMap<&str, &PlanNode> =
        old.plan.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let kept = spec.plan.nodes.iter().filter(|node| spec.reused.contains_key(&node.id));
    let is_outdated = |node: &&PlanNode| {
        before.get(node.id.as_str()).is_some_and(|before| definition(before) != definition(node))
    };
    again.outdated = kept.filter(is_outdated).map(|node| node.id.clone()).collect();
    Ok(())
}

impl Again {
    fn note_overwritten(&mut self, sets: &BTreeMap<String, Value>) {
        for name in sets.keys() {
            let writes = |node: &&PlanNode| {
                let is_own = self.spec.plan.call_of(node).is_none();
                is_own && node.sets().contains(&name.as_str()) && !self.spec.reused.contains_key(&node.id)
            };
            if let Some(node) = self.spec.plan.nodes.iter().find(writes) {
                self.overwritten.push((name.clone(), node.id.clone()));
            }
        }
    }
}

/// What was typed for the old run, as far as its context tells, and what is typed now.
fn started_as(old: &RunSpec, at: i64, rerun: &Rerun<'_>) -> Started {
    let text = |name: &str| old.context.get(name).and_then(Value::as_str).unwrap_or_default();
    let given = rerun.sets.get("ARGUMENTS").and_then(Value::as_str);
    let arguments = given.unwrap_or_else(|| text("ARGUMENTS")).to_owned();
    let mut sets: BTreeMap<String, Value> = old.context.clone();
    // Switched-off phases leave nulls; the plan brings its own.
    sets.retain(|name, value| !matches!(name.as_str(), "ARGUMENTS" | "TODAY_ZONE") && !value.is_null());
    if let Ok(today) = text("TODAY").parse::<dates::Date>() {
        // Within a day of the clock (time zones) it was the clock's; else somebody had set it.
        let clock = dates::Date::from_unix(at / 1000, 0);
        if (clock.plus(-1)..=clock.plus(1)).contains(&today) {
            sets.remove("TODAY");
        }
        if text("TARGET_DATE") == dates::target_date(text("ARGUMENTS"), today).to_string() {
            sets.remove("TARGET_DATE");
        }
    }
    sets.extend(rerun.sets.clone());
    Started {
        arguments,
        sets,
        model: rerun.model.clone().unwrap_or_else(|| old.model.clone()),
        limits: rerun.limits.clone(),
        catalog: old.catalog.clone(),
        visible: old.visible.clone(),
        rates: rerun.rates.clone(),
        permissions: rerun.permissions.clone(),
        moment: None,
        installed: rerun.installed.clone(),
        types: rerun.types.clone(),
        policy: None,
        // Whom it worked for is not known any more: it may call no more than it might then.
        only: (!old.skills.is_empty()).then(|| old.skills.keys().cloned().collect()),
        orchestration: rerun.orchestration,
        conversation: old.conversation.clone(),
    }
}

/// A node as written, wherever it stands in its file.
fn definition(node: &PlanNode) -> Value {
    let mut value = json!([node.work, node.output, node.requires, node.optional]);
    forget_places(&mut value);
    value
}

fn forget_places(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("place");
            fields.values_mut().for_each(forget_places);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_places),
        _ => {}
    }
}

//! From an installed skill and what a person typed to a run that can be created: everything read now is pinned.

use super::kinds;
use super::moment::Moment;
use super::orchestrators::{self, Orchestration};
use crate::{FileError, FoundSkill, Inside, Origin, ReadPhases, SkillDir, read_phases};
use fugato_engine::permission::Permissions;
use fugato_engine::planner::{self, SubPhases, SubSkillFacts};
use fugato_engine::{
    AgentType, Conversation, EffectClass, Executor, GuideFacts, Limits, Plan, Rate, RunSpec, Setting,
    SkillPin, Work, delegation_guide,
};
use fugato_model::{Code, Diagnostic, Digest, RelPath, Words, words};
use fugato_skill::phases::prompt;
use fugato_skill::policy::AgentPolicy;
use fugato_skill::{Installed, Inventory, Kind, SkillText, dates, digest_bytes, read_frontmatter};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a person asked for.
#[derive(Clone, Debug, Default)]
pub struct Started {
    pub arguments: String,
    /// `--set K=V`.
    pub sets: BTreeMap<String, Value>,
    pub model: String,
    pub limits: Limits,
    /// System text for every agent: the catalog of the skills it may read.
    pub catalog: String,
    /// Names of those skills, one per line.
    pub visible: String,
    /// Prices of the models the run may call.
    pub rates: BTreeMap<String, Rate>,
    /// What its agents may do.
    pub permissions: Permissions,
    /// When it begins, and in which zone [default: now, here].
    pub moment: Option<Moment>,
    /// Skills that phases may name besides their own parts.
    pub installed: Arc<Inventory>,
    /// Kinds of agents that phases may name besides the built-in ones.
    pub types: Vec<AgentType>,
    /// The agent that orchestrators work for [default: one that may see everything].
    pub policy: Option<AgentPolicy>,
    /// Skills that orchestrators may call at most [default: what their lists say].
    pub only: Option<BTreeSet<String>>,
    /// What sessions of orchestrators may use.
    pub orchestration: Orchestration,
    /// The conversation that the request is a part of.
    pub conversation: Option<Conversation>,
}

#[derive(Debug)]
pub enum StartError {
    /// The skill has errors; all of them.
    Invalid(Vec<Diagnostic>),
    /// It cannot be started by name.
    Internal(Words),
    File(FileError),
}

/// Reads, checks and plans. The warnings are for the person.
pub fn plan_run(skill: &Installed, started: &Started) -> Result<(RunSpec, Vec<Diagnostic>), StartError> {
    let name = skill.label();
    if skill.head.internal {
        return Err(StartError::Internal(words!(
            "`{name}` is internal: only another skill can start it",
            "`{name}` 是内部技能：只能由其他技能启动"
        )));
    }
    if skill.head.kind == Kind::Orchestrator {
        return orchestrators::plan(skill, started);
    }
    let dir = SkillDir::open(&skill.dir).map_err(StartError::File)?;
    let file = RelPath::parse(&skill.file).map_err(|error| StartError::Internal(error.words()))?;
    let shown = skill.dir.clone();
    let show = |path: &RelPath| shown.join(path).display().to_string();
    let read = read_phases(
        &dir,
        &file,
        &started.installed,
        &|name| kinds::named(&started.types, name).is_some(),
        &show,
    );
    let diagnostics = read.all_diagnostics(Inside::Everything);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(StartError::Invalid(diagnostics));
    }
    let text = read.skill_text.clone();
    let (mut plan, nulls, single, debug) = match &read.phased {
        Some(phased) => {
            let parts = parts(&read, Way::Beneath, &mut HashMap::new());
            let facts = |path: &RelPath| parts.get(path).cloned().unwrap_or_default();
            let planned = planner::plan(phased, &text, &facts);
            let (plan, nulls) =
                planned.map_err(|limit| StartError::Invalid(vec![too_large(limit, &show(&file))]))?;
            (plan, nulls, None, phased.debug)
        }
        None => (Plan::default(), BTreeMap::new(), Some(prompt::body(&text).trim().to_owned()), false),
    };
    let digests: BTreeMap<String, Digest> = read
        .sub_skills
        .iter()
        .map(|(path, sub)| (path.to_string(), digest_bytes(sub.text.as_bytes())))
        .collect();
    let moment = started.moment.clone().unwrap_or_else(Moment::now);
    let mut context = nulls;
    context.extend(context_of(started, &moment));
    let types = kinds::pin(&mut plan, started);
    let mut spec = RunSpec {
        types,
        id: new_id(moment.millis),
        title: title(&name, &started.arguments),
        skill: SkillPin { name, dir: skill.dir.display().to_string(), digest: skill.digest },
        plan,
        single,
        context,
        limits: started.limits.clone(),
        model: started.model.clone(),
        debug,
        parent: None,
        catalog: started.catalog.clone(),
        visible: started.visible.clone(),
        rates: started.rates.clone(),
        permissions: started.permissions.clone(),
        digests,
        ..RunSpec::default()
    };
    spec.digests.extend(script_digests(&skill.dir, &spec.plan));
    Ok((spec, diagnostics))
}

/// A task for a master agent, without any skill of its own.
#[derive(Clone, Debug)]
pub struct Task {
    pub text: String,
    /// The kinds of agents it may delegate to.
    pub types: Vec<AgentType>,
    /// The kind of the master itself [default: `general-purpose`]; one that is another program delegates in its own way.
    pub master: Option<AgentType>,
    pub setting: Setting,
}

/// Model calls of a master, which has more to coordinate than others.
pub const MASTER_STEPS: u32 = 200;

/// Plans a task. Nothing is read, so nothing can be wrong with it.
pub fn plan_task(task: Task, started: &Started) -> RunSpec {
    let moment = started.moment.clone().unwrap_or_else(Moment::now);
    let concurrent = started.limits.concurrent;
    let by_model = task.master.as_ref().is_none_or(|kind| kind.executor == Executor::Model);
    let delegates = if by_model { task.types } else { Vec::new() };
    let guide = delegation_guide(&delegates, GuideFacts { concurrent, setting: task.setting });
    let main_type = task.master.as_ref().map(|kind| kind.name.clone());
    let types = delegates.into_iter().chain(task.master);
    let today = moment.date();
    let about = format!(
        "You are the master agent of a run. You work in one project directory; relative paths start there. Today is \
         {today}. Do the task whole, check what you did, and end with an answer for the person."
    );
    RunSpec {
        id: new_id(moment.millis),
        title: title("", &task.text),
        skill: SkillPin { name: "go".to_owned(), dir: String::new(), digest: None },
        context: context_of(started, &moment),
        single: Some(task.text),
        limits: started.limits.clone(),
        model: started.model.clone(),
        catalog: started.catalog.clone(),
        visible: started.visible.clone(),
        rates: started.rates.clone(),
        permissions: started.permissions.clone(),
        types: types.map(|kind| (kind.name.clone(), Arc::new(kind))).collect(),
        main_type,
        guide: if guide.is_empty() { about } else { format!("{about}\n\n{guide}") },
        ..RunSpec::default()
    }
}

/// The variables a run begins with.
pub(super) fn context_of(started: &Started, moment: &Moment) -> BTreeMap<String, Value> {
    let today = moment.date();
    let target = dates::target_date(&started.arguments, today);
    let mut context = BTreeMap::from([
        ("ARGUMENTS".to_owned(), started.arguments.clone().into()),
        ("TODAY".to_owned(), today.to_string().into()),
        ("TODAY_ZONE".to_owned(), moment.zone.clone().into()),
        ("TARGET_DATE".to_owned(), target.to_string().into()),
    ]);
    context.extend(started.sets.clone());
    context
}

/// All levels together have a limit, too.
pub(super) fn too_large(limit: planner::TooLarge, path: &str) -> Diagnostic {
    let planner::TooLarge { limit, of } = limit;
    let (en, zh) = match of {
        planner::Counted::Phases => ("phases", "阶段"),
        planner::Counted::Subagents => ("subagents", "子代理"),
    };
    let message = words!(
        "with those of its sub-skills there are more than {limit} {en}",
        "连同子技能的在内，{zh}超过 {limit} 个"
    );
    let hint = words!("call fewer sub-skills that have phases", "减少带有阶段的子技能");
    Diagnostic::error(Code::F0812, path, message).field("phases").hint(hint)
}

/// How a sub-skill's directory is found from the run's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// Every skill on the way is a part of the one before.
    Beneath,
    Elsewhere,
}

/// What the planner must know of everything these phases name, level by level. Each skill is looked at once for each way
/// it can be found, however often it is named.
pub(super) fn parts(
    read: &ReadPhases,
    way: Way,
    known: &mut HashMap<(*const ReadPhases, Way), Arc<SubPhases>>,
) -> BTreeMap<RelPath, SubSkillFacts> {
    let mut parts = BTreeMap::new();
    for (path, sub) in &read.sub_skills {
        let mut facts = facts(sub, way);
        let below = if facts.dir.is_none() { Way::Beneath } else { Way::Elsewhere };
        if let Some(inner) = read.inner.get(path)
            && let Some(phased) = &inner.phased
        {
            let key = (Arc::as_ptr(inner), below);
            if !known.contains_key(&key) {
                let parts = self::parts(inner, below, known);
                let (phased, text) = (phased.clone(), inner.skill_text.clone());
                known.insert(key, Arc::new(SubPhases { phased, text, parts }));
            }
            facts.phases = known.get(&key).cloned();
        }
        parts.insert(path.clone(), facts);
    }
    parts
}

fn facts(sub: &FoundSkill, way: Way) -> SubSkillFacts {
    let Metadata { entry, class } = metadata(&sub.text, &sub.file);
    // A part is found again through the skill it belongs to, wherever that is then; a path that names the file itself is
    // no directory to start from.
    let own_dir = sub.origin == Origin::Installed || sub.names_a_file || way == Way::Elsewhere;
    SubSkillFacts {
        instructions: prompt::body(&sub.text).trim().to_owned(),
        dir: own_dir.then(|| sub.dir.display().to_string()),
        entry,
        class,
        phases: None,
    }
}

/// What a skill says of the program it is.
pub(super) struct Metadata {
    /// `fugato-run`.
    pub entry: Option<String>,
    /// `fugato-effect`.
    pub class: Option<EffectClass>,
}

pub(super) fn metadata(text: &str, file: &RelPath) -> Metadata {
    let text = SkillText { dir_name: "", path: file.as_str(), bytes: text.as_bytes() };
    let metadata = read_frontmatter(text).ok();
    let field = |key: &str| {
        let node = metadata.as_ref()?.get("metadata")?.get(key)?;
        node.as_str().map(str::to_owned)
    };
    let class = match field("fugato-effect").as_deref() {
        Some("read") => Some(EffectClass::Read),
        Some("idempotent") => Some(EffectClass::Idempotent),
        _ => None,
    };
    Metadata { entry: field("fugato-run"), class }
}

/// What every script of the plan contains now: it is run as that, or not at all.
pub(super) fn script_digests(root: &Path, plan: &Plan) -> BTreeMap<String, Digest> {
    let scripts = plan.nodes.iter().filter_map(|node| match &node.work {
        Work::Script { skill, dir, entry, .. } => {
            let dir = dir.as_ref().map_or_else(|| root.join(skill), PathBuf::from);
            let found = digest_of(&dir, &RelPath::parse(entry).ok()?)?;
            Some((format!("{skill}/{entry}"), found))
        }
        _ => None,
    });
    scripts.collect()
}

pub(super) fn digest_of(dir: &Path, file: &RelPath) -> Option<Digest> {
    let bytes = SkillDir::open(dir).and_then(|dir| dir.read(file)).ok()?;
    Some(digest_bytes(&bytes))
}

pub(super) fn title(name: &str, arguments: &str) -> String {
    let arguments: String = arguments.chars().take(60).collect();
    format!("{name} {arguments}").trim().to_owned()
}

/// Sortable by time, short enough to type: milliseconds and the process, in letters and digits.
pub(crate) fn new_id(now: i64) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut number = (u64::try_from(now).unwrap_or(0) << 16) | u64::from(std::process::id() & 0xffff);
    let mut letters = Vec::new();
    while number > 0 {
        let digit = usize::try_from(number & 31).unwrap_or(0);
        letters.push(DIGITS.get(digit).copied().unwrap_or(b'0'));
        number >>= 5;
    }
    letters.reverse();
    format!("run_{}", String::from_utf8_lossy(&letters))
}

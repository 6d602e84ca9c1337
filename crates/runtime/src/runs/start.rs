//! From an installed skill and what a person typed to a run that can be created: everything read now is pinned.

use super::clock::wall;
use crate::{FileError, SkillDir, read_phases};
use fugato_engine::planner::{self, SubSkillFacts};
use fugato_engine::{EffectClass, Limits, Plan, Rate, RunSpec, SkillPin, Work};
use fugato_model::{Diagnostic, Digest, RelPath, Words, words};
use fugato_skill::phases::prompt;
use fugato_skill::{Installed, SkillText, dates, read_frontmatter};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

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
    /// Offset of local time from UTC in seconds.
    pub utc_offset: i32,
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
    let dir = SkillDir::open(&skill.dir).map_err(StartError::File)?;
    let file = RelPath::parse(&skill.file).map_err(|error| StartError::Internal(error.words()))?;
    let shown = skill.dir.clone();
    let read = read_phases(&dir, &file, &|path| shown.join(path).display().to_string());
    if read.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(StartError::Invalid(read.diagnostics));
    }
    let text = read.skill_text;
    let (plan, nulls, single, debug) = match &read.phased {
        Some(phased) => {
            let (plan, nulls) = planner::plan(phased, &text, &|path| facts(&dir, path));
            (plan, nulls, None, phased.debug)
        }
        None => (Plan::default(), BTreeMap::new(), Some(prompt::body(&text).trim().to_owned()), false),
    };
    let diagnostics = read.diagnostics;
    let now = wall();
    let today = dates::Date::from_unix(now / 1000, started.utc_offset);
    let mut context = nulls;
    context.insert("ARGUMENTS".into(), started.arguments.clone().into());
    context.insert("TODAY".into(), today.to_string().into());
    let target = dates::target_date(&started.arguments, today);
    context.insert("TARGET_DATE".into(), target.to_string().into());
    context.extend(started.sets.clone());
    let mut spec = RunSpec {
        id: new_id(now),
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
        ..RunSpec::default()
    };
    spec.digests = digests(&skill.dir, &spec.plan);
    Ok((spec, diagnostics))
}

fn sub_text(dir: &SkillDir, path: &RelPath) -> Option<(String, String)> {
    ["SKILL.md", "skill.md"].iter().find_map(|name| {
        let file = RelPath::parse(&format!("{path}/{name}")).ok()?;
        let bytes = dir.read(&file).ok()?;
        Some((file.to_string(), String::from_utf8_lossy(&bytes).into_owned()))
    })
}

fn facts(dir: &SkillDir, path: &RelPath) -> SubSkillFacts {
    let Some((file, text)) = sub_text(dir, path) else { return SubSkillFacts::default() };
    let reading_text = SkillText { dir_name: path.file_name(), path: &file, bytes: text.as_bytes() };
    let metadata = read_frontmatter(reading_text).ok();
    let field = |key: &str| {
        let node = metadata.as_ref()?.get("metadata")?.get(key)?;
        node.as_str().map(str::to_owned)
    };
    let class = match field("fugato-effect").as_deref() {
        Some("read") => Some(EffectClass::Read),
        Some("idempotent") => Some(EffectClass::Idempotent),
        _ => None,
    };
    SubSkillFacts { instructions: prompt::body(&text).trim().to_owned(), entry: field("fugato-run"), class }
}

/// What every script of the plan contains now: it is run as that, or not at all.
fn digests(dir: &Path, plan: &Plan) -> BTreeMap<String, Digest> {
    let scripts = plan.nodes.iter().filter_map(|node| match &node.work {
        Work::Script { skill, entry, .. } => Some((skill, entry)),
        _ => None,
    });
    scripts
        .filter_map(|(skill, entry)| {
            let path = RelPath::parse(entry).ok()?;
            Some((format!("{skill}/{entry}"), digest_of(&dir.join(skill), &path)?))
        })
        .collect()
}

pub(super) fn digest_of(dir: &Path, file: &RelPath) -> Option<Digest> {
    let bytes = SkillDir::open(dir).and_then(|dir| dir.read(file)).ok()?;
    Some(fugato_skill::digest_bytes(&bytes))
}

fn title(name: &str, arguments: &str) -> String {
    let arguments: String = arguments.chars().take(60).collect();
    format!("{name} {arguments}").trim().to_owned()
}

/// Sortable by time, short enough to type: milliseconds and the process, in letters and digits.
fn new_id(now: i64) -> String {
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

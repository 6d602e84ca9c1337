//! `fugato rerun RUN`: the same once more, or only from one place on.

use super::models::{learn_key, model_of_run, models, store};
use super::start::{HowArgs, drive, sets, start_error, world_of_spec};
use super::{find, open, reader};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{RunSpec, SkillPin};
use fugato_model::{Exit, escape_for_terminal, words};
use fugato_runtime::runs::{Again, Rerun, RerunError, Session, is_task, plan_rerun};
use fugato_skill::Installed;
use std::path::Path;
use std::sync::Arc;

/// Run a run again.
#[derive(Debug, Args)]
#[command(mut_arg("model", |arg| arg.env(None::<&str>).help("The model, as for `run` [default: the one the run had]")))]
pub struct RerunArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
    /// Run only this node or phase and what depends on it; the rest keeps its results [default: everything]
    #[arg(long, value_name = "NODE|PHASE", add = ArgValueCandidates::new(crate::complete::nodes))]
    from: Option<String>,
    #[command(flatten)]
    how: HowArgs,
}

pub fn run(args: &RerunArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (events, old) = open(&reader, &row)?;
    // A task of `go` has no skill; one that happens to have this name is another thing.
    let skill = if is_task(&old.spec) { None } else { skill_now(&old.spec.skill, app)? };
    let models = models(app);
    let model = match args.how.model.as_deref() {
        Some(model) => Some(model_of_run(Some(model), &models, app)?),
        None => None,
    };
    let asked = model.clone().unwrap_or_else(|| old.spec.model.clone());
    let rerun = Rerun {
        rates: super::go::rates(&asked, old.spec.types.values().map(|kind| &**kind), &models),
        installed: Arc::new(app.discover(&app.roots(&SkillSelection::default(), None)?).inventory),
        types: fugato_runtime::agents::agent_types(&app.places).list(),
        events: &events,
        from: args.from.as_deref(),
        sets: sets(&args.how.sets)?,
        model,
        limits: args.how.limits(&old.spec.limits)?,
        setting: super::go::setting(app),
        permissions: super::confine::permissions(app)?,
        orchestration: app.config.orchestration(),
    };
    let again =
        plan_rerun(skill.as_ref(), &rerun).map_err(|error| rerun_error(&error, skill.as_ref(), &rerun))?;
    tell(&again, app);
    let spec = again.spec;
    learn_key(&models, &spec.model)?;
    let world = world_of_spec(&spec, models, &args.how.sandbox, app);
    let store = store(app)?;
    drop(reader);
    drive(app, &args.how.watching(), move |watcher| Session::begin(store, spec, world, watcher))
}

/// Where it was; else, by name, where it is now. `None`: there is only the pinned plan.
fn skill_now(pin: &SkillPin, app: &mut App) -> Result<Option<Installed>, CliError> {
    let found = fugato_runtime::discover_paths(&[Path::new(&pin.dir).to_path_buf()]).inventory;
    if let Some(skill) = found.all().first() {
        if skill.usable {
            return Ok(Some(skill.clone()));
        }
        return Err(crate::skill::unknown_skill(&pin.name, &found));
    }
    let inventory = app.discover(&app.roots(&SkillSelection::default(), None)?).inventory;
    let (name, dir) = (&pin.name, app.show_path(Path::new(&pin.dir)));
    match inventory.get(name).filter(|skill| skill.usable) {
        Some(skill) => {
            let now = app.show_path(&skill.dir);
            app.out.note(&words!(
                "`{name}` is not in `{dir}` any more; using the one in `{now}`",
                "`{name}` 已不在 `{dir}`；使用 `{now}` 中的那个"
            ));
            Ok(Some(skill.clone()))
        }
        None => {
            app.out.note(&words!(
                "`{name}` is gone from `{dir}`: running the plan as it was then; scripts of the skill cannot run",
                "`{name}` 已不在 `{dir}`：按当时的计划运行；技能中的脚本无法执行"
            ));
            Ok(None)
        }
    }
}

/// The first lines of a run, live and replayed.
pub fn announce(spec: &RunSpec, app: &mut App) {
    let RunSpec { id, parent, reused, plan, .. } = spec;
    app.out.note(&match parent {
        Some(parent) => words!("run {id}, again after {parent}", "运行 {id}，重新运行 {parent}"),
        None => words!("run {id}", "运行 {id}"),
    });
    if !reused.is_empty() {
        let kept = reused.len();
        let all = plan.nodes.iter().filter(|node| !matches!(node.work, fugato_engine::Work::Gate)).count();
        let again = all.saturating_sub(kept);
        app.out.note(&words!(
            "{kept} of {all} nodes keep their results, {again} run",
            "{all} 个节点中 {kept} 个沿用原结果，{again} 个重新执行"
        ));
    }
}

fn tell(again: &Again, app: &mut App) {
    for warning in &again.warnings {
        let text = crate::render::report(warning, &app.out);
        app.out.aside(&text);
    }
    announce(&again.spec, app);
    for id in &again.outdated {
        app.out.note(&words!(
            "`{id}` has changed since; its result from then is used (--from {id} runs it)",
            "`{id}` 之后有改动；仍使用当时的结果（--from {id} 可重新执行）"
        ));
    }
    if again.has_other_rules {
        app.out.note(&words!(
            "the permission rules are not those of that run any more: the rules of now count (fugato config ls)",
            "权限规则与当时不同：以现在的规则为准（fugato config ls）"
        ));
    }
    if !again.granted.is_empty() {
        let list = granted(&again.granted);
        app.out.note(&words!(
            "what was allowed for good in that run counts there only, you are asked again: {list}",
            "在该运行中一律允许的操作只对它有效，现在会重新询问：{list}"
        ));
    }
    for (name, node) in &again.overwritten {
        app.out.note(&words!(
            "--set {name}: `{node}` runs and will set it again",
            "--set {name}：`{node}` 会执行并再次设置它"
        ));
    }
}

/// A few of them, each on one line: commands can be long.
fn granted(all: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut shown: Vec<String> = all.iter().take(SHOWN).map(|call| super::show::on_one_line(call)).collect();
    if all.len() > SHOWN {
        shown.push(format!("… +{}", all.len() - SHOWN));
    }
    escape_for_terminal(&shown.join(", ")).into_owned()
}

fn rerun_error(error: &RerunError, skill: Option<&Installed>, rerun: &Rerun<'_>) -> CliError {
    let from = rerun.from.unwrap_or_default();
    match (error, skill) {
        (RerunError::Start(error), Some(skill)) => start_error(error, skill),
        (RerunError::Start(_) | RerunError::NoRun, _) => {
            CliError::new(Exit::Failed, words!("the run has no events", "运行没有事件"))
        }
        (RerunError::NoPhases, _) => CliError::usage(words!(
            "--from {from}: the skill has no phases, one agent does it all",
            "--from {from}：该技能没有阶段，由一个代理完成全部工作"
        ))
        .hint(words!("leave out --from", "请去掉 --from")),
        (RerunError::Called { node, session }, _) => {
            let (node, session) = (escape_for_terminal(node), escape_for_terminal(session));
            CliError::usage(words!(
                "--from {node}: `{session}` called it while it ran, so it cannot be begun without `{session}`",
                "--from {node}：它是 `{session}` 运行时调用的，不能脱离 `{session}` 单独重跑"
            ))
            .hint(words!(
                "--from {session} runs the whole session again; in a conversation (fugato chat) a program is run again \
                 only where it changes",
                "--from {session} 会重跑整个会话；在对话（fugato chat）中，程序只重跑有变化的部分"
            ))
        }
        (RerunError::UnknownNode(names), _) => {
            let list = names.join(", ");
            CliError::unknown(("node or phase", "节点或阶段"), from, names.iter().map(String::as_str))
                .hint(words!("there are: {list}", "现有：{list}"))
        }
    }
}

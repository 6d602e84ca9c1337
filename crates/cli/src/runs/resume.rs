//! `fugato resume TARGET`: an agent or `all` is a directive; a run is taken over when its owner is gone, or goes on after
//! raising a limit.

use super::intervene::{self, Consent, WhomArgs, Word};
use super::models::{learn_key, models, store};
use super::start::{HowArgs, Watching, drive, world_of};
use super::target::{Told, told};
use super::{find, open, reader, store_error};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Command, Input, Outcome as Ended, Target, Verb};
use fugato_model::{Exit, words};
use fugato_runtime::runs::Session;
use fugato_runtime::store::Reader;

/// Let a paused agent go on, or go on with a run that was interrupted.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// A paused agent, `all`, or a run (the beginning of its id is enough) [default: the active run]
    #[arg(value_name = "TARGET", add = ArgValueCandidates::new(crate::complete::resumable))]
    target: Option<String>,
    #[command(flatten)]
    whom: WhomArgs,
    #[command(flatten)]
    how: HowArgs,
}

pub fn run(args: &ResumeArgs, app: &mut App) -> Outcome {
    let named = args.whom.run.as_deref();
    let Some(target) = args.target.as_deref() else {
        // Whoever names nobody means the run; one that is at work elsewhere is told.
        return match told(named, app) {
            Ok(told) if told.row.is_live() => let_go("all", Some(&told.row.id), app),
            Ok(told) => go_on(Some(&told.row.id), &args.how, app),
            Err(_) => go_on(named, &args.how, app),
        };
    };
    let is_agent = |told: &Told| told.target(target).is_ok();
    let told = told(named, app);
    match (&told, named) {
        (Ok(told), _) if is_agent(told) => return let_go(target, Some(&told.row.id), app),
        (Ok(told), Some(_)) => return Err(told.target(target).err().unwrap_or_else(no_such)),
        (Err(_), Some(_)) => return Err(told.err().unwrap_or_else(no_such)),
        (Err(_), None) if target == "all" => return Err(told.err().unwrap_or_else(no_such)),
        (_, None) => {}
    }
    match (find(&reader(app)?, Some(target)), told) {
        (Ok(row), _) if row.is_live() => let_go("all", Some(&row.id), app),
        (Ok(row), _) => go_on(Some(&row.id), &args.how, app),
        // A name that is no run's is more likely an agent's.
        (Err(error), Ok(told)) if error.exit == Exit::NotFound && !target.starts_with("run_") => {
            Err(told.target(target).err().unwrap_or(error))
        }
        (Err(error), _) => Err(error),
    }
}

fn no_such() -> CliError {
    CliError::not_found(words!("there is no such agent", "没有这个代理"))
}

/// The directive.
fn let_go(target: &str, run: Option<&str>, app: &mut App) -> Outcome {
    let (target, consent) = (target.to_owned(), Consent::Asked);
    intervene::say(Word { verb: Verb::Resume, target, text: None, consent }, run, app)
}

/// Takes over a run that nobody works on, and lets somebody in it go on.
pub fn go_on_with(id: &str, target: Target, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, Some(id))?;
    let (_, run) = open(&reader, &row)?;
    if run.ended.is_some() {
        let status = run.status();
        let words = words!("run `{id}` has ended: {status}", "运行 `{id}` 已结束：{status}");
        return Err(CliError::new(Exit::Conflict, words));
    }
    let models = models(app);
    learn_key(&models, &run.spec.model)?;
    let world = world_of(&run, models, &super::SandboxArgs::default(), app);
    let store = store(app)?;
    drive(app, &Watching::default(), move |watcher| {
        let mut session = Session::take_over(store, &reader, run, world, watcher)?;
        session.tell(Input::Direct { verb: Verb::Resume, target, text: None });
        Ok(session)
    })
}

pub fn go_on(run: Option<&str>, how: &HowArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, run)?;
    let (_, run) = open(&reader, &row)?;
    let id = row.id.clone();
    let mut first = None;
    match &run.ended {
        // Whoever resumes it wants what was paused to go on.
        None if run.status() == "paused" || has_pause_all(&reader, &id)? => {
            first = Some(Input::Direct { verb: Verb::Resume, target: Target::All, text: None });
        }
        None => {}
        Some((Ended::BudgetExhausted, ..)) => {
            let limits = how.limits(&run.spec.limits)?;
            if run.spec.limits == limits {
                return Err(CliError::new(
                    Exit::Refused,
                    words!("run `{id}` used up its budget", "运行 `{id}` 的预算已用完"),
                )
                .hint(words!(
                    "raise it: fugato resume {id} --budget-tokens N or --budget-usd X",
                    "提高预算：fugato resume {id} --budget-tokens N 或 --budget-usd X"
                )));
            }
            first = Some(Input::Raise { limits });
        }
        Some((outcome, reason, _)) => {
            let (status, en, zh) = (run.status(), &reason.en, &reason.zh);
            let error = CliError::new(
                Exit::Conflict,
                words!("run `{id}` has ended: {status} ({en})", "运行 `{id}` 已结束：{status}（{zh}）"),
            );
            return Err(match outcome {
                Ended::Complete => error.hint(words!(
                    "look at it: fugato trace {id}; once more: fugato rerun {id}",
                    "查看：fugato trace {id}；重新运行：fugato rerun {id}"
                )),
                _ => {
                    let rerun = super::show::rerun_hint(&run);
                    error.hint(words!(
                        "a new run that keeps what is finished: {rerun}",
                        "新建一个运行并沿用已完成的部分：{rerun}"
                    ))
                }
            });
        }
    }
    let models = models(app);
    learn_key(&models, &run.spec.model)?;
    let world = world_of(&run, models, &how.sandbox, app);
    let store = store(app)?;
    drive(app, &how.watching(), move |watcher| {
        let mut session = Session::take_over(store, &reader, run, world, watcher)?;
        first.into_iter().for_each(|input| session.tell(input));
        Ok(session)
    })
}

/// Was everybody paused while nobody worked on the run? Whoever resumes it after that means it.
fn has_pause_all(reader: &Reader, id: &str) -> Result<bool, CliError> {
    let waiting = reader.commands(id, 0).map_err(|error| store_error(&error))?;
    let is_pause = |body: &str| {
        matches!(
            serde_json::from_str(body),
            Ok(Command::Direct { verb: Verb::Pause, target: Target::All, .. })
        )
    };
    Ok(waiting.iter().any(|one| is_pause(&one.body)))
}

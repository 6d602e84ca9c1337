//! `fugato resume RUN`: take over a run whose owner is gone, or go on after raising a limit.

use super::models::{learn_key, models, store};
use super::start::{HowArgs, drive, world_of};
use super::{find, open, reader};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Input, Outcome as Ended, Target, Verb};
use fugato_model::{Exit, words};
use fugato_runtime::runs::Session;

/// Go on with a run that was interrupted.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
    #[command(flatten)]
    how: HowArgs,
}

pub fn run(args: &ResumeArgs, app: &mut App) -> Outcome {
    go_on(args.run.as_deref(), &args.how, app)
}

pub fn go_on(run: Option<&str>, how: &HowArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, run)?;
    let (_, run) = open(&reader, &row)?;
    let id = row.id.clone();
    let mut first = None;
    match &run.ended {
        // Whoever resumes it wants what was paused to go on.
        None if run.status() == "paused" => {
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

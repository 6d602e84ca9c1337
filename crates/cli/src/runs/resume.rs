//! `fugato resume RUN`: take over a run whose owner is gone, or go on after raising a limit.

use super::start::{HowArgs, drive, world_of};
use super::{find, open, reader, state, store_error};
use crate::app::{App, env_var};
use crate::error::{CliError, Outcome};
use clap::Args;
use fugato_engine::{Input, Outcome as Ended};
use fugato_model::{Exit, words};
use fugato_runtime::models::{ModelSettings, Models};
use fugato_runtime::runs::Session;
use fugato_runtime::store::Store;

/// Go on with a run that was interrupted.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run, or the beginning of its id [default: the newest]
    run: Option<String>,
    #[command(flatten)]
    how: HowArgs,
}

pub fn run(args: &ResumeArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (_, run) = open(&reader, &row)?;
    let id = row.id.clone();
    let mut raise = None;
    match &run.ended {
        None => {}
        Some((Ended::BudgetExhausted, ..)) => {
            let limits = args.how.limits(&run.spec.limits)?;
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
            raise = Some(Input::Raise { limits });
        }
        Some(_) => {
            let status = run.status();
            return Err(CliError::new(
                Exit::Conflict,
                words!("run `{id}` has ended: {status}", "运行 `{id}` 已结束：{status}"),
            )
            .hint(words!("look at it: fugato trace {id}", "查看：fugato trace {id}")));
        }
    }
    let models = Models::from_env(&env_var, ModelSettings::default());
    let world = world_of(&run, models, app);
    let dir = state(app);
    let store = Store::open(&dir).map_err(|error| store_error(&error))?;
    drive(app, &args.how.watching(), move |watcher| {
        let mut session = Session::take_over(store, &reader, run, world, watcher)?;
        raise.into_iter().for_each(|input| session.tell(input));
        Ok(session)
    })
}

//! `fugato send AGENT TEXT`: say something to an agent of a run. `fugato approve`: allow what an agent asked for.

use super::models::{learn_key, models, store};
use super::start::{Watching, drive, world_of};
use super::{PATIENCE, command_error, find, open, reader};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Asked, Command, Input, MessageKind, Run};
use fugato_model::{Exit, words};
use fugato_runtime::runs::{CommandError, Session, command};
use fugato_runtime::store::{Reader, RunRow};

/// Say something to an agent.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// The agent, as `fugato status` names it; `all` for everybody at work
    #[arg(add = ArgValueCandidates::new(crate::complete::agents_of_run))]
    agent: String,
    /// The message
    #[arg(required = true)]
    text: Vec<String>,
    /// What the message is
    #[arg(long = "type", value_name = "TYPE", default_value = "handoff")]
    kind: Kind,
    /// The run, or the beginning of its id [default: the active one]
    #[arg(long, value_name = "RUN", add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kind {
    Handoff,
    Question,
    Blocked,
    Result,
}

/// Allow a tool call that waits for it.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
    /// Which question, when several are open [default: the oldest]
    #[arg(long, value_name = "N")]
    question: Option<u32>,
    /// The same call is not asked about again in this run
    #[arg(long, conflicts_with = "deny")]
    always: bool,
    /// Do not allow it, and say why
    #[arg(long, value_name = "REASON", num_args = 0..=1, default_missing_value = "")]
    deny: Option<String>,
}

pub fn send(args: &SendArgs, app: &mut App) -> Outcome {
    let told = super::target::told(args.run.as_deref(), app)?;
    let to = told.target(&args.agent)?;
    let kind = match args.kind {
        Kind::Handoff => MessageKind::Handoff,
        Kind::Question => MessageKind::Question,
        Kind::Blocked => MessageKind::Blocked,
        Kind::Result => MessageKind::Result,
    };
    let (_, run) = open(&told.reader, &told.row)?;
    let (from, text) = ("user".to_owned(), args.text.join(" "));
    tell(Command::Send { to, from, text, kind }, &told.reader, &told.row, run, app)
}

pub fn approve(args: &ApproveArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (_, run) = open(&reader, &row)?;
    let asks =
        |(_, question): &(u32, &fugato_engine::Question)| matches!(question.about, Asked::Permission { .. });
    let oldest = run.open_questions().find(asks).map(|(number, _)| number);
    let Some(question) = args.question.or(oldest) else {
        let id = &row.id;
        return Err(CliError::new(
            Exit::Conflict,
            words!("run `{id}` asks for no permission", "运行 `{id}` 没有待批准的请求"),
        ));
    };
    let answer = match (&args.deny, args.always) {
        (Some(why), _) if why.is_empty() => "deny".to_owned(),
        (Some(why), _) => format!("deny: {why}"),
        (None, true) => "always".to_owned(),
        (None, false) => "allow".to_owned(),
    };
    tell(Command::Answer { question, answer }, &reader, &row, run, app)
}

/// To whoever works on the run; if nobody does, the run goes on here.
fn tell(told: Command, reader: &Reader, row: &RunRow, run: Run, app: &mut App) -> Outcome {
    let store = store(app)?;
    if row.is_live() {
        match command(&store, &row.id, &told, PATIENCE) {
            Ok(()) => {
                app.out.note(&words!("recorded; the run goes on", "已记录；运行继续"));
                return Ok(Exit::Ok);
            }
            Err(CommandError::Unowned) => {}
            Err(error) => return Err(command_error(&error)),
        }
    }
    let models = models(app);
    learn_key(&models, &run.spec.model)?;
    let world = world_of(&run, models, &super::SandboxArgs::default(), app);
    drive(app, &Watching::default(), move |watcher| {
        let mut session = Session::take_over(store, reader, run, world, watcher)?;
        session.tell(Input::from(told));
        Ok(session)
    })
}

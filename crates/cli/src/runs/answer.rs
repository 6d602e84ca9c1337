//! `fugato answer RUN TEXT`: answer what a run asked, and let it go on.

use super::models::{learn_key, models, store};
use super::start::{Watching, drive, world_of};
use super::{PATIENCE, command_error, find, open, reader};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Command, Input};
use fugato_model::{Exit, words};
use fugato_runtime::runs::{CommandError, Session, command};

/// Answer what a run asked.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The run, or the beginning of its id
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: String,
    /// The answer
    #[arg(required = true)]
    text: Vec<String>,
    /// Which question, when several are open [default: the oldest]
    #[arg(long, value_name = "N")]
    question: Option<u32>,
    /// Print each event as one line of JSON
    #[arg(long)]
    jsonl: bool,
    /// With --jsonl: also the text of models and what scripts write, as it arrives
    #[arg(long, requires = "jsonl")]
    stream: bool,
    /// Never ask on the terminal: leave the question open and end
    #[arg(long)]
    no_input: bool,
}

pub fn run(args: &AnswerArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, Some(&args.run))?;
    let (_, run) = open(&reader, &row)?;
    let id = row.id.clone();
    let open_question = run.open_questions().next().map(|(number, _)| number);
    let Some(question) = args.question.or(open_question) else {
        return Err(CliError::new(
            Exit::Conflict,
            words!("run `{id}` asks nothing", "运行 `{id}` 没有待回答的问题"),
        ));
    };
    let models = models(app);
    learn_key(&models, &run.spec.model)?;
    let world = world_of(&run, models, &super::SandboxArgs::default(), app);
    let store = store(app)?;
    let answer = args.text.join(" ");
    let mut answer = Some(answer);
    if row.is_live()
        && let Some(answer) = answer.take()
    {
        // Somebody works on the run: it is told, and goes on there; should it end meanwhile, we go on here.
        match command(&store, &id, &Command::Answer { question, answer }, PATIENCE) {
            Ok(()) => {
                app.out.note(&words!("answered; the run goes on", "已回答；运行继续"));
                return Ok(Exit::Ok);
            }
            Err(CommandError::Unowned) => {}
            Err(error) => return Err(command_error(&error)),
        }
    }
    let watching = Watching { jsonl: args.jsonl, stream: args.stream, no_input: args.no_input };
    drive(app, &watching, move |watcher| {
        let mut session = Session::take_over(store, &reader, run, world, watcher)?;
        answer.into_iter().for_each(|answer| session.tell(Input::Answer { question, answer }));
        Ok(session)
    })
}

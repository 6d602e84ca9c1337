//! `fugato answer RUN TEXT`: answer what a run asked, and let it go on.

use super::drive::{Left, Watching, follow};
use super::models::{learn_key, models, store};
use super::start::world_of;
use super::{PATIENCE, command_error, find, open, reader};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Command, Input, Run};
use fugato_model::{Exit, words};
use fugato_runtime::runs::{CommandError, Session, command};
use fugato_runtime::store::{Reader, RunRow};

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
    let watching = Watching { jsonl: args.jsonl, stream: args.stream, no_input: args.no_input };
    let answer = Answer { text: args.text.join(" "), question: args.question };
    give(answer, reader, &row, &watching, app, |run, left, app| super::drive::tell(run, left, &watching, app))
}

/// What a person says to a question.
#[derive(Debug)]
pub struct Answer {
    pub text: String,
    /// Which one [default: the oldest].
    pub question: Option<u32>,
}

/// Answers a run: the process that works on it is told, or else it goes on here.
pub fn give(
    answer: Answer,
    reader: Reader,
    row: &RunRow,
    watching: &Watching,
    app: &mut App,
    conclude: impl FnOnce(&Run, Left, &mut App) -> Outcome,
) -> Outcome {
    let (_, run) = open(&reader, row)?;
    let id = row.id.clone();
    let open_question = run.open_questions().next().map(|(number, _)| number);
    let Some(question) = answer.question.or(open_question) else {
        return Err(CliError::new(
            Exit::Conflict,
            words!("run `{id}` asks nothing", "运行 `{id}` 没有待回答的问题"),
        ));
    };
    let models = models(app);
    learn_key(&models, &run.spec.model)?;
    let world = world_of(&run, models, &super::SandboxArgs::default(), app);
    let store = store(app)?;
    let mut answer = Some(answer.text);
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
    let open = move |watcher| {
        let mut session = Session::take_over(store, &reader, run, world, watcher)?;
        answer.into_iter().for_each(|answer| session.tell(Input::Answer { question, answer }));
        Ok(session)
    };
    follow(app, watching, open, conclude)
}

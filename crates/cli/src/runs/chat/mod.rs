//! `fugato chat OSKILL`: a conversation with an orchestrator. Each request is a run of its own; while one waits for an
//! answer, what is said next is the answer, from this process or any other.

mod lines;
mod listing;
mod words;

use super::answer::{Answer, give};
use super::drive::{Left, Watching, follow};
use super::models::{learn_key, model_if_any, model_of_run, models, store};
use super::start::{Asked, HowArgs, find_among, start_error, world_of, world_with};
use super::{open, skills, state, store_error};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::policy::AgentView;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Conversation, Run};
use fugato_model::{Exit, words as say};
use fugato_runtime::runs::{Session, plan_run};
use fugato_runtime::store::{Reader, RunRow, RunStatus, Turn};
use fugato_skill::{Installed, Inventory, Kind};
use std::sync::Arc;

/// Talk with an orchestrator.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Name of the orchestrator, or a path to its directory
    #[arg(required_unless_present = "list", add = ArgValueCandidates::new(crate::complete::skills))]
    skill: Option<String>,
    /// What to say; `-` reads it from the standard input. Without it, each line that is typed or piped in is said
    message: Vec<String>,
    /// Name of the conversation: each has a memory of its own
    #[arg(long, value_name = "NAME", default_value = "default", add = ArgValueCandidates::new(crate::complete::conversations))]
    session: String,
    /// List the conversations of this project, and which of them wait for you
    #[arg(long, conflicts_with_all = ["skill", "message"])]
    list: bool,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    view: AgentView,
    #[command(flatten)]
    selection: SkillSelection,
}

/// Longer names help nobody.
const NAME_CHARS: usize = 100;

pub fn run(args: &ChatArgs, app: &mut App) -> Outcome {
    if args.list {
        return listing::run(app);
    }
    let chat = Chat::open(args, app)?;
    match args.message.as_slice() {
        [] => lines::talk(&chat, app),
        [one] if one == "-" => {
            let text = std::io::read_to_string(std::io::stdin()).map_err(|error| {
                CliError::failed(say!("cannot read the message: {error}", "无法读取消息：{error}"))
            })?;
            chat.say(text.trim(), app)
        }
        words => chat.say(&words.join(" "), app),
    }
}

/// A conversation that was opened.
struct Chat<'a> {
    args: &'a ChatArgs,
    skill: Installed,
    installed: Arc<Inventory>,
    /// The orchestrator's name.
    name: String,
}

/// How the newest request of a conversation stands.
enum Newest {
    /// Nobody has said anything.
    Nothing,
    Ended(Reader, RunRow),
    /// It waits for an answer.
    Asks(Reader, RunRow),
    /// Whoever worked on it is gone.
    Interrupted(Reader, RunRow),
    AtWork(RunRow),
    Paused(RunRow),
}

impl<'a> Chat<'a> {
    fn open(args: &'a ChatArgs, app: &App) -> Result<Self, CliError> {
        let session = &args.session;
        let is_long = session.chars().count() > NAME_CHARS;
        if session.trim().is_empty() || is_long || session.chars().any(char::is_control) {
            return Err(CliError::usage(say!(
                "--session: expected a name of at most {NAME_CHARS} characters",
                "--session：应为不超过 {NAME_CHARS} 个字符的名称"
            )));
        }
        // Required unless the list is asked for.
        let name = args.skill.as_deref().unwrap_or_default();
        let (skill, installed) = find_among(name, &args.selection, app)?;
        let name = skill.label();
        if skill.head.kind != Kind::Orchestrator {
            let kind = skill.head.kind.as_str();
            return Err(CliError::usage(say!(
                "`{name}` is no orchestrator (it is a {kind}): there is nobody to talk with",
                "`{name}` 不是编排器（种类为 {kind}），无法与之对话"
            ))
            .hint(say!("fugato run {name}", "fugato run {name}")));
        }
        Ok(Self { args, skill, installed, name })
    }

    /// Says something: the answer to what was asked, or the next request.
    fn say(&self, message: &str, app: &mut App) -> Outcome {
        if message.trim().is_empty() {
            return Err(CliError::usage(say!("there is nothing to say", "消息为空")));
        }
        match self.newest(app)? {
            Newest::Nothing => self.begin(message, None, app),
            Newest::Ended(reader, row) => self.begin(message, Some((reader, row)), app),
            Newest::Asks(reader, row) => self.answer(message, reader, &row, app),
            Newest::Interrupted(reader, row) => match self.go_on(reader, &row, app)? {
                // It has just asked something else than what the message is about.
                exit @ (Exit::Waiting | Exit::Interrupted) => {
                    app.out.note(&say!("your message was not said", "您的消息尚未发出"));
                    Ok(exit)
                }
                _ => self.say(message, app),
            },
            Newest::AtWork(row) => Err(self.at_work(&row)),
            Newest::Paused(row) => {
                let id = row.id;
                Err(CliError::new(Exit::Conflict, say!("run `{id}` is paused", "运行 `{id}` 已暂停"))
                    .hint(say!("fugato resume {id}", "fugato resume {id}")))
            }
        }
    }

    fn newest(&self, app: &App) -> Result<Newest, CliError> {
        let Some(reader) = Reader::open(&state(app)).or_else(older).map_err(|error| store_error(&error))?
        else {
            return Ok(Newest::Nothing);
        };
        let row = reader.newest_in(&self.args.session, &self.name).map_err(|error| store_error(&error))?;
        let Some(row) = row else { return Ok(Newest::Nothing) };
        let status = row.effective_status();
        Ok(match status.as_str() {
            _ if status.is_final() || status.as_str() == "budget_exhausted" => Newest::Ended(reader, row),
            _ if row.is_live() => Newest::AtWork(row),
            "awaiting_input" => Newest::Asks(reader, row),
            _ if status == RunStatus::Paused => Newest::Paused(row),
            _ => Newest::Interrupted(reader, row),
        })
    }

    /// A new request, with what was said before.
    fn begin(&self, message: &str, before: Option<(Reader, RunRow)>, app: &mut App) -> Outcome {
        let before = before.map(|(reader, row)| open(&reader, &row).map(|(_, run)| run)).transpose()?;
        let (session, name) = (self.args.session.clone(), self.name.clone());
        let turn = Turn {
            conversation: session.clone(),
            orchestrator: name.clone(),
            after: before.as_ref().map(|run| run.spec.id.clone()),
        };
        let models = models(app);
        // A conversation stays with its model until another one is named; a program alone had none.
        let known = before.as_ref().map(|run| &run.spec).filter(|spec| spec.asks_a_model());
        let known = known.map(|spec| spec.model.as_str());
        let typed = self.args.how.model.as_deref().or(known);
        let (model, lacking) = model_if_any(model_of_run(typed, &models, app), typed)?;
        let view = self.view(before.as_ref(), app);
        let asked = Asked { how: &self.args.how, view: &view, selection: &self.args.selection };
        let mut started = asked.started(message.to_owned(), app)?;
        started.rates = models.rate(&model).map(|rate| (model.clone(), rate)).into_iter().collect();
        (started.model, started.installed) = (model, self.installed.clone());
        started.conversation = Some(Conversation {
            name: session,
            orchestrator: name,
            snapshot: before.as_ref().map(Run::conversation_so_far).unwrap_or_default(),
            carried: before.as_ref().and_then(|run| run.carried_sop(0)),
            spoken_as: view.spoken_as(app),
        });
        let (spec, warnings) =
            plan_run(&self.skill, &started).map_err(|error| start_error(&error, &self.skill))?;
        if let Some(lacking) = lacking.filter(|_| spec.asks_a_model()) {
            return Err(lacking);
        }
        // Who heard them once has heard them.
        if before.is_none() {
            for warning in &warnings {
                let text = crate::render::report(warning, &app.out);
                app.out.aside(&text);
            }
        }
        let shelf = skills::shelf(&self.args.selection, app)?;
        let world = world_with(&spec, models, &self.args.how.sandbox, shelf, app);
        let store = store(app)?;
        let open = move |watcher| Session::create_in(store, spec, world, watcher, Some(&turn));
        follow(app, &self.watching(), open, |run, left, app| self.conclude(run, left, app))
    }

    /// For whom the request is made: as was typed, else as in the request before.
    fn view(&self, before: Option<&Run>, app: &mut App) -> AgentView {
        let known = before.and_then(|run| run.spec.conversation.as_ref()?.spoken_as.clone());
        match known.filter(|_| !self.args.view.is_given()) {
            None => self.args.view.clone(),
            Some(known) => {
                let agent = fugato_model::escape_for_terminal(&known.agent).into_owned();
                app.out.note(&say!(
                    "as `{agent}`, as before (another: --as AGENT --profile FILE)",
                    "身份仍为 `{agent}`（更换：--as 代理 --profile 文件）"
                ));
                known.into()
            }
        }
    }

    fn answer(&self, message: &str, reader: Reader, row: &RunRow, app: &mut App) -> Outcome {
        let answer = Answer { text: message.to_owned(), question: None };
        give(answer, reader, row, &self.watching(), app, |run, left, app| self.conclude(run, left, app))
    }

    /// Goes on with a request whose process is gone.
    fn go_on(&self, reader: Reader, row: &RunRow, app: &mut App) -> Outcome {
        let id = &row.id;
        app.out.note(&say!(
            "the last request was interrupted; going on with it (run {id})",
            "上一个请求被中断；继续执行（运行 {id}）"
        ));
        let (_, run) = open(&reader, row)?;
        let models = models(app);
        learn_key(&models, &run.spec.model)?;
        let world = world_of(&run, models, &self.args.how.sandbox, app);
        let store = store(app)?;
        let open = move |watcher| Session::take_over(store, &reader, run, world, watcher);
        follow(app, &self.watching(), open, |run, left, app| match left {
            // What is said next has its own document.
            Left::Over { end: fugato_runtime::runs::End::Ended, .. } if app.out.json => Ok(Exit::Ok),
            left => self.conclude(run, left, app),
        })
    }

    /// A question is left open, so that any process can answer it.
    fn watching(&self) -> Watching {
        Watching { no_input: true, ..self.args.how.watching() }
    }

    fn at_work(&self, row: &RunRow) -> CliError {
        let (id, session) = (&row.id, fugato_model::escape_for_terminal(&self.args.session));
        let pid = row.lease.as_ref().map(|lease| lease.owner.pid.to_string()).unwrap_or_default();
        CliError::new(
            Exit::Conflict,
            say!(
                "the conversation `{session}` is busy: process {pid} works on run `{id}`",
                "会话 `{session}` 正忙：进程 {pid} 正在执行运行 `{id}`"
            ),
        )
        .hint(say!("watch it: fugato events {id} -f", "查看：fugato events {id} -f"))
    }
}

/// A store of an earlier version has no conversations, and the next run brings it up to date.
fn older(
    error: fugato_runtime::store::StoreError,
) -> Result<Option<Reader>, fugato_runtime::store::StoreError> {
    match error {
        fugato_runtime::store::StoreError::Older { .. } => Ok(None),
        error => Err(error),
    }
}

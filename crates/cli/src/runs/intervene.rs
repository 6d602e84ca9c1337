//! `fugato intervene`, and the same as verbs: `pause`, `cancel`, `redirect`, `restart`. One word to a run, recorded in
//! one order with all others, and what came of it.

use super::models::store;
use super::target::{Told, told};
use super::{PATIENCE, command_error, resume};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use fugato_engine::{Command, Target, Verb};
use fugato_model::{Exit, words};
use fugato_runtime::runs::{CommandError, command};
use serde_json::json;
use std::io::{BufRead as _, IsTerminal as _};

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Action {
    Pause,
    Resume,
    Cancel,
    Redirect,
}

impl Action {
    const fn verb(self) -> Verb {
        match self {
            Self::Pause => Verb::Pause,
            Self::Resume => Verb::Resume,
            Self::Cancel => Verb::Cancel,
            Self::Redirect => Verb::Redirect,
        }
    }
}

/// Pause, resume, cancel or redirect agents of a run.
#[derive(Debug, Args)]
pub struct InterveneArgs {
    /// What to do; on a terminal it is asked for when missing
    action: Option<Action>,
    /// The agent, as `fugato status` names it, or `all`
    #[arg(value_name = "AGENT", add = ArgValueCandidates::new(crate::complete::agents_of_run))]
    target: Option<String>,
    /// The new instruction of a redirect; for the others, why
    text: Vec<String>,
    #[command(flatten)]
    whom: WhomArgs,
    /// Do not ask before everything is cancelled
    #[arg(long)]
    yes: bool,
}

/// Which run is meant.
#[derive(Debug, Args)]
pub struct WhomArgs {
    /// The run, or the beginning of its id [default: the active one]
    #[arg(long, value_name = "RUN", add = ArgValueCandidates::new(crate::complete::runs))]
    pub run: Option<String>,
}

/// Hold an agent, or everybody.
#[derive(Debug, Args)]
pub struct PauseArgs {
    /// The agent, as `fugato status` names it, or `all`
    #[arg(value_name = "AGENT", add = ArgValueCandidates::new(crate::complete::agents_of_run))]
    target: String,
    /// Why, for the record
    text: Vec<String>,
    #[command(flatten)]
    whom: WhomArgs,
}

/// Stop an agent, or the whole run.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// The agent, as `fugato status` names it, or `all`
    #[arg(value_name = "AGENT", add = ArgValueCandidates::new(crate::complete::agents_of_run))]
    target: String,
    /// Why, for the record
    text: Vec<String>,
    #[command(flatten)]
    whom: WhomArgs,
    /// Do not ask before everything is cancelled
    #[arg(long)]
    yes: bool,
}

/// Give an agent another task.
#[derive(Debug, Args)]
pub struct RedirectArgs {
    /// The agent, as `fugato status` names it, or `all`
    #[arg(value_name = "AGENT", add = ArgValueCandidates::new(crate::complete::agents_of_run))]
    target: String,
    /// The new instruction; on a terminal it is asked for when missing
    text: Vec<String>,
    #[command(flatten)]
    whom: WhomArgs,
}

/// Have a node begin again.
#[derive(Debug, Args)]
pub struct RestartArgs {
    /// The node or agent, as `fugato status` names it
    #[arg(value_name = "NODE", add = ArgValueCandidates::new(crate::complete::agents_of_run))]
    target: String,
    #[command(flatten)]
    whom: WhomArgs,
}

/// One word to a run.
#[derive(Debug)]
pub struct Word {
    pub verb: Verb,
    pub target: String,
    pub text: Option<String>,
    pub consent: Consent,
}

/// May everything be cancelled without asking?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    Given,
    Asked,
}

impl Consent {
    const fn of(yes: bool) -> Self {
        if yes { Self::Given } else { Self::Asked }
    }
}

pub fn intervene(args: &InterveneArgs, app: &mut App) -> Outcome {
    let told = || told(args.whom.run.as_deref(), app);
    let can_ask = can_ask(app);
    let (action, target) = match (args.action, &args.target) {
        (Some(action), Some(target)) => (action, target.clone()),
        _ if !can_ask => return Err(usage()),
        (action, _) => {
            let told = told()?;
            show_agents(&told, app)?;
            let action = match action {
                Some(action) => action,
                None => ask_action(app)?,
            };
            (action, ask(&words!("Which agent, or all?", "哪个代理（或 all）？"), app)?)
        }
    };
    let word = Word { verb: action.verb(), target, text: joined(&args.text), consent: Consent::of(args.yes) };
    say(word, args.whom.run.as_deref(), app)
}

pub fn pause(args: &PauseArgs, app: &mut App) -> Outcome {
    let (target, text) = (args.target.clone(), joined(&args.text));
    say(Word { verb: Verb::Pause, target, text, consent: Consent::Asked }, args.whom.run.as_deref(), app)
}

pub fn cancel(args: &CancelArgs, app: &mut App) -> Outcome {
    let (target, text, consent) = (args.target.clone(), joined(&args.text), Consent::of(args.yes));
    say(Word { verb: Verb::Cancel, target, text, consent }, args.whom.run.as_deref(), app)
}

pub fn redirect(args: &RedirectArgs, app: &mut App) -> Outcome {
    let (target, text) = (args.target.clone(), joined(&args.text));
    say(Word { verb: Verb::Redirect, target, text, consent: Consent::Asked }, args.whom.run.as_deref(), app)
}

pub fn restart(args: &RestartArgs, app: &mut App) -> Outcome {
    let word = Word { verb: Verb::Restart, target: args.target.clone(), text: None, consent: Consent::Asked };
    say(word, args.whom.run.as_deref(), app)
}

/// Checks a word, says it to the run, and tells what came of it.
pub fn say(mut word: Word, run: Option<&str>, app: &mut App) -> Outcome {
    let told = told(run, app)?;
    let target = told.target(&word.target)?;
    if word.verb == Verb::Redirect && word.text.is_none() {
        if !can_ask(app) {
            return Err(CliError::usage(words!("a redirect needs an instruction", "重定向需要给出新的指令"))
                .hint(words!("fugato redirect AGENT TEXT", "fugato redirect 代理 指令")));
        }
        word.text = Some(ask(&words!("What should it do instead?", "改做什么？"), app)?);
    }
    if word.verb == Verb::Cancel && target == Target::All && word.consent == Consent::Asked {
        consent(&told, app)?;
    }
    // Resuming is work, and somebody has to do it.
    if word.verb == Verb::Resume && !told.row.is_live() {
        return resume::go_on_with(&told.row.id, target, app);
    }
    let store = store(app)?;
    let body = Command::Direct { verb: word.verb, target: target.clone(), text: word.text.clone() };
    match command(&store, &told.row.id, &body, PATIENCE) {
        Ok(()) => {
            confirm(&word, &told, "applied", app)?;
            Ok(Exit::Ok)
        }
        Err(CommandError::Unowned) => {
            confirm(&word, &told, "recorded", app)?;
            let id = &told.row.id;
            app.out.note(&words!(
                "nobody works on the run now: this takes effect first when it goes on: fugato resume {id}",
                "现在没有进程在执行该运行：继续运行时首先生效：fugato resume {id}"
            ));
            Ok(Exit::Ok)
        }
        Err(CommandError::Pending) => {
            confirm(&word, &told, "recorded", app)?;
            app.out.note(&words!(
                "the process that works on the run has not taken it yet; it will",
                "执行该运行的进程尚未处理；之后会处理"
            ));
            Ok(Exit::Ok)
        }
        Err(error) => Err(command_error(&error)),
    }
}

fn confirm(word: &Word, told: &Told, state: &str, app: &mut App) -> Result<(), CliError> {
    let (action, target) = (name(word.verb), fugato_model::escape_for_terminal(&word.target).into_owned());
    if app.out.json {
        return app.out.json(&json!({
            "schema": "fugato.intervention/v1",
            "run": told.row.id,
            "action": action,
            "target": word.target,
            "message": word.text.as_deref().unwrap_or_default(),
            "state": state,
        }));
    }
    let lines = words!(
        "Intervention recorded: {action} {target}\nThe {target} agent will respond on its next tool call. Use /status \
         to monitor.",
        "干预已记录：{action} {target}\n代理 {target} 会在下一次工具调用时响应。用 /status 查看。"
    );
    let text = app.out.say(&lines).to_owned();
    app.out.line(text)
}

const fn name(verb: Verb) -> &'static str {
    match verb {
        Verb::Pause => "pause",
        Verb::Resume => "resume",
        Verb::Cancel => "cancel",
        Verb::Redirect => "redirect",
        Verb::Restart => "restart",
    }
}

/// Ending everything is asked about once more.
fn consent(told: &Told, app: &mut App) -> Result<(), CliError> {
    let (id, count) = (&told.row.id, told.view.agents.iter().filter(|agent| !agent.is_finished()).count());
    if !can_ask(app) {
        return Err(CliError::usage(words!(
            "`cancel all` ends the run `{id}`: nothing was done",
            "`cancel all` 会结束运行 `{id}`：未做任何更改"
        ))
        .hint(words!("add --yes if that is meant", "确认无误请加上 --yes")));
    }
    let answer = ask(
        &words!(
            "Cancel the run {id}? {count} agents have not finished. [y/N]",
            "取消运行 {id}？还有 {count} 个代理没有结束。[y/N]"
        ),
        app,
    )?;
    if matches!(answer.to_lowercase().as_str(), "y" | "yes" | "是") {
        return Ok(());
    }
    Err(CliError::new(Exit::Interrupted, words!("nothing was cancelled", "没有取消任何运行")))
}

fn show_agents(told: &Told, app: &mut App) -> Result<(), CliError> {
    let mut table = crate::render::Table::new(0);
    for agent in &told.view.agents {
        let cell = |text: &str| crate::render::Cell::new(text);
        table.row([cell(&agent.id), cell(agent.status.as_str()), cell(&agent.role)]);
    }
    for line in table.lines(app.out.width, app.out.columns()) {
        app.out.aside(&line);
    }
    Ok(())
}

fn ask_action(app: &mut App) -> Result<Action, CliError> {
    let question = words!(
        "What should be done: pause, resume, cancel or redirect?",
        "要做什么：pause、resume、cancel 还是 redirect？"
    );
    let answer = ask(&question, app)?;
    Action::from_str(&answer, true).map_err(|_| {
        let answer = fugato_model::escape_for_terminal(&answer).into_owned();
        CliError::usage(words!("`{answer}` is none of these", "没有操作 `{answer}`"))
            .hint(words!("pause, resume, cancel or redirect", "可用：pause、resume、cancel、redirect"))
    })
}

/// One line from the terminal.
fn ask(question: &fugato_model::Words, app: &mut App) -> Result<String, CliError> {
    app.out.note(question);
    app.out.prompt();
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    match line.trim() {
        "" => Err(CliError::usage(words!("nothing was typed, nothing was done", "没有输入，未做任何更改"))),
        answer if read.is_ok() => Ok(answer.to_owned()),
        _ => Err(usage()),
    }
}

fn can_ask(app: &App) -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !app.out.json
}

fn usage() -> CliError {
    CliError::usage(words!("what should be done, and to whom?", "要做什么？对谁？")).hint(words!(
        "fugato intervene pause|resume|cancel|redirect AGENT|all [TEXT]",
        "fugato intervene pause|resume|cancel|redirect 代理|all [内容]"
    ))
}

/// Words as one text; blank ones are none.
fn joined(text: &[String]) -> Option<String> {
    let text = text.join(" ");
    (!text.trim().is_empty()).then_some(text)
}

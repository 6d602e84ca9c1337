//! The binary `fugato`: arguments in, one command run, an exit code out.

mod agents;
mod app;
mod args;
mod complete;
mod config;
mod demo;
mod doctor;
mod error;
mod explain;
mod hook;
mod init;
mod man;
mod paths;
mod plugin;
mod policy;
mod printer;
mod profile;
mod rebuild;
mod render;
mod runs;
mod skill;
mod sop;
mod status;
mod tui;
mod usage;
mod wiring;
mod words_zh;

use crate::app::App;
use crate::args::{Cli, Command};
use crate::error::{CliError, Outcome};
use crate::printer::Printer;
use clap::{CommandFactory as _, FromArgMatches as _};
use fugato_model::{Exit, Lang};
use fugato_runtime::process;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: it is called for every tool call of every agent.
    if let Some(exit) = hook::answer_host() {
        return exit;
    }
    if process::guard_if_asked() {
        return ExitCode::SUCCESS;
    }
    if let Ok(program) = std::env::current_exe() {
        process::appoint_guardian(program);
    }
    complete::answer_shell();
    let lang = app::lang_before_parsing();
    let command = words_zh::translate(Cli::command(), lang);
    let cli = match command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return usage::answer(&error, lang),
    };
    cli.color.write_global();
    let mut app = match App::new(&cli.global) {
        Ok(app) => app,
        Err(error) => {
            let mut printer = Printer::new(lang, render::Width::default(), cli.global.json);
            return end(Err(error), &mut printer);
        }
    };
    let outcome = run(cli.command, &mut app);
    let outcome = app.out.flush().and(outcome);
    end(outcome, &mut app.out)
}

fn run(command: Option<Command>, app: &mut App) -> Outcome {
    match command {
        None if tui::is_possible(app) => tui::home(app),
        None => {
            let help = words_zh::translate(Cli::command(), app.out.lang).render_help();
            app.out.line(help.ansi())?;
            Ok(Exit::Ok)
        }
        Some(Command::Skill(command)) => skill::run(command, app),
        Some(Command::Sop(command)) => sop::run(command, app),
        Some(Command::Agents(command)) => agents::run(command, app),
        Some(Command::Policy(command)) => policy::run(command, app),
        Some(Command::Profile(command)) => profile::run(command, app),
        Some(Command::Config(command)) => config::run(command, app),
        Some(Command::Run(args)) => runs::start(&args, app),
        Some(Command::Go(args)) => runs::go(&args, app),
        Some(Command::Chat(args)) => runs::chat(&args, app),
        Some(Command::Plan(args)) => runs::plan(&args, app),
        Some(Command::Status(args)) => status::run(&args, app),
        Some(Command::Resume(args)) => runs::resume(&args, app),
        Some(Command::Intervene(args)) => runs::intervene(&args, app),
        Some(Command::Pause(args)) => runs::pause(&args, app),
        Some(Command::Cancel(args)) => runs::cancel(&args, app),
        Some(Command::Redirect(args)) => runs::redirect(&args, app),
        Some(Command::Restart(args)) => runs::restart(&args, app),
        Some(Command::Rerun(args)) => runs::rerun(&args, app),
        Some(Command::Answer(args)) => runs::answer(&args, app),
        Some(Command::Send(args)) => runs::send(&args, app),
        Some(Command::Approve(args)) => runs::approve(&args, app),
        Some(Command::Watch(args)) => tui::run(&args, app),
        Some(Command::Runs(args)) => runs::runs(&args, app),
        Some(Command::Events(args)) => runs::show_events(&args, app),
        Some(Command::Trace(args)) => runs::show_trace(&args, app),
        Some(Command::Cost(args)) => runs::cost(&args, app),
        Some(Command::Diff(args)) => runs::diff(&args, app),
        Some(Command::Replay(args)) => runs::replay(&args, app),
        Some(Command::Init(args)) => init::run(&args, app),
        Some(Command::Doctor(args)) => doctor::run(&args, app),
        Some(Command::Hook(args)) => hook::run(args, app),
        Some(Command::Plugin(command)) => plugin::run(command, app),
        Some(Command::Path) => paths::run(app),
        Some(Command::Explain(args)) => explain::run(&args, app),
        Some(Command::Completions(args)) => complete::run(&args, app),
        Some(Command::Man(args)) => man::run(&args, app),
        Some(Command::Demo) => demo::run(app),
        Some(Command::Version) => {
            if app.out.json {
                let version = env!("CARGO_PKG_VERSION");
                app.out.json(&serde_json::json!({"schema": "fugato.version/v1", "version": version}))?;
            } else {
                app.out.line(concat!("fugato ", env!("CARGO_PKG_VERSION")))?;
            }
            Ok(Exit::Ok)
        }
    }
}

fn end(outcome: Outcome, printer: &mut Printer) -> ExitCode {
    let exit = match outcome {
        Ok(exit) => exit,
        Err(error) => {
            if !error.is_silent {
                tell(&error, printer);
                // Programs get the same as a document. If stdout is gone there is nobody to tell.
                let document = printer.json.then(|| error.document(printer.lang));
                let _ = document.map(|document| printer.json(&document).and_then(|()| printer.flush()));
            }
            error.exit
        }
    };
    ExitCode::from(exit.code())
}

fn tell(error: &CliError, printer: &mut Printer) {
    let lang = printer.lang;
    for diagnostic in &error.diagnostics {
        let text = render::report(diagnostic, printer);
        printer.aside(&text);
        printer.aside("");
    }
    let code = error.code.map(|code| format!("[{code}]")).unwrap_or_default();
    let (label, colon, hint_label) = match lang {
        Lang::En => ("error", ": ", "hint: "),
        Lang::Zh => ("错误", "：", "提示："),
    };
    let head = printer::paint(printer::style::BAD.bold(), format!("{label}{code}{colon}"));
    let message: Vec<_> = error
        .message
        .in_lang(lang)
        .lines()
        .map(|line| fugato_model::escape_for_terminal(line).into_owned())
        .collect();
    printer.aside(&format!("{head}{}", message.join("\n")));
    for hint in &error.hints {
        let hint = hint.in_lang(lang);
        printer.aside(&format!("{}{hint}", printer::paint(printer::style::GOOD, hint_label)));
    }
}

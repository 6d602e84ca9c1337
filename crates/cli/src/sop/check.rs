//! `fugato sop check FILE`: every error of a program, with its line.

use super::file::ProgramFile;
use crate::app::{App, SkillSelection};
use crate::error::Outcome;
use crate::render;
use clap::Args;
use fugato_model::view::DiagnosticView;
use fugato_model::{Exit, words};
use fugato_skill::sop::Program;
use std::path::PathBuf;

/// Check a program.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The program; `-` reads it from the standard input
    file: PathBuf,
    /// Also take these for commands, separated by commas [default: the skills that are here]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    commands: Vec<String>,
    #[command(flatten)]
    selection: SkillSelection,
}

pub fn run(args: &CheckArgs, app: &mut App) -> Outcome {
    let file = ProgramFile::read(&args.file, app)?;
    let parsed = file.parse("");
    let errors = match &parsed {
        Ok(program) => {
            let inventory = app.discover(&app.roots(&args.selection, None)?).inventory;
            let known: Vec<&str> =
                inventory.names().chain(args.commands.iter().map(String::as_str)).collect();
            program.unknown_commands(&known)
        }
        Err(errors) => errors.clone(),
    };
    let exit = if errors.is_empty() { Exit::Ok } else { Exit::Failed };
    let diagnostics = file.diagnostics(&errors);
    // What is given stands nowhere in the text.
    let count = |program: &Program| {
        let levels = program.levels();
        let written: Vec<usize> =
            levels.iter().map(|level| level.iter().filter(|it| !it.is_given()).count()).collect();
        (written.iter().sum::<usize>(), written.iter().filter(|count| **count > 0).count())
    };
    let (declarations, levels) = parsed.as_ref().map(count).unwrap_or_default();
    if app.out.json {
        let lang = app.out.lang;
        let views: Vec<_> = diagnostics.iter().map(|problem| DiagnosticView::new(problem, lang)).collect();
        let sentences: Vec<String> = errors.iter().map(ToString::to_string).collect();
        app.out.json(&serde_json::json!({
            "schema": "fugato.sop-check/v1",
            "ok": exit == Exit::Ok,
            "declarations": declarations,
            "levels": levels,
            "errors": sentences,
            "diagnostics": views,
        }))?;
        return Ok(exit);
    }
    for problem in &diagnostics {
        let text = render::report(problem, &app.out);
        app.out.line(text)?;
        app.out.line("")?;
    }
    match diagnostics.first() {
        None => {
            let (en, en_levels) =
                (render::count(declarations, "declaration"), render::count(levels, "level"));
            app.out.note(&words!("{en} in {en_levels}: ok", "{declarations} 个声明，{levels} 层：正常"));
        }
        Some(first) => {
            let (n, en, code) = (diagnostics.len(), render::count(diagnostics.len(), "error"), first.code);
            app.out.note(&words!(
                "{en}; more about a code: fugato explain {code}",
                "{n} 个错误；了解代码含义：fugato explain {code}"
            ));
        }
    }
    Ok(exit)
}

//! `fugato sop graph FILE`: what depends on what, as a picture; nothing runs.

use super::drawing;
use super::file::ProgramFile;
use crate::app::App;
use crate::error::Outcome;
use crate::runs::Paper;
use clap::Args;
use fugato_model::Exit;
use fugato_skill::sop::{Declaration, Program};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Draw a program.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The program; `-` reads it from the standard input
    file: PathBuf,
}

/// A pipe has no width: what most screens have.
const COLUMNS_OFF_A_TERMINAL: usize = 100;

pub fn run(args: &GraphArgs, app: &mut App) -> Outcome {
    let file = ProgramFile::read(&args.file, app)?;
    let program = file.parse("").map_err(|errors| file.refused(&errors))?;
    if app.out.json {
        let one = |declaration: &&Declaration| view(&program, declaration);
        let levels: Vec<Vec<Value>> =
            program.levels().iter().map(|level| level.iter().map(one).collect()).collect();
        app.out.json(&json!({"schema": "fugato.sop-graph/v1", "levels": levels}))?;
        return Ok(Exit::Ok);
    }
    let columns = app.out.columns().unwrap_or(COLUMNS_OFF_A_TERMINAL);
    let paper = Paper { lang: app.out.lang, width: app.out.width, columns };
    for line in drawing::draw(&program, paper) {
        app.out.line(line)?;
    }
    Ok(Exit::Ok)
}

fn view(program: &Program, declaration: &Declaration) -> Value {
    let needs: Vec<&str> = program.dependencies(declaration).map(|name| &**name).collect();
    json!({
        "name": &*declaration.name, "command": &*declaration.command, "needs": needs,
        "says": declaration.description.as_deref(), "line": declaration.line,
    })
}

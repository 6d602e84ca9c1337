//! `fugato skill validate | read-properties | to-prompt`: word for word what the reference CLI answers.
//!
//! Messages of this file are a contract with other programs and are not translated.

use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use fugato_model::{Exit, words};
use fugato_skill::reference;
use std::path::{Path, PathBuf};

/// Validate a skill directory as the reference validator does.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The skill's directory, or its SKILL.md
    skill_path: PathBuf,
}

/// Print the properties of a skill as the reference implementation does.
#[derive(Debug, Args)]
pub struct ReadPropertiesArgs {
    /// The skill's directory, or its SKILL.md
    skill_path: PathBuf,
    /// Print all fields and the body of one file, whatever its name
    #[arg(long)]
    frontmatter: bool,
}

/// Print the reference implementation's <available_skills> block.
#[derive(Debug, Args)]
pub struct ToPromptArgs {
    /// Skill directories, or their SKILL.md files
    #[arg(required = true)]
    skill_paths: Vec<PathBuf>,
}

pub fn validate(args: &ValidateArgs, app: &mut App) -> Outcome {
    let dir = skill_dir(&args.skill_path, app)?;
    let errors = match read(&dir)? {
        Found::NotADirectory => vec![format!("Not a directory: {}", dir.display())],
        Found::NoSkillFile => vec!["Missing required file: SKILL.md".to_owned()],
        Found::File { bytes, .. } => reference::validate(&dir_name(&dir), &bytes),
    };
    if errors.is_empty() {
        app.out.line(format!("Valid skill: {}", dir.display()))?;
        return Ok(Exit::Ok);
    }
    app.out.aside(&format!("Validation failed for {}:", dir.display()));
    for error in errors {
        app.out.aside(&format!("  - {error}"));
    }
    Ok(Exit::Failed)
}

pub fn read_properties(args: &ReadPropertiesArgs, app: &mut App) -> Outcome {
    if args.frontmatter {
        let bytes = std::fs::read(&args.skill_path)
            .map_err(|error| CliError::io("read", &args.skill_path, &error))?;
        return match reference::parse(&bytes) {
            Ok((frontmatter, body)) => {
                app.out.json(&serde_json::json!({"frontmatter": frontmatter, "body": body}))?;
                Ok(Exit::Ok)
            }
            Err(error) => failed(&error, app),
        };
    }
    let dir = skill_dir(&args.skill_path, app)?;
    match properties(&dir)? {
        Ok(properties) => {
            app.out.line(properties.to_json())?;
            Ok(Exit::Ok)
        }
        Err(error) => failed(&error, app),
    }
}

pub fn to_prompt(args: &ToPromptArgs, app: &mut App) -> Outcome {
    let mut entries = Vec::new();
    for path in &args.skill_paths {
        let dir = skill_dir(path, app)?;
        let dir = dir.canonicalize().map_err(|error| CliError::io("read", &dir, &error))?;
        match properties(&dir)? {
            Ok(found) => {
                let file = match read(&dir)? {
                    Found::File { name, .. } => dir.join(name),
                    Found::NoSkillFile | Found::NotADirectory => dir.join("SKILL.md"),
                };
                entries.push((found, file.display().to_string()));
            }
            Err(error) => return failed(&error, app),
        }
    }
    app.out.line(reference::to_prompt(entries.iter().map(|(found, location)| (found, location.as_str()))))?;
    Ok(Exit::Ok)
}

fn failed(error: &reference::ReferenceError, app: &mut App) -> Outcome {
    app.out.aside(&format!("Error: {error}"));
    Ok(Exit::Failed)
}

fn properties(dir: &Path) -> Result<Result<reference::Properties, reference::ReferenceError>, CliError> {
    Ok(match read(dir)? {
        Found::File { bytes, .. } => reference::properties(&bytes),
        Found::NoSkillFile | Found::NotADirectory => {
            Err(reference::ReferenceError::Parse(format!("SKILL.md not found in {}", dir.display())))
        }
    })
}

enum Found {
    NotADirectory,
    NoSkillFile,
    File { name: &'static str, bytes: Vec<u8> },
}

/// The upper-case file is preferred, as the reference does.
fn read(dir: &Path) -> Result<Found, CliError> {
    if !dir.is_dir() {
        return Ok(Found::NotADirectory);
    }
    for name in ["SKILL.md", "skill.md"] {
        let path = dir.join(name);
        if path.is_file() {
            let bytes = std::fs::read(&path).map_err(|error| CliError::io("read", &path, &error))?;
            return Ok(Found::File { name, bytes });
        }
    }
    Ok(Found::NoSkillFile)
}

/// A path to the file itself means its directory. A path that does not exist is wrong usage, as it is there.
fn skill_dir(path: &Path, app: &App) -> Result<PathBuf, CliError> {
    let full = app.places.cwd.join(path);
    if !full.exists() {
        let shown = path.display();
        return Err(CliError::usage(words!("path '{shown}' does not exist", "路径 '{shown}' 不存在")));
    }
    let names_the_file =
        full.is_file() && full.file_name().is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
    Ok(match (names_the_file, path.parent()) {
        (true, Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
        (true, Some(parent)) => parent.to_owned(),
        _ => path.to_owned(),
    })
}

/// `.` has no name of its own: the directory it stands for has.
fn dir_name(dir: &Path) -> String {
    let named = match dir.file_name() {
        Some(_) => dir.to_owned(),
        None => dir.canonicalize().unwrap_or_else(|_| dir.to_owned()),
    };
    named.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

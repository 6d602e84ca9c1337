//! `fugato skill validate | read-properties | to-prompt`: word for word what the reference CLI answers.
//!
//! Messages of this file are a contract with other programs and are not translated.

use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use fugato_model::{Code, Exit, words};
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
    let found = Found::read(&dir, app)?;
    let errors = if found.is_dir {
        reference::validate(found.target())
    } else {
        vec![reference::not_a_directory(&found.dir)]
    };
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.validate/v1", "ok": errors.is_empty(), "path": found.dir, "errors": errors,
        }))?;
        return Ok(if errors.is_empty() { Exit::Ok } else { Exit::Failed });
    }
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
        let file = app.places.cwd.join(&args.skill_path);
        let content = String::from_utf8(read_bounded(&file)?).map_err(|error| {
            let shown = file.display();
            CliError::failed(words!("`{shown}`: {error}", "`{shown}`：{error}")).code(Code::F0103)
        })?;
        return match reference::parse(&content) {
            Ok((frontmatter, body)) => {
                let document = serde_json::json!({"frontmatter": frontmatter, "body": body});
                if app.out.json {
                    app.out.document("fugato.frontmatter/v1", document)?;
                } else {
                    app.out.json(&document)?;
                }
                Ok(Exit::Ok)
            }
            Err(error) => failed(&error, app),
        };
    }
    let found = Found::read(&skill_dir(&args.skill_path, app)?, app)?;
    match reference::properties(found.target()) {
        Ok(properties) if app.out.json => {
            let document =
                serde_json::from_str(&properties.to_json()).map_err(|error| CliError::internal(&error))?;
            app.out.document("fugato.properties/v1", document)?;
            Ok(Exit::Ok)
        }
        Ok(properties) => {
            app.out.line(properties.to_json())?;
            Ok(Exit::Ok)
        }
        Err(error) => failed(&error, app),
    }
}

pub fn to_prompt(args: &ToPromptArgs, app: &mut App) -> Outcome {
    let mut found = Vec::new();
    for path in &args.skill_paths {
        let dir = skill_dir(path, app)?;
        let dir =
            app.places.cwd.join(&dir).canonicalize().map_err(|error| CliError::io("read", &dir, &error))?;
        found.push(Found::read(&dir, app)?);
    }
    let targets: Vec<_> = found.iter().map(Found::target).collect();
    match reference::to_prompt(&targets) {
        Ok(prompt) => {
            if app.out.json {
                app.out.json(&serde_json::json!({"schema": "fugato.prompt/v1", "prompt": prompt}))?;
                return Ok(Exit::Ok);
            }
            app.out.line(prompt)?;
            Ok(Exit::Ok)
        }
        Err(error) => failed(&error, app),
    }
}

fn failed(error: &reference::ReferenceError, app: &mut App) -> Outcome {
    if app.out.json {
        return Err(CliError::failed(words!("{error}", "{error}")));
    }
    app.out.aside(&format!("Error: {error}"));
    Ok(Exit::Failed)
}

/// The reference has no limit; a file past this is somebody's data, and memory has one.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

fn read_bounded(path: &Path) -> Result<Vec<u8>, CliError> {
    let failed = |error| CliError::io("read", path, &error);
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MAX_FILE_BYTES {
        let shown = path.display();
        return Err(CliError::failed(words!(
            "`{shown}` has {size} bytes (limit {MAX_FILE_BYTES})",
            "`{shown}` 有 {size} 字节（上限 {MAX_FILE_BYTES}）"
        ))
        .code(Code::F0122));
    }
    std::fs::read(path).map_err(failed)
}

/// A skill directory as the reference looks at it.
struct Found {
    dir: String,
    dir_name: String,
    is_dir: bool,
    file: Option<(&'static str, Vec<u8>)>,
}

impl Found {
    /// The upper-case file is preferred, as the reference does.
    fn read(dir: &Path, app: &App) -> Result<Self, CliError> {
        let full = app.places.cwd.join(dir);
        let mut found = Self {
            dir: dir.display().to_string(),
            dir_name: dir_name(&full),
            is_dir: full.is_dir(),
            file: None,
        };
        for name in ["SKILL.md", "skill.md"] {
            let path = full.join(name);
            if path.is_file() {
                found.file = Some((name, read_bounded(&path)?));
                break;
            }
        }
        Ok(found)
    }

    fn target(&self) -> reference::Target<'_> {
        let file = self.file.as_ref().map(|(name, bytes)| (*name, bytes.as_slice()));
        reference::Target { dir: &self.dir, dir_name: &self.dir_name, file }
    }
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

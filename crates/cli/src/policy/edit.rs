//! `fugato policy bind | unbind | defaults`: edits that keep comments, show their diff, and never widen silently.

use super::{parse_mode, read_profile_bytes};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::render;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Code, Exit, words};
use fugato_skill::policy::edit::{self, EditError, Edited, List};
use fugato_skill::profile::{Entry, Mode, Profile};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct BindArgs {
    #[command(flatten)]
    target: Target,
    /// Agent id
    #[arg(add = ArgValueCandidates::new(crate::complete::agents))]
    agent: String,
    /// Skill name
    #[arg(add = ArgValueCandidates::new(crate::complete::skills))]
    skill: String,
    /// Put it on the deny list
    #[arg(long)]
    deny: bool,
}

#[derive(Debug, Args)]
pub struct UnbindArgs {
    #[command(flatten)]
    target: Target,
    /// Agent id
    #[arg(add = ArgValueCandidates::new(crate::complete::agents))]
    agent: String,
    /// Skill name
    #[arg(add = ArgValueCandidates::new(crate::complete::skills))]
    skill: String,
    /// Take it from the deny list
    #[arg(long)]
    deny: bool,
}

#[derive(Debug, Args)]
pub struct DefaultsArgs {
    #[command(flatten)]
    target: Target,
    /// The mode-level visible list: names separated by commas, or `*`; an empty value empties it
    #[arg(long, value_name = "NAMES", required_unless_present = "deny")]
    visible: Option<String>,
    /// The mode-level deny list
    #[arg(long, value_name = "NAMES")]
    deny: Option<String>,
}

/// Which file, which mode, and whether to write.
#[derive(Clone, Debug, Args)]
struct Target {
    /// The profile (JSON or JSONC)
    profile: PathBuf,
    /// The mode to edit [default: the profile's]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Show the change and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn bind(args: &BindArgs, app: &mut App) -> Outcome {
    let list = if args.deny { List::Deny } else { List::Visible };
    change(&args.target, app, |text, mode| edit::bind(text, mode, &args.agent, &args.skill, list))
}

pub fn unbind(args: &UnbindArgs, app: &mut App) -> Outcome {
    let list = if args.deny { List::Deny } else { List::Visible };
    change(&args.target, app, |text, mode| edit::unbind(text, mode, &args.agent, &args.skill, list))
}

pub fn defaults(args: &DefaultsArgs, app: &mut App) -> Outcome {
    let (visible, deny) = (entries(args.visible.as_deref())?, entries(args.deny.as_deref())?);
    change(&args.target, app, |text, mode| edit::set_defaults(text, mode, visible.clone(), deny.clone()))
}

/// Names as people separate them, Chinese punctuation included.
fn entries(text: Option<&str>) -> Result<Option<Vec<Entry>>, CliError> {
    let Some(text) = text else { return Ok(None) };
    let names = text.split([',', '，', '、', ' ']).filter(|name| !name.is_empty());
    let entries = names.map(Entry::parse).collect::<Result<Vec<_>, _>>();
    entries.map(Some).map_err(|error| edit_error(&EditError::Entry(error)))
}

fn change(target: &Target, app: &mut App, edit: impl Fn(&str, Mode) -> Result<Edited, EditError>) -> Outcome {
    let path = app.places.cwd.join(&target.profile);
    let bytes = read_profile_bytes(&path)?;
    let shown = app.show_path(&path);
    let parsed = Profile::parse_bytes(&shown, &bytes);
    let Some(profile) = parsed.profile else {
        return Err(CliError::failed(words!(
            "`{shown}` cannot be edited before it can be read",
            "`{shown}` 无法读取，因此不能编辑"
        ))
        .diagnostics(parsed.diagnostics));
    };
    let mode = target.mode.as_deref().map(parse_mode).transpose()?.unwrap_or(profile.mode);
    let text = String::from_utf8(bytes).map_err(|error| CliError::internal(&error))?;
    let edited = edit(&text, mode).map_err(|error| match &error {
        EditError::UnknownAgent { id, .. } => crate::policy::unknown_agent(id, profile.agents(mode)),
        _ => edit_error(&error),
    })?;
    let changed = edited.text != text;
    if changed && !target.dry_run {
        write_unchanged_since(&path, &text, &edited.text)?;
    }
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.policy_edit/v1", "changed": changed, "written": changed && !target.dry_run,
            "diff": edited.diff,
        }))?;
        return Ok(Exit::Ok);
    }
    if changed {
        app.out.line(render::diff(&edited.diff).trim_end())?;
    } else {
        app.out.note(&words!("nothing to change", "无需更改"));
    }
    for note in &edited.notes {
        app.out.note(note);
    }
    if changed && target.dry_run {
        app.out.note(&words!("nothing was written (--dry-run)", "未写入（--dry-run）"));
    }
    Ok(Exit::Ok)
}

/// Two editors never overwrite each other: the file must still be what was read.
fn write_unchanged_since(path: &Path, before: &str, after: &str) -> Result<(), CliError> {
    use fugato_runtime::ReplaceError;
    fugato_runtime::replace_unchanged(path, before.as_bytes(), after.as_bytes()).map_err(
        |error| match error {
            ReplaceError::Changed(_) => CliError::new(
                Exit::Conflict,
                words!("the profile changed while it was being edited", "编辑期间配置文件被修改"),
            )
            .code(Code::F0313)
            .hint(words!("look at it and try again", "请查看后重试")),
            ReplaceError::Io { path, error } => CliError::io("write", &path, &error),
        },
    )
}

fn edit_error(error: &EditError) -> CliError {
    let (exit, code) = match error {
        EditError::UnknownAgent { .. } => (Exit::NotFound, Some(Code::F0220)),
        EditError::NoMode(_) => (Exit::NotFound, Some(Code::F0214)),
        EditError::Entry(_) | EditError::NotForList { .. } => (Exit::Usage, Some(Code::F0212)),
        EditError::Profile(_) => (Exit::Failed, None),
    };
    let mut cli = CliError::new(exit, error.words());
    if let EditError::Profile(diagnostics) = error {
        cli = cli.diagnostics(diagnostics.clone());
    }
    if let Some(hint) = error.hint() {
        cli = cli.hint(hint);
    }
    cli.code = code;
    cli
}

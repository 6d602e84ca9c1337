//! `fugato policy bind | unbind | defaults`: edits that keep comments, show their diff, and never widen silently.

use super::{parse_mode, read_profile_bytes};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::render;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Code, Exit, Words, words};
use fugato_skill::Inventory;
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
    /// The mode-level visible list: names separated by commas, or `*`; an empty value empties it [default: unchanged]
    #[arg(long, value_name = "NAMES", required_unless_present = "deny")]
    visible: Option<String>,
    /// The mode-level deny list [default: unchanged]
    #[arg(long, value_name = "NAMES")]
    deny: Option<String>,
}

/// Which file, which mode, and whether to write.
#[derive(Clone, Debug, Args)]
struct Target {
    /// The profile (JSON or JSONC)
    profile: PathBuf,
    /// The mode to edit [default: the profile's]
    #[arg(long, value_name = "MODE", add = ArgValueCandidates::new(crate::complete::modes))]
    mode: Option<String>,
    /// Show the change and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn bind(args: &BindArgs, app: &mut App) -> Outcome {
    let list = if args.deny { List::Deny } else { List::Visible };
    let (agent, skill) = (&args.agent, &args.skill);
    let idle = words!(
        "nothing to change: `{agent}` lists `{skill}` already",
        "无需更改：`{agent}` 已列出 `{skill}`"
    );
    let done = change(&args.target, idle, app, |text, mode| edit::bind(text, mode, agent, skill, list))?;
    let mut notes = done.edited.notes.clone();
    notes.extend(not_installed([skill.as_str()], list, &done, app)?);
    tell(&args.target, &done, &notes, app)
}

pub fn unbind(args: &UnbindArgs, app: &mut App) -> Outcome {
    let list = if args.deny { List::Deny } else { List::Visible };
    let (agent, skill) = (&args.agent, &args.skill);
    let idle = words!(
        "nothing to change: `{agent}` does not list `{skill}`",
        "无需更改：`{agent}` 没有列出 `{skill}`"
    );
    let done = change(&args.target, idle, app, |text, mode| edit::unbind(text, mode, agent, skill, list))?;
    // What is not installed is not seen through `*` either.
    let is_seen = skill == "*" || done.installed(app)?.get(skill).is_some();
    let notes = if is_seen { done.edited.notes.clone() } else { Vec::new() };
    tell(&args.target, &done, &notes, app)
}

pub fn defaults(args: &DefaultsArgs, app: &mut App) -> Outcome {
    let (visible, deny) = (entries(args.visible.as_deref())?, entries(args.deny.as_deref())?);
    let idle = words!("nothing to change: the lists are like that", "无需更改：列表已是如此");
    let done = change(&args.target, idle, app, |text, mode| {
        edit::set_defaults(text, mode, visible.clone(), deny.clone())
    })?;
    let mut notes = done.edited.notes.clone();
    for (entries, list) in [(visible, List::Visible), (deny, List::Deny)] {
        let entries = entries.unwrap_or_default();
        notes.extend(not_installed(entries.iter().map(Entry::as_str), list, &done, app)?);
    }
    tell(&args.target, &done, &notes, app)
}

/// Names as people separate them, Chinese punctuation included.
fn entries(text: Option<&str>) -> Result<Option<Vec<Entry>>, CliError> {
    let Some(text) = text else { return Ok(None) };
    let names = text.split([',', '，', '、', ' ']).filter(|name| !name.is_empty());
    let entries = names.map(Entry::parse).collect::<Result<Vec<_>, _>>();
    entries.map(Some).map_err(|error| edit_error(&EditError::Entry(error)))
}

/// An edit that was made, or that was not needed.
struct Done {
    edited: Edited,
    profile: Profile,
    shown: String,
    changed: bool,
    idle: Words,
}

impl Done {
    /// The skills this profile meets.
    fn installed(&self, app: &App) -> Result<Inventory, CliError> {
        Ok(app.discover(&app.roots(&SkillSelection::default(), Some(&self.profile))?).inventory)
    }
}

/// Somebody else's edit in between is no reason to give up: ours is made again on what they left. Past this many turns
/// something other than people is writing the file.
const TURNS: usize = 100;

fn change(
    target: &Target,
    idle: Words,
    app: &App,
    edit: impl Fn(&str, Mode) -> Result<Edited, EditError>,
) -> Result<Done, CliError> {
    let path = app.places.cwd.join(&target.profile);
    let shown = app.show_path(&path);
    for _ in 0..TURNS {
        let (text, profile) = read_for_editing(&path, &shown)?;
        let mode = target.mode.as_deref().map(parse_mode).transpose()?.unwrap_or(profile.mode);
        let mut edited = edit(&text, mode).map_err(|error| match &error {
            EditError::UnknownAgent { id, .. } => crate::policy::unknown_agent(id, profile.agents(mode)),
            _ => edit_error(&error),
        })?;
        let changed = edited.text != text;
        if changed && !target.dry_run && !replace(&path, &text, &edited.text)? {
            continue;
        }
        name_the_file(&mut edited, target, &shown);
        return Ok(Done { edited, profile, shown, changed, idle });
    }
    Err(CliError::new(
        Exit::Conflict,
        words!(
            "`{shown}` changed again and again while it was being edited",
            "编辑期间 `{shown}` 不断被修改"
        ),
    )
    .code(Code::F0313)
    .hint(words!("look at it and try again", "请查看后重试")))
}

fn read_for_editing(path: &Path, shown: &str) -> Result<(String, Profile), CliError> {
    let bytes = read_profile_bytes(path)?;
    let parsed = Profile::parse_bytes(shown, &bytes);
    let Some(profile) = parsed.profile else {
        return Err(CliError::failed(words!(
            "`{shown}` cannot be edited before it can be read",
            "`{shown}` 无法读取，因此不能编辑"
        ))
        .diagnostics(parsed.diagnostics));
    };
    let text = String::from_utf8(bytes).map_err(|error| CliError::internal(&error))?;
    Ok((text, profile))
}

/// The editing room knows no files: it says `profile` in the diff and `PROFILE` in commands.
fn name_the_file(edited: &mut Edited, target: &Target, shown: &str) {
    let (before, after) = if Path::new(shown).is_relative() {
        (format!("a/{shown}"), format!("b/{shown}"))
    } else {
        (shown.to_owned(), shown.to_owned())
    };
    let header = format!("--- {before}\n+++ {after}\n");
    edited.diff = edited.diff.replacen("--- a/profile\n+++ b/profile\n", &header, 1);
    let word = format!(" {} ", render::shell_word(&target.profile));
    for note in &mut edited.notes {
        note.en = note.en.replace(" PROFILE ", &word);
        note.zh = note.zh.replace(" PROFILE ", &word);
    }
}

/// Names that nobody will see until they are installed; a person should know that at once.
fn not_installed<'a>(
    names: impl IntoIterator<Item = &'a str>,
    list: List,
    done: &Done,
    app: &App,
) -> Result<Vec<Words>, CliError> {
    let inventory = done.installed(app)?;
    let mut notes = Vec::new();
    for name in names {
        if ["+", "*", "-"].contains(&name) || inventory.get(name).is_some() {
            continue;
        }
        let mut note = match list {
            List::Visible => words!(
                "`{name}` is not installed: agents do not see it until it is",
                "`{name}` 未安装：安装之前代理看不到它"
            ),
            List::Deny => words!(
                "`{name}` is not installed: it denies nothing, and `fugato policy lint` calls it an error",
                "`{name}` 未安装：起不到禁止作用，`fugato policy lint` 会报错"
            ),
        };
        if let Some(near) = fugato_model::nearest(name, inventory.names()) {
            note.en = format!("{}; did you mean `{near}`?", note.en);
            note.zh = format!("{}；是不是想用 `{near}`？", note.zh);
        }
        notes.push(note);
    }
    Ok(notes)
}

fn tell(target: &Target, done: &Done, notes: &[Words], app: &mut App) -> Outcome {
    let written = done.changed && !target.dry_run;
    if app.out.json {
        let notes: Vec<_> = notes.iter().map(|note| app.out.say(note).to_owned()).collect();
        app.out.json(&serde_json::json!({
            "schema": "fugato.policy_edit/v1", "profile": done.shown, "changed": done.changed,
            "written": written, "diff": done.edited.diff, "notes": notes,
        }))?;
        return Ok(Exit::Ok);
    }
    if done.changed {
        app.out.line(render::diff(&done.edited.diff).trim_end())?;
    } else {
        app.out.note(&done.idle);
    }
    for note in notes {
        app.out.note(note);
    }
    if done.changed && target.dry_run {
        app.out.note(&words!("nothing was written (--dry-run)", "未写入（--dry-run）"));
    }
    Ok(Exit::Ok)
}

/// Writes if the file is still what was read; says whether it was.
fn replace(path: &Path, before: &str, after: &str) -> Result<bool, CliError> {
    use fugato_runtime::ReplaceError;
    match fugato_runtime::replace_unchanged(path, before.as_bytes(), after.as_bytes()) {
        Ok(()) => Ok(true),
        Err(ReplaceError::Changed(_)) => Ok(false),
        Err(ReplaceError::Io { path, error }) => Err(CliError::io("write", &path, &error)),
    }
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

//! Shell completion that knows the skills, agents, scopes and codes of this place.

use crate::app::{App, SkillSelection, env_var};
use crate::args::Cli;
use crate::error::{CliError, Outcome};
use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};
use fugato_engine::EventKind;
use fugato_model::{Code, Exit};
use fugato_runtime::config::{Config, SETTINGS};
use fugato_runtime::store::{Reader, RunFilter, RunRow};
use fugato_runtime::view;
use fugato_runtime::{Places, discover, roots};
use fugato_skill::profile::{Mode, Profile};
use std::path::{Path, PathBuf};

/// Shells that can be completed for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

impl Shell {
    const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Elvish => "elvish",
            Self::Powershell => "powershell",
        }
    }
}

/// Print the completion script of a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell; for bash: source <(fugato completions bash)
    shell: Shell,
}

/// When a shell asks for candidates (through `COMPLETE`), answers and ends the process.
pub fn answer_shell() {
    CompleteEnv::with_factory(Cli::command).complete();
}

pub fn run(args: &CompletionsArgs, app: &mut App) -> Outcome {
    app.refuse_json("completions")?;
    let shells = Shells::builtins();
    let completer = shells
        .completer(args.shell.name())
        .ok_or_else(|| CliError::internal(&std::io::Error::other("unknown shell")))?;
    let mut script = Vec::new();
    completer
        .write_registration("COMPLETE", "fugato", "fugato", "fugato", &mut script)
        .map_err(|error| CliError::output(&error))?;
    app.out.raw(&script)?;
    Ok(Exit::Ok)
}

/// Names of usable skills with their descriptions.
pub fn skills() -> Vec<CompletionCandidate> {
    let Ok(places) = Places::current() else { return Vec::new() };
    let (config, _) = Config::load(&places, env_var, &[]);
    let selection = crate::app::selection_of(&config, &SkillSelection::default(), &places);
    let found = discover(&roots(&places, &selection), Some(&places.index_file()));
    found
        .inventory
        .all()
        .iter()
        .filter(|skill| skill.usable && !found.inventory.is_shadowed(skill))
        .map(|skill| {
            let help: String = skill.head.description.chars().take(60).collect();
            CompletionCandidate::new(skill.label()).help(Some(help.replace('\n', " ").into()))
        })
        .collect()
}

/// Runs of this project, newest first.
pub fn runs() -> Vec<CompletionCandidate> {
    let Some(reader) = store() else { return Vec::new() };
    let filter = RunFilter { limit: Some(100), ..RunFilter::default() };
    let rows = reader.runs(&filter).unwrap_or_default();
    let describe = |row: RunRow| {
        let title: String = row.title.clone().unwrap_or_default().chars().take(60).collect();
        let title = fugato_model::escape_for_terminal(&title).into_owned();
        let help = format!("{} {title}", row.effective_status());
        CompletionCandidate::new(row.id).help(Some(help.into()))
    };
    rows.into_iter().map(describe).collect()
}

/// Conversations with the orchestrator on the command line; of all, when none is named. The last one first.
pub fn conversations() -> Vec<CompletionCandidate> {
    let Some(reader) = store() else { return Vec::new() };
    let rows = reader.conversations().unwrap_or_default();
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let is_named = rows.iter().any(|row| typed.contains(&row.orchestrator));
    let mut seen = std::collections::HashSet::new();
    rows.into_iter()
        .filter(|row| !is_named || typed.contains(&row.orchestrator))
        .filter(|row| seen.insert(row.name.clone()))
        .map(|row| {
            let help = format!("{} {}", row.newest.effective_status(), row.orchestrator);
            let help = fugato_model::escape_for_terminal(&help).into_owned();
            CompletionCandidate::new(row.name).help(Some(help.into()))
        })
        .collect()
}

/// Phases and nodes of the run on the command line, or of the newest.
pub fn nodes() -> Vec<CompletionCandidate> {
    let Some(reader) = store() else { return Vec::new() };
    let typed = std::env::args().skip(1).find_map(|word| reader.run(&word).ok());
    let newest =
        || reader.runs(&RunFilter { limit: Some(1), ..RunFilter::default() }).ok()?.into_iter().next();
    let Some(row) = typed.or_else(newest) else { return Vec::new() };
    let first = reader.events(&row.id, 1, 1).ok().and_then(|mut events| events.next());
    let Some(Ok((seq, bytes))) = first else { return Vec::new() };
    match fugato_runtime::runs::decode(seq, &bytes, &reader).map(|event| event.kind) {
        Ok(EventKind::RunCreated { spec }) => {
            spec.plan.names().into_iter().map(CompletionCandidate::new).collect()
        }
        _ => Vec::new(),
    }
}

fn store() -> Option<Reader> {
    let places = Places::current().ok()?;
    let dir = fugato_runtime::state_dir(&places, env_var("HARNESS_DIR").as_deref());
    Reader::open(&dir).ok().flatten()
}

/// Agents of the active run, and `all`.
pub fn agents_of_run() -> Vec<CompletionCandidate> {
    let Ok(places) = Places::current() else { return Vec::new() };
    let dir = fugato_runtime::state_dir(&places, env_var("HARNESS_DIR").as_deref());
    let view = || {
        let reader = Reader::open(&dir).ok()??;
        match view::active(&reader, &dir).ok()? {
            view::Active::Run(row) => view::of_run(&dir, &reader, &row).ok(),
            _ => None,
        }
    };
    let agents = view().map(|view| view.agents).unwrap_or_default();
    let described = agents.into_iter().map(|agent| {
        let status = fugato_model::escape_for_terminal(agent.status.as_str()).into_owned();
        CompletionCandidate::new(agent.id).help(Some(status.into()))
    });
    described.chain([CompletionCandidate::new("all")]).collect()
}

/// What can go on: agents of the active run, and runs.
pub fn resumable() -> Vec<CompletionCandidate> {
    agents_of_run().into_iter().chain(runs()).collect()
}

/// Kinds of agents of this place.
pub fn kinds() -> Vec<CompletionCandidate> {
    let Ok(places) = Places::current() else { return Vec::new() };
    let describe = |known: fugato_runtime::agents::Known| {
        let help: String = known.agent.description.chars().take(60).collect();
        let help = fugato_model::escape_for_terminal(&help.replace('\n', " ")).into_owned();
        CompletionCandidate::new(known.agent.name).help(Some(help.into()))
    };
    fugato_runtime::agents::agent_types(&places).types.into_iter().map(describe).collect()
}

/// Every error code.
pub fn codes() -> Vec<CompletionCandidate> {
    Code::ALL
        .iter()
        .map(|code| CompletionCandidate::new(code.as_str()).help(Some(code.title().into())))
        .collect()
}

/// Scopes: the fixed ones, and the presets and characters that exist.
pub fn scopes() -> Vec<CompletionCandidate> {
    let mut names = vec!["global".to_owned(), "project".to_owned()];
    for kind in ["preset", "character"] {
        names.extend(of_kind(kind).into_iter().map(|name| format!("{kind}:{name}")));
    }
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// The modes a profile can have.
pub fn modes() -> Vec<CompletionCandidate> {
    Mode::ALL.iter().map(|mode| CompletionCandidate::new(mode.as_str())).collect()
}

/// Keys of the settings.
pub fn settings() -> Vec<CompletionCandidate> {
    SETTINGS
        .iter()
        .map(|setting| CompletionCandidate::new(setting.key).help(Some(setting.doc_en.into())))
        .collect()
}

/// Presets that exist.
pub fn presets() -> Vec<CompletionCandidate> {
    of_kind("preset").into_iter().map(CompletionCandidate::new).collect()
}

/// Characters that exist.
pub fn characters() -> Vec<CompletionCandidate> {
    of_kind("character").into_iter().map(CompletionCandidate::new).collect()
}

fn of_kind(kind: &str) -> Vec<String> {
    let Ok(places) = Places::current() else { return Vec::new() };
    let entries = std::fs::read_dir(places.home.join("skills").join(kind)).into_iter().flatten();
    let mut names: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Agents of the profile on the command line; before one is typed, of the profiles that stand in this directory.
pub fn agents() -> Vec<CompletionCandidate> {
    let mut names = Vec::new();
    for path in std::env::args_os().skip(1).map(PathBuf::from).filter(|path| is_profile_name(path)) {
        names.extend(agents_of(&path));
    }
    if names.is_empty() {
        let entries = std::fs::read_dir(".").into_iter().flatten().filter_map(Result::ok);
        let here = entries.map(|entry| entry.path()).filter(|path| is_profile_name(path));
        names.extend(here.flat_map(|path| agents_of(&path)));
    }
    names.sort();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn is_profile_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "jsonc")
}

/// None for what is no profile; somebody's huge data file is not read.
fn agents_of(path: &Path) -> Vec<String> {
    let Ok(bytes) = crate::policy::read_profile_bytes(path) else { return Vec::new() };
    let Some(profile) = Profile::parse_bytes("", &bytes).profile else { return Vec::new() };
    profile.agents(profile.mode).iter().map(|agent| agent.id.to_string()).collect()
}

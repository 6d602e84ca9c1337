//! Shell completion that knows the skills, agents, scopes and codes of this place.

use crate::app::{App, SkillSelection, env_var};
use crate::args::Cli;
use crate::error::{CliError, Outcome};
use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};
use fugato_model::{Code, Exit};
use fugato_runtime::config::Config;
use fugato_runtime::{Places, discover, roots};

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
    if let Ok(places) = Places::current() {
        for kind in ["preset", "character"] {
            let entries = std::fs::read_dir(places.home.join("skills").join(kind));
            names.extend(
                entries
                    .into_iter()
                    .flatten()
                    .filter_map(Result::ok)
                    .map(|entry| format!("{kind}:{}", entry.file_name().to_string_lossy())),
            );
        }
    }
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Agents of the profiles that stand in this directory.
pub fn agents() -> Vec<CompletionCandidate> {
    let entries = std::fs::read_dir(".").into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "json" || e == "jsonc"))
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .filter(|text| text.contains("\"mode\""))
        .filter_map(|text| fugato_skill::profile::Profile::parse("", &text).profile)
        .flat_map(|profile| {
            profile.agents(profile.mode).iter().map(|agent| agent.id.to_string()).collect::<Vec<_>>()
        })
        .collect();
    names.sort();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

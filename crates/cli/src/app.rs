//! What every command needs: places, configuration, the printer, and the skills on demand.

use crate::args::Global;
use crate::error::CliError;
use crate::printer::Printer;
use crate::render::{self, Width};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Lang, words};
use fugato_runtime::config::Config;
use fugato_runtime::store::Redactor;
use fugato_runtime::{Discovery, Places, Root, Selection, discover, roots};
use fugato_skill::profile::Profile;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The context of one invocation.
#[derive(Debug)]
pub struct App {
    pub places: Places,
    pub config: Config,
    pub out: Printer,
    secrets: OnceLock<Arc<Redactor>>,
}

/// Which skills a command looks at, besides the usual places.
#[derive(Clone, Debug, Default, Args)]
pub struct SkillSelection {
    /// Also look in this directory (scope global; repeatable) [default: from the settings]
    #[arg(long = "skills", value_name = "DIR")]
    pub skills: Vec<PathBuf>,
    /// Use the skills of this preset [default: from the profile, then the settings]
    #[arg(long, value_name = "NAME", env = "FUGATO_PRESET", hide_env_values = true, add = ArgValueCandidates::new(crate::complete::presets))]
    pub preset: Option<String>,
    /// Use the skills of this character [default: from the profile, then the settings]
    #[arg(long, value_name = "NAME", env = "FUGATO_CHARACTER", hide_env_values = true, add = ArgValueCandidates::new(crate::complete::characters))]
    pub character: Option<String>,
}

impl App {
    pub fn new(global: &Global) -> Result<Self, CliError> {
        let mut places = Places::current().map_err(|error| {
            CliError::not_found(error.words())
                .hint(words!("change to an existing directory and try again", "请先切换到存在的目录再试"))
        })?;
        if let Some(dir) = &global.directory {
            let dir = places.cwd.join(dir);
            places.cwd = dir.canonicalize().map_err(|error| CliError::io("enter", &dir, &error))?;
        }
        let flags: Vec<(&str, String)> = global.lang.iter().map(|lang| ("lang", lang.clone())).collect();
        let (config, problems) = Config::load(&places, env_var, &flags);
        let lang = config.lang().unwrap_or_else(lang_before_parsing);
        let width = if config.ambiguous_width() == 2 { Width::Wide } else { Width::Narrow };
        let mut out = Printer::new(lang, width, global.json);
        for problem in &problems {
            let text = render::report(problem, &out);
            out.aside(&text);
        }
        Ok(Self { places, config, out, secrets: OnceLock::new() })
    }

    /// What must appear nowhere: variables whose names sound secret, and every key as soon as it is known.
    pub fn secrets(&self) -> Arc<Redactor> {
        Arc::clone(self.secrets.get_or_init(|| Arc::new(Redactor::from_environment([]))))
    }

    /// Roots for these flags; what the flags leave open comes from the profile, then from the configuration.
    /// A directory that was asked for by hand must be there.
    pub fn roots(
        &self,
        selection: &SkillSelection,
        profile: Option<&Profile>,
    ) -> Result<Vec<Root>, CliError> {
        for dir in &selection.skills {
            let full = self.places.cwd.join(dir);
            let found = std::fs::metadata(&full).map_err(|error| CliError::io("read", dir, &error))?;
            if !found.is_dir() {
                let shown = self.show_path(&full);
                return Err(CliError::usage(words!(
                    "--skills: `{shown}` is not a directory",
                    "--skills：`{shown}` 不是目录"
                )));
            }
        }
        let mut wanted = selection_of(&self.config, selection, &self.places);
        if let Some(profile) = profile {
            wanted.preset = selection.preset.clone().or_else(|| profile.preset.clone()).or(wanted.preset);
            wanted.character =
                selection.character.clone().or_else(|| profile.character.clone()).or(wanted.character);
        }
        Ok(roots(&self.places, &wanted))
    }

    /// Finds all skills, using and renewing the index.
    pub fn discover(&self, roots: &[Root]) -> Discovery {
        discover(roots, Some(&self.places.index_file()))
    }

    /// For the few commands whose answer is text by nature: a promise of JSON must not end in something else.
    pub fn refuse_json(&self, command: &str) -> Result<(), CliError> {
        if !self.out.json {
            return Ok(());
        }
        Err(CliError::usage(words!(
            "`fugato {command}` has no JSON form",
            "`fugato {command}` 没有 JSON 形式"
        ))
        .hint(words!("leave out --json", "请去掉 --json")))
    }

    /// A path as people would name it from here.
    pub fn show_path(&self, path: &Path) -> String {
        self.places.show(path)
    }
}

/// Flags over configuration.
pub fn selection_of(config: &Config, flags: &SkillSelection, places: &Places) -> Selection {
    let mut selection = config.selection();
    selection.extra.extend(flags.skills.iter().map(|dir| places.cwd.join(dir)));
    selection.preset = flags.preset.clone().or(selection.preset);
    selection.character = flags.character.clone().or(selection.character);
    selection
}

pub fn env_var(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The language before the configuration is known: `--lang`, `FUGATO_LANG`, then the locale.
pub fn lang_before_parsing() -> Lang {
    let mut args = std::env::args_os().skip(1);
    let mut flag = None;
    while let Some(arg) = args.next() {
        let Some(arg) = arg.to_str() else { continue };
        if arg == "--" {
            break;
        }
        if arg == "--lang" {
            flag = args.next().and_then(|value| value.into_string().ok());
        } else if let Some(value) = arg.strip_prefix("--lang=") {
            flag = Some(value.to_owned());
        }
    }
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    flag.or_else(|| var("FUGATO_LANG"))
        .or_else(|| var("LC_ALL"))
        .or_else(|| var("LC_MESSAGES"))
        .or_else(|| var("LANG"))
        .and_then(|tag| Lang::from_tag(&tag))
        .unwrap_or_default()
}

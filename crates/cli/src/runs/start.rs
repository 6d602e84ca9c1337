//! `fugato run SKILL`: from a skill and what was typed to a run.

pub use super::drive::{Watching, drive};
use super::{state, store_error};
use crate::app::{App, SkillSelection, env_var};
use crate::error::{CliError, Outcome};
use crate::skill::unknown_skill;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Limits, Run};
use fugato_model::{Exit, words};
use fugato_runtime::models::{ModelSettings, Models};
use fugato_runtime::runs::{Session, StartError, Started, World, plan_run};
use fugato_runtime::store::Store;
use fugato_skill::Installed;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Run a skill.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Name of the skill, or a path to its directory
    #[arg(add = ArgValueCandidates::new(crate::complete::skills))]
    skill: String,
    /// Arguments of the skill
    arguments: Vec<String>,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    selection: SkillSelection,
}

/// How a run is carried out.
#[derive(Clone, Debug, Args)]
pub struct HowArgs {
    /// The model, as provider/name, `script:FILE` or `echo` [default: the first provider with a key]
    #[arg(long, env = "FUGATO_MODEL", value_name = "MODEL")]
    pub model: Option<String>,
    /// Set a variable (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub sets: Vec<String>,
    /// Stop before the run costs more than this
    #[arg(long, value_name = "USD")]
    pub budget_usd: Option<f64>,
    /// Stop before the run uses more tokens than this
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<u64>,
    /// At most this many nodes at once
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub concurrent: u32,
    /// Print each event as one line of JSON
    #[arg(long)]
    pub jsonl: bool,
    /// With --jsonl: also the text of models as it arrives
    #[arg(long, requires = "jsonl")]
    pub stream: bool,
    /// Never ask on the terminal: leave the question open and end
    #[arg(long)]
    pub no_input: bool,
}

impl HowArgs {
    pub fn watching(&self) -> Watching {
        Watching { jsonl: self.jsonl, stream: self.stream, no_input: self.no_input }
    }

    pub fn limits(&self) -> Result<Limits, CliError> {
        let micro_usd = match self.budget_usd {
            None => None,
            Some(usd) if usd.is_finite() && (0.0..1e9).contains(&usd) =>
            {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked range")]
                Some((usd * 1e6) as u64)
            }
            Some(usd) => {
                return Err(CliError::usage(words!(
                    "--budget-usd: found {usd}, expected 0 to 1e9",
                    "--budget-usd：值为 {usd}，应在 0 到 1e9 之间"
                )));
            }
        };
        if self.concurrent == 0 {
            return Err(CliError::usage(words!("--concurrent must be at least 1", "--concurrent 至少为 1")));
        }
        Ok(Limits { micro_usd, tokens: self.budget_tokens, concurrent: self.concurrent, ..Limits::default() })
    }
}

pub fn run(args: &RunArgs, app: &mut App) -> Outcome {
    let skill = find_skill(&args.skill, &args.selection, app)?;
    let models = Models::from_env(&env_var, ModelSettings::default());
    let model = match &args.how.model {
        Some(model) => pinned(model, app),
        None => models.default_model().map_err(|none| {
            CliError::new(Exit::Refused, none.words).hint(words!(
                "to see it work without any model: fugato demo",
                "不需要模型即可体验：fugato demo"
            ))
        })?,
    };
    let started = Started {
        arguments: args.arguments.join(" "),
        sets: sets(&args.how.sets)?,
        model,
        limits: args.how.limits()?,
        catalog: String::new(),
        utc_offset: 0,
    };
    let (spec, warnings) = plan_run(&skill, &started).map_err(|error| start_error(&error, &skill))?;
    for warning in &warnings {
        let text = crate::render::report(warning, &app.out);
        app.out.aside(&text);
    }
    let dir = state(app);
    let world = Arc::new(World::new(
        models,
        skill.dir.clone(),
        app.places.cwd.clone(),
        dir.join("runs").join(&spec.id).join("scratch"),
        std::env::vars_os(),
    ));
    let store = Store::open(&dir).map_err(|error| store_error(&error))?;
    let id = spec.id.clone();
    app.out.note(&words!("run {id}", "运行 {id}"));
    drive(app, &args.how.watching(), move |watcher| Session::create(store, spec, world, watcher))
}

/// A scripted model is named by a path: whole, so that the run can be resumed from anywhere.
fn pinned(model: &str, app: &App) -> String {
    match model.strip_prefix("script:") {
        Some(file) => format!("script:{}", app.places.cwd.join(file).display()),
        None => model.to_owned(),
    }
}

pub fn find_skill(name: &str, selection: &SkillSelection, app: &App) -> Result<Installed, CliError> {
    let path = app.places.cwd.join(name);
    if (name.contains('/') || name.starts_with('.')) && path.exists() {
        let found = fugato_runtime::discover_paths(&[path]).inventory;
        let skill = found.all().first().cloned();
        return skill.filter(|skill| skill.usable).ok_or_else(|| unknown_skill(name, &found));
    }
    let inventory = app.discover(&app.roots(selection, None)?).inventory;
    inventory.get(name).cloned().ok_or_else(|| unknown_skill(name, &inventory))
}

fn sets(given: &[String]) -> Result<BTreeMap<String, serde_json::Value>, CliError> {
    given
        .iter()
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if fugato_skill::VarName::parse(name).is_ok() => {
                Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
            }
            _ => Err(CliError::usage(words!(
                "--set: found `{pair}`, expected NAME=VALUE",
                "--set：值为 `{pair}`，应为 名称=值"
            ))),
        })
        .collect()
}

pub fn start_error(error: &StartError, skill: &Installed) -> CliError {
    let name = skill.label();
    match error {
        StartError::Invalid(diagnostics) => {
            CliError::failed(words!("`{name}` cannot be run", "`{name}` 无法运行"))
                .diagnostics(diagnostics.clone())
        }
        StartError::Internal(words) => CliError::new(Exit::Refused, words.clone()),
        StartError::File(error) => CliError::failed(error.words()),
    }
}

/// The scratch directory and skill directory a resumed run works with.
pub fn world_of(run: &Run, models: Models, app: &App) -> Arc<World> {
    let scratch = state(app).join("runs").join(&run.spec.id).join("scratch");
    Arc::new(World::new(
        models,
        PathBuf::from(&run.spec.skill.dir),
        app.places.cwd.clone(),
        scratch,
        std::env::vars_os(),
    ))
}

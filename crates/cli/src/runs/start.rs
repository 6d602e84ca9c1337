//! `fugato run SKILL`: from a skill and what was typed to a run.

use super::confine::{SandboxArgs, sandbox, warn};
pub use super::drive::{Watching, drive};
use super::go::AgentHost;
use super::models::{model_if_any, models, store};
use super::{detach, run_error, skills, state};
use crate::agents::{AgentSelection, known_agents};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::policy::AgentView;
use crate::skill::unknown_skill;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{AgentType, Executor, Limits, Run, RunSpec};
use fugato_model::{Exit, words};
use fugato_runtime::models::Models;
use fugato_runtime::runs::{Hosts, Session, Shelf, StartError, Started, World, let_do, plan_run};
use fugato_runtime::wiring::Program;
use fugato_skill::{Installed, Inventory};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Run a skill.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Name of the skill, or a path to its directory
    #[arg(required_unless_present = "resume", add = ArgValueCandidates::new(crate::complete::skills))]
    skill: Option<String>,
    /// Arguments of the skill
    arguments: Vec<String>,
    /// Go on with this run instead, as `fugato resume RUN` does
    #[arg(long, value_name = "RUN", conflicts_with_all = ["skill", "arguments"], add = ArgValueCandidates::new(crate::complete::runs))]
    resume: Option<String>,
    #[command(flatten)]
    pub how: HowArgs,
    /// What does the work of agents without a kind of their own: a model, or Claude Code or Codex as a child process
    #[arg(long, value_name = "HOST", default_value = "model")]
    agent_host: AgentHost,
    /// Start it and go on: it works in the background, and leaves questions open
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    detach: bool,
    #[command(flatten)]
    view: AgentView,
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
    /// Stop when the run has worked this long (`90s`, `10m`, `2h`)
    #[arg(long, value_name = "TIME")]
    pub budget_time: Option<String>,
    /// Model calls one agent may make [default: 50; of an earlier run, what it had]
    #[arg(long, value_name = "N")]
    pub steps: Option<u32>,
    /// At most this many nodes at once [default: 4; of an earlier run, what it had]
    #[arg(long, value_name = "N")]
    pub concurrent: Option<u32>,
    /// Print each event as one line of JSON
    #[arg(long)]
    pub jsonl: bool,
    /// With --jsonl: also the text of models and what scripts write, as it arrives
    #[arg(long, requires = "jsonl")]
    pub stream: bool,
    /// Never ask on the terminal: leave the question open and end
    #[arg(long)]
    pub no_input: bool,
    #[command(flatten)]
    pub sandbox: SandboxArgs,
}

impl HowArgs {
    pub fn watching(&self) -> Watching {
        Watching { jsonl: self.jsonl, stream: self.stream, no_input: self.no_input }
    }

    /// The limits a run has, with what was given on the command line.
    pub fn limits(&self, before: &Limits) -> Result<Limits, CliError> {
        let mut limits = before.clone();
        match self.budget_usd {
            None => {}
            Some(usd) if usd.is_finite() && (0.0..1e9).contains(&usd) => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked range")]
                limits.micro_usd.replace((usd * 1e6) as u64);
            }
            Some(usd) => {
                return Err(CliError::usage(words!(
                    "--budget-usd: found {usd}, expected 0 to 1e9",
                    "--budget-usd：值为 {usd}，应在 0 到 1e9 之间"
                )));
            }
        }
        for (flag, given) in [("--concurrent", self.concurrent), ("--steps", self.steps)] {
            if given == Some(0) {
                return Err(CliError::usage(words!("{flag} must be at least 1", "{flag} 至少为 1")));
            }
        }
        limits.concurrent = self.concurrent.unwrap_or(limits.concurrent);
        limits.steps = self.steps.unwrap_or(limits.steps);
        limits.tokens = self.budget_tokens.or(limits.tokens);
        limits.wall_ms = self.budget_time.as_deref().map(milliseconds).transpose()?.or(limits.wall_ms);
        Ok(limits)
    }
}

pub fn run(args: &RunArgs, app: &mut App) -> Outcome {
    let name = match (&args.resume, &args.skill) {
        (Some(run), _) => return super::resume::go_on(Some(run), &args.how, app),
        // One of the two is required.
        (None, skill) => skill.as_deref().unwrap_or_default(),
    };
    let host = args.agent_host.host();
    if let Some(lacking) = host.and_then(|host| hosts(app).lacks(host)) {
        return Err(CliError::not_found(lacking));
    }
    let (skill, installed) = find_among(name, &args.selection, app)?;
    let models = models(app);
    let typed = args.how.model.as_deref();
    let (model, lacking) = model_if_any(args.agent_host.model(typed, &models, app), typed)?;
    let asked = Asked { how: &args.how, view: &args.view, selection: &args.selection };
    let mut started = asked.started(args.arguments.join(" "), app)?;
    started.rates = models.rate(&model).map(|rate| (model.clone(), rate)).into_iter().collect();
    (started.model, started.installed) = (model, installed);
    let (mut spec, warnings) = plan_run(&skill, &started).map_err(|error| start_error(&error, &skill))?;
    if let Some(lacking) = lacking.filter(|_| spec.asks_a_model()) {
        return Err(lacking);
    }
    if let Some(kind) = args.agent_host.kind() {
        let_do(&mut spec, kind);
    }
    for warning in &warnings {
        let text = crate::render::report(warning, &app.out);
        app.out.aside(&text);
    }
    let shelf = skills::shelf(&args.selection, app)?;
    let world = world_with(&spec, models, &args.how.sandbox, shelf, app);
    begin(spec, world, &args.how, args.detach, app)
}

/// What a person typed about a request besides the request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub how: &'a HowArgs,
    pub view: &'a AgentView,
    pub selection: &'a SkillSelection,
}

impl Asked<'_> {
    /// The request, but for its model and the skills that are installed.
    pub fn started(&self, arguments: String, app: &App) -> Result<Started, CliError> {
        let visible = skills::visible(self.view, self.selection, app)?;
        Ok(Started {
            permissions: super::confine::permissions(app)?,
            arguments,
            sets: sets(&self.how.sets)?,
            limits: self.how.limits(&Limits::default())?,
            catalog: visible.catalog,
            visible: visible.names,
            types: phase_types(self.view, app)?,
            policy: skills::policy(self.view, self.selection, app)?,
            orchestration: app.config.orchestration(),
            ..Started::default()
        })
    }
}

/// Creates the run, and drives it here or leaves it to a process of its own.
pub fn begin(spec: RunSpec, world: Arc<World>, how: &HowArgs, is_detached: bool, app: &mut App) -> Outcome {
    let store = store(app)?;
    let id = spec.id.clone();
    app.out.note(&words!("run {id}", "运行 {id}"));
    warn_of_codex(&spec, app);
    if is_detached {
        let session =
            Session::create(store, spec, world, Box::new(|_| {})).map_err(|error| run_error(&error))?;
        // It lets go of the run; the process that takes over goes on from the log, as after a crash.
        drop(session);
        return detach::start(&id, &how.sandbox, app);
    }
    drive(app, &how.watching(), move |watcher| Session::begin(store, spec, world, watcher))
}

/// The kinds of agents that phases may name. What is wrong with a file of one that none names is `agents check`'s to tell.
pub fn phase_types(view: &AgentView, app: &App) -> Result<Vec<AgentType>, CliError> {
    Ok(known_agents(&AgentSelection { profile: view.profile() }, app)?.list())
}

/// `90s`, `10m`, `2h`; a bare number is seconds.
fn milliseconds(text: &str) -> Result<u64, CliError> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).unwrap_or_default();
    let factor = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let found =
        digits.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    found.filter(|ms| *ms > 0).ok_or_else(|| {
        let shown = fugato_model::escape_for_terminal(text).into_owned();
        CliError::usage(words!(
            "--budget-time: found `{shown}`, expected a time such as 90s, 10m or 2h",
            "--budget-time：值为 `{shown}`，应为 90s、10m 或 2h 这样的时间"
        ))
    })
}

/// The skill, and what its phases may name besides their own parts. One that is run by its path may name installed ones, too.
pub fn find_among(
    name: &str,
    selection: &SkillSelection,
    app: &App,
) -> Result<(Installed, Arc<Inventory>), CliError> {
    let path = app.places.cwd.join(name);
    let inventory = app.discover(&app.roots(selection, None)?).inventory;
    if (name.contains('/') || name.starts_with('.')) && path.exists() {
        let found = fugato_runtime::discover_paths(&[path]).inventory;
        let skill = found.all().first().cloned();
        let skill = skill.filter(|skill| skill.usable).ok_or_else(|| unknown_skill(name, &found))?;
        return Ok((skill, Arc::new(inventory)));
    }
    let skill = inventory.get(name).cloned().ok_or_else(|| unknown_skill(name, &inventory))?;
    Ok((skill, Arc::new(inventory)))
}

pub fn sets(given: &[String]) -> Result<BTreeMap<String, serde_json::Value>, CliError> {
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
pub fn world_of(run: &Run, models: Models, how: &SandboxArgs, app: &mut App) -> Arc<World> {
    world_of_spec(&run.spec, models, how, app)
}

pub fn world_of_spec(spec: &RunSpec, models: Models, how: &SandboxArgs, app: &mut App) -> Arc<World> {
    // Roots that cannot be had leave the agents without skills, not the run without agents.
    let shelf = skills::shelf(&SkillSelection::default(), app).unwrap_or_else(|_| Shelf::empty());
    world_with(spec, models, how, shelf, app)
}

/// The same with these skills to read.
pub fn world_with(
    spec: &RunSpec,
    models: Models,
    how: &SandboxArgs,
    shelf: Shelf,
    app: &mut App,
) -> Arc<World> {
    let scratch = state(app).join("runs").join(&spec.id).join("scratch");
    let world = World::new(
        models,
        PathBuf::from(&spec.skill.dir),
        app.places.cwd.clone(),
        scratch,
        std::env::vars_os(),
    );
    let sandbox = sandbox(how, app);
    warn(&sandbox, app);
    let world = world.with_sandbox(sandbox).with_skills(shelf).with_web(super::web(app));
    Arc::new(world.with_hosts(hosts(app)).with_memory(app.config.memory_of_agents()))
}

/// Other programs that can do an agent's work.
pub fn hosts(app: &App) -> Hosts {
    let all: Vec<_> = std::env::vars_os().collect();
    let hosts = Hosts::new(|host| app.config.host_settings(host), &all);
    // Without it a host is stopped from outside alone.
    match std::env::current_exe() {
        Ok(own) => hosts.with_hook(Program::beside(&own)),
        Err(_) => hosts,
    }
}

/// Rules that nobody keeps are said before anything is done.
fn warn_of_codex(spec: &RunSpec, app: &mut App) {
    let rules = &spec.permissions.rules;
    let has_rules = !rules.deny.is_empty() || !rules.ask.is_empty();
    if has_rules && spec.types.values().any(|kind| kind.executor == Executor::Codex) {
        app.out.note(&words!(
            "warning: Codex keeps no `deny` or `ask` rules; for its agents only read-only or not counts",
            "警告：Codex 不遵守 `deny` 或 `ask` 规则；对它的代理只有是否只读有效"
        ));
    }
}

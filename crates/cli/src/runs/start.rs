//! `fugato run SKILL`: create a run, watch it, ask the person what it asks.

use super::reporter::{self, Reporter};
use super::{run_error, skills, state, store_error};
use crate::app::{App, SkillSelection, env_var};
use crate::error::{CliError, Outcome};
use crate::policy::AgentView;
use crate::skill::unknown_skill;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Event, Input, Limits, Outcome as Ended, Run};
use fugato_model::{Exit, words};
use fugato_runtime::models::{ModelSettings, Models};
use fugato_runtime::runs::{Control, End, Notice, Session, Shelf, StartError, Started, World, plan_run};
use fugato_runtime::store::Store;
use fugato_skill::Installed;
use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

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
    /// Model calls one agent may make [default: 50]
    #[arg(long, value_name = "N")]
    pub steps: Option<u32>,
    /// At most this many nodes at once [default: 4]
    #[arg(long, value_name = "N")]
    pub concurrent: Option<u32>,
    /// Print each event as one line of JSON
    #[arg(long)]
    pub jsonl: bool,
    /// Never ask on the terminal: leave the question open and end
    #[arg(long)]
    pub no_input: bool,
}

/// How the person watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watching {
    pub jsonl: bool,
    pub no_input: bool,
}

impl HowArgs {
    pub fn watching(&self) -> Watching {
        Watching { jsonl: self.jsonl, no_input: self.no_input }
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
    let visible = skills::visible(&args.view, &args.selection, app)?;
    let started = Started {
        arguments: args.arguments.join(" "),
        sets: sets(&args.how.sets)?,
        rates: models.rate(&model).map(|rate| (model.clone(), rate)).into_iter().collect(),
        model,
        limits: args.how.limits(&Limits::default())?,
        catalog: visible.catalog,
        visible: visible.names,
        utc_offset: 0,
    };
    let (spec, warnings) = plan_run(&skill, &started).map_err(|error| start_error(&error, &skill))?;
    for warning in &warnings {
        let text = crate::render::report(warning, &app.out);
        app.out.aside(&text);
    }
    let dir = state(app);
    let world = World::new(
        models,
        skill.dir.clone(),
        app.places.cwd.clone(),
        dir.join("runs").join(&spec.id).join("scratch"),
        std::env::vars_os(),
    );
    let world = Arc::new(world.with_skills(skills::shelf(&args.selection, app)?));
    let store = Store::open(&dir).map_err(|error| store_error(&error))?;
    let id = spec.id.clone();
    app.out.note(&words!("run {id}", "运行 {id}"));
    drive(app, &args.how.watching(), move |watcher| Session::create(store, spec, world, watcher))
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

type Watcher = Box<dyn FnMut(Notice) + Send>;

/// Opens a session and drives it on this thread's runtime, with progress, questions and Ctrl-C.
pub fn drive(
    app: &mut App,
    watching: &Watching,
    open: impl FnOnce(Watcher) -> Result<Session, fugato_runtime::runs::RunError>,
) -> Outcome {
    let (tell, mut told) = mpsc::unbounded_channel::<Notice>();
    // The watcher runs inside the session's commit: it only hands over.
    let watcher: Watcher = Box::new(move |notice| {
        let _ = tell.send(notice);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::internal(&error))?;
    let mut session = {
        let _inside = runtime.enter();
        open(watcher).map_err(|error| run_error(&error))?
    };
    let mut follower = Follower {
        reporter: Reporter::default(),
        run: None,
        jsonl: watching.jsonl,
        first_at: None,
        last_at: 0,
    };
    loop {
        let end = runtime.block_on(async {
            let (controls, inbox) = mpsc::channel(16);
            let interrupted = controls.clone();
            let signal = tokio::spawn(async move {
                if tokio::signal::ctrl_c().await.is_ok() {
                    let _ = interrupted.send(Control::Stop).await;
                    if tokio::signal::ctrl_c().await.is_ok() {
                        std::process::exit(i32::from(Exit::Interrupted.code()));
                    }
                }
            });
            let end = {
                let mut work = std::pin::pin!(session.drive(inbox));
                loop {
                    tokio::select! {
                        end = &mut work => break end,
                        Some(notice) = told.recv() => follower.notice(notice, app),
                    }
                }
            };
            signal.abort();
            drop(controls);
            end
        });
        while let Ok(notice) = told.try_recv() {
            follower.notice(notice, app);
        }
        let end = end.map_err(|error| run_error(&error))?;
        match end {
            End::AwaitingInput if can_ask(app, watching) => {
                let Some((question, answer)) = ask(session.run(), app)? else {
                    return waiting(session.run(), app);
                };
                session.tell(Input::Answer { question, answer });
            }
            End::AwaitingInput => return waiting(session.run(), app),
            End::Ended | End::Paused | End::Stopped => return finish(session.run(), end, &follower, app),
        }
    }
}

/// Follows the log with its own copy of the run, so that names are at hand.
struct Follower {
    reporter: Reporter,
    run: Option<Run>,
    jsonl: bool,
    first_at: Option<i64>,
    last_at: i64,
}

impl Follower {
    fn notice(&mut self, notice: Notice, app: &mut App) {
        let Notice::Event(event) = notice else { return };
        let event: &Event = &event;
        self.first_at.get_or_insert(event.at);
        self.last_at = event.at;
        match &mut self.run {
            None => self.run = Run::created(event),
            Some(run) => run.apply(event),
        }
        if self.jsonl {
            if let Ok(text) = serde_json::to_string(event) {
                let _ = app.out.line(text).and_then(|()| app.out.flush());
            }
            return;
        }
        if app.out.json {
            return;
        }
        if let Some(run) = &self.run {
            self.reporter.event(event, run, &mut app.out);
        }
    }
}

fn can_ask(app: &App, watching: &Watching) -> bool {
    std::io::stdin().is_terminal() && !app.out.json && !watching.jsonl && !watching.no_input
}

/// Asks the first open question on the terminal. `None`: the person closed the input.
fn ask(run: &Run, app: &mut App) -> Result<Option<(u32, String)>, CliError> {
    let Some((number, _)) = run.open_questions().next() else { return Ok(None) };
    app.out.aside("> ");
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => Ok(None),
        Ok(_) => Ok(Some((number, line.trim_end_matches(['\n', '\r']).to_owned()))),
    }
}

fn waiting(run: &Run, app: &mut App) -> Outcome {
    let id = run.spec.id.clone();
    if app.out.json {
        app.out.json(&document(run, app.out.lang))?;
    } else {
        app.out.note(&words!(
            "waiting for an answer. Answer now, tomorrow, from anywhere: fugato answer {id} TEXT",
            "等待回答。随时可以回答：fugato answer {id} 内容"
        ));
    }
    Ok(Exit::Waiting)
}

fn finish(run: &Run, end: End, follower: &Follower, app: &mut App) -> Outcome {
    let id = run.spec.id.clone();
    if app.out.json {
        app.out.json(&document(run, app.out.lang))?;
    }
    let elapsed = follower.last_at - follower.first_at.unwrap_or(follower.last_at);
    match (&run.ended, end) {
        (Some((outcome, ..)), _) => {
            if !app.out.json && !follower.jsonl {
                reporter::summary(run, elapsed, &mut app.out)?;
            }
            Ok(match outcome {
                Ended::Complete => Exit::Ok,
                Ended::Failed | Ended::Aborted => Exit::Failed,
                Ended::BudgetExhausted => Exit::Refused,
            })
        }
        (None, End::Stopped) => {
            app.out.note(&words!(
                "stopped; what is done stays done. Go on: fugato resume {id}",
                "已停止；已完成的部分会保留。继续：fugato resume {id}"
            ));
            Ok(Exit::Interrupted)
        }
        (None, _) => {
            app.out.note(&words!("paused. Go on: fugato resume {id}", "已暂停。继续：fugato resume {id}"));
            Ok(Exit::Waiting)
        }
    }
}

/// `--json`: the run as it stands.
pub fn document(run: &Run, lang: fugato_model::Lang) -> serde_json::Value {
    let mut view = serde_json::to_value(run.view(lang)).unwrap_or_default();
    if let Some(object) = view.as_object_mut() {
        object.insert("schema".into(), "fugato.run/v1".into());
    }
    view
}

/// The scratch directory and skill directory a resumed run works with.
pub fn world_of(run: &Run, models: Models, app: &App) -> Arc<World> {
    let scratch = state(app).join("runs").join(&run.spec.id).join("scratch");
    let world = World::new(
        models,
        PathBuf::from(&run.spec.skill.dir),
        app.places.cwd.clone(),
        scratch,
        std::env::vars_os(),
    );
    // Roots that cannot be had leave the agents without skills, not the run without agents.
    let shelf = skills::shelf(&SkillSelection::default(), app).unwrap_or_else(|_| Shelf::empty());
    Arc::new(world.with_skills(shelf))
}

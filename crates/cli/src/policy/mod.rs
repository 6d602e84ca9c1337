//! `fugato policy …`: which agent sees which skills, and why. One file per verb.

mod diff;
mod edit;
mod explain;
mod linting;
mod resolve;

pub use linting::{LintArgs, lint_file, run as lint};

use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use fugato_engine::SpokenAs;
use fugato_model::{Code, Diagnostic, Exit, Words, words};
use fugato_runtime::Discovery;
use fugato_skill::catalog::{self, Catalog};
use fugato_skill::policy::{self, AgentPolicy, Resolution};
use fugato_skill::profile::{Agent, Mode, Profile};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// What each agent sees
    Resolve(resolve::ResolveArgs),
    /// Why each agent sees, or does not see, each skill
    Explain(explain::ExplainArgs),
    /// Check profiles: stale names, typos, surprises
    Lint(LintArgs),
    /// Let an agent see a skill (or, with --deny, not see it)
    Bind(edit::BindArgs),
    /// Take a skill from an agent's list
    Unbind(edit::UnbindArgs),
    /// Set the mode-level lists
    Defaults(edit::DefaultsArgs),
    /// What changes for each agent between two profiles
    Diff(diff::DiffArgs),
}

pub fn run(command: PolicyCommand, app: &mut App) -> Outcome {
    match command {
        PolicyCommand::Resolve(args) => resolve::run(&args, app),
        PolicyCommand::Explain(args) => explain::run(&args, app),
        PolicyCommand::Lint(args) => lint(&args, app),
        PolicyCommand::Bind(args) => edit::bind(&args, app),
        PolicyCommand::Unbind(args) => edit::unbind(&args, app),
        PolicyCommand::Defaults(args) => edit::defaults(&args, app),
        PolicyCommand::Diff(args) => diff::run(&args, app),
    }
}

/// A profile file, and which part of it.
#[derive(Clone, Debug, Args)]
pub struct ProfileArgs {
    /// The profile (JSON or JSONC)
    pub profile: PathBuf,
    /// The mode to look at [default: the profile's]
    #[arg(long, value_name = "MODE", add = ArgValueCandidates::new(crate::complete::modes))]
    pub mode: Option<String>,
    #[command(flatten)]
    pub selection: SkillSelection,
}

/// A profile that was read, with the skills it meets.
#[derive(Debug)]
pub struct Opened {
    pub profile: Profile,
    pub mode: Mode,
    pub discovery: Discovery,
}

/// Reads a profile; one with errors gives nothing to anybody. Its warnings are `policy lint`'s to show.
pub fn open(args: &ProfileArgs, app: &App) -> Result<Opened, CliError> {
    let profile = read_profile(&args.profile, app)?;
    let mode = match &args.mode {
        None => profile.mode,
        Some(text) => parse_mode(text)?,
    };
    if profile.policy(mode).is_none() {
        let shown = app.show_path(&app.places.cwd.join(&args.profile));
        let mut known: Vec<_> = Mode::ALL.iter().filter(|mode| profile.policy(**mode).is_some()).collect();
        known.sort_by_key(|known| **known != profile.mode);
        let known = known.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(", ");
        return Err(CliError::not_found(words!(
            "profile `{shown}` has no mode `{mode}`",
            "配置 `{shown}` 中没有 `{mode}` 模式"
        ))
        .code(Code::F0214)
        .hint(words!("it has: {known}", "它有：{known}")));
    }
    let discovery = app.discover(&app.roots(&args.selection, Some(&profile))?);
    Ok(Opened { profile, mode, discovery })
}

pub fn read_profile(path: &Path, app: &App) -> Result<Profile, CliError> {
    let full = app.places.cwd.join(path);
    let bytes = read_profile_bytes(&full)?;
    let shown = app.show_path(&full);
    let parsed = Profile::parse_bytes(&shown, &bytes);
    match parsed.profile {
        Some(profile) if !parsed.diagnostics.iter().any(Diagnostic::is_error) => Ok(profile),
        _ => {
            let mut diagnostics = parsed.diagnostics;
            crate::render::in_reading_order(&mut diagnostics);
            let n = diagnostics.iter().filter(|d| d.is_error()).count();
            let errors = crate::render::count(n, "error");
            Err(CliError::failed(words!(
                "profile `{shown}` has {errors}; no agent gets anything from it",
                "配置 `{shown}` 有 {n} 个错误；任何代理都不会得到技能"
            ))
            .diagnostics(diagnostics))
        }
    }
}

/// Refuses what is plainly not a profile before reading it whole.
pub fn read_profile_bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    let kind = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CliError::io("read", path, &error).hint(another_profile(path)),
        _ => CliError::io("read", path, &error),
    })?;
    if !kind.is_file() {
        let shown = path.display();
        return Err(CliError::failed(words!("`{shown}` is not a file", "`{shown}` 不是文件")));
    }
    if kind.len() > MAX_PROFILE_BYTES {
        let (shown, found) = (path.display(), kind.len());
        return Err(CliError::failed(words!(
            "`{shown}` has {found} bytes (limit {MAX_PROFILE_BYTES})",
            "`{shown}` 有 {found} 字节（上限 {MAX_PROFILE_BYTES}）"
        ))
        .code(Code::F0217));
    }
    std::fs::read(path).map_err(|error| CliError::io("read", path, &error))
}

/// What to type instead of a profile that does not exist.
fn another_profile(path: &Path) -> Words {
    let entries = path.parent().and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten();
    let names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == "json" || e == "jsonc"))
        .collect();
    let wanted = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match fugato_model::nearest(wanted, names.iter().map(String::as_str)) {
        Some(near) => words!("did you mean `{near}`?", "是不是想用 `{near}`？"),
        None => words!(
            "`fugato profile new director` writes a profile to start from",
            "`fugato profile new director` 可写出一份起始配置"
        ),
    }
}

/// Well above the parser's own limit, which gives the better message; this one keeps memory bounded.
const MAX_PROFILE_BYTES: u64 = 8 * 1024 * 1024;

pub fn parse_mode(text: &str) -> Result<Mode, CliError> {
    text.parse::<Mode>().map_err(|_| {
        CliError::unknown(("mode", "模式"), text, Mode::ALL.iter().map(|mode| mode.as_str()))
            .code(Code::F0203)
    })
}

pub fn unknown_agent(id: &str, agents: &[Agent]) -> CliError {
    let known: Vec<_> = agents.iter().map(|agent| agent.id.as_str()).collect();
    CliError::unknown(("agent", "代理"), id, known).code(Code::F0220)
}

impl Opened {
    pub fn agents(&self) -> &[Agent] {
        self.profile.agents(self.mode)
    }

    pub fn agent(&self, id: &str) -> Result<&Agent, CliError> {
        let found = self.agents().iter().find(|agent| agent.id.as_str() == id);
        found.ok_or_else(|| unknown_agent(id, self.agents()))
    }

    pub fn resolve<'a>(&'a self, agent: &'a Agent) -> Resolution<'a> {
        policy::resolve(&self.profile, self.mode, agent, &self.discovery.inventory)
    }

    /// A person who asks what agents see should know that the policy itself is not sound.
    pub fn tell_errors(&self, path: &Path, app: &mut App) {
        let found = policy::lint(&self.profile, &self.discovery.inventory);
        let n = found.iter().filter(|diagnostic| diagnostic.is_error()).count();
        if n > 0 {
            let (errors, path) = (crate::render::count(n, "error"), crate::render::shell_word(path));
            app.out.note(&words!(
                "this policy has {errors}: fugato policy lint {path}",
                "这份策略有 {n} 个错误：fugato policy lint {path}"
            ));
        }
    }

    /// The agents a command is about: one, or all.
    pub fn chosen(&self, id: Option<&str>) -> Result<Vec<&Agent>, CliError> {
        match id {
            Some(id) => self.agent(id).map(|agent| vec![agent]),
            None => Ok(self.agents().iter().collect()),
        }
    }
}

/// "As this agent would see it": `--as AGENT --profile FILE`.
#[derive(Clone, Debug, Args)]
pub struct AgentView {
    /// Answer as this agent would be answered [default: as for a person]
    #[arg(long = "as", value_name = "AGENT", requires = "profile", add = ArgValueCandidates::new(crate::complete::agents))]
    as_agent: Option<String>,
    /// The profile that names the agent
    #[arg(long, value_name = "FILE", requires = "as_agent")]
    profile: Option<PathBuf>,
    /// The mode of the profile [default: the profile's]
    #[arg(long, value_name = "MODE", requires = "profile", add = ArgValueCandidates::new(crate::complete::modes))]
    mode: Option<String>,
}

/// A profile opened for one agent.
#[derive(Debug)]
pub struct Seen {
    opened: Opened,
    agent: String,
}

impl From<SpokenAs> for AgentView {
    fn from(SpokenAs { agent, profile, mode }: SpokenAs) -> Self {
        Self { as_agent: Some(agent), profile: Some(profile.into()), mode }
    }
}

impl AgentView {
    /// The file of the profile, if one was given.
    pub fn profile(&self) -> Option<PathBuf> {
        self.profile.clone()
    }

    pub fn is_given(&self) -> bool {
        self.as_agent.is_some()
    }

    /// What a conversation remembers of it: the profile is found again from any directory.
    pub fn spoken_as(&self, app: &App) -> Option<SpokenAs> {
        let profile = app.places.cwd.join(self.profile.as_ref()?).to_string_lossy().into_owned();
        Some(SpokenAs { agent: self.as_agent.clone()?, profile, mode: self.mode.clone() })
    }

    pub fn resolve(&self, selection: &SkillSelection, app: &App) -> Result<Seen, CliError> {
        let (Some(agent), Some(profile)) = (&self.as_agent, &self.profile) else {
            return Err(CliError::usage(words!(
                "--as and --profile belong together",
                "--as 与 --profile 必须同时给出"
            )));
        };
        let args =
            ProfileArgs { profile: profile.clone(), mode: self.mode.clone(), selection: selection.clone() };
        let opened = open(&args, app)?;
        opened.agent(agent)?;
        Ok(Seen { opened, agent: agent.clone() })
    }
}

impl Seen {
    pub fn resolution(&self) -> Result<Resolution<'_>, CliError> {
        Ok(self.opened.resolve(self.opened.agent(&self.agent)?))
    }

    /// The same to keep.
    pub fn policy(self) -> AgentPolicy {
        AgentPolicy { profile: self.opened.profile, mode: self.opened.mode, agent: self.agent }
    }

    pub fn agent_id(&self) -> String {
        self.agent.clone()
    }
}

/// The catalog an agent's system message gets: none for the roles that judge.
pub fn catalog_of(agent: &Agent, resolution: &Resolution<'_>, app: &App) -> Catalog {
    if agent.role.gets_catalog() {
        catalog::render(resolution, app.config.catalog_budget_bytes())
    } else {
        Catalog::default()
    }
}

/// Shows diagnostics of a profile; errors make the command fail.
pub fn show_diagnostics(diagnostics: &[Diagnostic], app: &mut App) -> Exit {
    for diagnostic in diagnostics {
        let text = crate::render::report(diagnostic, &app.out);
        app.out.aside(&text);
        app.out.aside("");
    }
    if diagnostics.iter().any(Diagnostic::is_error) { Exit::Failed } else { Exit::Ok }
}

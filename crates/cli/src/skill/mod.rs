//! `fugato skill …`: one file per verb.

mod add;
mod check;
mod export;
mod list;
mod lock;
mod moving;
mod new;
mod profiles;
mod read;
mod reference;
mod remove;
mod repair;
mod search;
mod show;

use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use fugato_model::view::{DiagnosticView, SkillView};
use fugato_model::{Lang, Scope, words};
use fugato_skill::{Installed, Inventory};

#[derive(Debug, Subcommand)]
pub enum SkillCommand {
    /// List the skills that are here
    Ls(list::ListArgs),
    /// Show one skill: fields, files, problems, text
    Show(show::ShowArgs),
    /// Check skill files and profiles
    Check(check::CheckArgs),
    /// Search the text of all skills, or of one
    Search(search::SearchArgs),
    /// Print a file of a skill
    Read(read::ReadArgs),
    /// Create a skill
    New(new::NewArgs),
    /// Install skills from a directory, a .zip, or a card or preset file
    Add(add::AddArgs),
    /// Move a skill to another scope
    Mv(moving::MoveArgs),
    /// Rename a skill, its directory and its `name:`
    Rename(moving::RenameArgs),
    /// Remove a skill (into the trash)
    Rm(remove::RemoveArgs),
    /// Write a skill as a .zip
    Export(export::ExportArgs),
    /// Pin the digests of all skills in skills.lock.json
    Lock(lock::LockArgs),
    /// Compare the installed skills with skills.lock.json
    Verify(lock::VerifyArgs),
    /// Validate a skill directory as the reference validator does
    Validate(reference::ValidateArgs),
    /// Print the properties of a skill as the reference implementation does
    ReadProperties(reference::ReadPropertiesArgs),
    /// Print the reference implementation's <available_skills> block
    ToPrompt(reference::ToPromptArgs),
}

pub fn run(command: SkillCommand, app: &mut App) -> Outcome {
    match command {
        SkillCommand::Ls(args) => list::run(&args, app),
        SkillCommand::Show(args) => show::run(&args, app),
        SkillCommand::Check(args) => check::run(&args, app),
        SkillCommand::Search(args) => search::run(&args, app),
        SkillCommand::Read(args) => read::run(&args, app),
        SkillCommand::New(args) => new::run(&args, app),
        SkillCommand::Add(args) => add::run(&args, app),
        SkillCommand::Mv(args) => moving::run_move(&args, app),
        SkillCommand::Rename(args) => moving::run_rename(&args, app),
        SkillCommand::Rm(args) => remove::run(&args, app),
        SkillCommand::Export(args) => export::run(&args, app),
        SkillCommand::Lock(args) => lock::run_lock(&args, app),
        SkillCommand::Verify(args) => lock::run_verify(&args, app),
        SkillCommand::Validate(args) => reference::validate(&args, app),
        SkillCommand::ReadProperties(args) => reference::read_properties(&args, app),
        SkillCommand::ToPrompt(args) => reference::to_prompt(&args, app),
    }
}

/// Names one installed skill.
#[derive(Clone, Debug, Args)]
pub struct OneSkill {
    /// Name of the skill
    #[arg(add = ArgValueCandidates::new(crate::complete::skills))]
    pub name: String,
    /// Take the one of this scope, when several have the name [default: the one that wins]
    #[arg(long, value_name = "SCOPE", add = ArgValueCandidates::new(crate::complete::scopes))]
    pub scope: Option<String>,
    #[command(flatten)]
    pub selection: SkillSelection,
}

impl OneSkill {
    /// The effective skill of that name, or the one of the given scope; broken ones included.
    pub fn find(&self, app: &App) -> Result<(Installed, Inventory), CliError> {
        let scope = self.scope.as_deref().map(parse_scope).transpose()?;
        let mut selection = self.selection.clone();
        match &scope {
            Some(Scope::Preset(name)) => selection.preset = selection.preset.or(Some(name.clone())),
            Some(Scope::Character(name)) => selection.character = selection.character.or(Some(name.clone())),
            _ => {}
        }
        let inventory = app.discover(&app.roots(&selection, None)?).inventory;
        let found = match &scope {
            None => inventory.get(&self.name).or_else(|| inventory.broken(&self.name)),
            Some(scope) => {
                inventory.all().iter().find(|skill| skill.scope == *scope && skill.label() == self.name)
            }
        };
        match found.cloned() {
            Some(skill) => Ok((skill, inventory)),
            None => Err(unknown_skill(&self.name, &inventory)),
        }
    }
}

pub fn unknown_skill(name: &str, inventory: &Inventory) -> CliError {
    CliError::unknown(("skill", "技能"), name, inventory.names().collect::<Vec<_>>())
        .code(fugato_model::Code::F0310)
        .hint(words!("`fugato skill ls` lists what is installed", "`fugato skill ls` 列出已安装的技能"))
}

pub fn parse_scope(text: &str) -> Result<Scope, CliError> {
    text.parse().map_err(|error: fugato_model::ScopeError| {
        let cli = CliError::usage(error.words());
        match fugato_model::nearest(text, ["global", "project"]) {
            Some(near) => cli.hint(words!("did you mean `{near}`?", "是不是想用 `{near}`？")),
            None => cli.hint(words!(
                "scopes: global, project, preset:NAME, character:NAME",
                "可用的范围：global、project、preset:名称、character:名称"
            )),
        }
    })
}

/// A skill as `--json` shows it.
pub fn view(skill: &Installed, inventory: &Inventory, app: &App) -> SkillView {
    let lang = app.out.lang;
    SkillView {
        name: skill.label(),
        kind: skill.head.kind.as_str().to_owned(),
        scope: skill.scope.clone(),
        path: skill.dir.join(&skill.file).display().to_string(),
        description: skill.head.description.clone(),
        tags: skill.head.tags.clone(),
        digest: skill.digest,
        status: skill.status(),
        diagnostics: diagnostic_views(skill, lang),
        shadowed: inventory.is_shadowed(skill),
    }
}

pub fn diagnostic_views(skill: &Installed, lang: Lang) -> Vec<DiagnosticView> {
    let mut diagnostics = skill.diagnostics.clone();
    crate::render::in_reading_order(&mut diagnostics);
    diagnostics.iter().map(|diagnostic| DiagnosticView::new(diagnostic, lang)).collect()
}

/// Errors of the management room at the boundary.
pub fn manage_error(error: &fugato_runtime::manage::ManageError) -> CliError {
    use fugato_runtime::manage::ManageError;
    let cli = CliError::new(error.exit(), error.words()).code(error.code());
    let cli = match error {
        ManageError::Disk(_) if error.hint().is_none() => cli.hint(words!(
            "is the place right? `fugato doctor` tells, FUGATO_HOME and --scope choose another",
            "位置是否正确？`fugato doctor` 可以检查，FUGATO_HOME 和 --scope 可另选位置"
        )),
        ManageError::Invalid(diagnostics) => CliError {
            message: words!("nothing was changed", "没有做任何更改"),
            code: None,
            ..cli.diagnostics(diagnostics.clone())
        },
        _ => cli,
    };
    match error.hint() {
        // Diagnostics carry their own.
        Some(hint) if cli.diagnostics.is_empty() => cli.hint(hint),
        _ => cli,
    }
}

//! `fugato policy diff`: what each agent gains and loses between two profiles.

use super::{ProfileArgs, open};
use crate::app::{App, SkillSelection};
use crate::error::Outcome;
use crate::printer::{paint, style};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, SkillName, words};
use fugato_skill::policy::{self, Change};
use std::path::PathBuf;

/// What changes for each agent between two profiles.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The profile before
    before: PathBuf,
    /// The profile after
    after: PathBuf,
    /// The mode to compare [default: each profile's]
    #[arg(long, value_name = "MODE", add = ArgValueCandidates::new(crate::complete::modes))]
    mode: Option<String>,
    #[command(flatten)]
    selection: SkillSelection,
}

pub fn run(args: &DiffArgs, app: &mut App) -> Outcome {
    let open_one = |path: &PathBuf| {
        let args =
            ProfileArgs { profile: path.clone(), mode: args.mode.clone(), selection: args.selection.clone() };
        open(&args, app)
    };
    let (before, after) = (open_one(&args.before)?, open_one(&args.after)?);
    let changes = policy::diff(
        (&before.profile, &before.discovery.inventory),
        (&after.profile, &after.discovery.inventory),
    );
    let changes: Vec<_> =
        changes.into_iter().filter(|change| [before.mode, after.mode].contains(&change.mode)).collect();
    if app.out.json {
        app.out.json(&serde_json::json!({"schema": "fugato.policy_diff/v1", "agents": changes}))?;
        return Ok(Exit::Ok);
    }
    if changes.is_empty() {
        app.out.note(&words!("every agent sees the same skills", "每个代理看到的技能都相同"));
        return Ok(Exit::Ok);
    }
    for change in &changes {
        let mark = match change.change {
            Change::Added => paint(style::GOOD, "+ "),
            Change::Removed => paint(style::BAD, "- "),
            Change::Changed => "  ".to_owned(),
        };
        app.out.line(format!("{mark}{}", paint(style::NAME, &change.agent)))?;
        let mut lines = |sign: &str, look, names: &[SkillName]| -> Result<(), crate::error::CliError> {
            names.iter().try_for_each(|name| app.out.line(paint(look, format!("    {sign} {name}"))))
        };
        lines("+", style::GOOD, &change.gained)?;
        lines("-", style::BAD, &change.lost)?;
        lines("~", style::WARN, &change.replaced)?;
    }
    Ok(Exit::Ok)
}

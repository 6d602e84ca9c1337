//! `fugato policy lint`: everything a person should know about a profile before it runs.

use super::{read_profile_bytes, show_diagnostics};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::render;
use clap::Args;
use fugato_model::view::DiagnosticView;
use fugato_model::{Diagnostic, Exit, words};
use fugato_skill::policy;
use fugato_skill::profile::Profile;
use std::path::{Path, PathBuf};

/// Check profiles: stale names, typos, surprises.
#[derive(Debug, Args)]
pub struct LintArgs {
    /// Profiles (JSON or JSONC)
    #[arg(required = true)]
    profiles: Vec<PathBuf>,
    /// Warnings fail too
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    selection: SkillSelection,
}

pub fn run(args: &LintArgs, app: &mut App) -> Outcome {
    let mut diagnostics = Vec::new();
    for path in &args.profiles {
        diagnostics.extend(lint_file(&app.places.cwd.join(path), &args.selection, app)?);
    }
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = diagnostics.len() - errors;
    let failed = errors > 0 || (args.strict && warnings > 0);
    if app.out.json {
        let lang = app.out.lang;
        let views: Vec<_> = diagnostics.iter().map(|d| DiagnosticView::new(d, lang)).collect();
        app.out.json(&serde_json::json!({
            "schema": "fugato.lint/v1", "ok": !failed, "errors": errors, "warnings": warnings,
            "diagnostics": views,
        }))?;
    } else {
        show_diagnostics(&diagnostics, app);
        let n = args.profiles.len();
        let (profiles, en_errors, en_warnings) =
            (render::count(n, "profile"), render::count(errors, "error"), render::count(warnings, "warning"));
        app.out.note(&words!(
            "{profiles}: {en_errors}, {en_warnings}",
            "{n} 个配置：{errors} 个错误，{warnings} 个警告"
        ));
    }
    Ok(if failed { Exit::Failed } else { Exit::Ok })
}

/// All diagnostics of one profile file: its text, and its names against the skills it would meet.
pub fn lint_file(path: &Path, selection: &SkillSelection, app: &App) -> Result<Vec<Diagnostic>, CliError> {
    let bytes = read_profile_bytes(path)?;
    let parsed = Profile::parse_bytes(&app.show_path(path), &bytes);
    let mut diagnostics = parsed.diagnostics;
    if let Some(profile) = &parsed.profile {
        let found = app.discover(&app.roots(selection, Some(profile))?);
        diagnostics.extend(policy::lint(profile, &found.inventory));
    }
    render::in_reading_order(&mut diagnostics);
    Ok(diagnostics)
}

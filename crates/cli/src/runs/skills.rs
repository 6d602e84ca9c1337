//! Which skills the agents of a run may read: all that are installed, or what one agent of a profile sees.

use crate::app::{App, SkillSelection};
use crate::error::CliError;
use crate::policy::{AgentView, Seen};
use fugato_runtime::discover;
use fugato_runtime::runs::Shelf;
use fugato_skill::catalog;
use fugato_skill::policy::{AgentPolicy, Resolution, unrestricted};

/// What is pinned in the run.
#[derive(Debug, Default)]
pub struct Visible {
    /// For system messages.
    pub catalog: String,
    /// One name per line.
    pub names: String,
}

/// Resolves what agents see now; the run keeps it.
pub fn visible(view: &AgentView, selection: &SkillSelection, app: &App) -> Result<Visible, CliError> {
    if view.is_given() {
        let seen = view.resolve(selection, app)?;
        return Ok(of(&seen.resolution()?, app));
    }
    let inventory = app.discover(&app.roots(selection, None)?).inventory;
    Ok(of(&unrestricted(&inventory), app))
}

fn of(resolution: &Resolution<'_>, app: &App) -> Visible {
    let names: Vec<String> = resolution.visible().map(fugato_skill::Installed::label).collect();
    let catalog = catalog::render(resolution, app.config.catalog_budget_bytes()).text;
    Visible { catalog, names: names.join("\n") }
}

/// The policy of the agent that was named, for orchestrators.
pub fn policy(
    view: &AgentView,
    selection: &SkillSelection,
    app: &App,
) -> Result<Option<AgentPolicy>, CliError> {
    view.is_given().then(|| view.resolve(selection, app).map(Seen::policy)).transpose()
}

/// The skills as they are found when an agent first asks for one.
pub fn shelf(selection: &SkillSelection, app: &App) -> Result<Shelf, CliError> {
    let (roots, index) = (app.roots(selection, None)?, app.places.index_file());
    Ok(Shelf::new(move || discover(&roots, Some(&index)).inventory))
}

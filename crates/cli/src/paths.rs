//! `fugato path`: where this project's state lives.

use crate::app::{App, env_var};
use crate::error::Outcome;
use fugato_model::Exit;
use fugato_runtime::state_dir;

pub fn run(app: &mut App) -> Outcome {
    let state = state_dir(&app.places, env_var("HARNESS_DIR").as_deref());
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.path/v1",
            "state": state,
            "home": app.places.home,
            "project": app.places.project_root(),
        }))?;
    } else {
        app.out.line(state.display())?;
    }
    Ok(Exit::Ok)
}

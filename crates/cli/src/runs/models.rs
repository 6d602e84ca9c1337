//! The models and the store of a command: the one place where settings, environment and secrets come together.

use super::{find, reader, state, store_error};
use crate::app::{App, env_var};
use crate::error::CliError;
use fugato_model::{Exit, words};
use fugato_runtime::models::{ModelSettings, Models};
use fugato_runtime::runs::RecordedRuns;
use fugato_runtime::store::Store;
use fugato_runtime::tools::WebSettings;
use std::sync::Arc;

/// All models, as settings and environment have them.
pub fn models(app: &App) -> Models {
    let secrets = app.secrets();
    let settings = ModelSettings {
        script_dir: Some(app.places.cwd.clone()),
        recorded: Some(Arc::new(RecordedRuns::new(state(app)))),
        on_key: Some(Arc::new(move |key: &str| secrets.add(key))),
        ..app.config.model_settings()
    };
    Models::from_env(&env_var, settings)
}

/// What agents may reach on the web, as settings and environment have it.
pub fn web(app: &App) -> WebSettings {
    let secrets = app.secrets();
    let mut settings = app.config.web_settings(env_var);
    settings.on_key = Some(Arc::new(move |key: &str| secrets.add(key)));
    settings
}

/// Learns the key of a run's model before the run does anything: a script might print it before a model is asked.
pub fn learn_key(models: &Models, model: &str) -> Result<(), CliError> {
    if models.has_key_command(model) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| CliError::internal(&error))?.block_on(models.learn_key(model));
    }
    Ok(())
}

/// This project's store, into which no secret is written.
pub fn store(app: &App) -> Result<Store, CliError> {
    let store = Store::open(&state(app)).map_err(|error| store_error(&error))?;
    store.set_redactor(app.secrets());
    Ok(store)
}

/// The model of a run that may need none: what is made of programs alone runs where there is no provider. The error is
/// for the case that it does need one.
pub fn model_if_any(
    model: Result<String, CliError>,
    asked: Option<&str>,
) -> Result<(String, Option<CliError>), CliError> {
    match model {
        Ok(model) => Ok((model, None)),
        Err(lacking) if asked.is_none() => Ok(("echo".to_owned(), Some(lacking))),
        Err(wrong) => Err(wrong),
    }
}

/// The model of a new run: the one that was asked for, else the default; named so that the run can be resumed from
/// anywhere.
pub fn model_of_run(asked: Option<&str>, models: &Models, app: &App) -> Result<String, CliError> {
    let model = match asked {
        Some(model) => model.to_owned(),
        None => {
            let none = |none: fugato_runtime::models::NoModel| {
                CliError::new(Exit::Refused, none.words).code(none.code).hint(words!(
                    "to see it work without any model: fugato demo",
                    "不需要模型即可体验：fugato demo"
                ))
            };
            models.default_model().map_err(none)?
        }
    };
    if let Some(file) = model.strip_prefix("script:") {
        return Ok(format!("script:{}", app.places.cwd.join(file).display()));
    }
    if let Some(run) = model.strip_prefix("replay:") {
        return Ok(format!("replay:{}", find(&reader(app)?, Some(run))?.id));
    }
    models.check(&model).map_err(|error| CliError::not_found(error.words).code(error.code))?;
    learn_key(models, &model)?;
    Ok(model)
}

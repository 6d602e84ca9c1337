//! Switches of a host that keep it from calling a hook that stands in its settings.

use super::{Place, Scope, json, read, toml};
use crate::hosts::Host;
use std::path::Path;
use toml_edit::{DocumentMut, Item};

/// Does the host look at hooks in this place at all?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    On,
    /// The person switched all hooks off, with this field.
    Off(&'static str),
    /// The person said that the project is not trusted; then Codex does not read its settings.
    Untrusted,
}

/// What the settings say that hold for this place. `codex`: the person's `config.toml`.
pub fn switch(place: &Place, codex: Option<&Path>) -> Switch {
    match place.host {
        Host::Claude => {
            let text = read(&place.file).ok().flatten().unwrap_or_default();
            let is_off = json::root(&text).and_then(|root| root.get("disableAllHooks")?.as_bool());
            if is_off == Some(true) { Switch::Off("disableAllHooks") } else { Switch::On }
        }
        Host::Codex => {
            let text = codex.and_then(|file| read(file).ok().flatten()).unwrap_or_default();
            let Ok(document) = toml::open(&text, "") else { return Switch::On };
            let feature = |name: &str| document.get("features").and_then(|all| all.get(name)?.as_bool());
            if feature("hooks").or_else(|| feature("codex_hooks")) == Some(false) {
                return Switch::Off("features.hooks");
            }
            let project = place.file.parent().and_then(Path::parent);
            let is_barred = project.is_some_and(|dir| is_barred(&document, dir));
            if place.scope == Scope::Project && is_barred { Switch::Untrusted } else { Switch::On }
        }
    }
}

fn is_barred(document: &DocumentMut, project: &Path) -> bool {
    let is_named = |dir: &Path| {
        let named = document.get("projects").and_then(|all| all.get(dir.to_str()?));
        named.and_then(|one| one.get("trust_level")).and_then(Item::as_str) == Some("untrusted")
    };
    is_named(project) || project.canonicalize().is_ok_and(|dir| is_named(&dir))
}

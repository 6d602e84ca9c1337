//! Skills and profiles for the tests of this crate.

use crate::profile::Profile;
use crate::{Installed, Inventory, SkillHead};
use fugato_model::{Scope, SkillName};
use proptest::test_runner::Config;

/// A good skill in the global scope.
pub(crate) fn skill(name: &str) -> Installed {
    let head = SkillHead {
        name: Some(SkillName::parse(name).unwrap()),
        description: format!("What {name} does."),
        ..SkillHead::default()
    };
    Installed::sound(head, Scope::Global, format!("/skills/{name}"))
}

pub(crate) fn internal(name: &str) -> Installed {
    let mut skill = skill(name);
    skill.head.internal = true;
    skill
}

pub(crate) fn broken(name: &str) -> Installed {
    let mut skill = skill(name);
    skill.usable = false;
    skill
}

pub(crate) fn inventory(names: &[&str]) -> Inventory {
    Inventory::new(names.iter().map(|name| skill(name)).collect())
}

/// A profile that must read without errors.
pub(crate) fn profile(text: &str) -> Profile {
    let parsed = Profile::parse("profile.jsonc", text);
    assert!(!parsed.has_errors(), "{:#?}", parsed.diagnostics);
    parsed.profile.unwrap()
}

/// How many cases a property runs: few in the normal test command, a million in a soak.
pub(crate) fn cases() -> Config {
    one_in(1)
}

/// For properties whose single case is costly: a share of the cases.
pub(crate) fn one_in(share: u32) -> Config {
    let wanted = std::env::var("FUGATO_CASES").ok().and_then(|text| text.parse::<u32>().ok());
    // Failures are printed with their input; a file of seeds beside the sources would only be stale later.
    Config {
        cases: (wanted.unwrap_or(2_000) / share).max(1),
        failure_persistence: None,
        max_global_rejects: 100_000,
        ..Config::default()
    }
}

//! The type a call asks for, or an error that a model can act on.

use super::{AgentType, GENERAL_PURPOSE};

/// No type has the name that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownType {
    pub asked: String,
    pub nearest: Option<String>,
    pub known: Vec<String>,
}

/// The type of this name, whatever its case; an empty name is the default. Two types whose names differ in case only are told
/// apart by it.
pub fn find_type<'a>(types: &'a [AgentType], asked: &str) -> Result<&'a AgentType, UnknownType> {
    let asked = asked.trim();
    let wanted = if asked.is_empty() { GENERAL_PURPOSE } else { asked };
    let exact = types.iter().find(|agent| agent.name == wanted);
    let folded = || {
        let lower = wanted.to_lowercase();
        types.iter().find(|agent| agent.name.to_lowercase() == lower)
    };
    exact.or_else(folded).ok_or_else(|| {
        let names = || types.iter().map(|agent| agent.name.as_str());
        UnknownType {
            asked: wanted.chars().take(MAX_SHOWN).collect(),
            nearest: fugato_model::nearest(wanted, names()).map(str::to_owned),
            known: names().map(str::to_owned).collect(),
        }
    })
}

/// A name is shown up to here: a model may put a whole task there.
const MAX_SHOWN: usize = 80;

/// More names than these help no model to choose.
const MAX_LISTED: usize = 64;

impl std::error::Error for UnknownType {}

impl std::fmt::Display for UnknownType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown subagent_type `{}`", fugato_model::escape_for_terminal(&self.asked))?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean `{nearest}`?")?;
        }
        let listed: Vec<&str> = self.known.iter().take(MAX_LISTED).map(String::as_str).collect();
        write!(f, " Known types: {}", listed.join(", "))?;
        match self.known.len().saturating_sub(MAX_LISTED) {
            0 => f.write_str("."),
            more => write!(f, " and {more} more."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::built_in_types;
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_none_is_the_default() {
        let types = built_in_types();
        assert_eq!(find_type(&types, "").unwrap().name, GENERAL_PURPOSE);
        assert_eq!(find_type(&types, " Explore ").unwrap().name, "explore");
        let mut twice = types.clone();
        twice.push(AgentType::named("Explore"));
        assert_eq!(find_type(&twice, "Explore").unwrap().name, "Explore");
    }

    #[test]
    fn an_unknown_type_lists_the_known_ones() {
        let types = built_in_types();
        let error = find_type(&types, "browzer").unwrap_err().to_string();
        assert!(error.starts_with("unknown subagent_type `browzer`; did you mean `browser`? Known types: general-purpose, explore"), "{error}");
        for agent in &types {
            assert!(error.contains(&agent.name), "{error}");
        }
        let many: Vec<_> = (0..500).map(|n| AgentType::named(&format!("t{n}"))).collect();
        let error = find_type(&many, &"\u{1b}".repeat(10_000)).unwrap_err().to_string();
        assert!(error.len() < 2_000 && error.contains("436 more") && !error.contains('\u{1b}'));
    }
}

//! Which skills an orchestrator may call here: what its list says, of what the policy lets it.

use super::{Allowed, OrchestratorSkill, Stage};
use crate::Installed;
use crate::policy::{Resolution, Why};

/// What a list comes to.
#[derive(Clone, Debug, Default)]
pub struct Admitted<'a> {
    /// In the order of the list; without a list of names, in the order of the policy.
    pub skills: Vec<&'a Installed>,
    /// Listed names that allow nothing, and why.
    pub left_out: Vec<(String, Why)>,
}

/// The skills of a stage. `resolution` is that of the agent the orchestrator works for.
pub fn admit<'a>(skill: &OrchestratorSkill, stage: Stage, resolution: &Resolution<'a>) -> Admitted<'a> {
    let resolution = resolution.clone().for_orchestrators();
    let mut admitted = Admitted::default();
    match skill.list(stage) {
        Allowed::Unstated | Allowed::All => {
            let is_other = |found: &&Installed| found.head.name.as_ref() != Some(&skill.name);
            admitted.skills = resolution.visible().filter(is_other).collect();
        }
        Allowed::Only(names) => {
            for listed in names.iter().filter(|listed| listed.name != skill.name.as_str()) {
                match resolution.can_call(&listed.name) {
                    Some(found) => admitted.skills.push(found),
                    None => admitted.left_out.push((listed.name.clone(), resolution.why(&listed.name))),
                }
            }
        }
    }
    admitted
}

#[cfg(test)]
mod tests {
    use super::super::read_descriptor;
    use super::*;
    use crate::fixture::{internal, profile, skill};
    use crate::policy::{By, resolve, unrestricted};
    use crate::profile::Mode;
    use crate::{Inventory, SkillText};

    fn orchestrator(rest: &str) -> OrchestratorSkill {
        let source = format!("# desk\n## Description\nHelps.\n{rest}");
        let text = SkillText { dir_name: "desk", path: "oskill.md", bytes: source.as_bytes() };
        read_descriptor(text).0.unwrap()
    }

    fn installed() -> Inventory {
        let mut desk = skill("desk");
        desk.head.owns = vec!["a".to_owned()];
        Inventory::new(vec![skill("a"), skill("b"), internal("inner"), desk])
    }

    fn names(admitted: &Admitted<'_>) -> Vec<String> {
        admitted.skills.iter().map(|skill| skill.label()).collect()
    }

    #[test]
    fn the_four_states_of_a_list() {
        let inventory = installed();
        let main = |rest: &str| {
            let admitted = admit(&orchestrator(rest), Stage::Main, &unrestricted(&inventory));
            (names(&admitted), admitted.left_out.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        let none: Vec<String> = Vec::new();
        let named = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(main(""), (named(&["b", "a"]), none.clone()));
        assert_eq!(main("## Allowed Skills\n"), (none.clone(), none.clone()));
        assert_eq!(main("## Allowed Skills\n- inner\n- a\n"), (named(&["inner", "a"]), none.clone()));
        assert_eq!(main("## Allowed Skills\n- gone\n"), (none.clone(), named(&["gone"])));
        assert_eq!(main("## Allowed Skills\n- all\n"), (named(&["b", "a"]), none));
    }

    #[test]
    fn preparation_has_the_main_list_its_own_or_nothing() {
        let inventory = installed();
        let prep = |rest: &str| {
            let skill = orchestrator(&format!("## Preparation\nLook.\n## Allowed Skills\n- a\n{rest}"));
            names(&admit(&skill, Stage::Preparation, &unrestricted(&inventory)))
        };
        assert_eq!(prep(""), ["a"]);
        assert_eq!(prep("## Allowed-Prep-Skills\n- b\n"), ["b"]);
        assert!(prep("## Allowed-Prep-Skills\n").is_empty());
    }

    #[test]
    fn the_policy_of_the_agent_it_works_for_holds() {
        let inventory = installed();
        let text = r#"{"mode": "single", "node": {"skills": {"visible": ["*"], "deny": ["b"]}}}"#;
        let profile = profile(text);
        let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &inventory);
        let listed = orchestrator("## Allowed Skills\n- a\n- b\n");
        let admitted = admit(&listed, Stage::Main, &resolution);
        assert_eq!(names(&admitted), ["a"]);
        assert_eq!(admitted.left_out, [("b".to_owned(), Why::DeniedByAgent { by: By::Name(0) })]);
        assert_eq!(names(&admit(&orchestrator(""), Stage::Main, &resolution)), ["a"]);
    }
}

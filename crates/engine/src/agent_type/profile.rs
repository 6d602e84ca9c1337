//! Agents of a profile as kinds of agents: those that another agent of the same mode delegates to.
//!
//! Nodes of spec mode run by their stages, and loop and single mode have one agent: nothing there is delegated to.

use super::AgentType;
use fugato_skill::profile::{Agent, AgentRole, Mode, Profile};

/// The agents the master of this mode may delegate to: `subAgents` of director, `workers` of agenda. `skills` says what an
/// agent sees by the policy; whoever cannot say gives nothing, and the agent sees nothing.
pub fn types_of_profile(
    profile: &Profile,
    mode: Mode,
    skills: &dyn Fn(&Agent) -> Vec<String>,
) -> Vec<AgentType> {
    let delegated = |agent: &&Agent| matches!(agent.role, AgentRole::Sub | AgentRole::Worker);
    let agents = profile.agents(mode).iter().filter(delegated);
    agents
        .map(|agent| AgentType {
            description: agent.description.clone().unwrap_or_default(),
            prompt: agent.system_prompt.clone().unwrap_or_default(),
            tools: agent.tools.clone().or_else(|| profile.policy(mode)?.tools.clone()),
            steps: agent.max_rounds,
            model: agent.model.clone(),
            skills: Some(skills(agent)),
            ..AgentType::named(agent.id.as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = r#"{"mode": "director", "tools": ["Read"], "mainAgent": {"id": "boss"},
        "subAgents": [{"id": "critic", "description": "Judges.", "systemPrompt": "Be fair.", "maxRounds": 5, "tools": ["Grep"]},
                      {"id": "旁白", "model": "echo"}]}"#;

    #[test]
    fn only_those_a_master_delegates_to_become_types() {
        let parsed = Profile::parse("p.json", PROFILE);
        assert!(!parsed.has_errors(), "{:#?}", parsed.diagnostics);
        let profile = parsed.profile.unwrap();
        let types = types_of_profile(&profile, Mode::Director, &|_| vec!["voice".into()]);
        let names: Vec<_> = types.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["critic", "旁白"]);
        assert_eq!(types[0].tools.as_deref().unwrap(), ["Grep"]);
        assert_eq!((types[0].steps, types[0].prompt.as_str()), (Some(5), "Be fair."));
        assert_eq!(
            (types[1].tools.as_deref().unwrap()[0].as_str(), types[1].model.as_deref()),
            ("Read", Some("echo"))
        );
        assert_eq!(types[1].skills.as_deref().unwrap(), ["voice"]);
        assert!(types_of_profile(&profile, Mode::Spec, &|_| Vec::new()).is_empty());
    }
}

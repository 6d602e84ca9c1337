//! Does anything in a run ask a model? What is made of programs alone runs where there is none.

use crate::event::RunSpec;
use crate::orchestration::{CallableWork, Orchestrator, SessionKind};
use crate::plan::{Plan, Work};

impl RunSpec {
    /// Is there anything in it, or anything it may call, that asks a model?
    pub fn asks_a_model(&self) -> bool {
        self.single.is_some()
            || plan_asks(&self.plan)
            || self.skills.values().any(|skill| match &skill.work {
                CallableWork::Agent { .. } => true,
                CallableWork::Script { .. } | CallableWork::Noop => false,
                CallableWork::Phases { plan, .. } => plan_asks(plan),
                CallableWork::Session { orchestrator } => session_asks(orchestrator),
            })
    }
}

fn plan_asks(plan: &Plan) -> bool {
    plan.nodes.iter().any(|node| match &node.work {
        Work::Agent { .. } | Work::Inline { .. } => true,
        // Its fallback is an agent.
        Work::Script { .. } | Work::Phases { .. } => node.fallback_inline,
        Work::Session { orchestrator, .. } => session_asks(orchestrator),
        Work::Noop | Work::Gate => false,
    })
}

fn session_asks(orchestrator: &Orchestrator) -> bool {
    let plans_itself = matches!(orchestrator.session, SessionKind::Sop { fixed: Some(_), .. });
    !plans_itself || orchestrator.preparation.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SopBudget;
    use crate::orchestration::{Callable, Preparation};
    use std::sync::Arc;

    fn desk(fixed: Option<&str>, preparation: Option<Preparation>) -> RunSpec {
        let session = SessionKind::Sop { fixed: fixed.map(str::to_owned), budget: SopBudget::default() };
        let orchestrator = Orchestrator {
            name: "desk".into(),
            description: String::new(),
            instructions: String::new(),
            session,
            allowed: Vec::new(),
            preparation,
            model: None,
        };
        let work = CallableWork::Session { orchestrator: Arc::new(orchestrator) };
        let mut spec = RunSpec::default();
        spec.skills.insert("desk".into(), Arc::new(Callable { description: String::new(), work }));
        spec
    }

    #[test]
    fn a_given_program_asks_nobody_and_a_planner_or_a_preparation_does() {
        assert!(!desk(Some("@a assign 1"), None).asks_a_model());
        assert!(desk(None, None).asks_a_model());
        let preparation = Preparation { instructions: "Look.".into(), allowed: Vec::new() };
        assert!(desk(Some("@a assign 1"), Some(preparation)).asks_a_model());
        assert!(!RunSpec::default().asks_a_model());
        assert!(RunSpec { single: Some("Do.".into()), ..RunSpec::default() }.asks_a_model());
    }
}

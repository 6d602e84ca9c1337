//! The plan as a picture: phases in order, what each waits for, what each gives.

use crate::printer::{paint, style};
use fugato_engine::{Plan, PlanNode, Work};

/// Lines of text; no model is asked.
pub fn draw(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, phase) in (0u32..).zip(&plan.phases) {
        let waits: Vec<&str> = phase
            .depends_on
            .iter()
            .filter_map(|on| plan.phases.get(*on as usize))
            .map(|phase| phase.name.as_str())
            .collect();
        let waits =
            if waits.is_empty() { String::new() } else { format!("  ◀── {}", waits.join(", ")) };
        let how = if phase.parallel { "  ∥" } else { "" };
        let name = paint(style::NAME, &phase.name);
        lines.push(format!("{name}{}{}", paint(style::DIM, how), paint(style::DIM, waits)));
        let nodes: Vec<&PlanNode> =
            plan.nodes.iter().filter(|node| node.phase == at && !matches!(node.work, Work::Gate)).collect();
        for (number, node) in nodes.iter().enumerate() {
            let branch = if number + 1 == nodes.len() { "└─" } else { "├─" };
            lines.push(format!("{branch} {}", describe(node)));
        }
    }
    lines
}

fn describe(node: &PlanNode) -> String {
    let (what, kind) = match &node.work {
        Work::Agent { skill, agent_type, .. } => (skill.clone(), agent_type.clone()),
        Work::Script { skill, .. } => (skill.clone(), "script".to_owned()),
        Work::Inline { sets, .. } if sets.is_empty() => {
            ("(in the main conversation)".to_owned(), "inline".into())
        }
        Work::Inline { sets, .. } => {
            ("(in the main conversation)".to_owned(), format!("inline, sets {}", sets.join(", ")))
        }
        Work::Noop | Work::Gate => (node.id.clone(), String::new()),
    };
    let mut line = format!("{what}  {}", paint(style::DIM, kind));
    if let Some(output) = &node.output {
        line.push_str(&format!("  ──▶ {}", paint(style::BOLD, output)));
    }
    if node.optional {
        line.push_str(&paint(style::DIM, "  optional"));
    }
    if node.fallback_inline {
        line.push_str(&paint(style::DIM, "  fallback: inline"));
    }
    line
}

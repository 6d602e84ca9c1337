//! The seed's example and larger plans, drawn.

use super::*;
use fugato_engine::{Access, Phase};

pub(super) fn node(id: &str, phase: u32, work: Work) -> PlanNode {
    PlanNode {
        id: id.into(),
        phase,
        after: Vec::new(),
        work,
        output: None,
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    }
}

fn agent() -> Work {
    Work::Agent {
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        skill: "_sub/x".into(),
        instructions: String::new(),
        args: Default::default(),
        relevant: Vec::new(),
        schema: None,
        model: None,
    }
}

fn phase(name: &str, parallel: bool, depends_on: &[u32]) -> Phase {
    Phase { name: name.into(), parallel, depends_on: depends_on.to_vec(), within: None }
}

fn seed() -> Plan {
    let with =
        |id: &str, phase, output: &str| PlanNode { output: Some(output.into()), ..node(id, phase, agent()) };
    let inline = Work::Inline { section: Default::default(), sets: vec!["NAME".into()] };
    Plan {
        phases: vec![phase("setup", true, &[]), phase("gather", false, &[0]), phase("interact", false, &[1])],
        nodes: vec![
            with("setup/get-config", 0, "VAULT"),
            PlanNode { optional: true, ..with("setup/get-directives", 0, "DIRECTIVES") },
            PlanNode { fallback_inline: true, ..with("gather/日历", 1, "CALENDAR") },
            node("interact", 2, inline),
        ],
    }
}

fn drawn(plan: &Plan, columns: usize, width: Width, lang: Lang) -> Vec<String> {
    let strip = |line: &String| anstream::adapter::strip_str(line).to_string();
    draw(plan, Paper { lang, width, columns }).iter().map(strip).collect()
}

#[test]
fn the_seeds_example_is_a_column_of_boxes() {
    let expected = "\
┌ setup (parallel) ───────────────────────────────┐
│ get-config      explore  → VAULT                │
│ get-directives  explore  → DIRECTIVES  optional │
└────────────────────────┬────────────────────────┘
                         ▼
  ┌ gather ─────────────────────────────────────┐
  │ 日历  explore  → CALENDAR  fallback: inline │
  └──────────────────────┬──────────────────────┘
                         ▼
   ┌ interact ────────────────────────────────┐
   │ in the main conversation  inline  → NAME │
   └──────────────────────────────────────────┘";
    assert_eq!(drawn(&seed(), 80, Width::Narrow, Lang::En).join("\n"), expected);
}

#[test]
fn a_narrow_terminal_gets_stacked_lines_and_a_wide_ambiguous_one_ascii() {
    let expected = "\
+ setup（并行） ----------+
| get-config              |
|   explore -> VAULT      |
| get-directives          |
|   explore -> DIRECTIVES |
|   可选                  |
+------------+------------+
             v
 + gather ---------------+
 | 日历                  |
 |   explore -> CALENDAR |
 |   失败时内联执行      |
 +-----------+-----------+
             v
   + interact --------+
   | 在主对话中       |
   |   inline -> NAME |
   +------------------+";
    assert_eq!(drawn(&seed(), 28, Width::Wide, Lang::Zh).join("\n"), expected);
}

#[test]
fn every_line_fits_every_terminal() {
    for columns in 20..120 {
        for (width, lang) in [(Width::Narrow, Lang::En), (Width::Wide, Lang::Zh)] {
            for line in drawn(&seed(), columns, width, lang).iter().chain(&draw_single(Paper {
                lang,
                width,
                columns,
            })) {
                let line = anstream::adapter::strip_str(line).to_string();
                assert!(width.of(&line) <= columns, "{columns}: {line}");
            }
        }
    }
}

#[test]
fn a_plan_that_is_too_large_for_a_picture_is_an_outline() {
    let count = 50;
    let phases = (0..count)
        .map(|at: u32| phase(&format!("p{at}"), false, &at.checked_sub(1).map_or(vec![], |on| vec![on])));
    let nodes = (0..count).map(|at| node(&format!("p{at}/n"), at, agent()));
    let plan = Plan { phases: phases.collect(), nodes: nodes.collect() };
    let lines = drawn(&plan, 100, Width::Narrow, Lang::En);
    assert_eq!(lines.len(), 100);
    assert_eq!(lines[2..4], ["p1  ◀── p0", "└─ n  explore"]);
}

#[test]
fn hostile_names_reach_no_terminal() {
    let mut plan = seed();
    plan.phases[0].name = "a\u{1b}[2Jb\n".into();
    plan.nodes[0].id = "setup/x\u{7}".into();
    let text = drawn(&plan, 100, Width::Narrow, Lang::En).join("\n");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}') && text.lines().count() == 12, "{text}");
}

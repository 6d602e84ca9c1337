//! The skills that are run: written as a person would write them, small, into throw-away directories.

use crate::BenchError;
use fugato_runtime::tools::{Access, comes_with_a_kind, specs};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Two calls at once, then one, then one.
pub fn four_calls(dir: &Path) -> Result<(), BenchError> {
    let phases = "\
phases:
  - name: gather
    parallel: true
    subagents:
      - {skill: _sub/facts, output: FACTS}
      - {skill: _sub/rules, output: RULES}
  - name: write
    depends_on: [gather]
    subagents:
      - {skill: _sub/draft, args: \"{{FACTS}} {{RULES}}\", output: DRAFT}
  - name: check
    depends_on: [write]
    subagents:
      - {skill: _sub/check, args: \"{{DRAFT}}\", output: RESULT}
";
    skill(dir, phases)?;
    for (name, text) in [
        ("facts", "Find the facts."),
        ("rules", "Find the rules."),
        ("draft", "Write from the facts by the rules."),
        ("check", "Check the draft."),
    ] {
        sub_skill(dir, name, text)?;
    }
    Ok(())
}

/// One phase with many subagents at once.
pub fn many(dir: &Path, count: u32) -> Result<(), BenchError> {
    let mut phases = "phases:\n  - name: gather\n    parallel: true\n    subagents:\n".to_owned();
    for number in 0..count {
        writeln!(phases, "      - {{skill: _sub/fact, args: \"{number}\", output: FACT_{number}}}")?;
    }
    skill(dir, &phases)?;
    sub_skill(dir, "fact", "Find this fact.")
}

/// Two chains that have nothing to do with each other: `a` begins with a slow node, `b` is ten steps of a tenth of it.
/// Whoever waits for whole waves takes about twice as long as the longer chain.
pub fn straggler(dir: &Path, slow_ms: u32) -> Result<(), BenchError> {
    let mut phases = "phases:\n".to_owned();
    let mut chain = |name: &str, length: u32| -> std::fmt::Result {
        for at in 0..length {
            let skill = if name == "a" && at == 0 { "slow" } else { "quick" };
            writeln!(phases, "  - name: {name}{at}")?;
            if let Some(before) = at.checked_sub(1) {
                writeln!(phases, "    depends_on: [{name}{before}]")?;
            }
            let output = format!("{}{at}", name.to_uppercase());
            writeln!(phases, "    subagents:\n      - {{skill: _sub/{skill}, output: {output}}}")?;
        }
        Ok(())
    };
    chain("a", 2)?;
    chain("b", STRAGGLER_CHAIN)?;
    skill(dir, &phases)?;
    sub_skill(dir, "slow", &format!("Think: pause={slow_ms} ms."))?;
    sub_skill(dir, "quick", &format!("Think: pause={} ms.", slow_ms / STRAGGLER_CHAIN))
}

pub const STRAGGLER_CHAIN: u32 = 10;

fn skill(dir: &Path, phases: &str) -> Result<(), BenchError> {
    fs::create_dir_all(dir)?;
    fs::write(
        dir.join("SKILL.md"),
        "---\nname: bench\ndescription: Measures. Use when measuring.\nmetadata:\n  fugato-phases: phases.yaml\n---\n# Bench\n",
    )?;
    fs::write(dir.join("phases.yaml"), phases)?;
    Ok(())
}

fn sub_skill(dir: &Path, name: &str, text: &str) -> Result<(), BenchError> {
    let dir = dir.join("_sub").join(name);
    fs::create_dir_all(&dir)?;
    fs::write(
        dir.join("SKILL.md"),
        format!("---\nname: {name}\ndescription: A step of a measure.\n---\n{text}\n"),
    )?;
    Ok(())
}

/// The tools of an agent in the form they are sent, so that the bare programs send as much.
pub fn write_tools(file: &Path) -> Result<(), BenchError> {
    let tools: Vec<Value> = specs(Access::ReadWrite)
        .iter()
        .filter(|tool| !comes_with_a_kind(&tool.name))
        .map(|tool| {
            json!({"type": "function", "function": {"name": tool.name, "description": tool.description,
                "parameters": tool.parameters}})
        })
        .collect();
    fs::write(file, serde_json::to_vec(&tools)?)?;
    Ok(())
}

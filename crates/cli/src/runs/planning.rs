//! `fugato plan SKILL`: what would run, without asking any model.

use super::drawing;
use super::start::{find_among, start_error};
use crate::app::{App, SkillSelection};
use crate::error::Outcome;
use crate::printer::{paint, style};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, words};
use fugato_runtime::runs::{Started, plan_run};

/// Show what a skill would run.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Name of the skill, or a path to its directory
    #[arg(add = ArgValueCandidates::new(crate::complete::skills))]
    skill: String,
    /// Arguments of the skill
    arguments: Vec<String>,
    #[command(flatten)]
    selection: SkillSelection,
}

pub fn run(args: &PlanArgs, app: &mut App) -> Outcome {
    let (skill, installed) = find_among(&args.skill, &args.selection, app)?;
    let started = Started { arguments: args.arguments.join(" "), installed, ..Started::default() };
    let (spec, warnings) = plan_run(&skill, &started).map_err(|error| start_error(&error, &skill))?;
    for warning in &warnings {
        let text = crate::render::report(warning, &app.out);
        app.out.aside(&text);
    }
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.plan/v1", "skill": spec.skill.name, "plan": spec.plan, "context": spec.context,
        }))?;
        return Ok(Exit::Ok);
    }
    if spec.single.is_some() {
        app.out.note(&words!(
            "one agent reads the skill; there are no phases",
            "没有阶段：由一个代理执行整个技能"
        ));
        return Ok(Exit::Ok);
    }
    for line in drawing::draw(&spec.plan) {
        app.out.line(line)?;
    }
    app.out.line("")?;
    for (name, value) in &spec.context {
        app.out.line(format!("{} = {}", paint(style::BOLD, name), super::reporter::short(value)))?;
    }
    Ok(Exit::Ok)
}

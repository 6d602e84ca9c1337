//! `fugato plan SKILL`: what would run, without asking any model.

use super::drawing::{self, Paper};
use super::estimate::{Estimate, estimate, tokens};
use super::outlook;
use super::start::{find_among, start_error};
use super::variables::{Variable, variables};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{Cell, Table, count, shell_word};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Orchestrator, Phase, Plan, RunSpec};
use fugato_model::{Exit, Lang, words};
use fugato_runtime::agents::agent_types;
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

/// A pipe has no width: what most screens have.
const COLUMNS_OFF_A_TERMINAL: usize = 100;

pub fn run(args: &PlanArgs, app: &mut App) -> Outcome {
    let (skill, installed) = find_among(&args.skill, &args.selection, app)?;
    let types = agent_types(&app.places).list();
    let arguments = args.arguments.join(" ");
    let orchestration = app.config.orchestration();
    let started = Started { arguments, installed, types, orchestration, ..Started::default() };
    let (spec, warnings) = plan_run(&skill, &started).map_err(|error| start_error(&error, &skill))?;
    for warning in &warnings {
        let text = crate::render::report(warning, &app.out);
        app.out.aside(&text);
    }
    if let Some(orchestrator) = outlook::orchestrator(&spec) {
        return outlook_of(args, &spec, orchestrator, app);
    }
    let (variables, estimate) = (variables(&spec), estimate(&spec));
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.plan/v1", "skill": spec.skill.name, "edges": edges(&spec.plan),
            "variables": variables, "estimate": estimate, "plan": spec.plan, "context": spec.context,
        }))?;
        return Ok(Exit::Ok);
    }
    let columns = app.out.columns().unwrap_or(COLUMNS_OFF_A_TERMINAL);
    let paper = Paper { lang: app.out.lang, width: app.out.width, columns };
    let lines = match &spec.single {
        Some(_) => drawing::draw_single(paper),
        None => drawing::draw(&spec.plan, paper),
    };
    for line in lines {
        app.out.line(line)?;
    }
    app.out.line("")?;
    variables_table(&variables, app)?;
    app.out.line("")?;
    estimate_table(&estimate, app)?;
    tell_next(args, app);
    Ok(Exit::Ok)
}

/// An orchestrator decides while it runs: shown is what it may decide between.
fn outlook_of(args: &PlanArgs, spec: &RunSpec, orchestrator: &Orchestrator, app: &mut App) -> Outcome {
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.plan/v1", "skill": spec.skill.name,
            "orchestrator": outlook::document(spec, orchestrator), "context": spec.context,
        }))?;
        return Ok(Exit::Ok);
    }
    outlook::show(spec, orchestrator, app)?;
    tell_next(args, app);
    Ok(Exit::Ok)
}

fn tell_next(args: &PlanArgs, app: &mut App) {
    let typed: Vec<String> = std::iter::once(&args.skill).chain(&args.arguments).map(shell_word).collect();
    let typed = typed.join(" ");
    app.out.note(&words!("next: fugato run {typed}", "下一步：fugato run {typed}"));
}

/// Phases by name: from, to.
fn edges(plan: &Plan) -> Vec<serde_json::Value> {
    let name = |at: &u32| plan.phases.get(*at as usize).map(|phase| phase.name.as_str()).unwrap_or_default();
    let of = |phase: &Phase| {
        let edge = |from: &u32| serde_json::json!({"from": name(from), "to": phase.name});
        phase.depends_on.iter().map(edge).collect::<Vec<_>>()
    };
    plan.phases.iter().flat_map(of).collect()
}

fn variables_table(variables: &[Variable], app: &mut App) -> Result<(), CliError> {
    let (given, empty, dash) = match app.out.lang {
        Lang::En => ("at the start: ", "(empty)", "-"),
        Lang::Zh => ("启动时：", "（空）", "-"),
    };
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["VARIABLE", "SET BY", "USED BY"]),
        Lang::Zh => Table::new(0).header(["变量", "由谁设置", "由谁使用"]),
    };
    let list = |names: &[String]| if names.is_empty() { dash.to_owned() } else { names.join(", ") };
    for Variable { name, set_by, used_by, value, within } in variables {
        // Inside of a sub-skill, a name is another variable.
        let name = within.as_ref().map_or_else(|| name.clone(), |within| format!("{within}: {name}"));
        let by_call = within.as_ref().filter(|_| set_by.is_empty());
        let set_by = match value {
            Some(value) if set_by.is_empty() => match super::reporter::short(value).as_str() {
                "" => format!("{given}{empty}"),
                value => format!("{given}{value}"),
            },
            _ => by_call.cloned().unwrap_or_else(|| list(set_by)),
        };
        table.row([Cell::styled(style::BOLD, &name), Cell::new(set_by), Cell::new(list(used_by))]);
    }
    table.print(&mut app.out)
}

fn estimate_table(estimate: &Estimate, app: &mut App) -> Result<(), CliError> {
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["PHASE", "MODEL CALLS", "PROMPTS"]),
        Lang::Zh => Table::new(0).header(["阶段", "模型调用", "提示词"]),
    };
    let on_failure = if app.out.lang == Lang::En { "on failure" } else { "失败时" };
    let at_least = |calls: u64, fallback: u64| match (calls, fallback) {
        (0, 0) => "-".to_owned(),
        (calls, 0) => format!("{calls}+"),
        (0, fallback) => format!("{on_failure} {fallback}+"),
        (calls, fallback) => format!("{calls}+, {on_failure} +{fallback}"),
    };
    for phase in &estimate.phases {
        let prompts = match phase.prompt_tokens {
            0 => "-".to_owned(),
            some => format!("~{}", tokens(some)),
        };
        table.row([
            Cell::styled(style::NAME, &phase.phase),
            Cell::new(at_least(phase.model_calls, phase.fallback_calls)),
            Cell::new(prompts),
        ]);
    }
    table.print(&mut app.out)?;
    let (calls, prompts) = (estimate.model_calls, tokens(estimate.prompt_tokens));
    let counted = count(usize::try_from(calls).unwrap_or(usize::MAX), "model call");
    if calls == 0 {
        let none = words!("no model calls", "不调用模型");
        let none = app.out.say(&none).to_owned();
        return app.out.line(none);
    }
    let total = words!(
        "at least {counted} · ≈ {prompts} tokens of prompts, without answers, tool definitions and values not yet known",
        "至少 {calls} 次模型调用 · 提示词约 {prompts} 词元（不含模型的回答、工具定义和尚未知道的值）"
    );
    let total = app.out.say(&total).to_owned();
    app.out.line(total)
}

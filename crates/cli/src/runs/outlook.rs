//! What `fugato plan` shows of an orchestrator: how it works, what it may call and what those are, and the levels of a
//! program that is given.

use crate::app::App;
use crate::error::CliError;
use crate::printer::{paint, style};
use crate::render::{Cell, Table};
use fugato_engine::{Callable, CallableWork, Orchestrator, RunSpec, SessionKind, Work};
use fugato_model::{Lang, words};
use fugato_skill::sop::Program;
use serde_json::{Value, json};

/// The orchestrator that a run would begin with.
pub fn orchestrator(spec: &RunSpec) -> Option<&Orchestrator> {
    match spec.plan.nodes.first().map(|node| &node.work) {
        Some(Work::Session { orchestrator, .. }) => Some(orchestrator),
        _ => None,
    }
}

pub fn show(spec: &RunSpec, orchestrator: &Orchestrator, app: &mut App) -> Result<(), CliError> {
    let kind = session_words(&orchestrator.session);
    let kind = app.out.say(&kind).to_owned();
    app.out.line(format!("{}  {}", paint(style::NAME, &orchestrator.name), paint(style::DIM, kind)))?;
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["STAGE", "SKILL", "A CALL IS", "DESCRIPTION"]),
        Lang::Zh => Table::new(0).header(["阶段", "技能", "调用即", "描述"]),
    };
    app.out.line("")?;
    if let Some(preparation) = &orchestrator.preparation {
        let stage = words!("preparation", "准备");
        rows(&mut table, app.out.say(&stage), &preparation.allowed, spec, app.out.lang);
    }
    let stage = words!("session", "会话");
    rows(&mut table, app.out.say(&stage), &orchestrator.allowed, spec, app.out.lang);
    table.print(&mut app.out)?;
    for (at, level) in levels(orchestrator).iter().enumerate() {
        if at == 0 {
            app.out.line("")?;
        }
        let number = at + 1;
        let label = words!("level {number}", "第 {number} 层");
        let label = paint(style::DIM, app.out.say(&label));
        app.out.line(format!("{label}  {}", level.join(" · ")))?;
    }
    Ok(())
}

fn rows(table: &mut Table, stage: &str, names: &[String], spec: &RunSpec, lang: Lang) {
    if names.is_empty() {
        let none = words!("no skills", "没有技能");
        table.row([Cell::styled(style::DIM, stage), Cell::styled(style::DIM, none.in_lang(lang))]);
    }
    for name in names {
        let Some(callable) = spec.skills.get(name) else { continue };
        table.row([
            Cell::styled(style::DIM, stage),
            Cell::styled(style::NAME, name),
            Cell::new(kind_of(callable)),
            Cell::new(&callable.description),
        ]);
    }
}

/// In the words of `skill.called`'s nodes.
fn kind_of(callable: &Callable) -> String {
    match &callable.work {
        CallableWork::Agent { agent_type, .. } => format!("agent ({agent_type})"),
        CallableWork::Script { class, .. } => format!("script ({})", format!("{class:?}").to_lowercase()),
        CallableWork::Phases { plan, .. } => {
            let nodes = plan.nodes.iter().filter(|node| !matches!(node.work, Work::Gate)).count();
            format!("phases ({nodes})")
        }
        CallableWork::Noop => "noop".to_owned(),
        CallableWork::Session { orchestrator } => match orchestrator.session {
            SessionKind::Loop { .. } => format!("loop ({})", orchestrator.allowed.join(", ")),
            SessionKind::Sop { .. } => format!("sop ({})", orchestrator.allowed.join(", ")),
        },
    }
}

fn session_words(session: &SessionKind) -> fugato_model::Words {
    match session {
        SessionKind::Loop { steps } => {
            words!("loop session, {steps} steps a turn", "loop 会话，每轮 {steps} 步")
        }
        SessionKind::Sop { fixed, budget } => {
            let commands = budget.commands;
            match fixed {
                Some(_) => words!(
                    "SOP session with a program of its own, at most {commands} commands",
                    "SOP 会话，使用固定程序，最多 {commands} 条命令"
                ),
                None => words!(
                    "SOP session: a model plans, at most {commands} commands",
                    "SOP 会话：由模型规划，最多 {commands} 条命令"
                ),
            }
        }
    }
}

/// Declarations of a fixed program that run at the same time.
fn levels(orchestrator: &Orchestrator) -> Vec<Vec<String>> {
    let SessionKind::Sop { fixed: Some(text), .. } = &orchestrator.session else { return Vec::new() };
    let program = Program::parse(text).ok();
    let level = |level: Vec<&fugato_skill::sop::Declaration>| {
        level.into_iter().map(|one| format!("@{} {}", one.name, one.command)).collect()
    };
    program.iter().flat_map(Program::levels).map(level).collect()
}

/// The same for programs.
pub fn document(spec: &RunSpec, orchestrator: &Orchestrator) -> Value {
    let listed = |names: &[String]| -> Vec<Value> {
        let skill = |name: &String| {
            let callable = spec.skills.get(name)?;
            Some(json!({"name": name, "kind": kind_of(callable), "description": callable.description}))
        };
        names.iter().filter_map(skill).collect()
    };
    json!({
        "name": orchestrator.name,
        "session": orchestrator.session,
        "allowed": listed(&orchestrator.allowed),
        "preparation": orchestrator.preparation.as_ref().map(|preparation| json!({"allowed": listed(&preparation.allowed)})),
        "levels": levels(orchestrator),
    })
}

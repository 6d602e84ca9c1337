//! `fugato policy explain`: for every name, why an agent sees it or not.

use super::{Opened, ProfileArgs, open};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use crate::render::{Cell, Table};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, Lang, words};
use fugato_skill::Installed;
use fugato_skill::policy::{Resolution, Why};
use fugato_skill::profile::Agent;

/// Why each agent sees, or does not see, each skill.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    profile: ProfileArgs,
    /// Only this agent [default: all]
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(crate::complete::agents))]
    agent: Option<String>,
    /// Only this skill, installed or not [default: all that the policy names]
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(crate::complete::skills))]
    skill: Option<String>,
    /// Every installed skill, also those the policy does not mention
    #[arg(long, conflicts_with = "skill")]
    all: bool,
}

pub fn run(args: &ExplainArgs, app: &mut App) -> Outcome {
    let opened = open(&args.profile, app)?;
    let agents = opened.chosen(args.agent.as_deref())?;
    if let Some(name) = &args.skill {
        let is_nowhere =
            |agent: &&Agent| matches!(opened.resolve(agent).why(name), Why::NotInstalled { listed: None });
        if agents.iter().all(is_nowhere) {
            return Err(crate::skill::unknown_skill(name, &opened.discovery.inventory));
        }
    }
    if app.out.json {
        let documents: Vec<_> = agents.iter().map(|agent| document(agent, &opened, args, app)).collect();
        app.out.json(&serde_json::json!({
            "schema": "fugato.explain_policy/v1", "mode": opened.mode.as_str(), "agents": documents,
        }))?;
        return Ok(Exit::Ok);
    }
    for (at, agent) in agents.iter().enumerate() {
        if at > 0 {
            app.out.line("")?;
        }
        print(agent, &opened, args, app)?;
    }
    opened.tell_errors(&args.profile.profile, app);
    Ok(Exit::Ok)
}

/// The names a command is about, each with its reason.
fn traced<'a>(resolution: &Resolution<'a>, args: &ExplainArgs) -> Vec<(String, Why, Option<&'a Installed>)> {
    let lines = match &args.skill {
        Some(name) => return vec![(name.clone(), resolution.why(name), resolution.installed(name))],
        None if args.all => resolution.trace_all(),
        None => resolution.trace_visible(),
    };
    lines.into_iter().map(|line| (line.name.to_string(), line.why, line.skill)).collect()
}

fn document(agent: &Agent, opened: &Opened, args: &ExplainArgs, app: &App) -> serde_json::Value {
    let resolution = opened.resolve(agent);
    let lang = app.out.lang;
    let catalog = super::catalog_of(agent, &resolution, app);
    let names: Vec<_> = traced(&resolution, args)
        .iter()
        .map(|(name, why, skill)| {
            serde_json::json!({
                "name": name,
                "visible": why.is_visible(),
                "inCatalog": is_in_catalog(agent, why, *skill),
                "scope": skill.map(|skill| &skill.scope),
                "reason": why,
                "pointer": resolution.pointer(why),
                "why": why.words().in_lang(lang),
            })
        })
        .collect();
    serde_json::json!({
        "id": agent.id,
        "role": agent.role.as_str(),
        "rule": resolution.rule().in_lang(lang),
        "key": resolution.key(),
        "names": names,
        "catalogTokens": catalog.tokens,
        "catalogBytes": catalog.text.len(),
    })
}

fn print(agent: &Agent, opened: &Opened, args: &ExplainArgs, app: &mut App) -> Result<(), CliError> {
    let resolution = opened.resolve(agent);
    let lang = app.out.lang;
    let role = agent.role.as_str();
    app.out.line(format!(
        "{}  {}",
        paint(style::NAME, &agent.id),
        paint(style::DIM, format!("{} · {role}", opened.mode.as_str()))
    ))?;
    let rule = resolution.rule();
    app.out.line(format!("  {}", paint(style::DIM, rule.in_lang(lang))))?;
    let mut table = Table::new(2);
    let rows = traced(&resolution, args);
    let is_denied = |why: &Why| matches!(why, Why::DeniedByMode { .. } | Why::DeniedByAgent { .. });
    let denied = rows.iter().filter(|(_, why, _)| is_denied(why)).count();
    for (name, why, skill) in rows {
        let (mark, look) = match why {
            _ if is_in_catalog(agent, &why, skill) => ("✓", style::GOOD),
            // Readable, but not announced.
            _ if why.is_visible() => ("○", style::GOOD),
            Why::DeniedByMode { .. } | Why::DeniedByAgent { .. } => ("✗", style::BAD),
            Why::NotListed { .. } | Why::Unlisted | Why::Owned { .. } | Why::Nothing => ("·", style::DIM),
            _ => ("?", style::WARN),
        };
        let scope = skill.map_or_else(|| "-".to_owned(), |skill| skill.scope.to_string());
        table.row([
            Cell::styled(look, mark),
            Cell::styled(if why.is_visible() { style::PLAIN } else { look }, name),
            Cell::styled(style::DIM, scope),
            Cell::new(why.words().in_lang(lang)),
        ]);
    }
    table.print(&mut app.out)?;
    // With one skill asked for, the rest of the numbers would be about something else.
    if args.skill.is_some() { Ok(()) } else { summary(agent, &resolution, denied, app) }
}

fn is_in_catalog(agent: &Agent, why: &Why, skill: Option<&Installed>) -> bool {
    agent.role.gets_catalog() && why.is_visible() && skill.is_some_and(|skill| !skill.head.is_unlisted())
}

fn summary(agent: &Agent, resolution: &Resolution<'_>, denied: usize, app: &mut App) -> Result<(), CliError> {
    let catalog = super::catalog_of(agent, resolution, app);
    let (visible, missing) = (resolution.visible().count(), resolution.missing().len());
    let (tokens, bytes) = (catalog.tokens, catalog.text.len());
    let mut words = words!(
        "{visible} visible · {denied} denied · {missing} missing · catalog ≈ {tokens} tokens ({bytes} bytes)",
        "可见 {visible} · 拒绝 {denied} · 缺失 {missing} · 目录约 {tokens} 词元（{bytes} 字节）"
    );
    if !agent.role.gets_catalog() {
        words = words!(
            "{visible} visible · {denied} denied · {missing} missing · no catalog (review node; the skill tools work)",
            "可见 {visible} · 拒绝 {denied} · 缺失 {missing} · 无目录（评审节点；技能工具可用）"
        );
    }
    let text = match app.out.lang {
        Lang::En => words.en,
        Lang::Zh => words.zh,
    };
    app.out.line(format!("  {}", paint(style::DIM, text)))
}

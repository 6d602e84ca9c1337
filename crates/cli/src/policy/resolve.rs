//! `fugato policy resolve`: what each agent sees, as data or as a table.

use super::{Opened, ProfileArgs, open};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use crate::render::{Cell, Table};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::view::{AgentPolicyView, PolicyView, VisibleSkillView};
use fugato_model::{Exit, words};
use fugato_skill::policy::Resolution;
use fugato_skill::profile::Agent;

/// What each agent sees.
#[derive(Debug, Args)]
pub struct ResolveArgs {
    #[command(flatten)]
    profile: ProfileArgs,
    /// Only this agent [default: all]
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(crate::complete::agents))]
    agent: Option<String>,
    /// Print the catalog the agent's system message gets
    #[arg(long)]
    catalog: bool,
}

pub fn run(args: &ResolveArgs, app: &mut App) -> Outcome {
    let opened = open(&args.profile, app)?;
    let agents = opened.chosen(args.agent.as_deref())?;
    if app.out.json {
        let views = agents.iter().map(|agent| view(agent, &opened.resolve(agent), app)).collect();
        app.out.json(&PolicyView::new(opened.mode.as_str().to_owned(), views))?;
        return Ok(Exit::Ok);
    }
    for (at, agent) in agents.iter().enumerate() {
        if at > 0 {
            app.out.line("")?;
        }
        print(agent, &opened, args.catalog, app)?;
    }
    opened.tell_errors(&args.profile.profile, app);
    Ok(Exit::Ok)
}

fn view(agent: &Agent, resolution: &Resolution<'_>, app: &App) -> AgentPolicyView {
    let catalog = super::catalog_of(agent, resolution, app);
    AgentPolicyView {
        id: agent.id.to_string(),
        visible: resolution
            .visible()
            .filter_map(|skill| {
                Some(VisibleSkillView {
                    name: skill.head.name.clone()?,
                    scope: skill.scope.clone(),
                    description: skill.head.description.clone(),
                })
            })
            .collect(),
        denied: resolution.denied(),
        missing: resolution.missing(),
        catalog: catalog.text,
        catalog_tokens: catalog.tokens,
    }
}

fn print(agent: &Agent, opened: &Opened, with_catalog: bool, app: &mut App) -> Result<(), CliError> {
    let resolution = opened.resolve(agent);
    let catalog = super::catalog_of(agent, &resolution, app);
    let (visible, denied, missing) =
        (resolution.visible().count(), resolution.denied().len(), resolution.missing().len());
    let tokens = catalog.tokens;
    let words = words!(
        "{visible} visible · {denied} denied · {missing} missing · catalog ≈ {tokens} tokens",
        "可见 {visible} · 拒绝 {denied} · 缺失 {missing} · 目录约 {tokens} 词元"
    );
    let summary = app.out.say(&words).to_owned();
    app.out.line(format!("{}  {}", paint(style::NAME, &agent.id), paint(style::DIM, summary)))?;
    if with_catalog {
        return app.out.line(&catalog.text);
    }
    let mut table = Table::new(2);
    for skill in resolution.visible() {
        let description = skill.head.description.split_whitespace().collect::<Vec<_>>().join(" ");
        table.row([
            Cell::new(skill.label()),
            Cell::styled(style::DIM, skill.scope.to_string()),
            Cell::new(description),
        ]);
    }
    table.print(&mut app.out)
}

//! `fugato cost`: what a run took, from the log.

use super::{find, open, reader};
use crate::app::App;
use crate::error::Outcome;
use crate::printer::style;
use crate::render::{Cell, Table};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::Run;
use fugato_model::{Exit, Lang, Words, words};
use fugato_runtime::models::price::DATE as PRICE_DATE;

/// What a run cost, per agent.
#[derive(Debug, Args)]
pub struct CostArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
}

pub fn cost(args: &CostArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let (_, run) = open(&reader, &row)?;
    if app.out.json {
        let lang = app.out.lang;
        let view = run.view(lang);
        app.out.json(&serde_json::json!({
            "schema": "fugato.cost/v1", "run": row.id, "total": run.spent, "agents": view.agents,
            "prices": {"table": PRICE_DATE, "own": app.config.price_dates()},
        }))?;
        return Ok(Exit::Ok);
    }
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["AGENT", "CALLS", "IN", "OUT", "COST"]),
        Lang::Zh => Table::new(0).header(["代理", "调用", "输入", "输出", "费用"]),
    };
    let known = |tokens: Option<u64>| tokens.map_or_else(|| "—".to_owned(), |n| n.to_string());
    for agent in &run.agents {
        let cost = agent.spent.micro_usd.map_or_else(
            || "—".to_owned(),
            |micro| format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100),
        );
        table.row([
            Cell::styled(style::NAME, agent.path.as_str()),
            Cell::new(agent.spent.answers.to_string()),
            Cell::new(known(agent.spent.usage.input_tokens)),
            Cell::new(known(agent.spent.usage.output_tokens)),
            Cell::new(cost),
        ]);
    }
    table.print(&mut app.out)?;
    app.out.note(&super::bill::bill(&run));
    app.out.note(&price_note(&run, app));
    Ok(Exit::Ok)
}

/// How old the prices are, and what to do where there is none: unknown is not free.
fn price_note(run: &Run, app: &App) -> Words {
    let unknown = run.agents.iter().find(|agent| agent.spent.answers > 0 && agent.spent.micro_usd.is_none());
    let dates = app.config.price_dates();
    let own: Vec<String> = dates.iter().map(|(model, date)| format!("{model} {date}")).collect();
    let own = if own.is_empty() { String::new() } else { format!(" · {}", own.join(", ")) };
    match unknown {
        Some(agent) => {
            let model = fugato_model::escape_for_terminal(&agent.model);
            words!(
                "prices of {PRICE_DATE}{own}; that of {model} is unknown, so the cost is: set it under [prices.\"{model}\"]",
                "价格表日期 {PRICE_DATE}{own}；{model} 的价格未知，因此费用未知：可在 [prices.\"{model}\"] 下设置"
            )
        }
        None => words!("prices of {PRICE_DATE}{own}", "价格表日期 {PRICE_DATE}{own}"),
    }
}

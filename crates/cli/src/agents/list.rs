//! `fugato agents ls`: every kind of agent that is here, good or broken.

use super::view::{self, Status};
use super::{AgentSelection, known_agents, machine};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{self, Cell, Table};
use clap::Args;
use fugato_model::view::DiagnosticView;
use fugato_model::{Exit, Lang, Words, words};
use fugato_runtime::agents::{AgentTypes, BrokenFile, Known, Machine, Origin};

/// List the kinds of agents that can be started here.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only names and descriptions with this text [default: all]
    query: Option<String>,
    #[command(flatten)]
    selection: AgentSelection,
}

pub fn run(args: &ListArgs, app: &mut App) -> Outcome {
    let mut found = known_agents(&args.selection, app)?;
    if let Some(query) = args.query.as_deref().map(str::to_lowercase) {
        let fits = |known: &Known| {
            [&known.agent.name, &known.agent.description]
                .iter()
                .any(|text| text.to_lowercase().contains(&query))
        };
        found.types.retain(fits);
        found.shadowed.retain(fits);
        found.broken.retain(|file| file.name.to_lowercase().contains(&query));
    }
    let machine = machine(app);
    if app.out.json {
        return print_json(&found, &machine, app);
    }
    table(&found, &machine, app)?;
    notes(&found, app);
    Ok(Exit::Ok)
}

fn print_json(found: &AgentTypes, machine: &Machine, app: &mut App) -> Outcome {
    let lang = app.out.lang;
    let known = found.types.iter().map(|known| view::of_known(known, false, machine, lang));
    let shadowed = found.shadowed.iter().filter(|known| known.origin != Origin::BuiltIn);
    let shadowed = shadowed.map(|known| view::of_known(known, true, machine, lang));
    let broken = found.broken.iter().map(|file| view::of_broken(file, lang));
    let agents: Vec<_> = known.chain(shadowed).chain(broken).collect();
    let diagnostics: Vec<_> =
        found.diagnostics.iter().map(|found| DiagnosticView::new(found, lang)).collect();
    app.out.json(&serde_json::json!({
        "schema": "fugato.agents/v1", "agents": agents, "diagnostics": diagnostics,
    }))?;
    Ok(Exit::Ok)
}

fn table(found: &AgentTypes, machine: &Machine, app: &mut App) -> Result<(), CliError> {
    let lang = app.out.lang;
    let mut table = match lang {
        Lang::En => Table::new(0).header(["", "NAME", "STEPS", "SOURCE", "STATUS", "TOOLS"]),
        Lang::Zh => Table::new(0).header(["", "名称", "步数", "来源", "状态", "工具"]),
    };
    for known in &found.types {
        table.row(row(known, Status::of(&machine.obstacles(known)), lang));
    }
    // What is built in and was replaced is told below; a row of its own would look like a choice.
    for known in found.shadowed.iter().filter(|known| known.origin != Origin::BuiltIn) {
        table.row(row(known, Status::Shadowed, lang));
    }
    for file in &found.broken {
        table.row(broken_row(file, lang));
    }
    table.print(&mut app.out)
}

fn row(known: &Known, status: Status, lang: Lang) -> [Cell; 6] {
    let agent = &known.agent;
    let name_style = if status == Status::Shadowed { style::DIM } else { style::NAME };
    let steps = agent.steps.map(|steps| steps.to_string()).unwrap_or_default();
    [
        Cell::new(agent.mark.as_deref().unwrap_or_default()),
        Cell::styled(name_style, &agent.name),
        Cell::new(steps),
        Cell::styled(style::DIM, source_word(known.origin, lang)),
        Cell::styled(status_style(status), status.word(lang)),
        Cell::new(tools_words(known).in_lang(lang)),
    ]
}

fn broken_row(file: &BrokenFile, lang: Lang) -> [Cell; 6] {
    let why = file.diagnostics.iter().find(|found| found.is_error());
    let why =
        why.map(|found| format!("[{}] {}", found.code, found.message.in_lang(lang))).unwrap_or_default();
    [
        Cell::new(""),
        Cell::styled(style::DIM, &file.name),
        Cell::new(""),
        Cell::styled(style::DIM, source_word(file.origin, lang)),
        Cell::styled(status_style(Status::Invalid), Status::Invalid.word(lang)),
        Cell::new(why),
    ]
}

/// The tools a kind lists, in one line.
pub(super) fn tools_words(known: &Known) -> Words {
    let agent = &known.agent;
    let mut words = match &agent.tools {
        None => words!("all of its parent's", "与上级相同"),
        Some(tools) if tools.is_empty() => words!("none", "无"),
        Some(tools) => {
            // A tool that is held to rules is shown by them.
            let is_held = |tool: &String| agent.only.iter().any(|rule| rule.split('(').next() == Some(tool));
            let list: Vec<&str> =
                tools.iter().filter(|tool| !is_held(tool)).chain(&agent.only).map(String::as_str).collect();
            let list = list.join(", ");
            Words { en: list.clone(), zh: list }
        }
    };
    if !agent.disallowed.is_empty() {
        let less = agent.disallowed.join(", ");
        words.en = format!("{}, without {less}", words.en);
        words.zh = format!("{}，不含 {less}", words.zh);
    }
    words
}

pub(super) const fn source_word(origin: Origin, lang: Lang) -> &'static str {
    match (origin, lang) {
        (origin, Lang::En) => origin.as_str(),
        (Origin::BuiltIn, Lang::Zh) => "内置",
        (Origin::User, Lang::Zh) => "用户",
        (Origin::Project, Lang::Zh) => "项目",
        (Origin::Profile, Lang::Zh) => "配置",
    }
}

pub(super) const fn status_style(status: Status) -> anstyle::Style {
    match status {
        Status::Ok => style::GOOD,
        Status::Limited => style::WARN,
        Status::Unusable | Status::Invalid => style::BAD,
        Status::Shadowed => style::DIM,
    }
}

fn notes(found: &AgentTypes, app: &mut App) {
    for known in &found.types {
        if known.replaces.iter().any(|(origin, _)| *origin == Origin::BuiltIn) {
            let (name, shown) = (&known.agent.name, &known.shown);
            app.out.note(&words!(
                "`{name}` of {shown} takes the place of the built-in one",
                "{shown} 中的 `{name}` 取代了内置的同名代理"
            ));
        }
    }
    let odd = found.diagnostics.len();
    let (n, kinds) = (found.types.len(), render::count(found.types.len(), "kind"));
    let mut words = words!("{kinds}", "{n} 种代理");
    if odd > 0 {
        let problems = render::count(odd, "problem");
        words.en = format!("{} · {problems}: fugato agents check", words.en);
        words.zh = format!("{} · {odd} 个问题：fugato agents check", words.zh);
    }
    app.out.note(&words);
    if found.types.iter().all(|known| known.origin == Origin::BuiltIn) && found.broken.is_empty() {
        app.out.note(&words!(
            "add your own: .agents/agents/NAME.md with `name:`, `description:` and instructions (fugato agents show coder)",
            "添加自己的代理：在 .agents/agents/名称.md 中写上 `name:`、`description:` 和指令（参见 fugato agents show coder）"
        ));
    }
}

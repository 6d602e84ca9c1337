//! `fugato agents show`: one kind of agent, whole.

use super::list::{source_word, status_style, tools_words};
use super::view::{self, Status};
use super::{AgentSelection, known_agents, machine};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use crate::render::{self, Cell, Table};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Access, Asking, Executor};
use fugato_model::{Code, Diagnostic, Exit, Lang, words};
use fugato_runtime::agents::{AgentTypes, BrokenFile, Known, Machine};

/// Show one kind of agent: tools, limits, instructions, problems.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Name of the kind of agent
    #[arg(add = ArgValueCandidates::new(crate::complete::kinds))]
    name: String,
    #[command(flatten)]
    selection: AgentSelection,
}

pub fn run(args: &ShowArgs, app: &mut App) -> Outcome {
    let found = known_agents(&args.selection, app)?;
    let machine = machine(app);
    let Some(known) = found.get(&args.name) else {
        return match found.broken.iter().find(|file| file.name == args.name) {
            Some(file) => show_broken(file, app),
            None => Err(unknown(&args.name, &found)),
        };
    };
    if app.out.json {
        let mut document = view::of_known(known, false, &machine, app.out.lang);
        document.insert("prompt".to_owned(), known.agent.prompt.as_str().into());
        document.insert("elsewhere".to_owned(), known.elsewhere.clone().into());
        document.insert("otherFields".to_owned(), serde_json::json!(known.others));
        app.out.document("fugato.agent/v1", document.into())?;
        return Ok(Exit::Ok);
    }
    fields(known, &machine, app)?;
    print_diagnostics(&known.diagnostics, app)?;
    app.out.line("")?;
    for line in known.agent.prompt.lines() {
        // Tabs are layout; everything else a terminal would obey becomes visible.
        let shown: Vec<_> = line.split('\t').map(fugato_model::escape_for_terminal).collect();
        app.out.line(shown.join("\t"))?;
    }
    Ok(Exit::Ok)
}

fn unknown(name: &str, found: &AgentTypes) -> CliError {
    let names: Vec<&str> = found.types.iter().map(|known| known.agent.name.as_str()).collect();
    CliError::unknown(("kind of agent", "这种代理"), name, names)
        .code(Code::F0806)
        .hint(words!("`fugato agents ls` lists what is here", "`fugato agents ls` 列出这里的代理"))
}

fn show_broken(file: &BrokenFile, app: &mut App) -> Outcome {
    if app.out.json {
        let document = view::of_broken(file, app.out.lang);
        app.out.document("fugato.agent/v1", document.into())?;
        return Ok(Exit::Failed);
    }
    let shown = fugato_model::escape_for_terminal(&file.name).into_owned();
    app.out.line(format!("{}  {}", paint(style::NAME, shown), Status::Invalid.word(app.out.lang)))?;
    print_diagnostics(&file.diagnostics, app)?;
    Ok(Exit::Failed)
}

fn print_diagnostics(diagnostics: &[Diagnostic], app: &mut App) -> Result<(), CliError> {
    let mut diagnostics = diagnostics.to_vec();
    render::in_reading_order(&mut diagnostics);
    for diagnostic in &diagnostics {
        app.out.line("")?;
        let text = render::report(diagnostic, &app.out);
        app.out.line(text)?;
    }
    Ok(())
}

fn fields(known: &Known, machine: &Machine, app: &mut App) -> Result<(), CliError> {
    let lang = app.out.lang;
    let word = |en: &'static str, zh: &'static str| if lang == Lang::Zh { zh } else { en };
    let agent = &known.agent;
    let obstacles = machine.obstacles(known);
    let status = Status::of(&obstacles);
    let mark = agent.mark.as_ref().map(|mark| format!("{mark} ")).unwrap_or_default();
    let name = fugato_model::escape_for_terminal(&agent.name).into_owned();
    app.out.line(format!(
        "{mark}{}  {}",
        paint(style::NAME, name),
        paint(status_style(status), status.word(lang))
    ))?;
    let mut table = Table::new(2).whole();
    let mut row = |label: &str, value: String| {
        if !value.is_empty() {
            table.row([Cell::styled(style::DIM, label), Cell::new(value)]);
        }
    };
    row(word("description", "描述"), agent.description.split_whitespace().collect::<Vec<_>>().join(" "));
    let source = source_word(known.origin, lang);
    row(word("source", "来源"), format!("{source} {}", known.shown).trim_end().to_owned());
    let replaced: Vec<_> = known
        .replaces
        .iter()
        .map(|(origin, shown)| format!("{} {shown}", source_word(*origin, lang)).trim_end().to_owned())
        .collect();
    row(word("takes the place of", "取代"), replaced.join(", "));
    row(word("done by", "执行者"), executor_line(&agent.executor, view::executor(agent)));
    row(
        word("model", "模型"),
        agent.model.clone().unwrap_or_else(|| word("its parent's", "与上级相同").to_owned()),
    );
    row(word("steps", "步数"), agent.steps.map(|steps| steps.to_string()).unwrap_or_default());
    row(word("access", "访问"), access_word(agent.access, lang).to_owned());
    row(word("tools", "工具"), tools_words(known).in_lang(lang).to_owned());
    row(word("may use", "可使用"), known.effective_tools().join(", "));
    row(word("only", "仅限"), agent.only.join(", "));
    row(word("never", "禁止"), agent.deny.join(", "));
    let refuses = word("what would be asked of you is refused", "需要询问时直接拒绝");
    row(
        word("questions", "询问"),
        if agent.asking == Asking::Refuse { refuses.to_owned() } else { String::new() },
    );
    let names = |names: &Option<Vec<String>>| match names {
        None => String::new(),
        Some(names) if names.is_empty() => word("none", "无").to_owned(),
        Some(names) => names.join(", "),
    };
    row(word("skills", "技能"), names(&agent.skills));
    row(word("servers", "服务器"), names(&agent.mcp_servers));
    row(word("passed over", "忽略的工具"), known.elsewhere.join(", "));
    row(word("not read here", "未读取的字段"), known.others.keys().cloned().collect::<Vec<_>>().join(", "));
    for obstacle in &obstacles {
        row(word("on this machine", "本机情况"), obstacle.words.in_lang(lang).to_owned());
    }
    table.print(&mut app.out)
}

const fn access_word(access: Access, lang: Lang) -> &'static str {
    match (access, lang) {
        (Access::ReadOnly, Lang::En) => "reads only",
        (Access::ReadWrite, Lang::En) => "reads and changes",
        (Access::ReadOnly, Lang::Zh) => "只读",
        (Access::ReadWrite, Lang::Zh) => "可读写",
    }
}

fn executor_line(executor: &Executor, word: &str) -> String {
    match executor {
        Executor::Script { command } => {
            let line: Vec<_> = command.iter().map(render::shell_word).collect();
            format!("{word}: {}", line.join(" "))
        }
        _ => word.to_owned(),
    }
}

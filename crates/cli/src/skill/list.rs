//! `fugato skill ls`: everything that is here, good or broken; or what one agent would get from `skill_list`.

use super::view;
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::policy::AgentView;
use crate::printer::style;
use crate::render::{Cell, Table};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::view::{SkillStatus, SkillsView};
use fugato_model::{Exit, Lang, words};
use fugato_runtime::{Discovery, Root};
use fugato_skill::{Installed, Inventory};
use std::time::Duration;

/// List the skills that are here.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only names, descriptions and tags with this text [default: all]
    query: Option<String>,
    /// Only this scope [default: all]
    #[arg(long, value_name = "SCOPE", add = ArgValueCandidates::new(crate::complete::scopes))]
    scope: Option<String>,
    /// Only skills with problems
    #[arg(long)]
    problems: bool,
    /// List again whenever something changes
    #[arg(long, conflicts_with = "as_agent")]
    watch: bool,
    #[command(flatten)]
    agent: AgentView,
    #[command(flatten)]
    selection: SkillSelection,
}

pub fn run(args: &ListArgs, app: &mut App) -> Outcome {
    if args.agent.is_given() {
        return list_for_agent(args, app);
    }
    let mut selection = args.selection.clone();
    let scope = args.scope.as_deref().map(super::parse_scope).transpose()?;
    match &scope {
        Some(fugato_model::Scope::Preset(name)) => selection.preset = Some(name.clone()),
        Some(fugato_model::Scope::Character(name)) => selection.character = Some(name.clone()),
        _ => {}
    }
    let roots = app.roots(&selection, None)?;
    // Watching starts before the first look, so that no change falls between.
    let watch = args.watch.then(|| start_watch(&roots)).transpose()?;
    print(args, scope.as_ref(), &roots, &app.discover(&roots), app)?;
    let Some(mut watch) = watch else { return Ok(Exit::Ok) };
    loop {
        app.out.flush()?;
        if watch.next(Duration::from_secs(3600)).is_some() {
            app.out.line("")?;
            print(args, scope.as_ref(), &roots, &app.discover(&roots), app)?;
        }
    }
}

pub fn start_watch(roots: &[Root]) -> Result<fugato_runtime::Watch, CliError> {
    fugato_runtime::Watch::new(roots).map_err(|error| {
        CliError::failed(words!("cannot watch for changes: {error}", "无法监视变化：{error}"))
    })
}

fn print(
    args: &ListArgs,
    scope: Option<&fugato_model::Scope>,
    roots: &[Root],
    discovery: &Discovery,
    app: &mut App,
) -> Result<(), CliError> {
    let inventory = &discovery.inventory;
    let query = args.query.as_deref().map(str::to_lowercase);
    let shown: Vec<&Installed> = inventory
        .all()
        .iter()
        .filter(|skill| scope.is_none_or(|scope| skill.scope == *scope))
        .filter(|skill| !args.problems || skill.status() != SkillStatus::Ok)
        .filter(|skill| query.as_deref().is_none_or(|query| matches_query(skill, query)))
        .collect();
    if app.out.json {
        let views = shown.iter().map(|skill| view(skill, inventory, app)).collect();
        return app.out.json(&SkillsView::new(views));
    }
    for note in &discovery.notes {
        let text = crate::render::report(note, &app.out);
        app.out.aside(&text);
    }
    if inventory.is_empty() {
        return teach(roots, app);
    }
    if shown.is_empty() {
        let here = crate::render::count(inventory.len(), "skill");
        let total = inventory.len();
        app.out.note(&words!("no match in {here}", "在 {total} 个技能中没有符合条件的"));
        return Ok(());
    }
    table(&shown, inventory, app)?;
    summary(&shown, inventory, app);
    Ok(())
}

fn matches_query(skill: &Installed, query: &str) -> bool {
    skill.label().to_lowercase().contains(query)
        || skill.head.description.to_lowercase().contains(query)
        || skill.head.tags.iter().any(|tag| tag.to_lowercase().contains(query))
}

fn table(shown: &[&Installed], inventory: &Inventory, app: &mut App) -> Result<(), CliError> {
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["NAME", "SCOPE", "KIND", "STATUS", "DESCRIPTION"]),
        Lang::Zh => Table::new(0).header(["名称", "范围", "种类", "状态", "描述"]),
    };
    for skill in shown {
        let shadowed = inventory.is_shadowed(skill);
        let (status_style, status) = status_word(skill, shadowed, app.out.lang);
        let description: String = match skill.status() {
            SkillStatus::Invalid => skill
                .diagnostics
                .iter()
                .find(|diagnostic| diagnostic.is_error())
                .map(|diagnostic| {
                    format!("[{}] {}", diagnostic.code, diagnostic.message.in_lang(app.out.lang))
                })
                .unwrap_or_default(),
            _ => skill.head.description.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let name_style = if shadowed { style::DIM } else { style::NAME };
        table.row([
            Cell::styled(name_style, skill.label()),
            Cell::styled(style::DIM, skill.scope.to_string()),
            Cell::styled(style::DIM, kind_word(skill, app.out.lang)),
            Cell::styled(status_style, status),
            Cell::new(description),
        ]);
    }
    table.print(&mut app.out)
}

pub fn kind_word(skill: &Installed, lang: Lang) -> &'static str {
    use fugato_skill::Kind;
    match (skill.head.kind, lang) {
        (kind, Lang::En) => kind.as_str(),
        (Kind::Skill, Lang::Zh) => "技能",
        (Kind::Phases, Lang::Zh) => "阶段",
        (Kind::Orchestrator, Lang::Zh) => "编排",
    }
}

fn status_word(skill: &Installed, shadowed: bool, lang: Lang) -> (anstyle::Style, &'static str) {
    let words = match (skill.status(), shadowed) {
        (_, true) => (style::DIM, "shadowed", "被遮蔽"),
        (SkillStatus::Ok, _) => (style::GOOD, "ok", "正常"),
        (SkillStatus::Warning, _) => (style::WARN, "warning", "警告"),
        (SkillStatus::Invalid, _) => (style::BAD, "invalid", "无效"),
    };
    (words.0, if lang == Lang::Zh { words.2 } else { words.1 })
}

fn summary(shown: &[&Installed], inventory: &Inventory, app: &mut App) {
    let count = |status| shown.iter().filter(|skill| skill.status() == status).count();
    let (total, warning, invalid) = (shown.len(), count(SkillStatus::Warning), count(SkillStatus::Invalid));
    let shadowed = shown.iter().filter(|skill| inventory.is_shadowed(skill)).count();
    let mut en = crate::render::count(total, "skill");
    let mut zh = format!("{total} 个技能");
    for (n, en_word, zh_word) in
        [(warning, "with problems", "有问题"), (invalid, "invalid", "无效"), (shadowed, "shadowed", "被遮蔽")]
    {
        if n > 0 {
            en = format!("{en} · {n} {en_word}");
            zh = format!("{zh} · {n} 个{zh_word}");
        }
    }
    if warning + invalid > 0 {
        en.push_str("\nwhat to repair: fugato skill check");
        zh.push_str("\n查看如何修复：fugato skill check");
    }
    app.out.note(&fugato_model::Words { en, zh });
}

/// The empty state teaches the next command.
fn teach(roots: &[Root], app: &mut App) -> Result<(), CliError> {
    let places: Vec<_> = roots.iter().map(|root| app.show_path(&root.path)).collect();
    let places = places.join("\n  ");
    let words = words!(
        "No skills here yet. Looked in:\n  {places}\n\nMake one:       fugato skill new my-first-skill\nInstall one:    fugato skill add PATH-OR-ZIP\nLook elsewhere: fugato skill ls --skills DIR\nSee a tour:     fugato demo",
        "这里还没有技能。已查找：\n  {places}\n\n新建一个：    fugato skill new my-first-skill\n安装一个：    fugato skill add 路径或压缩包\n换个目录找：  fugato skill ls --skills 目录\n看个演示：    fugato demo"
    );
    let text = app.out.say(&words).to_owned();
    app.out.line(text)
}

fn list_for_agent(args: &ListArgs, app: &mut App) -> Outcome {
    let seen = args.agent.resolve(&args.selection, app)?;
    let resolution = seen.resolution()?;
    let items = fugato_skill::tools::list(&resolution, args.query.as_deref());
    if app.out.json {
        app.out.json(&serde_json::json!({"schema": "fugato.skill_list/v1", "skills": items}))?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(0);
    for item in &items {
        table.row([
            Cell::styled(style::NAME, item.name.as_str()),
            Cell::new(item.description.split_whitespace().collect::<Vec<_>>().join(" ")),
        ]);
    }
    table.print(&mut app.out)?;
    Ok(Exit::Ok)
}

//! Installing and uninstalling: everything is planned before anything is written, and the difference is shown.

use super::{HowArgs, InstallArgs, UninstallArgs, dirs, is_there, named, place, shelf, versions};
use crate::app::App;
use crate::error::{CliError, Outcome};
use fugato_model::{Diagnostic, Exit, Words, words};
use fugato_runtime::hosts::{Found, Host, Lacking};
use fugato_runtime::wiring::{self, Change, Place, Program, Trust};

/// What is to be done in the settings of one host.
struct Plan {
    place: Place,
    changes: Vec<Change>,
}

pub fn install(args: &InstallArgs, app: &mut App) -> Outcome {
    let hosts = match named(&args.host) {
        Some(hosts) => hosts,
        None => Host::ALL.into_iter().filter(|host| is_there(*host, app)).collect(),
    };
    if hosts.is_empty() {
        return Err(CliError::not_found(words!(
            "neither Claude Code nor Codex is here",
            "这里既没有 Claude Code，也没有 Codex"
        ))
        .hint(words!(
            "name the one you mean: fugato hook install --host claude",
            "请指明主机：fugato hook install --host claude"
        )));
    }
    let program = program()?;
    let mut plans = Vec::new();
    for host in &hosts {
        let place = place(*host, args.how.scope.into(), app)?;
        let trust = match dirs(app).codex_config() {
            Some(config) if args.trust => Trust::Given(config),
            _ => Trust::Asked,
        };
        let changes = wiring::install(&place, &program, &trust, &shelf(app)).map_err(refused)?;
        plans.push(Plan { place, changes });
    }
    write(&plans, &args.how, app)?;
    let found = versions(&hosts, app);
    show("fugato.hook_install/v1", &plans, &args.how, app)?;
    if !app.out.json && !args.how.dry_run {
        for plan in &plans {
            let version = found.iter().find(|(host, _)| *host == plan.place.host).map(|(_, found)| found);
            advise(plan, version, app);
        }
    }
    Ok(Exit::Ok)
}

pub fn uninstall(args: &UninstallArgs, app: &mut App) -> Outcome {
    let hosts = named(&args.host).unwrap_or_else(|| Host::ALL.to_vec());
    let mut plans = Vec::new();
    for host in hosts {
        let place = place(host, args.how.scope.into(), app)?;
        let config = dirs(app).codex_config();
        let changes = wiring::uninstall(&place, config.as_deref(), &shelf(app)).map_err(refused)?;
        plans.push(Plan { place, changes });
    }
    write(&plans, &args.how, app)?;
    show("fugato.hook_uninstall/v1", &plans, &args.how, app)?;
    Ok(Exit::Ok)
}

/// The program that the hosts will call: where this one really is, so that it stays when a link goes.
pub fn program() -> Result<Program, CliError> {
    let own = std::env::current_exe().map_err(|error| CliError::internal(&error))?;
    Ok(Program::beside(&own))
}

fn refused(diagnostic: Box<Diagnostic>) -> CliError {
    CliError::failed(words!("nothing was written", "没有写入")).diagnostics(vec![*diagnostic])
}

fn write(plans: &[Plan], how: &HowArgs, app: &App) -> Result<(), CliError> {
    if how.dry_run {
        return Ok(());
    }
    let shelf = shelf(app);
    for change in plans.iter().flat_map(|plan| &plan.changes) {
        change.apply(&shelf).map_err(|diagnostic| {
            let done =
                words!("not everything was written; run the command again", "未能全部写入；请重新运行该命令");
            CliError::failed(done).diagnostics(vec![*diagnostic])
        })?;
    }
    Ok(())
}

fn show(schema: &str, plans: &[Plan], how: &HowArgs, app: &mut App) -> Result<(), CliError> {
    let shelf = shelf(app);
    if app.out.json {
        let change = |plan: &Plan, change: &Change| {
            let backup = shelf.file_of(&change.file);
            serde_json::json!({
                "host": plan.place.host.as_str(), "scope": plan.place.scope.as_str(), "file": change.file,
                "changed": change.is_change(), "diff": diff(change, app),
                "backup": backup.exists().then_some(backup),
            })
        };
        let items: Vec<_> =
            plans.iter().flat_map(|plan| plan.changes.iter().map(|one| change(plan, one))).collect();
        return app
            .out
            .json(&serde_json::json!({"schema": schema, "dry_run": how.dry_run, "changes": items}));
    }
    for plan in plans {
        let title = plan.place.host.title();
        for change in &plan.changes {
            let shown = app.show_path(&change.file);
            if !change.is_change() {
                app.out.note(&words!("{title}: nothing to change in {shown}", "{title}：{shown} 无需更改"));
                continue;
            }
            let diff = diff(change, app);
            app.out.line(diff.trim_end())?;
            app.out.note(&wrote(how, change, &shown));
            let backup = shelf.file_of(&change.file);
            if backup.exists() {
                let backup = app.show_path(&backup);
                app.out.note(&words!("what it was before: {backup}", "原内容备份：{backup}"));
            }
        }
    }
    Ok(())
}

fn wrote(how: &HowArgs, change: &Change, shown: &str) -> Words {
    match (how.dry_run, &change.after) {
        (true, _) => words!("{shown} was not written (--dry-run)", "未写入 {shown}（--dry-run）"),
        (false, Some(_)) => words!("wrote {shown}", "已写入 {shown}"),
        (false, None) => words!("removed {shown}, which was not there before", "已删除 {shown}（原来没有）"),
    }
}

fn diff(change: &Change, app: &App) -> String {
    let [before, after] = [&change.before, &change.after].map(|text| text.as_deref().unwrap_or_default());
    let shown = app.show_path(&change.file);
    let text = similar::TextDiff::from_lines(before, after);
    let unified = text.unified_diff().context_radius(2).header(&shown, &shown).to_string();
    let lines: Vec<String> =
        unified.lines().map(|line| fugato_model::escape_for_terminal(line).into_owned()).collect();
    lines.join("\n")
}

/// What a person should know now, for this host and version.
fn advise(plan: &Plan, found: Option<&Result<Found, Lacking>>, app: &mut App) {
    let title = plan.place.host.title();
    match found {
        Some(Ok(found)) => {
            let (version, abilities) = (found.version, wiring::abilities(plan.place.host, found.version));
            if !abilities.blocks_when_the_hook_fails {
                app.out.note(&words!(
                    "{title} {version} lets a tool run when a hook crashes: a pause holds only while the hook works",
                    "{title} {version} 在钩子崩溃时会放行工具：只有钩子正常工作时暂停才有效"
                ));
            }
        }
        Some(Err(lacking)) => app.out.note(lacking.words()),
        None => {}
    }
    if plan.place.host == Host::Codex && !super::doctor::is_trusted(&plan.place, app) {
        app.out.note(&words!(
            "Codex calls a hook only after you trust it: start `codex` and type /hooks, or run this again with --trust",
            "Codex 只调用您信任的钩子：启动 `codex` 并输入 /hooks，或加上 --trust 重新运行"
        ));
    }
}

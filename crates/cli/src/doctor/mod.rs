//! `fugato doctor`: what this machine and project can do, and everything that is wrong, in one place.

mod hosts;
mod providers;
mod sandbox;
mod web;

use crate::app::{App, SkillSelection, env_var};
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use crate::render;
use clap::Args;
use fugato_model::view::SkillStatus;
use fugato_model::{Exit, Lang, Words, words};
use fugato_runtime::{IndexUse, Root, manage, probe_writable, state_dir};
use fugato_skill::Inventory;
use serde::Serialize;

/// What this machine and project can do, and what is wrong.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Write the files of all runs for other programs anew, from the log
    #[arg(long)]
    rebuild: bool,
    #[command(flatten)]
    selection: SkillSelection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    Ok,
    Warning,
    Error,
}

/// One line of the report.
pub struct Finding {
    pub name: &'static str,
    pub health: Health,
    pub words: Words,
}

pub fn run(args: &DoctorArgs, app: &mut App) -> Outcome {
    let roots = app.roots(&args.selection, None)?;
    let inventory = app.discover(&roots).inventory;
    let models = providers::look(app);
    let closed = sandbox::look(app);
    let (exports, rebuilt) = crate::rebuild::findings(args.rebuild, app)?;
    let mut findings = vec![
        home(app),
        state(app),
        skills(&inventory),
        index(&roots, app),
        interrupted_installs(&roots, app),
        exports,
    ];
    findings.extend(closed.findings());
    findings.extend(models.findings());
    let hosts = hosts::look(app);
    findings.extend(hosts.findings());
    findings.extend(web::findings(app));
    let failed = findings.iter().any(|finding| finding.health == Health::Error);
    if app.out.json {
        let lang = app.out.lang;
        let items: Vec<_> = findings
            .iter()
            .map(|finding| {
                serde_json::json!({
                    "name": finding.name, "health": finding.health, "message": finding.words.in_lang(lang),
                })
            })
            .collect();
        let mut document = serde_json::json!({
            "schema": "fugato.doctor/v1", "ok": !failed, "findings": items, "models": models.document(),
            "sandbox": closed.document(lang),
            "hosts": hosts.document(),
        });
        if let (Some(rebuilt), Some(fields)) = (&rebuilt, document.as_object_mut()) {
            fields.insert("rebuilt".to_owned(), crate::rebuild::document(rebuilt, lang));
        }
        app.out.json(&document)?;
    } else {
        print(&findings, app)?;
        problems(&inventory, app)?;
        crate::rebuild::problems(rebuilt.as_ref(), app)?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Ok })
}

/// The findings, a line each.
pub fn print(findings: &[Finding], app: &mut App) -> Result<(), CliError> {
    for finding in findings {
        let mark = match (finding.health, app.out.lang) {
            (Health::Ok, Lang::En) => paint(style::GOOD, "ok     "),
            (Health::Warning, Lang::En) => paint(style::WARN, "warning"),
            (Health::Error, Lang::En) => paint(style::BAD, "error  "),
            (Health::Ok, Lang::Zh) => paint(style::GOOD, "正常"),
            (Health::Warning, Lang::Zh) => paint(style::WARN, "警告"),
            (Health::Error, Lang::Zh) => paint(style::BAD, "错误"),
        };
        let text = app.out.say(&finding.words).to_owned();
        app.out.line(format!("{mark}  {text}"))?;
    }
    Ok(())
}

fn home(app: &App) -> Finding {
    let shown = app.show_path(&app.places.home);
    match probe_writable(&app.places.home) {
        Ok(()) => Finding {
            name: "home",
            health: Health::Ok,
            words: words!("home {shown} is writable", "主目录 {shown} 可写"),
        },
        Err(error) => Finding {
            name: "home",
            health: Health::Warning,
            words: words!(
                "home {shown} is not writable ({error}): reading works, installing does not; set FUGATO_HOME",
                "主目录 {shown} 不可写（{error}）：可以读取，不能安装；请设置 FUGATO_HOME"
            ),
        },
    }
}

fn state(app: &App) -> Finding {
    let dir = state_dir(&app.places, env_var("HARNESS_DIR").as_deref());
    let shown = app.show_path(&dir);
    match probe_writable(&dir) {
        Ok(()) => Finding {
            name: "state",
            health: Health::Ok,
            words: words!("state directory {shown}", "状态目录 {shown}"),
        },
        Err(error) => Finding {
            name: "state",
            health: Health::Warning,
            words: words!(
                "state directory {shown} is not usable: {error}",
                "状态目录 {shown} 不可用：{error}"
            ),
        },
    }
}

fn skills(inventory: &Inventory) -> Finding {
    let count = |status| inventory.all().iter().filter(|skill| skill.status() == status).count();
    let (total, warning, invalid) =
        (inventory.len(), count(SkillStatus::Warning), count(SkillStatus::Invalid));
    let skills = render::count(total, "skill");
    let health = match (invalid, warning) {
        (0, 0) => Health::Ok,
        (0, _) => Health::Warning,
        _ => Health::Error,
    };
    Finding {
        name: "skills",
        health,
        words: words!(
            "{skills}: {warning} with problems, {invalid} invalid",
            "{total} 个技能：{warning} 个有问题，{invalid} 个无效"
        ),
    }
}

fn index(roots: &[Root], app: &App) -> Finding {
    // A skill that changed a moment ago is read again until its time stamp can be trusted: only an index that cannot
    // be written is a problem.
    let stats = app.discover(roots).stats;
    let (reused, shown) = (stats.reused, app.show_path(&app.places.index_file()));
    let remembered = render::count(reused, "skill");
    let (health, words) = match stats.index {
        IndexUse::NotWritten(error) => (
            Health::Warning,
            words!(
                "index {shown} cannot be written ({error}): every skill is read again each time",
                "索引 {shown} 无法写入（{error}）：每次都会重新读取所有技能"
            ),
        ),
        IndexUse::Off | IndexUse::Fresh | IndexUse::Written => (
            Health::Ok,
            words!(
                "index {shown} works ({remembered} from it)",
                "索引 {shown} 有效（{reused} 个技能取自索引）"
            ),
        ),
    };
    Finding { name: "index", health, words }
}

/// Removes what an interrupted installation left behind; only our own stage directories.
fn interrupted_installs(roots: &[Root], app: &App) -> Finding {
    let mut recovered = 0;
    for root in roots {
        match manage::clean_stale_stages(&app.places, &root.path) {
            Ok(found) => recovered += found.len(),
            Err(error) => {
                return Finding { name: "stages", health: Health::Warning, words: error.words() };
            }
        }
    }
    if recovered == 0 {
        let words = words!("no interrupted installation", "没有中断的安装");
        return Finding { name: "stages", health: Health::Ok, words };
    }
    let changes = render::count(recovered, "interrupted change");
    Finding {
        name: "stages",
        health: Health::Warning,
        words: words!("cleaned up after {changes}", "已清理 {recovered} 次中断更改的残留"),
    }
}

/// Every broken skill, one line each.
fn problems(inventory: &Inventory, app: &mut App) -> Result<(), CliError> {
    let lang = app.out.lang;
    for skill in inventory.all().iter().filter(|skill| skill.status() == SkillStatus::Invalid) {
        for diagnostic in skill.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()) {
            let line = render::report_line(diagnostic, lang);
            app.out.line(format!("         {line} [{}]", diagnostic.code))?;
        }
    }
    Ok(())
}

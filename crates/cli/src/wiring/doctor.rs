//! `fugato hook doctor`: what is installed where, whether what it names is still there, and what each host makes of it.

use super::{DoctorArgs, dirs, named, versions};
use crate::app::App;
use crate::doctor::{Finding, Health, print};
use crate::error::Outcome;
use fugato_model::{Exit, words};
use fugato_runtime::hosts::{Found, Host, Lacking};
use fugato_runtime::wiring::{self, Entry, Place, Scope, Switch};
use std::path::Path;

pub fn run(args: &DoctorArgs, app: &mut App) -> Outcome {
    let hosts = named(&args.host).unwrap_or_else(|| Host::ALL.to_vec());
    let mut findings = Vec::new();
    let mut documents = Vec::new();
    for (host, found) in versions(&hosts, app) {
        findings.extend(of_host(host, &found));
        let mut places = Vec::new();
        for scope in [Scope::User, Scope::Project] {
            let Some(place) = dirs(app).place(host, scope) else { continue };
            let (more, document) = of_place(&place, app);
            findings.extend(more);
            places.push(document);
        }
        let version = found.as_ref().ok().map(|found| found.version);
        let abilities = version.map(|version| wiring::abilities(host, version));
        documents.push(serde_json::json!({
            "host": host.as_str(),
            "version": version.map(|version| version.to_string()),
            "blocks_when_the_hook_fails": abilities.map(|can| can.blocks_when_the_hook_fails),
            "ends_a_cancelled_turn": abilities.map(|can| can.ends_a_cancelled_turn),
            "asks_for_trust": abilities.map(|can| can.asks_for_trust),
            "places": places,
        }));
    }
    let failed = findings.iter().any(|finding| finding.health == Health::Error);
    if app.out.json {
        let document =
            serde_json::json!({"schema": "fugato.hook_doctor/v1", "ok": !failed, "hosts": documents});
        app.out.json(&document)?;
    } else {
        print(&findings, app)?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Ok })
}

/// The program, its version, and what that can and cannot do.
fn of_host(host: Host, found: &Result<Found, Lacking>) -> Vec<Finding> {
    let title = host.title();
    let found = match found {
        Ok(found) => found,
        Err(lacking) => {
            return vec![Finding { name: "host", health: Health::Warning, words: lacking.words().clone() }];
        }
    };
    let (version, can) = (found.version, wiring::abilities(host, found.version));
    let mut findings = vec![Finding {
        name: "host",
        health: Health::Ok,
        words: words!(
            "{title} {version}: pause holds a tool call, redirect and cancel reach it at its next one",
            "{title} {version}：暂停可拦住工具调用，改向和取消在下一次工具调用时生效"
        ),
    }];
    findings.push(match can.blocks_when_the_hook_fails {
        true => Finding {
            name: "failure",
            health: Health::Ok,
            words: words!(
                "{title} {version} blocks a tool call when the hook crashes or hangs",
                "{title} {version} 在钩子崩溃或卡住时会拦住工具调用"
            ),
        },
        false => Finding {
            name: "failure",
            health: Health::Warning,
            words: words!(
                "{title} {version} lets a tool run when the hook crashes or hangs; it has no setting against that",
                "{title} {version} 在钩子崩溃或卡住时会放行工具；它没有相应的设置"
            ),
        },
    });
    if !can.ends_a_cancelled_turn {
        findings.push(Finding {
            name: "cancel",
            health: Health::Ok,
            words: words!(
                "{title} {version} cannot be told to end a turn: a cancelled agent is refused every tool until it stops by itself",
                "{title} {version} 无法被要求结束回合：已取消的代理会被拒绝所有工具，直到它自己停止"
            ),
        });
    }
    findings
}

fn of_place(place: &Place, app: &App) -> (Vec<Finding>, serde_json::Value) {
    let (title, shown) = (place.host.title(), app.show_path(&place.file));
    let (name, scope) = (place.host.as_str(), place.scope.as_str());
    let entries = match wiring::installed(place) {
        Ok(entries) => entries,
        Err(problem) => {
            let words = problem.message.clone();
            let line = problem.span.map_or(1, |span| span.line);
            let fugato_model::Words { en, zh } = words;
            let words = words!("{shown}:{line}: {en}", "{shown}:{line}：{zh}");
            let document = serde_json::json!({"scope": scope, "file": place.file, "error": words.en});
            return (vec![Finding { name: "settings", health: Health::Error, words }], document);
        }
    };
    let missing: Vec<&str> = wiring::calls(place.host)
        .iter()
        .map(|call| call.event)
        .filter(|event| !entries.iter().any(|entry| entry.event == *event))
        .collect();
    let gone: Vec<&Entry> = entries.iter().filter(|entry| !is_program(entry)).collect();
    let is_trusted = place.host != Host::Codex || is_trusted(place, app);
    let document = serde_json::json!({
        "scope": scope, "file": place.file, "installed": !entries.is_empty(), "missing": missing,
        "commands": entries.iter().map(|entry| &entry.command).collect::<std::collections::BTreeSet<_>>(),
        "programs_exist": gone.is_empty(), "trusted": (!entries.is_empty()).then_some(is_trusted),
    });
    let finding = |health, words| Finding { name: "hook", health, words };
    if entries.is_empty() {
        let words = words!("{title}: no hook in {shown}", "{title}：{shown} 中没有钩子");
        return (vec![finding(Health::Ok, words)], document);
    }
    let mut findings = Vec::new();
    let count = entries.len();
    if let Some(entry) = gone.first() {
        let command = fugato_model::escape_for_terminal(&entry.command).into_owned();
        findings.push(finding(
            Health::Error,
            words!(
                "{title}: {shown} names `{command}`, which is not there; fugato hook install --host {name} --scope {scope}",
                "{title}：{shown} 指向的 `{command}` 不存在；fugato hook install --host {name} --scope {scope}"
            ),
        ));
    } else if missing.is_empty() {
        findings.push(finding(
            Health::Ok,
            words!(
                "{title}: hook installed in {shown} ({count} events)",
                "{title}：钩子已安装在 {shown}（{count} 个事件）"
            ),
        ));
    } else {
        let names = missing.join(", ");
        findings.push(finding(
            Health::Warning,
            words!(
                "{title}: {shown} lacks the hook for {names}; fugato hook install --host {name} --scope {scope}",
                "{title}：{shown} 缺少 {names} 的钩子；fugato hook install --host {name} --scope {scope}"
            ),
        ));
    }
    match wiring::switch(place, dirs(app).codex_config().as_deref()) {
        Switch::On => {}
        Switch::Off(field) => findings.push(finding(
            Health::Warning,
            words!(
                "{title} calls no hook at all: `{field}` in its settings switches them off",
                "{title} 不会调用任何钩子：其设置中的 `{field}` 已将钩子关闭"
            ),
        )),
        Switch::Untrusted => findings.push(finding(
            Health::Warning,
            words!(
                "{title} does not read {shown}: its settings say that this project is not trusted",
                "{title} 不会读取 {shown}：其设置表明此项目不受信任"
            ),
        )),
    }
    if !is_trusted {
        findings.push(finding(
            Health::Warning,
            words!(
                "Codex does not call the hook in {shown}: you have not trusted it; start `codex` and type /hooks, or fugato hook install --host codex --scope {scope} --trust",
                "Codex 不会调用 {shown} 中的钩子：您尚未信任它；启动 `codex` 并输入 /hooks，或 fugato hook install --host codex --scope {scope} --trust"
            ),
        ));
    }
    (findings, document)
}

/// Can what an entry names be started?
fn is_program(entry: &Entry) -> bool {
    let Some(path) = entry.program() else { return false };
    is_executable(&path)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Does the person trust every entry of ours here, as Codex records it?
pub fn is_trusted(place: &Place, app: &App) -> bool {
    let config =
        dirs(app).codex_config().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let entries = wiring::installed(place).unwrap_or_default();
    !entries.is_empty() && entries.iter().all(|entry| wiring::is_trusted(&config, place, entry))
}

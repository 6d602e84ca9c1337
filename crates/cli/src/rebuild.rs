//! What `fugato doctor` says about the files of runs for other programs, and `--rebuild`, which makes them anew.

use crate::app::{App, env_var};
use crate::doctor::{Finding, Health};
use crate::error::CliError;
use crate::render;
use fugato_model::{Lang, Words, escape_for_terminal, words};
use fugato_runtime::exports::{self, Compared, Rebuilt};
use fugato_runtime::state_dir;

/// Looking at more runs than these would make `doctor` slow; older ones are rebuilt all the same.
const LOOKED_AT: u32 = 200;

/// Looks, or rebuilds and says what that did.
pub fn findings(rebuild: bool, app: &App) -> Result<(Finding, Option<Rebuilt>), CliError> {
    let state = state_dir(&app.places, env_var("HARNESS_DIR").as_deref());
    let finding = |health, words| Finding { name: "exports", health, words };
    if rebuild {
        let rebuilt = exports::rebuild(&state).map_err(|error| crate::runs::store_error(&error))?;
        let health = if rebuilt.failed.is_empty() { Health::Ok } else { Health::Error };
        return Ok((finding(health, summary(&rebuilt)), Some(rebuilt)));
    }
    let looked = match exports::compare(&state, LOOKED_AT) {
        Ok(compared) => comparison(&compared),
        // The store itself is somebody else's finding; without it there is nothing to compare with.
        Err(error) => (Health::Warning, error.words()),
    };
    Ok((finding(looked.0, looked.1), None))
}

fn comparison(compared: &Compared) -> (Health, Words) {
    let (behind, count) = (compared.behind.len(), compared.looked_at);
    let runs = render::count(count, "run");
    if compared.blocked {
        let words = words!(
            "`orchestrator` in the state directory belongs to another program: runs are not found through it. Move it \
             away, then: fugato doctor --rebuild",
            "状态目录中的 `orchestrator` 属于其他程序：无法通过它找到运行。请先移走，再执行：fugato doctor --rebuild"
        );
        return (Health::Warning, words);
    }
    match behind {
        0 => (
            Health::Ok,
            words!(
                "files for other programs: {runs}, up to date",
                "供其他程序读取的文件：{count} 个运行，均为最新"
            ),
        ),
        _ => (
            Health::Warning,
            words!(
                "files for other programs: {behind} of {runs} not up to date. Write them anew: fugato doctor --rebuild",
                "供其他程序读取的文件：{count} 个运行中有 {behind} 个不是最新。重新生成：fugato doctor --rebuild"
            ),
        ),
    }
}

fn summary(rebuilt: &Rebuilt) -> Words {
    let Rebuilt { runs, restored, intact, live, failed } = rebuilt;
    let (all, written) = (render::count(*runs, "run"), render::count(*restored, "file"));
    let mut words = words!(
        "{all}: {written} written anew, {intact} right already",
        "{runs} 个运行：重新生成 {restored} 个文件，{intact} 个原本正确"
    );
    let mut more = |words_more: Words| {
        words.en.push_str(&words_more.en);
        words.zh.push_str(&words_more.zh);
    };
    if !live.is_empty() {
        let count = live.len();
        let at_work = render::count(count, "run");
        more(words!("; {at_work} at work, left alone", "；{count} 个正在运行，未改动"));
    }
    if !failed.is_empty() {
        let count = failed.len();
        let problems = render::count(count, "problem");
        more(words!("; {problems}", "；{count} 个问题"));
    }
    words
}

/// What could not be written, one line each.
pub fn problems(rebuilt: Option<&Rebuilt>, app: &mut App) -> Result<(), CliError> {
    for (run, words) in rebuilt.iter().flat_map(|rebuilt| &rebuilt.failed) {
        let text = app.out.say(words).to_owned();
        app.out.line(format!("         {run}: {}", escape_for_terminal(&text)))?;
    }
    Ok(())
}

/// `--json`.
pub fn document(rebuilt: &Rebuilt, lang: Lang) -> serde_json::Value {
    let failed: Vec<_> = rebuilt
        .failed
        .iter()
        .map(|(run, words)| serde_json::json!({"run": run, "message": words.in_lang(lang)}))
        .collect();
    serde_json::json!({
        "runs": rebuilt.runs, "restored": rebuilt.restored, "intact": rebuilt.intact, "live": rebuilt.live,
        "failed": failed,
    })
}

//! `fugato agents check`: every problem of agent files, with positions and hints.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::render;
use clap::Args;
use fugato_model::view::DiagnosticView;
use fugato_model::{Code, Diagnostic, Exit, words};
use fugato_runtime::agents::{agent_types, check_file};
use fugato_skill::Strictness;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Check agent files.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Agent files or directories of them [default: all agents that are here]
    paths: Vec<PathBuf>,
    /// Forgive nothing, and name what only fugato reads
    #[arg(long)]
    strict: bool,
}

pub fn run(args: &CheckArgs, app: &mut App) -> Outcome {
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Lenient };
    let (files, mut problems) =
        if args.paths.is_empty() { here(app) } else { (asked(args, app)?, Vec::new()) };
    let mut invalid = 0;
    let mut odd = 0;
    for file in &files {
        let mut found = check_file(file, &app.show_path(file), strictness);
        render::in_reading_order(&mut found);
        if found.iter().any(Diagnostic::is_error) {
            invalid += 1;
        } else if !found.is_empty() {
            odd += 1;
        }
        problems.append(&mut found);
    }
    let exit = if problems.iter().any(Diagnostic::is_error) { Exit::Failed } else { Exit::Ok };
    let (total, ok) = (files.len(), files.len() - invalid - odd);
    if app.out.json {
        let lang = app.out.lang;
        let diagnostics: Vec<_> = problems.iter().map(|problem| DiagnosticView::new(problem, lang)).collect();
        app.out.json(&serde_json::json!({
            "schema": "fugato.agents-check/v1",
            "ok": exit == Exit::Ok,
            "summary": {"agents": total, "ok": ok, "warning": odd, "invalid": invalid},
            "diagnostics": diagnostics,
        }))?;
        return Ok(exit);
    }
    for problem in &problems {
        let text = render::report(problem, &app.out);
        app.out.line(text)?;
        app.out.line("")?;
    }
    let agents = render::count(total, "agent file");
    app.out.note(&words!(
        "{agents}: {ok} ok, {odd} with problems, {invalid} invalid",
        "共 {total} 个代理文件：{ok} 个正常，{odd} 个有问题，{invalid} 个无效"
    ));
    let worst = problems.iter().find(|problem| problem.is_error()).or_else(|| problems.first());
    if let Some(code) = worst.map(|problem| problem.code) {
        app.out
            .note(&words!("more about a code: fugato explain {code}", "了解代码含义：fugato explain {code}"));
    }
    Ok(exit)
}

/// Every agent file that is here, and what no single file tells: doubles, and directories that cannot be read.
fn here(app: &App) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let found = agent_types(&app.places);
    let known = found.types.iter().chain(&found.shadowed).filter_map(|known| known.path.clone());
    let files: BTreeSet<PathBuf> = known.chain(found.broken.iter().map(|file| file.path.clone())).collect();
    let shown: BTreeSet<String> = files.iter().map(|file| app.show_path(file)).collect();
    let of_no_file = |problem: &Diagnostic| problem.code == Code::F1102 || !shown.contains(&problem.path);
    let around = found.diagnostics.into_iter().filter(of_no_file).collect();
    (files.into_iter().collect(), around)
}

/// The files on the command line; of a directory those directly in it.
fn asked(args: &CheckArgs, app: &App) -> Result<Vec<PathBuf>, CliError> {
    let mut files = Vec::new();
    for path in &args.paths {
        let full = app.places.cwd.join(path);
        let kind = std::fs::metadata(&full).map_err(|error| CliError::io("check", path, &error))?;
        if !kind.is_dir() {
            files.push(full);
            continue;
        }
        let entries = std::fs::read_dir(&full).map_err(|error| CliError::io("check", path, &error))?;
        let mut inside: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| is_markdown(path))
            .collect();
        inside.sort();
        if inside.is_empty() {
            let shown = app.show_path(&full);
            return Err(CliError::not_found(words!("no agent files in {shown}", "{shown} 中没有代理文件"))
                .hint(words!(
                    "an agent file is a Markdown file with `name:` and `description:` between `---` lines",
                    "代理文件是 Markdown 文件，在 `---` 行之间写有 `name:` 和 `description:`"
                )));
        }
        files.append(&mut inside);
    }
    Ok(files)
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

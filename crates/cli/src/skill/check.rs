//! `fugato skill check`: every problem of skill files and profiles, with positions, hints and repairs.

use super::{profiles, repair, view};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::render;
use clap::{Args, ValueEnum};
use fugato_model::view::{DiagnosticView, SkillStatus};
use fugato_model::{Code, Diagnostic, Exit, RelPath, Scope, words};
use fugato_runtime::agents::{AgentTypes, agent_types};
use fugato_runtime::{Discovery, Inside, ReadPhases, Root, SkillDir, discover_paths, read_phases};
use fugato_skill::{Installed, Inventory, SkillText, Strictness, check};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Check skill files and profiles.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Skill files, directories or profiles [default: all skills that are here]
    paths: Vec<PathBuf>,
    /// Hold skills to the rules of the reference validator
    #[arg(long)]
    strict: bool,
    /// Repair what can be repaired without a question [default: nothing; without =HOW: safe]
    // With `=` only: `--fix PATH` must not take the path for a level.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "safe")]
    fix: Option<FixLevel>,
    /// Check again whenever something changes
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    selection: SkillSelection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FixLevel {
    /// Quoting, names, slips of the pen
    Safe,
    /// Also move phases into a side file that other validators accept
    Portable,
}

pub fn run(args: &CheckArgs, app: &mut App) -> Outcome {
    let args = &with_level(args, app);
    if !args.watch {
        return once(args, app);
    }
    let roots: Vec<Root> = if args.paths.is_empty() {
        app.roots(&args.selection, None)?
    } else {
        args.paths.iter().map(|path| Root::new(Scope::Global, 0, app.places.cwd.join(path))).collect()
    };
    // Watching starts before the first look, so that no change falls between.
    let mut watch = super::list::start_watch(&roots)?;
    once(args, app)?;
    loop {
        app.out.flush()?;
        if watch.next(Duration::from_secs(3600)).is_some() {
            app.out.line("")?;
            once(args, app)?;
        }
    }
}

/// `--fix portable` means the level, unless something here is called so.
fn with_level(args: &CheckArgs, app: &App) -> CheckArgs {
    let mut args = args.clone();
    let level = |path: &PathBuf| {
        let level = path.to_str().and_then(|text| FixLevel::from_str(text, true).ok())?;
        (!app.places.cwd.join(path).exists()).then_some(level)
    };
    if args.fix.is_some()
        && let Some(at) = args.paths.iter().position(|path| level(path).is_some())
    {
        args.fix = level(&args.paths.remove(at));
    }
    args
}

/// What one look found.
struct Findings {
    discovery: Discovery,
    /// Everything that phases may name: what was looked at, and what is installed.
    installed: Inventory,
    /// Kinds of agents that phases may name.
    types: AgentTypes,
    profiles: Vec<(PathBuf, Vec<Diagnostic>)>,
}

fn once(args: &CheckArgs, app: &mut App) -> Outcome {
    let mut findings = look(args, app)?;
    if let Some(level) = args.fix {
        let repaired = repair::repair(
            findings.discovery.inventory.all(),
            &findings.installed,
            &findings.types,
            level,
            app,
        )?;
        let files = render::count(repaired, "file");
        app.out.note(&words!("repaired {files}", "已修复 {repaired} 个文件"));
        if repaired > 0 {
            findings = look(args, app)?;
        }
    }
    let problems = all_problems(&findings, args, app);
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let exit = if errors > 0 { Exit::Failed } else { Exit::Ok };
    if app.out.json {
        print_json(&findings, &problems, exit, app)?;
    } else {
        print_text(&findings, &problems, args, app)?;
    }
    Ok(exit)
}

/// File by file, each in reading order, with paths as one would type them from here.
fn all_problems(findings: &Findings, args: &CheckArgs, app: &App) -> Vec<Diagnostic> {
    let mut problems: Vec<Diagnostic> = Vec::new();
    for skill in findings.discovery.inventory.all() {
        let of_phases = phase_problems(skill, findings, app);
        let is_refused = of_phases.iter().any(|found| found.code == Code::F0801 && found.is_error());
        let loading = skill.diagnostics.iter().filter(|found| !(is_refused && ignores_phases(found)));
        let mut of_skill: Vec<Diagnostic> = loading.cloned().collect();
        if args.strict {
            of_skill.extend(strict_problems(skill, app));
        }
        of_skill.extend(of_phases);
        of_skill.extend(orchestrator_problems(skill, findings, app));
        render::in_reading_order(&mut of_skill);
        problems.append(&mut of_skill);
    }
    problems.extend(findings.profiles.iter().flat_map(|(_, diagnostics)| diagnostics.iter().cloned()));
    problems.extend(findings.discovery.notes.iter().cloned());
    for problem in &mut problems {
        problem.path = app.show_path(Path::new(&problem.path));
    }
    problems
}

fn look(args: &CheckArgs, app: &App) -> Result<Findings, CliError> {
    if args.paths.is_empty() {
        let roots = app.roots(&args.selection, None)?;
        let discovery = app.discover(&roots);
        let installed = discovery.inventory.clone();
        let types = agent_types(&app.places);
        return Ok(Findings { discovery, installed, types, profiles: Vec::new() });
    }
    let mut trees = Vec::new();
    let mut profiles = Vec::new();
    for path in &args.paths {
        let full = app.places.cwd.join(path);
        let kind = std::fs::metadata(&full).map_err(|error| CliError::io("check", path, &error))?;
        let is_json = full.extension().is_some_and(|e| e == "json" || e == "jsonc");
        if kind.is_file() && is_json {
            let diagnostics = crate::policy::lint_file(&full, &args.selection, app)?;
            profiles.push((full, diagnostics));
        } else {
            if kind.is_dir() {
                for file in profiles::profiles_in(&full) {
                    let diagnostics = crate::policy::lint_file(&file, &args.selection, app)?;
                    profiles.push((file, diagnostics));
                }
            }
            trees.push(full);
        }
    }
    let discovery = discover_paths(&trees);
    if discovery.inventory.is_empty() && profiles.is_empty() && discovery.notes.is_empty() {
        let shown = args.paths.iter().map(|path| app.show_path(path)).collect::<Vec<_>>().join(", ");
        return Err(CliError::not_found(words!("no skills in {shown}", "{shown} 中没有技能")).hint(words!(
            "a skill is a directory with a SKILL.md; `fugato skill new NAME` makes one",
            "技能是包含 SKILL.md 的目录；`fugato skill new 名称` 可新建一个"
        )));
    }
    let here = app.roots(&args.selection, None).map(|roots| app.discover(&roots).inventory);
    let here = here.unwrap_or_default();
    let known = here.all().iter().chain(discovery.inventory.all()).cloned().collect();
    let types = agent_types(&app.places);
    Ok(Findings { installed: Inventory::new(known), types, discovery, profiles })
}

/// What the reference validator says in addition.
fn strict_problems(skill: &Installed, app: &App) -> Vec<Diagnostic> {
    if skill.file == "oskill.md" {
        return Vec::new();
    }
    let Some(bytes) = read_skill_file(skill) else { return Vec::new() };
    let path = app.show_path(&skill.dir.join(&skill.file));
    let dir_name = skill.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = SkillText { dir_name: &dir_name, path: &path, bytes: &bytes };
    let known = &skill.diagnostics;
    check(text, Strictness::Strict)
        .into_iter()
        .filter(|found| !known.iter().any(|old| old == found))
        .collect()
}

/// What is wrong with the phases of a skill, beyond what loading it told.
fn phase_problems(skill: &Installed, findings: &Findings, app: &App) -> Vec<Diagnostic> {
    let Some(read) = phases_of(skill, &findings.installed, &findings.types, app) else { return Vec::new() };
    // A broken frontmatter, a missing side file and an empty list are told by loading, too.
    let is_told = |found: &Diagnostic| {
        let is_empty = found.code == Code::F0801 && !found.is_error();
        let same = |old: &Diagnostic| old.code == found.code && old.path == found.path;
        skill.diagnostics.iter().any(|old| same(old) || (is_empty && ignores_phases(old)))
    };
    read.all_diagnostics(Inside::Parts).into_iter().filter(|found| !is_told(found)).collect()
}

/// What is wrong with an orchestrator because of what is installed, beyond what loading it told.
fn orchestrator_problems(skill: &Installed, findings: &Findings, app: &App) -> Vec<Diagnostic> {
    if skill.file != "oskill.md" {
        return Vec::new();
    }
    let Some(bytes) = read_skill_file(skill) else { return Vec::new() };
    let path = app.show_path(&skill.dir.join(&skill.file));
    let dir_name = skill.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = SkillText { dir_name: &dir_name, path: &path, bytes: &bytes };
    fugato_skill::orchestrator::lint_text(text, &findings.installed)
}

/// Loading passes over `phases` that are none; running does not.
fn ignores_phases(found: &Diagnostic) -> bool {
    found.code == Code::F0118 && found.field.as_deref() == Some("phases")
}

pub(super) fn phases_of(
    skill: &Installed,
    installed: &Inventory,
    types: &AgentTypes,
    app: &App,
) -> Option<ReadPhases> {
    if skill.file == "oskill.md" {
        return None;
    }
    let dir = SkillDir::open(&skill.dir).ok()?;
    let file = RelPath::parse(&skill.file).ok()?;
    Some(read_phases(&dir, &file, installed, &|name| types.get(name).is_some(), &|path| {
        app.show_path(&skill.dir.join(path))
    }))
}

pub(super) fn read_skill_file(skill: &Installed) -> Option<Vec<u8>> {
    SkillDir::open(&skill.dir).ok()?.read(&RelPath::parse(&skill.file).ok()?).ok()
}

fn print_json(
    findings: &Findings,
    problems: &[Diagnostic],
    exit: Exit,
    app: &mut App,
) -> Result<(), CliError> {
    let inventory = &findings.discovery.inventory;
    let lang = app.out.lang;
    let mut skills: Vec<_> = inventory.all().iter().map(|skill| view(skill, inventory, app)).collect();
    for diagnostic in skills.iter_mut().flat_map(|skill| &mut skill.diagnostics) {
        diagnostic.path = app.show_path(Path::new(&diagnostic.path));
    }
    let profiles: Vec<_> = findings.profiles.iter().map(|(path, _)| app.show_path(path)).collect();
    let [ok, warning, invalid] = tally(findings, problems, app);
    let diagnostics: Vec<_> = problems.iter().map(|problem| DiagnosticView::new(problem, lang)).collect();
    let document = serde_json::json!({
        "schema": "fugato.check/v1",
        "ok": exit == Exit::Ok,
        "summary": {
            "skills": inventory.len(),
            "ok": ok,
            "warning": warning,
            "invalid": invalid,
            "profiles": profiles.len(),
        },
        "skills": skills,
        "profiles": profiles,
        "diagnostics": diagnostics,
    });
    app.out.json(&document)
}

fn print_text(
    findings: &Findings,
    problems: &[Diagnostic],
    args: &CheckArgs,
    app: &mut App,
) -> Result<(), CliError> {
    for problem in problems {
        let text = render::report(problem, &app.out);
        app.out.line(text)?;
        app.out.line("")?;
    }
    summary(findings, problems, app);
    next_step(findings, problems, args, app);
    Ok(())
}

fn summary(findings: &Findings, problems: &[Diagnostic], app: &mut App) {
    let inventory = &findings.discovery.inventory;
    let [ok, warning, invalid] = tally(findings, problems, app);
    let (total, skills) = (inventory.len(), render::count(inventory.len(), "skill"));
    let mut words = words!(
        "{skills}: {ok} ok, {warning} with problems, {invalid} invalid",
        "共 {total} 个技能：{ok} 个正常，{warning} 个有问题，{invalid} 个无效"
    );
    if !findings.profiles.is_empty() {
        let n = findings.profiles.len();
        words.en = format!("{}; {}", words.en, render::count(n, "profile"));
        words.zh = format!("{}；{n} 个配置", words.zh);
    }
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let rest = problems.len() - errors;
    if !problems.is_empty() {
        let (en_errors, en_rest) = (render::count(errors, "error"), render::count(rest, "warning"));
        words.en = format!("{} · {en_errors}, {en_rest}", words.en);
        words.zh = format!("{} · {errors} 个错误，{rest} 个警告", words.zh);
    }
    app.out.note(&words);
}

/// How many skills are in order, have problems, or cannot be used. A skill whose phases have errors loads, but cannot run.
fn tally(findings: &Findings, problems: &[Diagnostic], app: &App) -> [usize; 3] {
    let mut by_path: HashMap<&str, bool> = HashMap::new();
    let of_phases = |code: Code| code == Code::F0125 || code.as_str().starts_with("F08");
    for problem in problems.iter().filter(|problem| of_phases(problem.code)) {
        *by_path.entry(problem.path.as_str()).or_default() |= problem.is_error();
    }
    let mut counts = [0; 3];
    for skill in findings.discovery.inventory.all() {
        let files = [skill.file.as_str()].into_iter().chain(skill.head.phases_file.as_deref());
        let told = files.filter_map(|file| by_path.get(app.show_path(&skill.dir.join(file)).as_str()));
        let at = match (skill.status(), told.copied().reduce(|a, b| a || b)) {
            (SkillStatus::Invalid, _) | (_, Some(true)) => 2,
            (SkillStatus::Warning, _) | (_, Some(false)) => 1,
            (SkillStatus::Ok, None) => 0,
        };
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    counts
}

/// Longer commands are not repeated to the person who has just typed them.
const MAX_REPEATED: usize = 60;

fn next_step(findings: &Findings, problems: &[Diagnostic], args: &CheckArgs, app: &mut App) {
    if findings.discovery.inventory.is_empty() && findings.profiles.is_empty() {
        app.out.note(&words!(
            "make a skill: fugato skill new my-first-skill; see where I looked: fugato skill ls",
            "新建技能：fugato skill new my-first-skill；查看查找过的目录：fugato skill ls"
        ));
    }
    let repairable = problems.iter().filter(|problem| problem.fix.is_some()).count();
    if args.fix.is_none() && repairable > 0 {
        let paths: String = args.paths.iter().map(|path| format!(" {}", render::shell_word(path))).collect();
        app.out.note(&if paths.len() > MAX_REPEATED {
            words!(
                "{repairable} of these can be repaired for you: the same command with --fix",
                "其中 {repairable} 个可以自动修复：在同一命令后加上 --fix"
            )
        } else {
            words!(
                "{repairable} of these can be repaired for you: fugato skill check{paths} --fix",
                "其中 {repairable} 个可以自动修复：fugato skill check{paths} --fix"
            )
        });
    }
    let worst = problems.iter().find(|problem| problem.is_error()).or_else(|| problems.first());
    if let Some(code) = worst.map(|problem| problem.code) {
        app.out
            .note(&words!("more about a code: fugato explain {code}", "了解代码含义：fugato explain {code}"));
    }
}

//! `fugato skill check`: every problem of skill files and profiles, with positions, hints and repairs.

use super::view;
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::render;
use clap::{Args, ValueEnum};
use fugato_model::view::{DiagnosticView, SkillStatus};
use fugato_model::{Code, Diagnostic, Digest, Exit, Fix, RelPath, Scope, words};
use fugato_runtime::{Discovery, ReadPhases, Root, SkillDir, discover_paths, manage, read_phases};
use fugato_skill::{Installed, SkillText, Strictness, check, digest_bytes, fix};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Check skill files and profiles.
#[derive(Debug, Args)]
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
enum FixLevel {
    /// Quoting, names, slips of the pen
    Safe,
    /// Also move phases into a side file that other validators accept
    Portable,
}

pub fn run(args: &CheckArgs, app: &mut App) -> Outcome {
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

/// What one look found.
struct Findings {
    discovery: Discovery,
    profiles: Vec<(PathBuf, Vec<Diagnostic>)>,
}

fn once(args: &CheckArgs, app: &mut App) -> Outcome {
    let mut findings = look(args, app)?;
    if let Some(level) = args.fix {
        let repaired = repair(&findings, level, app)?;
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
        let of_phases = phase_problems(skill, app);
        let is_refused = of_phases.iter().any(|found| found.code == Code::F0801 && found.is_error());
        let loading = skill.diagnostics.iter().filter(|found| !(is_refused && ignores_phases(found)));
        let mut of_skill: Vec<Diagnostic> = loading.cloned().collect();
        if args.strict {
            of_skill.extend(strict_problems(skill, app));
        }
        of_skill.extend(of_phases);
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
        return Ok(Findings { discovery: app.discover(&roots), profiles: Vec::new() });
    }
    let mut trees = Vec::new();
    let mut profiles = Vec::new();
    for path in &args.paths {
        let full = app.places.cwd.join(path);
        let kind = std::fs::metadata(&full).map_err(|error| not_there(path, &error, args))?;
        let is_json = full.extension().is_some_and(|e| e == "json" || e == "jsonc");
        if kind.is_file() && is_json {
            let diagnostics = crate::policy::lint_file(&full, &args.selection, app)?;
            profiles.push((full, diagnostics));
        } else {
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
    Ok(Findings { discovery, profiles })
}

fn not_there(path: &Path, error: &std::io::Error, args: &CheckArgs) -> CliError {
    let cli = CliError::io("check", path, error);
    let level = path.to_str().and_then(|text| FixLevel::from_str(text, true).ok());
    match level.filter(|_| args.fix.is_some()) {
        Some(_) => {
            let level = path.display();
            cli.hint(words!("did you mean `--fix={level}`?", "是不是想用 `--fix={level}`？"))
        }
        None => cli,
    }
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
fn phase_problems(skill: &Installed, app: &App) -> Vec<Diagnostic> {
    let Some(read) = phases_of(skill, app) else { return Vec::new() };
    // A broken frontmatter, a missing side file and an empty list are told by loading, too.
    let is_told = |found: &Diagnostic| {
        let is_empty = found.code == Code::F0801 && !found.is_error();
        let same = |old: &Diagnostic| old.code == found.code && old.path == found.path;
        skill.diagnostics.iter().any(|old| same(old) || (is_empty && ignores_phases(old)))
    };
    read.diagnostics.into_iter().filter(|found| !is_told(found)).collect()
}

/// Loading passes over `phases` that are none; running does not.
fn ignores_phases(found: &Diagnostic) -> bool {
    found.code == Code::F0118 && found.field.as_deref() == Some("phases")
}

fn phases_of(skill: &Installed, app: &App) -> Option<ReadPhases> {
    if skill.file == "oskill.md" {
        return None;
    }
    let dir = SkillDir::open(&skill.dir).ok()?;
    let file = RelPath::parse(&skill.file).ok()?;
    Some(read_phases(&dir, &file, &|path| app.show_path(&skill.dir.join(path))))
}

fn read_skill_file(skill: &Installed) -> Option<Vec<u8>> {
    SkillDir::open(&skill.dir).ok()?.read(&RelPath::parse(&skill.file).ok()?).ok()
}

/// Applies fixes file by file, each atomically. Returns how many files changed.
fn repair(findings: &Findings, level: FixLevel, app: &App) -> Result<usize, CliError> {
    let mut changed = 0;
    for skill in findings.discovery.inventory.all() {
        let mut fixes: Vec<Fix> = skill.diagnostics.iter().filter_map(|d| d.fix.clone()).collect();
        let phases = phases_of(skill, app).unwrap_or_default();
        let side = phases.side_file.as_ref().map(|(_, shown)| shown.as_str());
        let (of_side, of_skill): (Vec<_>, Vec<_>) =
            phases.diagnostics.iter().partition(|found| Some(found.path.as_str()) == side);
        fixes.extend(of_skill.into_iter().filter_map(|found| found.fix.clone()));
        changed += repair_side_file(skill, &phases, &of_side, app)?;
        let Some(source) = read_skill_file(skill).and_then(|bytes| String::from_utf8(bytes).ok()) else {
            continue;
        };
        let mut text = fix::apply(&source, &fixes);
        let mut side_file = None;
        if level == FixLevel::Portable
            && let Some(portable) = fix::make_portable(&text)
        {
            text = portable.skill_md;
            side_file = Some(portable.phases_yaml);
        }
        if text == source {
            continue;
        }
        let write = |name: &str, content: &str, expected: Option<Digest>| -> Result<(), CliError> {
            let path = RelPath::parse(name).map_err(|error| CliError::internal(&error))?;
            manage::write_file(&app.places, skill, &path, content.as_bytes(), expected)
                .map(|_| ())
                .map_err(|error| super::manage_error(&error))
        };
        // The side file first: a crash in between leaves a skill that still has its phases inline.
        if let Some(phases) = side_file {
            write(fix::PHASES_FILE, &phases, None)?;
        }
        write(&skill.file, &text, Some(digest_bytes(source.as_bytes())))?;
        changed += 1;
    }
    Ok(changed)
}

/// Applies the fixes of the file the phases stand in. Returns how many files changed.
fn repair_side_file(
    skill: &Installed,
    phases: &ReadPhases,
    problems: &[&Diagnostic],
    app: &App,
) -> Result<usize, CliError> {
    let fixes: Vec<Fix> = problems.iter().filter_map(|found| found.fix.clone()).collect();
    let Some((file, _)) = phases.side_file.as_ref().filter(|_| !fixes.is_empty()) else { return Ok(0) };
    let bytes = SkillDir::open(&skill.dir).and_then(|dir| dir.read(file)).ok();
    let Some(source) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else { return Ok(0) };
    let text = fix::apply(&source, &fixes);
    if text == source {
        return Ok(0);
    }
    let expected = Some(digest_bytes(source.as_bytes()));
    manage::write_file(&app.places, skill, file, text.as_bytes(), expected)
        .map_err(|error| super::manage_error(&error))?;
    Ok(1)
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
    let count = |status| inventory.all().iter().filter(|skill| skill.status() == status).count();
    let diagnostics: Vec<_> = problems.iter().map(|problem| DiagnosticView::new(problem, lang)).collect();
    let document = serde_json::json!({
        "schema": "fugato.check/v1",
        "ok": exit == Exit::Ok,
        "summary": {
            "skills": inventory.len(),
            "ok": count(SkillStatus::Ok),
            "warning": count(SkillStatus::Warning),
            "invalid": count(SkillStatus::Invalid),
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
    let count = |status| inventory.all().iter().filter(|skill| skill.status() == status).count();
    let (ok, warning, invalid) =
        (count(SkillStatus::Ok), count(SkillStatus::Warning), count(SkillStatus::Invalid));
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

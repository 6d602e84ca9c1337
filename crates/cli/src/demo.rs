//! `fugato demo`: the product in ten seconds, offline, in a directory that is removed at the end.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use fugato_model::{Exit, Words, words};
use std::path::{Path, PathBuf};

include!(concat!(env!("OUT_DIR"), "/demo_files.rs"));

pub fn run(app: &mut App) -> Outcome {
    app.refuse_json("demo")?;
    let dir = throw_away_dir()?;
    // The tour works inside, so that what it shows is what a person there would type and see.
    let before = app.places.clone();
    app.places.cwd = dir.clone();
    app.places.home = dir.join(".fugato-home");
    let outcome = tour(&dir, app);
    app.places = before;
    // Best effort: a leftover in the temporary directory harms nobody.
    let _ = std::fs::remove_dir_all(&dir);
    outcome
}

/// A new directory: one that somebody else has prepared under the name is not used.
fn throw_away_dir() -> Result<PathBuf, CliError> {
    let base = std::env::temp_dir();
    let name = |n: u32| base.join(format!("fugato-demo-{}-{n}", std::process::id()));
    let taken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::AlreadyExists;
    let mut made = Err(std::io::ErrorKind::AlreadyExists.into());
    let mut dir = base.clone();
    for n in 0..100 {
        dir = name(n);
        made = std::fs::create_dir(&dir);
        if !made.as_ref().is_err_and(taken) {
            break;
        }
    }
    made.and_then(|()| dir.canonicalize()).map_err(|error| CliError::io("create", &dir, &error))
}

fn tour(dir: &Path, app: &mut App) -> Outcome {
    for (path, text) in DEMO_FILES {
        let target = dir.join(path);
        let parent = target.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent).map_err(|error| CliError::io("create", parent, &error))?;
        std::fs::write(&target, text).map_err(|error| CliError::io("write", &target, &error))?;
    }
    // A day with events and no directives: the optional step fails, and the run goes on.
    let (from, to) = (dir.join("daily-brief/sample/calendar.csv"), dir.join("calendar.csv"));
    std::fs::copy(&from, &to).map_err(|error| CliError::io("write", &to, &error))?;
    let broken = dir.join("skills").join("broken-skill");
    std::fs::create_dir_all(&broken).map_err(|error| CliError::io("create", &broken, &error))?;
    let text = "---\nname: Broken_Skill\ndescription: Use when: a colon is not quoted\nalowed-tools: Read\n---\nText.\n";
    std::fs::write(broken.join("SKILL.md"), text).map_err(|error| CliError::io("write", &broken, &error))?;

    step(
        app,
        1,
        &words!(
            "A skill with phases: what would run, drawn without asking a model",
            "一个分阶段的技能：将如何执行（不调用模型）"
        ),
        "plan ./daily-brief 2026-02-15",
    )?;
    step(
        app,
        2,
        &words!(
            "Run it: scripts, a step that may fail, a (scripted) model, a question that can wait",
            "运行它：脚本、允许失败的步骤、（脚本化的）模型、可以等待的问题"
        ),
        "run ./daily-brief 2026-02-15 --model script:daily-brief/model.yaml --no-input",
    )?;
    let run = crate::runs::newest(app)?;
    step(
        app,
        3,
        &words!(
            "Answer from anywhere, any time later: finished steps are not run again",
            "随时随地回答：已完成的步骤不会重做"
        ),
        &format!("answer {run} the launch plan --no-input"),
    )?;
    step(app, 4, &words!("What happened, from the log", "日志中记录的经过"), &format!("trace {run}"))?;
    step(
        app,
        5,
        &words!(
            "A folder of skills: what is here, and what is wrong with it",
            "一个技能目录：里面有什么，有什么问题"
        ),
        "skill check skills",
    )?;
    step(
        app,
        6,
        &words!(
            "A policy: what the director's main agent sees, and why",
            "一份策略：导演的主代理能看到什么，为什么"
        ),
        "policy explain profile.jsonc --agent main --skills skills",
    )?;
    step(
        app,
        7,
        &words!("The catalog that a sub-agent's system message gets", "子代理系统消息中的目录"),
        "policy resolve profile.jsonc --agent voice_critic --catalog --skills skills",
    )?;

    app.out.line("")?;
    let next = words!(
        "Try next:\n  fugato skill new my-skill --kind phases   make one of your own, then: fugato run my-skill\n  fugato skill new my-first-skill     make a plain skill\n  fugato skill ls                     see every skill on this machine\n  fugato profile new director         start a profile\n  fugato explain F0109                what an error code means",
        "接下来可以试试：\n  fugato skill new my-skill --kind phases   新建分阶段的技能，然后：fugato run my-skill\n  fugato skill new my-first-skill     新建普通技能\n  fugato skill ls                     查看本机所有技能\n  fugato profile new director         新建一份配置\n  fugato explain F0109                错误代码的含义"
    );
    let next = app.out.say(&next).to_owned();
    app.out.line(next)?;
    Ok(Exit::Ok)
}

/// Shows a command and runs it, on the code path a typed one takes.
fn step(app: &mut App, number: u8, title: &Words, command: &str) -> Result<(), CliError> {
    use clap::Parser as _;
    let title = app.out.say(title).to_owned();
    app.out.line("")?;
    app.out.line(paint(style::BOLD, format!("{number}. {title}")))?;
    app.out.line(paint(style::DIM, format!("   $ fugato {command}")))?;
    app.out.line("")?;
    let words = std::iter::once("fugato").chain(command.split(' '));
    let cli = crate::args::Cli::try_parse_from(words).map_err(|error| CliError::internal(&error))?;
    crate::run(cli.command, app).map(|_| ())
}

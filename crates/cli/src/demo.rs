//! `fugato demo`: the product in ten seconds, offline, in a directory that is removed at the end.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use fugato_model::{Exit, Words, words};
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/demo_files.rs"));

pub fn run(app: &mut App) -> Outcome {
    let dir = std::env::temp_dir().join(format!("fugato-demo-{}", std::process::id()));
    let outcome = tour(&dir, app);
    // Best effort: a leftover in the temporary directory harms nobody.
    let _ = std::fs::remove_dir_all(&dir);
    outcome
}

fn tour(dir: &Path, app: &mut App) -> Outcome {
    for (path, text) in DEMO_FILES {
        let target = dir.join(path);
        let parent = target.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent).map_err(|error| CliError::io("create", parent, &error))?;
        std::fs::write(&target, text).map_err(|error| CliError::io("write", &target, &error))?;
    }
    let broken = dir.join("skills").join("broken-skill");
    std::fs::create_dir_all(&broken).map_err(|error| CliError::io("create", &broken, &error))?;
    let text = "---\nname: Broken_Skill\ndescription: Use when: a colon is not quoted\nalowed-tools: Read\n---\nText.\n";
    std::fs::write(broken.join("SKILL.md"), text).map_err(|error| CliError::io("write", &broken, &error))?;

    let skills = dir.join("skills");
    step(
        app,
        1,
        &words!(
            "A folder of skills: what is here, and what is wrong with it",
            "一个技能目录：里面有什么，有什么问题"
        ),
        "fugato skill check skills",
    )?;
    let check = ["skill", "check", &broken.display().to_string()].map(str::to_owned);
    run_like_a_person(&check, app)?;

    step(
        app,
        2,
        &words!(
            "A policy: what the director's main agent sees, and why",
            "一份策略：导演的主代理能看到什么，为什么"
        ),
        "fugato policy explain profile.jsonc --agent main --skills skills",
    )?;
    let (profile, skills_dir) =
        (dir.join("profile.jsonc").display().to_string(), skills.display().to_string());
    let explain =
        ["policy", "explain", &profile, "--agent", "main", "--skills", &skills_dir].map(str::to_owned);
    run_like_a_person(&explain, app)?;

    step(
        app,
        3,
        &words!("The catalog that agent's system message gets", "该代理系统消息中的目录"),
        "fugato policy resolve profile.jsonc --agent voice_critic --catalog --skills skills",
    )?;
    let resolve =
        ["policy", "resolve", &profile, "--agent", "voice_critic", "--catalog", "--skills", &skills_dir]
            .map(str::to_owned);
    run_like_a_person(&resolve, app)?;

    app.out.line("")?;
    let next = words!(
        "Try next:\n  fugato skill new my-first-skill     make a skill\n  fugato skill ls                     see every skill on this machine\n  fugato profile new director         start a profile\n  fugato explain F0109                what an error code means",
        "接下来可以试试：\n  fugato skill new my-first-skill     新建技能\n  fugato skill ls                     查看本机所有技能\n  fugato profile new director         新建一份配置\n  fugato explain F0109                错误代码的含义"
    );
    let next = app.out.say(&next).to_owned();
    app.out.line(next)?;
    Ok(Exit::Ok)
}

fn step(app: &mut App, number: u8, title: &Words, command: &str) -> Result<(), CliError> {
    let title = app.out.say(title).to_owned();
    app.out.line("")?;
    app.out.line(paint(style::BOLD, format!("{number}. {title}")))?;
    app.out.line(paint(style::DIM, format!("   $ {command}")))?;
    app.out.line("")
}

/// The same code path a typed command takes.
fn run_like_a_person(args: &[String], app: &mut App) -> Result<(), CliError> {
    use clap::Parser as _;
    let full = std::iter::once("fugato".to_owned()).chain(args.iter().cloned());
    let cli = crate::args::Cli::try_parse_from(full).map_err(|error| CliError::internal(&error))?;
    crate::run(cli.command, app).map(|_| ())
}

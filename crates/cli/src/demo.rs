//! `fugato demo`: the product in ten seconds, offline, in a directory that is removed at the end.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use fugato_model::{Exit, Words, words};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    let killed = killed_run(dir, app)?;
    let run = crate::runs::newest(app)?;
    if killed == Killed::Yes {
        step(
            app,
            3,
            &words!(
                "Resume it: what was finished is not run again. Then it asks something, and may wait for days",
                "恢复运行：已完成的不会重做。然后它提出一个问题，可以等待数天"
            ),
            &format!("resume {run} --no-input"),
        )?;
    }
    step(
        app,
        4,
        &words!("Answer from any terminal, any time later", "随时在任何终端回答"),
        &format!("answer {run} the launch plan --no-input"),
    )?;
    step(app, 5, &words!("What happened, from the log", "日志中记录的经过"), &format!("trace {run}"))?;
    if killed == Killed::Yes {
        let repeats = crate::runs::repeats(&run, app)?;
        let (finished, again) = (repeats.finished, repeats.again);
        app.out.note(&words!(
            "{finished} steps were finished before the kill; {again} of them ran again",
            "终止前已完成 {finished} 个步骤；其中 {again} 个被重做"
        ));
    }
    step(
        app,
        6,
        &words!(
            "A folder of skills: what is here, and what is wrong with it",
            "一个技能目录：里面有什么，有什么问题"
        ),
        "skill check skills",
    )?;
    step(
        app,
        7,
        &words!(
            "A policy: what the director's main agent sees, and why",
            "一份策略：导演的主代理能看到什么，为什么"
        ),
        "policy explain profile.jsonc --agent main --skills skills",
    )?;
    step(
        app,
        8,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Yes,
    /// It was over before.
    No,
}

/// The line after which the run is killed: three scripts have ended, the model has been asked.
const KILLED_AT: &str = "write/brief";
/// In the demo the model takes its time, so that there is a middle to be killed in.
const RULE: &str = "- when: { agent: write/brief }\n";

/// The run in a process of its own, killed the hard way in the middle.
fn killed_run(dir: &Path, app: &mut App) -> Result<Killed, CliError> {
    let model = dir.join("daily-brief/model.yaml");
    let fast = std::fs::read_to_string(&model).map_err(|error| CliError::io("read", &model, &error))?;
    let slow = fast.replacen(RULE, &format!("{RULE}  delay_ms: 60000\n"), 1);
    std::fs::write(&model, slow).map_err(|error| CliError::io("write", &model, &error))?;
    let command = "run ./daily-brief 2026-02-15 --model script:daily-brief/model.yaml --no-input";
    let title = words!(
        "Run it: scripts, a step that may fail, a (scripted) model. In the middle: kill -9",
        "运行它：脚本、允许失败的步骤、（脚本化的）模型。中途 kill -9"
    );
    head(app, 2, &title, command)?;
    let program = std::env::current_exe().map_err(|error| CliError::internal(&error))?;
    let mut child = Command::new(program)
        .args(command.split(' '))
        .args([
            "--lang",
            if app.out.lang == fugato_model::Lang::En { "en" } else { "zh" },
            "--color",
            "always",
        ])
        .current_dir(dir)
        .env("FUGATO_HOME", &app.places.home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| CliError::internal(&error))?;
    let mut killed = Killed::No;
    let lines = child.stderr.take().map(|stderr| std::io::BufReader::new(stderr).lines());
    for line in lines.into_iter().flatten().map_while(Result::ok) {
        app.out.aside(&line);
        // Printed means stored: this is the moment a power cut would find.
        if killed == Killed::No && line.contains(KILLED_AT) {
            killed = if child.kill().is_ok() { Killed::Yes } else { Killed::No };
            app.out.aside(&paint(style::BAD, format!("   $ kill -9 {}", child.id())));
        }
    }
    child.wait().map_err(|error| CliError::internal(&error))?;
    std::fs::write(&model, fast).map_err(|error| CliError::io("write", &model, &error))?;
    Ok(killed)
}

/// Shows a command and runs it, on the code path a typed one takes.
fn step(app: &mut App, number: u8, title: &Words, command: &str) -> Result<(), CliError> {
    use clap::Parser as _;
    head(app, number, title, command)?;
    let words = std::iter::once("fugato").chain(command.split(' '));
    let cli = crate::args::Cli::try_parse_from(words).map_err(|error| CliError::internal(&error))?;
    crate::run(cli.command, app).map(|_| ())
}

fn head(app: &mut App, number: u8, title: &Words, command: &str) -> Result<(), CliError> {
    let title = app.out.say(title).to_owned();
    app.out.line("")?;
    app.out.line(paint(style::BOLD, format!("{number}. {title}")))?;
    app.out.line(paint(style::DIM, format!("   $ fugato {command}")))?;
    app.out.line("")
}

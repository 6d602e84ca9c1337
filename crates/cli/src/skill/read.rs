//! `fugato skill read`: a file of a skill, as `skill_read` gives it to an agent.

use super::unknown_skill;
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::policy::AgentView;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, RelPath, Words, words};
use fugato_runtime::{FileError, SkillDir};
use fugato_skill::tools;

/// Print a file of a skill.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// Name of the skill
    #[arg(add = ArgValueCandidates::new(crate::complete::skills))]
    name: String,
    /// File inside the skill [default: SKILL.md]
    path: Option<String>,
    /// First line, or the `line:byte` cursor of an earlier answer
    #[arg(long, value_name = "LINE", default_value = "1")]
    offset: String,
    /// At most this many lines [default: as many as fit into 51,200 bytes]
    #[arg(long, value_name = "LINES", allow_negative_numbers = true)]
    limit: Option<usize>,
    #[command(flatten)]
    agent: AgentView,
    #[command(flatten)]
    selection: SkillSelection,
}

pub fn run(args: &ReadArgs, app: &mut App) -> Outcome {
    let skill = if args.agent.is_given() {
        let seen = args.agent.resolve(&args.selection, app)?;
        let resolution = seen.resolution()?;
        match resolution.can_read(&args.name) {
            Some(skill) => skill.clone(),
            None => return Err(not_available(&args.name, &seen.agent_id())),
        }
    } else {
        let inventory = app.discover(&app.roots(&args.selection, None)?).inventory;
        match inventory.get(&args.name).or_else(|| inventory.broken(&args.name)) {
            Some(skill) => skill.clone(),
            None => return Err(unknown_skill(&args.name, &inventory)),
        }
    };
    let path = args.path.clone().unwrap_or_else(|| skill.file.clone());
    let path = RelPath::parse(&path).map_err(|error| {
        let shown = fugato_model::escape_for_terminal(&path).into_owned();
        let Words { en, zh } = error.words();
        CliError::usage(words!("`{shown}`: {en}", "`{shown}`：{zh}"))
    })?;
    let dir = SkillDir::open(&skill.dir).map_err(|error| file_error(&path, &error))?;
    let bytes = dir.read(&path).map_err(|error| match error {
        FileError::NotFound(_) => {
            let files = dir.list();
            CliError::unknown(
                ("file", "文件"),
                path.as_str(),
                files.iter().map(RelPath::as_str).collect::<Vec<_>>(),
            )
        }
        error => file_error(&path, &error),
    })?;
    let offset = args.offset.parse().map_err(|error: tools::OffsetError| {
        let text = fugato_model::escape_for_terminal(&error.0).into_owned();
        CliError::usage(words!(
            "--offset: {error}",
            "--offset：`{text}` 不是行号（应为 `行` 或 `行:字节`，从 1 开始）"
        ))
    })?;
    let page = tools::read(&skill.label(), path.as_str(), &bytes, offset, args.limit)
        .map_err(|error| CliError::failed(error.words()))?;
    if app.out.json {
        let document = serde_json::to_value(&page).map_err(|error| CliError::internal(&error))?;
        app.out.document("fugato.skill_read/v1", document)?;
        return Ok(Exit::Ok);
    }
    app.out.raw(page.content.as_bytes())?;
    if let Some(next) = &page.next_offset {
        app.out.note(&words!("more: --offset {next}", "后续内容：--offset {next}"));
    }
    Ok(Exit::Ok)
}

/// The same sentence for a skill that is hidden and one that does not exist.
fn not_available(name: &str, agent: &str) -> CliError {
    let shown = fugato_model::escape_for_terminal(name).into_owned();
    CliError::not_found(words!(
        "skill `{shown}` is not available to agent `{agent}`",
        "技能 `{shown}` 对代理 `{agent}` 不可用"
    ))
    .hint(words!(
        "as the operator: fugato policy explain PROFILE --agent {agent} --skill {shown}",
        "管理者可查看原因：fugato policy explain 配置文件 --agent {agent} --skill {shown}"
    ))
}

fn file_error(path: &RelPath, error: &FileError) -> CliError {
    let Words { en, zh } = error.words();
    CliError::failed(words!("cannot read `{path}`: {en}", "无法读取 `{path}`：{zh}"))
}

//! `fugato skill search`: text in all skills, in one, or in what one agent may read.

use super::unknown_skill;
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::policy::AgentView;
use crate::printer::{paint, style};
use crate::render;
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, RelPath, Words, words};
use fugato_runtime::SkillDir;
use fugato_skill::Installed;
use fugato_skill::tools::{Hit, Search};

/// Search the text of all skills, or of one.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// The text to find (any script; upper and lower case are the same)
    query: String,
    /// Only in this skill [default: in all]
    #[arg(long = "in", value_name = "NAME", add = ArgValueCandidates::new(crate::complete::skills))]
    inside: Option<String>,
    /// Only in this file of each skill [default: in all]
    #[arg(long, value_name = "FILE")]
    path: Option<String>,
    /// At most this many hits per skill
    #[arg(long, default_value_t = 10, allow_negative_numbers = true)]
    limit: usize,
    /// Lines around each hit
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    context: usize,
    #[command(flatten)]
    agent: AgentView,
    #[command(flatten)]
    selection: SkillSelection,
}

/// Longer needles are somebody's file pasted by accident.
const MAX_QUERY_BYTES: usize = 16 * 1024;

pub fn run(args: &SearchArgs, app: &mut App) -> Outcome {
    if args.query.is_empty() || args.query.len() > MAX_QUERY_BYTES {
        let found = args.query.len();
        return Err(CliError::usage(words!(
            "the query has {found} bytes (expected 1 to {MAX_QUERY_BYTES})",
            "查询长度为 {found} 字节（应为 1 到 {MAX_QUERY_BYTES}）"
        )));
    }
    let path = args.path.as_deref().map(RelPath::parse).transpose().map_err(|error| {
        let Words { en, zh } = error.words();
        CliError::usage(words!("--path: {en}", "--path：{zh}"))
    })?;
    let skills = skills_to_search(args, app)?;
    let mut hits: Vec<(String, Hit)> = Vec::new();
    for skill in &skills {
        let found = search_one(skill, path.as_ref(), args)?;
        hits.extend(found.into_iter().map(|hit| (skill.label(), hit)));
    }
    if app.out.json {
        let hits: Vec<_> = hits
            .iter()
            .map(|(skill, hit)| {
                serde_json::json!({
                    "skill": skill, "path": hit.path, "lineStart": hit.line_start, "lineEnd": hit.line_end,
                    "snippet": hit.snippet,
                })
            })
            .collect();
        app.out
            .json(&serde_json::json!({"schema": "fugato.search/v1", "query": args.query, "hits": hits}))?;
        return Ok(Exit::Ok);
    }
    print(&hits, skills.len(), args, app)?;
    Ok(Exit::Ok)
}

fn skills_to_search(args: &SearchArgs, app: &App) -> Result<Vec<Installed>, CliError> {
    if args.agent.is_given() {
        let seen = args.agent.resolve(&args.selection, app)?;
        let resolution = seen.resolution()?;
        return match &args.inside {
            // Hidden and missing are the same to an agent, and so to whoever asks in its name.
            Some(name) => match resolution.can_read(name) {
                Some(skill) => Ok(vec![skill.clone()]),
                None => Err(CliError::unknown(
                    ("skill", "技能"),
                    name,
                    resolution
                        .visible()
                        .filter_map(|s| s.head.name.as_ref().map(fugato_model::SkillName::as_str))
                        .collect::<Vec<_>>(),
                )),
            },
            None => Ok(resolution.visible().cloned().collect()),
        };
    }
    let inventory = app.discover(&app.roots(&args.selection, None)?).inventory;
    match &args.inside {
        Some(name) => match inventory.get(name) {
            Some(skill) => Ok(vec![skill.clone()]),
            None => Err(unknown_skill(name, &inventory)),
        },
        None => Ok(inventory
            .all()
            .iter()
            .filter(|skill| skill.usable && !inventory.is_shadowed(skill))
            .cloned()
            .collect()),
    }
}

fn search_one(skill: &Installed, path: Option<&RelPath>, args: &SearchArgs) -> Result<Vec<Hit>, CliError> {
    let failed = |error: &dyn std::fmt::Display| {
        let label = skill.label();
        CliError::failed(words!("cannot search `{label}`: {error}", "无法搜索 `{label}`：{error}"))
    };
    let dir = SkillDir::open(&skill.dir).map_err(|error| failed(&error))?;
    let names = match path {
        Some(path) => vec![path.clone()],
        None => dir.list(),
    };
    let mut search = Search::new(&args.query, args.limit, args.context);
    for name in names {
        // A file that cannot be read (too large, gone since) is not a reason to hide the others.
        let Ok(bytes) = dir.read(&name) else { continue };
        if !search.file(name.as_str(), &bytes) {
            break;
        }
    }
    Ok(search.finish().hits)
}

fn print(hits: &[(String, Hit)], searched: usize, args: &SearchArgs, app: &mut App) -> Result<(), CliError> {
    for (at, (skill, hit)) in hits.iter().enumerate() {
        if at > 0 {
            app.out.line("")?;
        }
        let place = format!("{skill}/{}", hit.path);
        let place = paint(style::NAME, fugato_model::escape_for_terminal(&place));
        app.out.line(format!("{place}:{}", hit.line_start))?;
        for line in hit.snippet.lines() {
            app.out.line(format!("  {}", fugato_model::escape_for_terminal(line)))?;
        }
    }
    let n = hits.len();
    let (hits, skills) = (render::count(n, "hit"), render::count(searched, "skill"));
    let query = fugato_model::escape_for_terminal(&args.query).into_owned();
    app.out.note(&words!("{hits} for `{query}` in {skills}", "在 {searched} 个技能中找到 {n} 处 `{query}`"));
    Ok(())
}

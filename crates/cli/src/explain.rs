//! `fugato explain CODE`: the page of an error code, carried in the binary.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{Cell, Table};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Code, Exit, Lang, words};

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Explain an error code.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The code, such as F0107; without one, all codes are listed
    #[arg(add = ArgValueCandidates::new(crate::complete::codes))]
    code: Option<String>,
}

pub fn run(args: &ExplainArgs, app: &mut App) -> Outcome {
    let Some(text) = &args.code else { return list(app) };
    let code: Code = text.parse().map_err(|()| {
        CliError::unknown(("code", "代码"), &text.to_uppercase(), Code::ALL.iter().map(|code| code.as_str()))
            .hint(words!("`fugato explain` lists all codes", "`fugato explain` 列出所有代码"))
    })?;
    let page = page(code);
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.explain/v1", "code": code.as_str(), "title": code.title(), "page": page,
        }))?;
    } else {
        app.out.line(in_lang(page, app.out.lang))?;
    }
    Ok(Exit::Ok)
}

/// Heading of the Chinese part, which is the last of every page.
const CHINESE: &str = "## 中文";

/// The part of the page in the person's language; examples are in neither, so Chinese keeps them.
fn in_lang(page: &str, lang: Lang) -> String {
    let (english, chinese) = page.split_once(CHINESE).unwrap_or((page, ""));
    match lang {
        Lang::En => english.trim_end().to_owned(),
        Lang::Zh => {
            let title = english.lines().next().unwrap_or_default();
            let examples = examples(english);
            format!("{title}\n\n{}\n\n{examples}", chinese.trim()).trim_end().to_owned()
        }
    }
}

/// The fenced blocks of a page.
fn examples(page: &str) -> String {
    let mut kept = String::new();
    let mut is_inside = false;
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence || is_inside {
            kept.push_str(line);
            kept.push('\n');
        }
        if is_fence {
            is_inside = !is_inside;
            if !is_inside {
                kept.push('\n');
            }
        }
    }
    kept
}

fn list(app: &mut App) -> Outcome {
    if app.out.json {
        let codes: Vec<_> = Code::ALL
            .iter()
            .map(|code| serde_json::json!({"code": code.as_str(), "title": code.title()}))
            .collect();
        app.out.json(&serde_json::json!({"schema": "fugato.codes/v1", "codes": codes}))?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(0);
    for code in Code::ALL {
        table.row([Cell::styled(style::NAME, code.as_str()), Cell::new(code.title())]);
    }
    table.print(&mut app.out)?;
    Ok(Exit::Ok)
}

/// The committed page; the build fails when a code has none.
fn page(code: Code) -> &'static str {
    PAGES.iter().find(|(name, _)| *name == code.as_str()).map_or("", |(_, page)| page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_that_names_it() {
        for code in Code::ALL {
            let page = page(*code);
            assert!(
                page.starts_with(&format!("# {code}: ")),
                "docs/errors/{code}.md is missing or mistitled"
            );
            assert!(page.contains("## 中文"), "docs/errors/{code}.md has no Chinese part");
        }
    }

    #[test]
    fn no_page_is_left_over() {
        for (name, _) in PAGES {
            assert!(name.parse::<Code>().is_ok(), "docs/errors/{name}.md has no code");
        }
    }

    #[test]
    fn pages_name_only_commands_that_exist() {
        use clap::CommandFactory as _;
        let command = crate::args::Cli::command();
        let known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut seen = 0;
        for (page, text) in PAGES {
            for after in ["`fugato ", "$ fugato "].iter().flat_map(|marker| text.split(marker).skip(1)) {
                let word = after.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
                assert!(word.is_empty() || known.contains(&word), "{page}: there is no `fugato {word}`");
                seen += 1;
            }
        }
        assert!(seen > 50, "the pages name {seen} commands");
    }
}

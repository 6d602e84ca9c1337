//! `fugato explain CODE`: the page of an error code, carried in the binary.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{Cell, Table};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Code, Exit, words};

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
        app.out.line(page.trim_end())?;
    }
    Ok(Exit::Ok)
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
}

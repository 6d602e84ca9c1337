//! `fugato runs rm`: let records go, by name or by age; never those of a run that is alive.

use super::{find, reader, state, store_error};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, words};
use fugato_runtime::store::{Reader, RunRow, Store, StoreError};
use std::io::{BufRead as _, IsTerminal as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Remove the records of runs.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// The runs, or the beginnings of their ids
    #[arg(required_unless_present = "older_than", conflicts_with = "older_than", add = ArgValueCandidates::new(crate::complete::runs))]
    run: Vec<String>,
    /// Every run that has not changed for this long, such as 30d, 12h or 8w
    #[arg(long, value_name = "AGE")]
    older_than: Option<String>,
    /// Show what would be removed and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub fn run(args: &RemoveArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let rows = match &args.older_than {
        Some(age) => {
            let before = SystemTime::now().checked_sub(parse_age(age)?).unwrap_or(UNIX_EPOCH);
            let before = before.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
            let before = i64::try_from(before).unwrap_or(i64::MAX);
            reader.prunable(Some(before), None).map_err(|error| store_error(&error))?
        }
        None => named(&reader, &args.run)?,
    };
    drop(reader);
    let is_dry = args.dry_run || rows.is_empty();
    if !is_dry && !args.yes && !confirm(&rows, app)? {
        app.out.note(&words!("nothing was removed", "没有移除任何内容"));
        return Ok(Exit::Ok);
    }
    let (mut removed, mut freed) = (Vec::new(), 0);
    if !is_dry {
        let store = Store::open(&state(app)).map_err(|error| store_error(&error))?;
        for row in &rows {
            match store.remove_run(&row.id) {
                Ok(()) => removed.push(row.id.as_str()),
                // Somebody else was faster; it is gone either way.
                Err(StoreError::UnknownRun { .. }) => {}
                // Somebody took it up since it was found to be old.
                Err(StoreError::Held { .. }) if args.older_than.is_some() => {}
                Err(error) => return Err(store_error(&error)),
            }
        }
        // Content that only they named.
        let swept = store.prune(None, None).map_err(|error| store_error(&error))?;
        freed = rows.iter().map(|row| row.bytes).sum::<u64>() + swept.bytes;
    }
    report(args, &rows, &removed, freed, app)
}

/// All of them exist and none is alive, or nothing happens.
fn named(reader: &Reader, ids: &[String]) -> Result<Vec<RunRow>, CliError> {
    let mut rows: Vec<RunRow> = Vec::new();
    for id in ids {
        let row = find(reader, Some(id))?;
        if let Some(lease) = row.lease.clone().filter(|_| row.is_live()) {
            return Err(store_error(&StoreError::Held { by: Box::new(lease) }));
        }
        if rows.iter().all(|known| known.id != row.id) {
            rows.push(row);
        }
    }
    Ok(rows)
}

fn report(args: &RemoveArgs, rows: &[RunRow], removed: &[&str], freed: u64, app: &mut App) -> Outcome {
    if app.out.json {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        app.out.json(&serde_json::json!({
            "schema": "fugato.runs_rm/v1", "removed": removed, "bytes": freed,
            "would_remove": args.dry_run.then_some(ids),
        }))?;
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        app.out.note(&words!("no run is that old", "没有这么旧的运行"));
        return Ok(Exit::Ok);
    }
    if args.dry_run {
        for line in lines(rows) {
            app.out.line(line)?;
        }
        let count = rows.len();
        app.out.note(&words!("{count} would be removed", "将移除 {count} 个"));
        return Ok(Exit::Ok);
    }
    let count = removed.len();
    let kib = freed.div_ceil(1024);
    app.out.note(&words!("removed {count}, {kib} KiB", "已移除 {count} 个，{kib} KiB"));
    Ok(Exit::Ok)
}

/// Asks on a terminal; elsewhere a person has to have said so.
fn confirm(rows: &[RunRow], app: &mut App) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() || app.out.json {
        let count = rows.len();
        return Err(CliError::usage(words!(
            "this removes {count} for good, and there is no terminal to ask on",
            "这会彻底移除 {count} 个运行，而这里没有可供确认的终端"
        ))
        .hint(words!("add --yes, or look first with --dry-run", "加上 --yes，或先用 --dry-run 查看")));
    }
    for line in lines(rows) {
        app.out.aside(&line);
    }
    app.out.note(&words!("remove for good? [y/N]", "彻底移除？[y/N]"));
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是"))
}

fn lines(rows: &[RunRow]) -> impl Iterator<Item = String> + '_ {
    rows.iter().map(|row| {
        let title = fugato_model::escape_for_terminal(row.title.as_deref().unwrap_or_default()).into_owned();
        format!("{}  {}  {title}", row.id, row.effective_status())
    })
}

/// `30d`, `12h`, `90m`, `8w`, `20s`.
fn parse_age(text: &str) -> Result<Duration, CliError> {
    let parsed = || {
        let unit = text.chars().last()?;
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            'w' => 7 * 24 * 60 * 60,
            _ => return None,
        };
        number.checked_mul(seconds).map(Duration::from_secs)
    };
    parsed().ok_or_else(|| {
        let found = fugato_model::escape_for_terminal(text);
        CliError::usage(words!(
            "--older-than: found `{found}`, expected a number and s, m, h, d or w",
            "--older-than：值为 `{found}`，应为数字加 s、m、h、d 或 w"
        ))
        .hint(words!("--older-than 30d", "--older-than 30d"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_a_number_and_a_unit_and_nothing_else() {
        for (text, seconds) in
            [("0s", 0), ("90m", 5400), ("12h", 43_200), ("30d", 2_592_000), ("8w", 4_838_400)]
        {
            assert_eq!(parse_age(text).unwrap(), Duration::from_secs(seconds), "{text}");
        }
        for text in
            ["", "d", "30", "-1d", "1y", "三d", "1 d", "99999999999999999999d", "18446744073709551615w", "1é"]
        {
            assert!(parse_age(text).is_err(), "{text}");
        }
    }
}

//! `fugato runs export | import`: a run as one file, from one project or machine to another.

use super::{find, reader, state, store_error};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, words};
use fugato_runtime::runs;
use fugato_runtime::store::{ExportError, Lookup, StoreError, export_run};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Write a run into one file.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
    /// The file to write, or `-` for stdout [default: RUN.jsonl]
    file: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

/// Bring in a run that was exported elsewhere.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The file `fugato runs export` wrote, or `-` for stdin
    file: PathBuf,
}

pub fn export(args: &ExportArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let id = find(&reader, args.run.as_deref())?.id;
    let file = args.file.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.jsonl")));
    if file.as_os_str() == "-" {
        app.out.flush()?;
        let mut out = BufWriter::new(io::stdout().lock());
        return match export_run(&reader, &id, &mut out) {
            Ok(()) => Ok(Exit::Ok),
            Err(error) => Err(export_error(error, Path::new("-"))),
        };
    }
    let path = app.places.cwd.join(&file);
    let shown = app.show_path(&path);
    if path.exists() && !args.force {
        return Err(CliError::new(Exit::Conflict, words!("`{shown}` exists", "`{shown}` 已存在"))
            .hint(words!("overwrite it with --force", "用 --force 覆盖")));
    }
    let mut size = 0;
    fugato_runtime::write_privately(&path, |out| {
        let mut counted = Counted { out, bytes: 0 };
        export_run(&reader, &id, &mut counted)?;
        size = counted.bytes;
        Ok(())
    })
    .map_err(|error| export_error(error, &path))?;
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.runs_export/v1", "run": id, "path": path, "bytes": size,
        }))?;
        return Ok(Exit::Ok);
    }
    app.out.note(&words!("wrote {shown} ({size} bytes)", "已写入 {shown}（{size} 字节）"));
    Ok(Exit::Ok)
}

pub fn import(args: &ImportArgs, app: &mut App) -> Outcome {
    let dir = state(app);
    let imported = if args.file.as_os_str() == "-" {
        let mut spooled = runs::spool(&mut io::stdin().lock())
            .map_err(|error| CliError::io("read", Path::new("-"), &error))?;
        runs::import(&dir, &mut spooled)
    } else {
        let path = app.places.cwd.join(&args.file);
        let read = |error: io::Error| CliError::io("read", &path, &error);
        let meta = std::fs::metadata(&path).map_err(read)?;
        if meta.is_dir() {
            return Err(read(io::ErrorKind::IsADirectory.into()));
        }
        let mut file = std::fs::File::open(&path).map_err(read)?;
        if !meta.is_file() {
            file = runs::spool(&mut file).map_err(read)?;
        }
        runs::import(&dir, &mut file)
    };
    let imported = imported.map_err(|error| match &error {
        StoreError::RunExists { id } => store_error(&error)
            .hint(words!("look at it: fugato runs show {id}", "查看：fugato runs show {id}")),
        _ => store_error(&error),
    })?;
    let (id, events) = (&imported.id, imported.events);
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.runs_import/v1", "run": id, "events": events, "blobs": imported.blobs,
        }))?;
        return Ok(Exit::Ok);
    }
    app.out.note(&words!(
        "imported {id} ({events} events)\nnext: fugato runs show {id}",
        "已导入 {id}（{events} 个事件）\n下一步：fugato runs show {id}"
    ));
    Ok(Exit::Ok)
}

fn export_error(error: ExportError, path: &Path) -> CliError {
    match error {
        ExportError::Lookup(Lookup::Store(error)) => store_error(&error),
        ExportError::Lookup(lookup) => CliError::new(lookup.exit(), lookup.words("")),
        ExportError::Write(error) if path.as_os_str() == "-" => CliError::output(&error),
        ExportError::Write(error) => CliError::io("write", path, &error),
    }
}

/// Counts what passes through.
struct Counted<'w> {
    out: &'w mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

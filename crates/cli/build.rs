//! Embeds the pages of `docs/errors` so that `fugato explain` works without a checkout.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../docs/errors");
    let mut pages: Vec<_> = std::fs::read_dir(&root)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    let mut source = String::from("const PAGES: &[(&str, &str)] = &[\n");
    for page in &pages {
        let name = page.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(source, "    ({name:?}, include_str!({:?})),", page.canonicalize()?)?;
    }
    source.push_str("];\n");
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("pages.rs"), source)?;
    // The directory's own time changes when a page is added or removed; the contents are tracked by include_str.
    println!("cargo::rerun-if-changed={}", root.display());
    embed_demo()
}

/// Two examples, carried along for `fugato demo`.
fn embed_demo() -> Result<(), Box<dyn std::error::Error>> {
    let examples = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../examples").canonicalize()?;
    let mut source = String::from("const DEMO_FILES: &[(&str, &str)] = &[\n");
    // The director's files stand at the top, the brief in its own directory.
    for (root, base) in [("director", "director"), ("daily-brief", "")] {
        let mut files = Vec::new();
        collect(&examples.join(root), &mut files)?;
        files.sort();
        for file in &files {
            let name = file.strip_prefix(examples.join(base))?.to_string_lossy();
            writeln!(source, "    ({name:?}, include_str!({file:?})),")?;
        }
    }
    source.push_str("];\n");
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("demo_files.rs"), source)?;
    println!("cargo::rerun-if-changed={}", examples.display());
    Ok(())
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

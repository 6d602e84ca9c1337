//! The real coding agents, as `cargo xtask test` installed them.

use std::path::PathBuf;

/// The program of this name: named by `FUGATO_TEST_<NAME>`, or in the cache that the test command fills.
///
/// # Panics
/// If it is not there: what needs it fails and is not skipped.
#[expect(clippy::panic, reason = "a test world that cannot be made fails the test")]
pub fn host_program(name: &str) -> PathBuf {
    let variable = format!("FUGATO_TEST_{}", name.to_uppercase());
    let program = std::env::var_os(&variable).map(PathBuf::from).or_else(|| in_cache(name));
    match program {
        Some(program) if program.exists() => program,
        _ => panic!("`{name}` is not there: run `cargo xtask hosts` (it needs npm), or set {variable}"),
    }
}

fn in_cache(name: &str) -> Option<PathBuf> {
    let own = std::env::var_os("FUGATO_TEST_CACHE").map(PathBuf::from);
    let xdg = || Some(PathBuf::from(std::env::var_os("XDG_CACHE_HOME")?).join("fugato-test"));
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache").join("fugato-test"));
    let cache = own.or_else(xdg).or_else(home)?;
    Some(cache.join("hosts").join("node_modules").join(".bin").join(name))
}

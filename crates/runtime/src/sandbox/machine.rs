//! What this machine can do to close a command in. Asked of the machine itself, once; a version number proves nothing.

use super::Door;
use crate::process::find_program;
use fugato_model::{Words, words};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The means of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Version of Landlock; `None` without it.
    pub landlock: Option<i32>,
    /// Whether system calls can be filtered, by a filter for this kind of processor.
    pub seccomp: bool,
    /// Asked when somebody wants to know: it means starting a program.
    bubblewrap: OnceLock<Bubblewrap>,
}

/// Whether bubblewrap is here and works: many systems have it and forbid what it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bubblewrap {
    #[default]
    Missing,
    /// It is there; what it said.
    Broken(String),
    Works(PathBuf),
}

impl Machine {
    /// This one. Asked once.
    pub fn current() -> &'static Self {
        static CURRENT: OnceLock<Machine> = OnceLock::new();
        CURRENT.get_or_init(|| Self {
            landlock: landlock_version(),
            seccomp: has_seccomp(),
            bubblewrap: OnceLock::new(),
        })
    }

    /// One whose means are known.
    pub fn new(landlock: Option<i32>, seccomp: bool, bubblewrap: Bubblewrap) -> Self {
        Self { landlock, seccomp, bubblewrap: OnceLock::from(bubblewrap) }
    }

    pub fn bubblewrap(&self) -> &Bubblewrap {
        self.bubblewrap.get_or_init(try_bubblewrap)
    }

    /// The version of Landlock to use, or why it will not do.
    pub(super) fn landlock_for(&self, network: Door) -> Result<i32, Words> {
        let Some(abi) = self.landlock else {
            return Err(words!(
                "refused: this machine has no Landlock (Linux 5.13 or newer, switched on at its start), which `sandbox.backend` asks for; see `fugato doctor`",
                "已拒绝：本机没有 Landlock（需要 Linux 5.13 或更新版本并在启动时启用），而 `sandbox.backend` 要求使用它；见 `fugato doctor`"
            ));
        };
        // Landlock alone leaves UDP open, and before its third version `truncate`.
        if !self.seccomp && (network == Door::Closed || abi < 3) {
            return Err(words!(
                "refused: this machine cannot filter system calls (seccomp), so Landlock could not close the network; see `fugato doctor`",
                "已拒绝：本机无法过滤系统调用（seccomp），Landlock 因此无法关闭网络；见 `fugato doctor`"
            ));
        }
        Ok(abi)
    }

    /// Where bubblewrap is, or why it will not do.
    pub(super) fn usable_bubblewrap(&self) -> Result<PathBuf, Words> {
        match self.bubblewrap() {
            Bubblewrap::Works(program) => Ok(program.clone()),
            Bubblewrap::Missing => Err(words!(
                "refused: `bwrap` is not installed, and `sandbox.backend` asks for it (apt install bubblewrap)",
                "已拒绝：未安装 `bwrap`，而 `sandbox.backend` 要求使用它（apt install bubblewrap）"
            )),
            Bubblewrap::Broken(why) => Err(words!(
                "refused: `bwrap`, which `sandbox.backend` asks for, does not work here: {why}",
                "已拒绝：`sandbox.backend` 要求的 `bwrap` 在本机无法工作：{why}"
            )),
        }
    }
}

#[cfg(target_os = "linux")]
fn landlock_version() -> Option<i32> {
    super::landlock::version()
}

#[cfg(target_os = "linux")]
fn has_seccomp() -> bool {
    super::seccomp::is_available()
}

#[cfg(not(target_os = "linux"))]
fn landlock_version() -> Option<i32> {
    None
}

#[cfg(not(target_os = "linux"))]
fn has_seccomp() -> bool {
    false
}

/// Runs it once, as it would be used: only then is it known whether namespaces are allowed.
fn try_bubblewrap() -> Bubblewrap {
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    let path: Vec<_> = path.into_iter().collect();
    let Some(program) = find_program(OsStr::new("bwrap"), &path) else { return Bubblewrap::Missing };
    let tried = std::process::Command::new(&program)
        .args([
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--unshare-all",
            "--die-with-parent",
        ])
        .args(["--", "/bin/sh", "-c", ":"])
        .stdin(std::process::Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => Bubblewrap::Works(program),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or_default();
            Bubblewrap::Broken(fugato_model::escape_for_terminal(said).chars().take(200).collect())
        }
        Err(error) => Bubblewrap::Broken(error.to_string()),
    }
}

/// In bytes; never so little that an interpreter could not start.
pub(super) fn half_of_memory() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let about = rustix::system::sysinfo();
        let all = (about.totalram as u64).saturating_mul(u64::from(about.mem_unit));
        Some((all / 2).max(1 << 30))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

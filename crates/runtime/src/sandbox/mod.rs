//! The sandbox around commands and scripts of agents: what they may read, write and reach, and what that costs at most.
//!
//! Owns the choice of a backend and fails closed: where nothing can close a command in, it is refused, unless the person
//! said otherwise. Knows no tools and no runs; starting and ending processes is the room `process`.

mod bubblewrap;
#[cfg(target_os = "linux")]
mod landlock;
mod machine;
mod reach;
mod report;
#[cfg(target_os = "linux")]
mod seccomp;
mod secrets;
#[cfg(test)]
mod tests;
mod worktree;

pub use machine::{Bubblewrap, Machine};
pub use reach::Reach;
pub use report::Report;

use crate::process::{Fence, Spec, Together};
use crate::tools::{Access, ToolContext, ToolLimits, Wrapper};
use fugato_model::{Words, words};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which way commands are closed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The first that this machine can do: Landlock, bubblewrap, else refuse.
    #[default]
    Auto,
    Landlock,
    Bubblewrap,
    /// Not at all. Only the person may say so.
    None,
}

/// Something that is closed unless the person opens it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    #[default]
    Closed,
    Open,
}

/// What the person set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    pub backend: Choice,
    /// Internet sockets of every kind.
    pub network: Door,
    /// Sockets of this machine's other programs: containers, the desktop's bus, agents of keys.
    pub local_sockets: Door,
    /// Directories commands may also write.
    pub writable: Vec<PathBuf>,
    /// Directories and files commands may read although they usually hold secrets.
    pub readable: Vec<PathBuf>,
    /// Of one command: processes at once, bytes of memory together, bytes of one file.
    pub processes: u64,
    /// `None`: half of what the machine has.
    pub memory_bytes: Option<u64>,
    pub file_bytes: u64,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            backend: Choice::Auto,
            network: Door::Closed,
            local_sockets: Door::Closed,
            writable: Vec::new(),
            readable: Vec::new(),
            // A parallel build on a large machine has some hundreds; a fork bomb has them at once.
            processes: 1024,
            memory_bytes: None,
            // Larger than a disk image people build in a project, small enough not to fill a disk in one go.
            file_bytes: 16 << 30,
        }
    }
}

/// The sandbox of a run.
#[derive(Clone, Debug)]
pub struct Sandbox {
    settings: SandboxSettings,
    /// Whose secrets are hidden.
    user_home: Option<PathBuf>,
    /// Our own directories that no command may read: the log of runs, the person's settings.
    private: Vec<PathBuf>,
    backend: Result<Backend, Words>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Backend {
    Landlock { abi: i32 },
    Bubblewrap { program: PathBuf },
    None,
}

impl Default for Sandbox {
    /// Everything closed, on this machine, for the person of `HOME`.
    fn default() -> Self {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        Self::new(SandboxSettings::default(), Machine::current(), home, Vec::new())
    }
}

impl Sandbox {
    /// `private`: our own directories, that commands may not read (nor write, unless they lie in the project).
    pub fn new(
        settings: SandboxSettings,
        machine: &Machine,
        user_home: Option<PathBuf>,
        private: Vec<PathBuf>,
    ) -> Self {
        let backend = choose(settings.backend, settings.network, machine);
        Self { settings, user_home, private, backend }
    }

    /// Why commands are refused, if they are.
    pub fn refusal(&self) -> Option<&Words> {
        self.backend.as_ref().err()
    }

    /// The limits of calls with those of the sandbox.
    pub fn limits(&self) -> ToolLimits {
        let memory = self.settings.memory_bytes.or_else(machine::half_of_memory);
        ToolLimits {
            memory_bytes: memory,
            together: Together { processes: Some(self.settings.processes), memory },
            largest_file_bytes: Some(self.settings.file_bytes),
            ..ToolLimits::default()
        }
    }

    /// For [`ToolContext::wrapper`]. Commands that cannot be closed in are refused, each with the reason.
    pub fn wrapper(self: &Arc<Self>) -> Wrapper {
        let own = Arc::clone(self);
        Wrapper::new(move |spec, context, reads| own.close_in(spec, context, reads))
    }

    fn close_in(&self, spec: Spec, context: &ToolContext, reads: &[&Path]) -> Result<Spec, Words> {
        let backend = self.backend.as_ref().map_err(Clone::clone)?;
        if *backend == Backend::None {
            return Ok(spec);
        }
        let reach = self.reach(context, reads);
        match backend {
            Backend::None => Ok(spec),
            Backend::Bubblewrap { program } => {
                bubblewrap::around(spec, program, &reach, self.settings.network, self.settings.local_sockets)
            }
            Backend::Landlock { abi } => self.landlock(spec, *abi, reach),
        }
    }

    #[cfg(target_os = "linux")]
    fn landlock(&self, mut spec: Spec, abi: i32, reach: Reach) -> Result<Spec, Words> {
        let (network, local_sockets) = (self.settings.network, self.settings.local_sockets);
        let fence: Arc<dyn Fence> = Arc::new(landlock::Landlocked { abi, network, local_sockets, reach });
        spec.fence = Some(fence);
        Ok(spec)
    }

    #[cfg(not(target_os = "linux"))]
    fn landlock(&self, _: Spec, _: i32, _: Reach) -> Result<Spec, Words> {
        Err(none_here())
    }

    /// What a call in this context may reach.
    fn reach(&self, context: &ToolContext, reads: &[&Path]) -> Reach {
        let home = self.user_home.as_deref();
        let mut write = self.settings.writable.clone();
        if context.access == Access::ReadWrite {
            write.extend(context.roots.iter().cloned());
            write.extend(context.roots.iter().filter_map(|root| worktree::repository_of(root)));
        }
        if !context.scratch.as_os_str().is_empty() {
            write.push(context.scratch.clone());
        }
        let mut read: Vec<PathBuf> = reads.iter().map(|path| path.to_path_buf()).collect();
        read.extend(context.roots.iter().chain(&self.settings.readable).cloned());
        Reach { read, write, secrets: secrets::of(home), private: self.private.clone() }
    }
}

fn choose(choice: Choice, network: Door, machine: &Machine) -> Result<Backend, Words> {
    let landlock = || machine.landlock_for(network).map(|abi| Backend::Landlock { abi });
    let bubblewrap = || machine.usable_bubblewrap().map(|program| Backend::Bubblewrap { program });
    match choice {
        Choice::None => Ok(Backend::None),
        Choice::Landlock => landlock(),
        Choice::Bubblewrap => bubblewrap(),
        Choice::Auto => landlock().or_else(|_| bubblewrap()).map_err(|_| none_here()),
    }
}

fn none_here() -> Words {
    words!(
        "refused: nothing on this machine can close a command in (Landlock needs Linux 5.13, bubblewrap is not usable; see `fugato doctor`). To run it unprotected all the same: --no-sandbox, or `fugato config set --layer user sandbox.backend none`",
        "已拒绝：本机无法隔离命令（Landlock 需要 Linux 5.13，bubblewrap 不可用；见 `fugato doctor`）。若仍要在无保护下运行：--no-sandbox，或 `fugato config set --layer user sandbox.backend none`"
    )
}

//! The Landlock backend: rules on files, on signals and on the network, joined by a filter of system calls.
//!
//! All of it is prepared before the fork; between fork and exec are four system calls. No program is needed, and no
//! privilege: the kernel holds to it for the process and everything it ever starts.

use super::reach::{Places, Reach};
use super::{Door, seccomp};
use crate::process::{Fence, Gate};
use fugato_model::{Words, words};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

/// Closes a process in by Landlock and seccomp.
#[derive(Debug)]
pub(super) struct Landlocked {
    pub abi: i32,
    pub network: Door,
    pub local_sockets: Door,
    pub reach: Reach,
}

/// The newest version whose rights were tried. What a newer one adds is not handled, so nothing breaks by it.
const NEWEST: ABI = ABI::V7;

/// Devices that hold nothing and lead nowhere.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Semaphores and shared memory of programs with several processes.
const SHARED_MEMORY: &str = "/dev/shm";

/// What root keeps: its own and other users' files in the project. Not among it is what loads modules, mounts, raises
/// limits or configures the network.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

struct Entrance {
    ruleset: OwnedFd,
    filter: Option<seccomp::Filter>,
    capabilities: Option<CapabilitySets>,
}

impl Fence for Landlocked {
    fn prepare(&self) -> Result<Box<dyn Gate>, Words> {
        let ruleset = self.ruleset(&self.reach.places()).map_err(|error| {
            words!("refused: the sandbox could not be prepared: {error}", "已拒绝：无法准备沙箱：{error}")
        })?;
        let truncate = if self.abi < 3 { Door::Closed } else { Door::Open };
        let filter = seccomp::Filter::new(self.network, self.local_sockets, truncate);
        Ok(Box::new(Entrance { ruleset, filter, capabilities: fewer_capabilities() }))
    }
}

impl Gate for Entrance {
    fn pass(&self) -> io::Result<()> {
        if let Some(sets) = &self.capabilities {
            set_capabilities(None, CapabilitySets { ..*sets })?;
        }
        set_no_new_privs(true)?;
        restrict_self(&self.ruleset)?;
        self.filter.as_ref().map_or(Ok(()), seccomp::Filter::apply)
    }
}

impl Landlocked {
    fn ruleset(&self, places: &Places) -> Result<OwnedFd, Box<dyn std::error::Error>> {
        let abi = ABI::from(self.abi).min(NEWEST);
        // What this version has is required: the machine was asked for it.
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(abi))?;
        if abi >= ABI::V6 {
            ruleset = ruleset.scope(Scope::from_all(abi))?;
        }
        if abi >= ABI::V4 && self.network == Door::Closed {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
        }
        let mut rules = ruleset.create()?;
        // Names of files are no secrets, and programs look for themselves along the way; contents are another matter.
        rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
        for path in &places.read {
            rules = allow(rules, path, AccessFs::Execute | AccessFs::ReadFile)?;
        }
        let write = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        for path in &places.write {
            rules = allow(rules, path, write)?;
        }
        for device in DEVICES {
            rules = allow(rules, Path::new(device), AccessFs::from_file(abi) & !AccessFs::Execute)?;
        }
        rules = allow(rules, Path::new(SHARED_MEMORY), write & !AccessFs::Execute)?;
        Option::<OwnedFd>::from(rules).ok_or_else(|| "Landlock is switched off".into())
    }
}

/// Allows what is there. A place that is gone, or not ours to open, is simply not allowed.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    // A file cannot have the rights of a directory.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    if access.is_empty() { Ok(rules) } else { rules.add_rule(PathBeneath::new(place, access)) }
}

/// `None` for who has none to lose.
fn fewer_capabilities() -> Option<CapabilitySets> {
    let sets = capabilities(None).ok()?;
    let kept = sets.permitted & KEPT;
    (sets.permitted != kept).then_some(CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    })
}

/// The version the kernel answers with; `None` when it has no Landlock or was started without it.
#[expect(unsafe_code, reason = "no safe function asks for the version")]
pub(super) fn version() -> Option<i32> {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory and makes nothing.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, ASK_VERSION)
    };
    i32::try_from(answer).ok().filter(|version| *version > 0)
}

#[expect(
    unsafe_code,
    reason = "the safe function of the crate may allocate, which is not allowed after a fork"
)]
fn restrict_self(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: a plain system call with an open descriptor and no flags.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

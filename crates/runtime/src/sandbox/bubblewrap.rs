//! The bubblewrap backend: a file system of its own, in which everything but the project is read-only and secrets are
//! empty, and namespaces of its own for processes and the network.
//!
//! Stricter than Landlock (modes and owners of files elsewhere stay, other processes are out of sight, nothing can
//! outlive the command), for a few milliseconds per command and a program that must be installed.

use super::Door;
use super::reach::{Places, Reach};
use crate::process::Spec;
use fugato_model::Words;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The same command, inside.
pub(super) fn around(
    mut spec: Spec,
    program: &Path,
    reach: &Reach,
    network: Door,
    local_sockets: Door,
) -> Result<Spec, Words> {
    let inner = crate::process::find_program(&spec.program, &spec.env);
    let inner = inner.map_or_else(|| spec.program.clone(), PathBuf::into_os_string);
    let mut args = arguments(&reach.places(), &reach.read, network);
    #[cfg(target_os = "linux")]
    filter(&mut spec, &mut args, network, local_sockets)?;
    #[cfg(not(target_os = "linux"))]
    let _ = local_sockets;
    args.extend([OsString::from("--chdir"), spec.cwd.clone().into_os_string(), "--".into(), inner]);
    args.append(&mut spec.args);
    (spec.program, spec.args) = (program.as_os_str().to_owned(), args);
    Ok(spec)
}

fn arguments(places: &Places, read: &[PathBuf], network: Door) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    let mut add = |words: &[&OsStr]| args.extend(words.iter().map(|word| word.to_os_string()));
    let flag = |word: &'static str| OsStr::new(word);
    add(&["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"].map(flag));
    add(&["--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL"].map(flag));
    if network == Door::Closed {
        add(&[flag("--unshare-net")]);
    }
    add(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"].map(flag));
    for hidden in &places.hidden {
        if hidden.is_dir() {
            add(&[flag("--tmpfs"), hidden.as_os_str()]);
        } else {
            add(&[flag("--ro-bind"), flag("/dev/null"), hidden.as_os_str()]);
        }
    }
    // What is allowed inside of something hidden is put back, the outer one first.
    let mut back: Vec<(PathBuf, &OsStr)> = read
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| places.hidden.iter().any(|hidden| path.starts_with(hidden)))
        .map(|path| (path, flag("--ro-bind")))
        .collect();
    back.extend(places.write.iter().map(|path| (path.clone(), flag("--bind"))));
    back.sort();
    for (path, how) in &back {
        add(&[how, path.as_os_str(), path.as_os_str()]);
    }
    // A write that would vanish with the command must fail, not seem to work.
    for hidden in places.hidden.iter().filter(|hidden| hidden.is_dir()) {
        add(&[flag("--remount-ro"), hidden.as_os_str()]);
    }
    args
}

/// The same filter of system calls as with Landlock, read by bubblewrap from a descriptor.
#[cfg(target_os = "linux")]
fn filter(
    spec: &mut Spec,
    args: &mut Vec<OsString>,
    network: Door,
    local_sockets: Door,
) -> Result<(), Words> {
    use super::seccomp::Filter;
    use fugato_model::words;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::io::{Seek as _, Write as _};
    use std::os::fd::AsRawFd as _;
    let failed = |error: std::io::Error| {
        words!("refused: the sandbox could not be prepared: {error}", "已拒绝：无法准备沙箱：{error}")
    };
    let Some(filter) = Filter::new(network, local_sockets, Door::Open) else { return Ok(()) };
    let file = memfd_create("fugato-filter", MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(&filter.bytes()).and_then(|()| file.rewind()).map_err(failed)?;
    args.extend(["--seccomp".into(), file.as_raw_fd().to_string().into()]);
    spec.fence = Some(std::sync::Arc::new(inherited::Inherited(file.into())));
    Ok(())
}

/// A descriptor that this one process, and no other of ours, takes along.
#[cfg(target_os = "linux")]
mod inherited {
    use crate::process::{Fence, Gate};
    use fugato_model::Words;
    use rustix::io::{FdFlags, fcntl_setfd};
    use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

    #[derive(Debug)]
    pub(super) struct Inherited(pub OwnedFd);

    struct Opened(i32);

    impl Fence for Inherited {
        fn prepare(&self) -> Result<Box<dyn Gate>, Words> {
            Ok(Box::new(Opened(self.0.as_raw_fd())))
        }
    }

    impl Gate for Opened {
        #[expect(unsafe_code, reason = "the descriptor is known by its number, which bubblewrap was told")]
        fn pass(&self) -> std::io::Result<()> {
            // SAFETY: the fence, which the description of the process holds, keeps it open until it has started.
            let descriptor = unsafe { BorrowedFd::borrow_raw(self.0) };
            fcntl_setfd(descriptor, FdFlags::empty())?;
            Ok(())
        }
    }
}

//! Building the command: session, death signal, limits and the mark. The one place with code between fork and exec.

use super::fence::Gate;
use super::ledger::Owner;
use super::{Spec, Streams, procfs, tag};
use fugato_model::{Words, words};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, setsid};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The variable that everything below a process inherits.
pub(super) const MARK: &str = "FUGATO_PROCESS";

/// A started process with our ends of its pipes.
#[derive(Debug)]
pub(super) struct Launched {
    pub child: Child,
    pub stdin: Option<OwnedFd>,
    pub stdout: OwnedFd,
    pub stderr: Option<OwnedFd>,
    pub mark: String,
}

/// Must be called on the thread that outlives the child: Linux sends the death signal when that *thread* ends.
pub(super) fn launch(spec: &Spec, takes_input: bool) -> Result<Launched, Words> {
    let shown = spec.program.to_string_lossy();
    let failed = |error: io::Error| {
        if spec.cwd.is_dir() {
            return words!("`{shown}` could not be started: {error}", "无法启动 `{shown}`：{error}");
        }
        let cwd = spec.cwd.display();
        words!(
            "`{shown}` could not be started: the directory `{cwd}` does not exist",
            "无法启动 `{shown}`：目录 `{cwd}` 不存在"
        )
    };
    let program = resolve(spec).ok_or_else(|| {
        words!("`{shown}` could not be started: no such program", "无法启动 `{shown}`：找不到该程序")
    })?;
    let mark = new_mark();
    let mut command = Command::new(program);
    command.args(&spec.args).current_dir(&spec.cwd).env_clear();
    command.envs(spec.env.iter().map(|(key, value)| (key, value)));
    command.env(MARK, chain(&mark));
    command.stdin(if takes_input { Stdio::piped() } else { Stdio::null() });
    let (stdout, out_end) = io::pipe().map_err(failed)?;
    let (stderr, err_end) = match spec.streams {
        Streams::Merged => (None, out_end.try_clone().map_err(failed)?),
        Streams::Separate => {
            let (stderr, err_end) = io::pipe().map_err(failed)?;
            (Some(OwnedFd::from(stderr)), err_end)
        }
    };
    command.stdout(out_end).stderr(err_end);
    let gate = spec.fence.as_ref().map(|fence| fence.prepare()).transpose()?;
    prepare(&mut command, limits(spec, &mark), gate);
    let mut child = spawn(&mut command).map_err(failed)?;
    let stdin = child.stdin.take().map(OwnedFd::from);
    Ok(Launched { child, stdin, stdout: stdout.into(), stderr, mark })
}

/// Where the program of this name is, by the `PATH` of this environment (or the system's usual directories).
pub fn find_program(name: &OsStr, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let usual = OsStr::new("/usr/local/bin:/usr/bin:/bin");
    let path = env.iter().rev().find(|(key, _)| key == "PATH").map_or(usual, |(_, value)| value.as_os_str());
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

fn resolve(spec: &Spec) -> Option<PathBuf> {
    let named = Path::new(&spec.program);
    if named.components().count() == 1 && !named.is_absolute() {
        return find_program(&spec.program, &spec.env);
    }
    Some(named.to_owned())
}

/// Unique on this machine until it is restarted.
fn new_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", Owner::this_process().name(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A fugato inside a process of another fugato keeps the outer mark, so the outer one still finds what the inner starts.
/// Asked of our own environment, not of the one that is given: a caller who filters variables must not lose it.
fn chain(mark: &str) -> OsString {
    match std::env::var_os(MARK) {
        Some(mut outer) if !outer.is_empty() => {
            outer.push(":");
            outer.push(mark);
            outer
        }
        _ => mark.into(),
    }
}

#[expect(unsafe_code, reason = "`pre_exec` is the only way to run code between fork and exec")]
fn prepare(command: &mut Command, limits: Limits, gate: Option<Box<dyn Gate>>) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let before_exec = move || {
        // A session of its own: one group to signal, and no terminal to ask passwords on.
        setsid()?;
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Signal, getppid, set_parent_process_death_signal};
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the line above; then nobody would tell us.
            if getppid() != Some(parent) {
                return Err(Errno::SRCH.into());
            }
        }
        for (resource, limit) in limits.iter().flatten() {
            setrlimit(*resource, *limit)?;
        }
        // Last: behind the gate some of the above may not be allowed.
        gate.as_ref().map_or(Ok(()), |gate| gate.pass())
    };
    // SAFETY: the closure makes plain system calls; it neither allocates, locks nor touches shared state.
    unsafe {
        command.pre_exec(before_exec);
    }
}

type Limits = [Option<(Resource, Rlimit)>; 5];

/// What the kernel itself holds to. A limit that is lower already stays.
fn limits(spec: &Spec, mark: &str) -> Limits {
    let at_most = |resource: Resource, wanted: u64| {
        let wanted = getrlimit(resource).maximum.map_or(wanted, |hard| hard.min(wanted));
        (resource, Rlimit { current: Some(wanted), maximum: Some(wanted) })
    };
    // The kernel counts the threads of everything this user runs, so what runs already comes on top. It counts nothing
    // for root: there the keeper's look is all there is.
    let tasks = spec.together.processes.filter(|_| !rustix::process::getuid().is_root());
    let tasks = tasks.map(|processes| {
        procfs::tasks_of_user().saturating_add(processes.saturating_mul(THREADS_PER_PROCESS))
    });
    [
        spec.memory_limit.map(|bytes| at_most(Resource::Data, bytes)),
        spec.file_limit.map(|bytes| at_most(Resource::Fsize, bytes)),
        tasks.map(|tasks| at_most(Resource::Nproc, tasks)),
        // The memory of a program that broke is nothing to leave in a project.
        spec.fence.is_some().then(|| at_most(Resource::Core, 0)),
        tagged(mark),
    ]
}

/// Inside a process of another fugato the outer tag stays: the outer one ends all, and we still have the mark.
#[cfg(target_os = "linux")]
fn tagged(mark: &str) -> Option<(Resource, Rlimit)> {
    let tag = Some(tag::of_mark(mark)?);
    let is_free = getrlimit(Resource::Rttime).maximum.is_none();
    is_free.then_some((Resource::Rttime, Rlimit { current: tag, maximum: tag }))
}

#[cfg(not(target_os = "linux"))]
fn tagged(_: &str) -> Option<(Resource, Rlimit)> {
    None
}

/// Compilers and interpreters start one thread per core or so; a limit on processes is not meant for them.
const THREADS_PER_PROCESS: u64 = 8;

/// A script that was just written may look busy while another thread of ours stands between fork and exec.
fn spawn(command: &mut Command) -> io::Result<Child> {
    for _ in 0..20 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
    command.spawn()
}

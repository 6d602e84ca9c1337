//! One thread per child: it starts it, waits for it, ends what it left behind and reaps it, whatever its caller does.
//!
//! A thread and not a task, for two reasons: the kernel's death signal follows the *thread* that forked, so it must live
//! as long as the child; and a dropped future or a stopped runtime must not leave a zombie.

use super::ending::end_all;
use super::group::Group;
use super::guardian;
use super::launch::{Launched, launch};
use super::procfs::{self, Stat};
use super::{End, Note, Spec, Together};
use fugato_model::{Words, words};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Most commands are over by then and cost no look at all.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LOOK_EVERY: Duration = Duration::from_millis(200);
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);
/// How long a race against processes that start processes may take. It is won in a few rounds or, by someone who plans
/// for it and whom no limit of the kernel stops, never.
const LONGEST_RACE: Duration = Duration::from_secs(60);

/// A running process as its caller holds it.
#[derive(Debug)]
pub(super) struct Started {
    pub leash: Leash,
    pub stdin: Option<OwnedFd>,
    pub stdout: OwnedFd,
    pub stderr: Option<OwnedFd>,
    /// Comes when everything is gone.
    pub ended: oneshot::Receiver<End>,
}

/// Whoever lets go of it ends the process.
#[derive(Debug)]
pub(super) struct Leash(pub Arc<Group>);

impl Drop for Leash {
    fn drop(&mut self) {
        self.0.kill();
    }
}

pub(super) async fn start(spec: Spec, takes_input: bool) -> Result<Started, Words> {
    let (reply, answer) = oneshot::channel();
    let thread = std::thread::Builder::new().name("fugato-child".into());
    guardian::is_there();
    let spawned = thread.spawn(move || match launch(&spec, takes_input) {
        Ok(launched) => keep(launched, &spec, reply),
        Err(words) => drop(reply.send(Err(words))),
    });
    if let Err(error) = spawned {
        return Err(words!("no thread for a process: {error}", "无法为子进程创建线程：{error}"));
    }
    answer.await.unwrap_or_else(|_| Err(words!("the process could not be watched", "无法监视该进程")))
}

fn keep(launched: Launched, spec: &Spec, reply: oneshot::Sender<Result<Started, Words>>) {
    let Launched { mut child, stdin, stdout, stderr, mark } = launched;
    let Some(leader) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    let group = Arc::new(Group::new(leader, mark));
    spec.log.tell(Note::Started(&group.recorded));
    let (tell_end, ended) = oneshot::channel();
    // If nobody waits any more, the returned value is dropped here and its leash ends the process.
    drop(reply.send(Ok(Started { leash: Leash(Arc::clone(&group)), stdin, stdout, stderr, ended })));
    let overrun = watch(&group, spec.together);
    settle(&group, spec.grace);
    let status = group.reap(|| child.wait());
    spec.log.tell(Note::Ended(&group.recorded));
    let end = match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, signal) => End::Signalled(signal.unwrap_or_default()),
        },
        Err(error) => End::CouldNotStart(words!(
            "the process could not be waited for: {error}",
            "无法等待该进程结束：{error}"
        )),
    };
    drop(tell_end.send(overrun.unwrap_or(end)));
}

/// Waits for the leader. When it and what is below it use more than they may together, everyone is ended at once.
fn watch(group: &Group, together: Together) -> Option<End> {
    if together == Together::default() {
        await_exit(group.leader());
        return None;
    }
    let mut pause = FIRST_LOOK;
    while !has_ended(group.leader(), pause) {
        let began = Instant::now();
        if let Some(overrun) = overrun(group, together) {
            group.kill();
            end_quickly(group);
            await_exit(group.leader());
            return Some(overrun);
        }
        // On a machine with very many processes a look takes long, and should not take a core; but when it takes long
        // because the processes are those of this command, the next look must not come too late.
        pause = began.elapsed().saturating_mul(20).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY);
    }
    // Where it could not be asked, it is waited for without a look.
    await_exit(group.leader());
    None
}

/// Ends everyone as they are found, round after round: who starts processes faster than they can be listed and then ended
/// cannot be caught otherwise.
fn end_quickly(group: &Group) {
    let began = Instant::now();
    loop {
        let mut found = 0_u32;
        for stat in procfs::all().filter(|stat| is_member(group, stat)) {
            super::ending::signal(&stat, Signal::KILL);
            found += 1;
        }
        if found == 0 || began.elapsed() > LONGEST_RACE {
            return;
        }
    }
}

fn overrun(group: &Group, together: Together) -> Option<End> {
    let members = members(group);
    // The leader is not among them.
    if together.processes.is_some_and(|most| members.len() as u64 >= most) {
        return Some(End::ProcessLimit);
    }
    let own = procfs::private_memory(group.recorded.pid);
    let below: u64 = members.iter().map(|stat| procfs::private_memory(stat.pid)).sum();
    together.memory.is_some_and(|most| own.saturating_add(below) > most).then_some(End::MemoryLimit)
}

/// Whether the leader ended within this time; it is not reaped.
fn has_ended(leader: Pid, within: Duration) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::process::{PidfdFlags, pidfd_open};
        if let Ok(handle) = pidfd_open(leader, PidfdFlags::empty()) {
            let time = Timespec::try_from(within).ok();
            return match poll(&mut [PollFd::new(&handle, PollFlags::IN)], time.as_ref()) {
                Ok(ready) => ready > 0,
                Err(error) => error != Errno::INTR,
            };
        }
    }
    std::thread::sleep(within);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(leader), options), Ok(None))
}

/// Waits without reaping: as long as the dead leader is kept, its number and its group's number are ours.
fn await_exit(leader: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(leader), options), Err(Errno::INTR)) {}
}

/// Ends what the leader left running.
fn settle(group: &Group, grace: Duration) {
    let find = || members(group);
    let left = end_all(find, grace, || group.is_killed(), |time| group.pause(time));
    drop(left);
    // Where the members cannot be listed, this is all there is; where they can, it finds nobody.
    let _ = kill_process_group(group.leader(), Signal::KILL);
}

/// Everyone alive in the session of the leader, and everyone who left it but carries its mark.
fn members(group: &Group) -> Vec<Stat> {
    procfs::all().filter(|stat| is_member(group, stat)).collect()
}

fn is_member(group: &Group, stat: &Stat) -> bool {
    let own = &group.recorded;
    let belongs = || {
        stat.session == own.pid
            || stat.group == own.pid
            // Older ones cannot descend from it: most processes of a machine are not even asked.
            || (stat.start >= own.start_time && group.marked(stat.pid))
    };
    stat.pid != own.pid && !stat.is_ended() && belongs()
}

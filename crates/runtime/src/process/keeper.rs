//! One thread per child: it starts it, waits for it, ends what it left behind and reaps it, whatever its caller does.
//!
//! A thread and not a task, for two reasons: the kernel's death signal follows the *thread* that forked, so it must live
//! as long as the child; and a dropped future or a stopped runtime must not leave a zombie.

use super::ending::end_all;
use super::group::Group;
use super::launch::{Launched, launch};
use super::procfs::{self, Stat};
use super::{End, Note, Spec};
use fugato_model::{Words, words};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

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
    await_exit(leader);
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
    drop(tell_end.send(end));
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
    let own = &group.recorded;
    let is_member = |stat: &Stat| {
        stat.session == own.pid
            || stat.group == own.pid
            // Older ones cannot descend from it: most processes of a machine are not even asked.
            || (stat.start >= own.start_time && procfs::marks(stat.pid).contains(&own.mark))
    };
    procfs::all().filter(|stat| stat.pid != own.pid && !stat.is_ended() && is_member(stat)).collect()
}

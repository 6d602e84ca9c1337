//! What a sandbox holds to and what it leaves open, in sentences for people.

use super::{Backend, Door, Sandbox};
use fugato_model::{Words, words};

/// The truth about a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `landlock`, `bubblewrap`, `none`, or `refused`.
    pub backend: &'static str,
    pub enforced: Vec<Words>,
    pub open: Vec<Words>,
}

impl Sandbox {
    /// For `doctor`.
    pub fn report(&self) -> Report {
        let (backend, abi) = match &self.backend {
            Err(_) => return Report { backend: "refused", enforced: Vec::new(), open: Vec::new() },
            Ok(Backend::None) => {
                let open =
                    vec![words!("everything: commands can do what you can do", "全部：命令能做您能做的一切")];
                return Report { backend: "none", enforced: limits(self), open };
            }
            Ok(Backend::Landlock { abi }) => ("landlock", Some(*abi)),
            Ok(Backend::Bubblewrap { .. }) => ("bubblewrap", None),
        };
        let mut report = Report { backend, enforced: limits(self), open: Vec::new() };
        report.enforced.insert(
            0,
            words!(
                "writing only in the project and the scratch directory; secrets and the log of runs cannot be read",
                "只能写入项目和临时目录；机密和运行日志不可读取"
            ),
        );
        let network = words!("network", "网络");
        let sockets = words!("sockets of other programs of this machine", "本机其他程序的套接字");
        for (door, what) in [(self.settings.network, network), (self.settings.local_sockets, sockets)] {
            let Words { en, zh } = what;
            match door {
                Door::Closed => report.enforced.push(words!("no {en}", "无法使用{zh}")),
                Door::Open => report.open.push(words!("{en} (your setting)", "{zh}（您的设置）")),
            }
        }
        match abi {
            Some(abi) if abi < 6 => report.open.push(words!(
                "signals to your other processes (Landlock version 6, Linux 6.12, closes them)",
                "向您的其他进程发送信号（需 Landlock 版本 6，即 Linux 6.12）"
            )),
            _ => report
                .enforced
                .push(words!("no looking into other processes, no ending them", "无法查看或终止其他进程")),
        }
        if abi.is_some() {
            report.open.push(words!(
                "modes, owners and times of your files elsewhere (Landlock has no say in these; bubblewrap does)",
                "您在别处的文件的权限位、属主和时间（Landlock 不管这些；bubblewrap 可以）"
            ));
        }
        report
    }
}

fn limits(sandbox: &Sandbox) -> Vec<Words> {
    let limits = sandbox.limits();
    let (processes, mib) =
        (limits.together.processes.unwrap_or_default(), limits.together.memory.unwrap_or_default() >> 20);
    vec![words!(
        "at most {processes} processes and {mib} MiB of memory per command",
        "每条命令最多 {processes} 个进程、{mib} MiB 内存"
    )]
}

//! What the sandbox promises, tried by real programs that try to break it, under every backend.

#![cfg(target_os = "linux")]

use super::*;
use crate::process::{CancelToken, End, Streams, run};
use crate::tools::{ToolOutcome, perform, script};
use fugato_model::RelPath;
use fugato_model::chat::ToolCall;
use serde_json::json;
use std::time::Duration;

/// A home with a secret, a project in it, and a sandbox around whatever runs there.
struct Bed {
    temp: tempfile::TempDir,
    settings: SandboxSettings,
    context: ToolContext,
}

const BACKENDS: [Choice; 2] = [Choice::Landlock, Choice::Bubblewrap];

impl Bed {
    fn new(backend: Choice) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for dir in ["home/.ssh", "home/project/src", "home/.tools", "state/runs/r/scratch", "outside"] {
            std::fs::create_dir_all(base.join(dir)).unwrap();
        }
        std::fs::write(base.join("home/.ssh/id"), "canary-key").unwrap();
        std::fs::write(base.join("home/.netrc"), "canary-password").unwrap();
        std::fs::write(base.join("home/.tools/config"), "a tool's own file").unwrap();
        std::fs::write(base.join("home/project/a.txt"), "text").unwrap();
        std::fs::write(base.join("state/fugato.db"), "canary-journal").unwrap();
        std::fs::write(base.join("outside/kept.txt"), "kept").unwrap();
        let context = ToolContext {
            roots: vec![base.join("home/project")],
            scratch: base.join("state/runs/r/scratch"),
            access: Access::ReadWrite,
            env: vec![
                ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
                ("HOME".into(), base.join("home").into_os_string()),
                ("BASE".into(), base.clone().into_os_string()),
            ],
            ..ToolContext::default()
        };
        let settings = SandboxSettings { backend, ..SandboxSettings::default() };
        let mut bed = Self { temp, settings, context };
        bed.close();
        bed
    }

    /// Puts the sandbox of the settings around the context.
    fn close(&mut self) {
        let base = self.base();
        let (home, private) = (Some(base.join("home")), vec![base.join("state")]);
        let sandbox = Sandbox::new(self.settings.clone(), Machine::current(), home, private);
        assert_eq!(
            sandbox.refusal(),
            None,
            "the tests need Landlock and bubblewrap (apt install bubblewrap)"
        );
        let sandbox = Arc::new(sandbox);
        self.context.limits = ToolLimits {
            grace: Duration::from_millis(300),
            time: Duration::from_secs(60),
            ..sandbox.limits()
        };
        self.context.wrapper = Some(sandbox.wrapper());
    }

    fn base(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap()
    }

    async fn bash(&self, command: &str) -> ToolOutcome {
        let call = ToolCall { id: "1".into(), name: "Bash".into(), arguments: json!({"command": command}) };
        perform(&call, &self.context, CancelToken::new(), &mut |_| {}).await
    }

    async fn works(&self, command: &str) -> String {
        let outcome = self.bash(command).await;
        assert!(!outcome.is_error, "{:?}: {command}: {outcome:?}", self.settings.backend);
        outcome.content
    }

    async fn fails(&self, command: &str) -> String {
        let outcome = self.bash(command).await;
        assert!(outcome.is_error, "{:?}: {command}: {outcome:?}", self.settings.backend);
        outcome.content
    }
}

#[tokio::test]
async fn the_project_and_the_scratch_directory_can_be_written_and_nothing_else() {
    for backend in BACKENDS {
        let bed = Bed::new(backend);
        let fine = "echo x > new.txt && mkdir d && mv new.txt d/ && rm -r d && ln -s a.txt l && chmod 600 a.txt && \
                    echo y > $TMPDIR/t && cat <<< here >/dev/null && cp a.txt $TMPDIR/ && mv $TMPDIR/t src/ && \
                    printf x | tee /dev/null && mktemp";
        bed.works(fine).await;
        for command in [
            "echo x > $BASE/outside/new.txt",
            "echo x >> $BASE/outside/kept.txt",
            "rm -f $BASE/outside/kept.txt",
            "mv $BASE/outside/kept.txt .",
            "ln $BASE/outside/kept.txt linked && echo x > linked",
            "mkdir $BASE/outside/d",
            "ln -s $BASE/outside out && echo x > out/new.txt",
            "ln -sf $BASE/outside/kept.txt k && echo x > k",
            "echo x > ../other.txt",
            "echo x > $HOME/.bashrc",
            "echo x > /tmp/fugato-must-not-be",
            "truncate -s 0 $BASE/outside/kept.txt",
            "python3 -c 'import os; os.truncate(os.environ[\"BASE\"] + \"/outside/kept.txt\", 0)'",
            "echo x > $BASE/state/fugato.db",
            "mknod d c 1 3",
            "sh -c 'setsid sh -c \"echo x > $BASE/outside/new.txt\"'",
            "unshare -Ur sh -c 'mount -t tmpfs none $BASE/outside && echo x > $BASE/outside/kept.txt'",
        ] {
            bed.fails(command).await;
        }
        let kept = std::fs::read_to_string(bed.base().join("outside/kept.txt")).unwrap();
        assert_eq!(
            (kept.as_str(), std::fs::read_dir(bed.base().join("outside")).unwrap().count()),
            ("kept", 1)
        );
        assert_eq!(std::fs::read_to_string(bed.base().join("state/fugato.db")).unwrap(), "canary-journal");
        assert!(!bed.base().join("home/.bashrc").exists() && !Path::new("/tmp/fugato-must-not-be").exists());
    }
}

#[tokio::test]
async fn secrets_and_the_journal_cannot_be_read_and_everything_else_can() {
    for backend in BACKENDS {
        let bed = Bed::new(backend);
        let fine = bed
            .works("cat a.txt $HOME/.tools/config /etc/passwd $BASE/outside/kept.txt; ls /usr/bin | wc -l")
            .await;
        assert!(
            fine.contains("a tool's own file") && fine.contains("root:") && fine.contains("kept"),
            "{fine}"
        );
        for path in ["$HOME/.ssh/id", "$HOME/.netrc", "$BASE/state/fugato.db", "/etc/shadow"] {
            let outcome = bed
                .bash(&format!("cat {path} 2>/dev/null; cp {path} stolen 2>/dev/null; cat stolen; true"))
                .await;
            assert!(
                !outcome.content.contains("canary") && !outcome.content.contains("root:"),
                "{path}: {outcome:?}"
            );
            let linked = bed.bash(&format!("ln -sf {path} link; cat link; tar c {path}; true")).await;
            assert!(
                !linked.content.contains("canary") && !linked.content.contains("root:"),
                "{path}: {linked:?}"
            );
        }
        let mut opened = Bed::new(backend);
        opened.settings.readable = vec![opened.base().join("home/.ssh")];
        opened.settings.writable = vec![opened.base().join("outside")];
        opened.close();
        assert_eq!(opened.works("cat $HOME/.ssh/id; echo x > $BASE/outside/new.txt").await, "canary-key");
    }
}

/// Our own environment has the keys of providers; a command may not look at it, at us, or end us.
#[tokio::test]
async fn other_processes_cannot_be_looked_into_or_ended() {
    for backend in BACKENDS {
        let bed = Bed::new(backend);
        let own = std::process::id();
        bed.fails(&format!("cat /proc/{own}/environ")).await;
        bed.fails(&format!("head -c 1 /proc/{own}/mem")).await;
        bed.fails(&format!("ls -l /proc/{own}/fd/")).await;
        bed.fails(&format!("kill -0 {own}")).await;
        let mut other = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        bed.fails(&format!("kill -9 {}", other.id())).await;
        let attach =
            "import ctypes,os,sys\nsys.exit(ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0) != 0)";
        bed.fails(&format!("python3 -c '{attach}' {}", other.id())).await;
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
        bed.works("sleep 5 & kill -9 $!").await;
    }
}

const UDP: &str = "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"127.0.0.1\", PORT))'";
const TCP: &str = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", PORT), 5)'";
const LOCAL: &str = "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ[\"BASE\"] + \"/outside/s\")'";

#[tokio::test]
async fn the_network_is_closed_until_it_is_opened() {
    for backend in BACKENDS {
        let mut bed = Bed::new(backend);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        datagrams.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let tcp = TCP.replace("PORT", &listener.local_addr().unwrap().port().to_string());
        let udp = UDP.replace("PORT", &datagrams.local_addr().unwrap().port().to_string());
        bed.fails(&tcp).await;
        bed.fails(&udp).await;
        bed.fails(&format!("exec 3<>/dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port())).await;
        bed.fails(&format!("sh -c 'setsid {}'", tcp.replace('\'', "'\\''"))).await;
        // Within the machine: whoever listens on such a socket may do anything for whoever asks.
        let local = std::os::unix::net::UnixListener::bind(bed.base().join("outside/s")).unwrap();
        bed.fails(LOCAL).await;
        bed.works("python3 -c 'import socket; socket.socketpair()'").await;
        bed.settings.network = Door::Open;
        bed.close();
        bed.works(&tcp).await;
        bed.works(&udp).await;
        let mut heard = [0; 8];
        assert_eq!(datagrams.recv(&mut heard).unwrap(), 1);
        bed.fails(LOCAL).await;
        bed.settings.local_sockets = Door::Open;
        bed.close();
        bed.works(LOCAL).await;
        drop(local);
    }
}

#[tokio::test]
async fn calls_that_would_go_around_the_filter_are_refused() {
    for backend in BACKENDS {
        let bed = Bed::new(backend);
        // io_uring_setup, keyctl, bpf, and socket by its second number: each must fail, none may kill.
        for (number, error) in [(425, 38), (250, 1), (321, 1), (0x4000_0029, 38)] {
            let call = format!(
                "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(ctypes.c_long({number}), 1, 1, 0, 0, 0), ctypes.get_errno())"
            );
            let said = bed.works(&format!("python3 -c '{call}'")).await;
            if cfg!(target_arch = "x86_64") {
                assert_eq!(said.trim(), format!("-1 {error}"), "{number}");
            }
        }
    }
}

#[tokio::test]
async fn a_fork_bomb_ends_at_the_limit_and_leaves_nobody() {
    for backend in BACKENDS {
        // The second leaves every group and session, from several places at once. Both end by themselves, should the
        // sandbox fail.
        let doubling = "f() { if [ $1 -gt 0 ]; then f $(($1 - 1)) | f $(($1 - 1)) & fi; sleep 20; }; f 10";
        let scattered = "for i in 1 2 3 4; do setsid bash -c 'for i in {1..500}; do setsid sleep 20 & done' & done; sleep 30";
        for bomb in [doubling, scattered] {
            let mut bed = Bed::new(backend);
            bed.settings.processes = 100;
            bed.close();
            let said = bed.fails(bomb).await;
            assert!(said.contains("more than 100 processes at once"), "{said}");
            let base = bed.base();
            let left = alive_below(&base);
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

/// Processes that carry the directory of a bed in their environment.
fn alive_below(base: &Path) -> Vec<String> {
    let name = format!("BASE={}", base.display());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_below = |path: &PathBuf| {
        std::fs::read(path.join("environ")).is_ok_and(|all| String::from_utf8_lossy(&all).contains(&name))
    };
    processes.map(|entry| entry.path()).filter(is_below).map(|path| path.display().to_string()).collect()
}

#[tokio::test]
async fn memory_is_bounded_for_each_process_and_for_all_together() {
    for backend in BACKENDS {
        let mut bed = Bed::new(backend);
        bed.settings.memory_bytes = Some(300 << 20);
        bed.close();
        let alone = bed.fails("python3 -c 'x = bytearray(600 << 20)'").await;
        assert!(alone.contains("MemoryError"), "{alone}");
        let take = "python3 -c 'import time; x = bytearray(150 << 20); x[::4096] = b\"x\" * len(x[::4096]); time.sleep(60)'";
        let together = bed.fails(&format!("{take} & {take} & {take} & wait")).await;
        assert!(together.contains("more than 300 MiB of memory"), "{together}");
        bed.settings.file_bytes = 1 << 20;
        bed.close();
        bed.fails("head -c 4000000 /dev/zero > big").await;
        assert!(std::fs::metadata(bed.base().join("home/project/big")).unwrap().len() <= 1 << 20);
        bed.fails("ulimit -d unlimited").await;
    }
}

#[tokio::test]
async fn floods_deaf_children_and_time_end_in_the_sandbox_too() {
    for backend in BACKENDS {
        let mut bed = Bed::new(backend);
        bed.context.limits.output_bytes = 1 << 20;
        assert!(bed.fails("yes").await.contains("more than 1048576 bytes"));
        bed.context.limits.time = Duration::from_secs(2);
        let deaf = "trap '' TERM HUP INT; (trap '' TERM; setsid sleep 300 &) ; while :; do sleep 0.05; done";
        assert!(bed.fails(deaf).await.contains("time limit"));
        let left = alive_below(&bed.base());
        assert!(left.is_empty(), "{backend:?} {left:?}");
        bed.context.limits.time = Duration::from_secs(60);
        bed.works("(setsid sleep 301 >/dev/null 2>&1 &) ; (setsid setsid sleep 302 &) ; echo done").await;
        let left = alive_below(&bed.base());
        assert!(left.is_empty(), "{backend:?} {left:?}");
    }
}

#[tokio::test]
async fn ordinary_work_goes_on() {
    for backend in BACKENDS {
        let bed = Bed::new(backend);
        bed.works("git init -q . && git -c user.name=a -c user.email=a@b add a.txt && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline").await;
        bed.works("python3 -c 'import multiprocessing as m, tempfile; tempfile.TemporaryFile(); m.Lock(); print(m.Pool(2).map(abs, [-1]))'").await;
        bed.works("printf 'int main(){return 0;}' > m.c && cc m.c -o m && ./m").await;
        bed.works("diff <(echo a) <(echo a) && ps >/dev/null && find / -maxdepth 1 >/dev/null && env | sort >/dev/null").await;
    }
}

#[tokio::test]
async fn a_worktree_can_be_committed_in() {
    for backend in BACKENDS {
        let mut bed = Bed::new(backend);
        let base = bed.base();
        let git = |args: &str| {
            let as_someone = ["-c", "user.name=a", "-c", "user.email=a@b"];
            let done = std::process::Command::new("git")
                .args(as_someone)
                .args(args.split(' '))
                .current_dir(&base)
                .status()
                .unwrap();
            assert!(done.success(), "{args}");
        };
        git("init -q main");
        git("-C main commit -q --allow-empty -m first");
        git("-C main worktree add -q ../tree");
        bed.context.roots = vec![base.join("tree")];
        let commit = "touch x && git add x && git -c user.name=a -c user.email=a@b commit -qm second && git log --oneline | wc -l";
        assert_eq!(bed.works(commit).await.trim(), "2");
        bed.fails("touch $BASE/main/x").await;
    }
}

#[tokio::test]
async fn a_script_reads_its_skill_wherever_that_is() {
    for backend in BACKENDS {
        let bed = Bed::new(backend);
        let skill = bed.base().join("state/skills/s");
        std::fs::create_dir_all(&skill).unwrap();
        std::fs::write(skill.join("data"), "of the skill").unwrap();
        std::fs::write(skill.join("go.sh"), "cat $FUGATO_SKILL_DIR/data $BASE/state/fugato.db\n").unwrap();
        let entry = RelPath::parse("go.sh").unwrap();
        let failure =
            script::run(&skill, &entry, &json!({}), &bed.context, CancelToken::new()).await.unwrap_err();
        assert!(!failure.to_string().contains("canary"), "{failure}");
        std::fs::write(skill.join("go.sh"), "cat $FUGATO_SKILL_DIR/data\n").unwrap();
        let said = script::run(&skill, &entry, &json!({}), &bed.context, CancelToken::new()).await;
        assert_eq!(said.as_deref(), Ok("of the skill"), "{backend:?}");
    }
}

/// What an older kernel has, as far as a newer one can be held to it.
#[tokio::test]
async fn older_versions_of_landlock_close_what_they_can() {
    for abi in 1..=7 {
        let bed = Bed::new(Choice::Landlock);
        let base = bed.base();
        let reach = Reach { write: bed.context.roots.clone(), ..Reach::default() };
        let doors = (Door::Closed, Door::Closed);
        let fence = landlock::Landlocked { abi, network: doors.0, local_sockets: doors.1, reach };
        let mut spec = Spec::new("/bin/sh", base.join("home/project"));
        let script = "echo x > in && ! echo x > $BASE/outside/kept.txt && ! python3 -c 'import os; os.truncate(os.environ[\"BASE\"] + \"/outside/kept.txt\", 0)'";
        spec.args = vec!["-c".into(), script.into()];
        (spec.env, spec.streams) = (bed.context.env.clone(), Streams::Merged);
        spec.fence = Some(Arc::new(fence));
        let finished = run(spec, CancelToken::new(), &mut |_, _| {}).await;
        assert_eq!(finished.end, End::Exited(0), "{abi}: {}", String::from_utf8_lossy(&finished.stdout));
        assert_eq!(std::fs::read_to_string(base.join("outside/kept.txt")).unwrap(), "kept");
    }
}

#[tokio::test]
async fn without_means_commands_are_refused_unless_the_person_said_otherwise() {
    use machine::Bubblewrap;
    let nothing = Machine::new(None, false, Bubblewrap::Missing);
    let half = Machine::new(Some(7), false, Bubblewrap::Missing);
    let broken = Machine::new(None, true, Bubblewrap::Broken("no namespaces".into()));
    let works = Bubblewrap::Works("/usr/bin/bwrap".into());
    let whole = Machine::new(Some(7), true, works.clone());
    for machine in [&nothing, &half, &broken] {
        for backend in [Choice::Auto, Choice::Landlock, Choice::Bubblewrap] {
            let settings = SandboxSettings { backend, ..SandboxSettings::default() };
            let sandbox = Arc::new(Sandbox::new(settings, machine, None, Vec::new()));
            assert!(sandbox.refusal().is_some(), "{machine:?} {backend:?}");
            let mut bed = Bed::new(Choice::None);
            bed.context.wrapper = Some(sandbox.wrapper());
            assert!(bed.fails("touch made").await.starts_with("refused: "));
            assert!(!bed.base().join("home/project/made").exists());
        }
    }
    assert!(choose(Choice::Auto, Door::Closed, &nothing).unwrap_err().en.contains("--no-sandbox"));
    assert_eq!(choose(Choice::Auto, Door::Closed, &whole), Ok(Backend::Landlock { abi: 7 }));
    let only_bubblewrap = Machine::new(None, true, works);
    assert!(matches!(choose(Choice::Auto, Door::Closed, &only_bubblewrap), Ok(Backend::Bubblewrap { .. })));
    let bed = Bed::new(Choice::None);
    bed.works("echo x > $BASE/outside/new.txt").await;
}

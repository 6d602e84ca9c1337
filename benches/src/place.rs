//! Where scenarios happen: the programs they start, the loopback model, and throw-away directories.

use crate::skills;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub type BenchError = Box<dyn std::error::Error + Send + Sync>;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Cold starts of each program.
    pub starts: usize,
    /// Runs in one process.
    pub warm_runs: usize,
    /// Repetitions of the larger scenarios.
    pub rounds: usize,
    pub nodes: u32,
    /// Sizes over which the cost of a node must not change.
    pub node_counts: [u32; 4],
    pub steps: u32,
    pub agents: u32,
    pub latency_ms: u32,
    /// The slow node of the straggler scenario.
    pub straggler_ms: u32,
    pub runs: u32,
    pub events_per_run: u32,
    /// Of a PDF, and of a workbook.
    pub pages: u32,
    pub rows: u32,
    /// Calls of the hook, and events of the run in which its cost must not change.
    pub hook_calls: u32,
    pub hook_events: u32,
}

impl Sizes {
    /// The sizes that were promised.
    pub const FULL: Self = Self {
        starts: 25,
        warm_runs: 200,
        rounds: 7,
        nodes: 10_000,
        node_counts: [100, 1_000, 10_000, 100_000],
        steps: 400,
        agents: 512,
        latency_ms: 50,
        straggler_ms: 1_000,
        runs: 1_000,
        events_per_run: 1_000,
        pages: 200,
        rows: 100_000,
        hook_calls: 1_000,
        hook_events: 100_000,
    };

    /// Just enough to see that every scenario still works.
    pub const SMALL: Self = Self {
        starts: 1,
        warm_runs: 2,
        rounds: 1,
        nodes: 200,
        node_counts: [10, 20, 40, 80],
        steps: 8,
        agents: 4,
        latency_ms: 1,
        straggler_ms: 20,
        runs: 5,
        events_per_run: 20,
        pages: 3,
        rows: 300,
        hook_calls: 4,
        hook_events: 50,
    };
}

/// The surroundings of all scenarios.
#[derive(Debug)]
pub struct Bench {
    pub sizes: Sizes,
    /// The program that is measured.
    pub fugato: PathBuf,
    /// This program, for sides of a scenario that need a process of their own.
    pub own: PathBuf,
    /// The program without fugato in it.
    pub bare: PathBuf,
    server: Child,
    address: String,
    dir: tempfile::TempDir,
}

impl Bench {
    /// Starts the loopback model.
    pub fn new(sizes: Sizes, fugato: &Path, own: &Path, bare: &Path) -> Result<Self, BenchError> {
        if !fugato.exists() {
            return Err(format!("{} is not there; build it first", fugato.display()).into());
        }
        let mut server = Command::new(own).arg("serve").stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        let stdout = server.stdout.take().ok_or("the server has no output")?;
        BufReader::new(stdout).read_line(&mut address)?;
        let dir = tempfile::tempdir()?;
        skills::write_tools(&dir.path().join("tools.json"))?;
        Ok(Self {
            sizes,
            fugato: fugato.to_owned(),
            own: own.to_owned(),
            bare: bare.to_owned(),
            server,
            address: address.trim().to_owned(),
            dir,
        })
    }

    /// A model that answers every question with text.
    pub fn answering(&self) -> String {
        self.url("")
    }

    /// A model that wants `steps` tool calls before it answers.
    pub fn stepping(&self, steps: u32) -> String {
        self.url(&format!("/steps/{steps}"))
    }

    /// A model that thinks for a while.
    pub fn waiting(&self, ms: u32) -> String {
        self.url(&format!("/wait/{ms}"))
    }

    /// A model that thinks for a while, and has a master start this many subagents at once.
    pub fn delegating(&self, count: u32, ms: u32) -> String {
        self.url(&format!("/fan/{count}/wait/{ms}"))
    }

    fn url(&self, how: &str) -> String {
        format!("http://{}{how}/v1", self.address)
    }

    /// Requests the model has answered so far.
    pub fn requests(&self) -> Result<u64, BenchError> {
        Ok(self.asked("/count")?.trim().parse()?)
    }

    /// When the requests since the last question arrived, in milliseconds of the machine's monotonic clock.
    pub fn arrivals(&self) -> Result<Vec<f64>, BenchError> {
        Ok(serde_json::from_str(self.asked("/arrivals")?.trim())?)
    }

    fn asked(&self, path: &str) -> Result<String, BenchError> {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(&self.address)?;
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text.rsplit("\r\n\r\n").next().unwrap_or_default().to_owned())
    }

    /// The tools an agent is offered, as the bare programs send them.
    pub fn tools(&self) -> PathBuf {
        self.dir.path().join("tools.json")
    }

    /// A new directory for one scenario.
    pub fn room(&self, name: &str) -> Result<PathBuf, BenchError> {
        let dir = self.dir.path().join(name);
        std::fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    /// `fugato` in a world of its own.
    pub fn command(&self, room: &Path, url: &str) -> Command {
        let mut command = Command::new(&self.fugato);
        command
            .current_dir(room)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", room)
            .env("FUGATO_HOME", room.join("home"))
            .env("HARNESS_DIR", room.join("state"))
            .env("FUGATO_OPENAI_COMPATIBLE_URL", url)
            .env("FUGATO_MODEL", MODEL)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// A bare program, in the same world.
    pub fn bare_command(&self, room: &Path) -> Command {
        let mut command = Command::new(&self.bare);
        command
            .current_dir(room)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", room)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

pub const MODEL: &str = "openai-compatible/bench";

impl Drop for Bench {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to do about a process that cannot be ended.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A new directory for one round. It stays until everything is measured: ext4 does not use the place of a deleted file
/// again for some minutes, and whoever makes files meanwhile looks for another one at every step.
pub fn fresh(room: &Path) -> Result<PathBuf, BenchError> {
    Ok(tempfile::tempdir_in(room)?.keep())
}

/// From start to exit.
pub fn timed(command: &mut Command) -> Result<Duration, BenchError> {
    let began = Instant::now();
    let status = command.status()?;
    let took = began.elapsed();
    if !status.success() {
        return Err(format!("{command:?} ended with {status}").into());
    }
    Ok(took)
}

/// What a part of a scenario printed: one JSON document.
pub fn told(command: &mut Command) -> Result<serde_json::Value, BenchError> {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {stderr}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The most memory a process ever had, in KiB. Looked at from outside while it runs: the kernel keeps the peak, so only
/// the last moment before its end can be missed.
pub fn peak_of(command: &mut Command) -> Result<u64, BenchError> {
    let mut child = command.spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Ok(text) = std::fs::read_to_string(&status) {
            peak = peak.max(peak_in(&text).unwrap_or(0));
        }
        if let Some(ended) = child.try_wait()? {
            return if ended.success() { Ok(peak) } else { Err(format!("{command:?}: {ended}").into()) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn peak_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").trim().parse().ok()
}

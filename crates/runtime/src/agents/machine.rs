//! What this machine lacks for a kind of agent: programs its tools or its executor start, and tools this build has not.

use super::Known;
use fugato_engine::Executor;
use fugato_model::{Words, words};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is known of the machine.
#[derive(Clone, Debug)]
pub struct Machine {
    path: Option<OsString>,
    project: PathBuf,
}

/// Something an agent of a kind would miss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub words: Words,
    pub weight: Weight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Some of its tools answer with an error.
    Limits,
    /// It cannot work at all.
    Prevents,
}

/// Names under which Chromium and its kin are installed.
const BROWSERS: [&str; 7] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "brave-browser",
];

impl Machine {
    /// `path` is the value of `PATH`; relative programs are looked for in the project.
    pub fn new(path: Option<OsString>, project: impl Into<PathBuf>) -> Self {
        Self { path, project: project.into() }
    }

    /// Everything an agent of this kind would miss here.
    pub fn obstacles(&self, known: &Known) -> Vec<Obstacle> {
        let mut obstacles: Vec<Obstacle> = self.executor(&known.agent.executor).into_iter().collect();
        if known.agent.executor != Executor::Model {
            return obstacles;
        }
        let tools = known.effective_tools();
        let is_world =
            |tool: &str| fugato_engine::tools::class_of(tool).is_some() && !tool.starts_with("skill_");
        let world: Vec<&str> = tools.iter().map(String::as_str).filter(|tool| is_world(tool)).collect();
        let absent: Vec<&str> =
            world.iter().copied().filter(|tool| crate::tools::class_of(tool).is_none()).collect();
        if !absent.is_empty() {
            let list = absent.join(", ");
            let weight = if absent.len() == world.len() { Weight::Prevents } else { Weight::Limits };
            obstacles.push(Obstacle {
                words: words!("this build does not have: {list}", "这个版本没有：{list}"),
                weight,
            });
        }
        if world.iter().any(|tool| tool.starts_with("browser-"))
            && !BROWSERS.iter().any(|name| self.has(name))
        {
            let only_browser = world.iter().all(|tool| tool.starts_with("browser-") || *tool == "WebSearch");
            obstacles.push(Obstacle {
                words: words!(
                    "no Chromium on the PATH: browser-* tools need one (apt install chromium)",
                    "PATH 中没有 Chromium：browser-* 工具需要它（apt install chromium）"
                ),
                weight: if only_browser { Weight::Prevents } else { Weight::Limits },
            });
        }
        if world.contains(&"image-ocr") && !self.has("tesseract") {
            obstacles.push(Obstacle {
                words: words!(
                    "no tesseract on the PATH: image-ocr needs it (apt install tesseract-ocr)",
                    "PATH 中没有 tesseract：image-ocr 需要它（apt install tesseract-ocr）"
                ),
                weight: Weight::Limits,
            });
        }
        obstacles
    }

    fn executor(&self, executor: &Executor) -> Option<Obstacle> {
        let program = match executor {
            Executor::Model | Executor::Human => return None,
            Executor::Claude => "claude",
            Executor::Codex => "codex",
            Executor::Script { command } => command.first()?,
        };
        if self.has(program) {
            return None;
        }
        let shown = fugato_model::escape_for_terminal(program);
        let words = words!("`{shown}` is not on the PATH", "PATH 中没有 `{shown}`");
        Some(Obstacle { words, weight: Weight::Prevents })
    }

    /// Is there an executable of this name?
    fn has(&self, program: &str) -> bool {
        if program.contains('/') {
            return is_executable(&self.project.join(program));
        }
        let path = self.path.as_deref().unwrap_or_default();
        std::env::split_paths(path).any(|dir| is_executable(&dir.join(program)))
    }
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

//! An isolated home and project, and a way to run the built binary in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A temporary world. Everything in it disappears with it.
#[derive(Debug)]
pub struct TestEnv {
    room: tempfile::TempDir,
    binary: PathBuf,
    lang: &'static str,
}

/// What a run of the binary printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

#[expect(clippy::expect_used, clippy::panic, reason = "a test world that cannot be made fails the test")]
impl TestEnv {
    /// `binary` is `env!("CARGO_BIN_EXE_fugato")` of the calling test.
    pub fn new(binary: &str) -> Self {
        let room = tempfile::tempdir().expect("a temporary directory");
        let env = Self { room, binary: binary.into(), lang: "en" };
        for dir in [env.home(), env.user_home(), env.project()] {
            std::fs::create_dir_all(dir).expect("a directory");
        }
        env
    }

    /// The same world, answered in Chinese.
    #[must_use]
    pub fn chinese(mut self) -> Self {
        self.lang = "zh";
        self
    }

    pub fn home(&self) -> PathBuf {
        self.room.path().join("home")
    }

    pub fn user_home(&self) -> PathBuf {
        self.room.path().join("user")
    }

    pub fn project(&self) -> PathBuf {
        self.room.path().join("project")
    }

    /// Writes a file of the project, making its directories.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let full = self.project().join(path);
        std::fs::create_dir_all(full.parent().expect("a parent")).expect("a directory");
        std::fs::write(&full, content).expect("a file");
        full
    }

    /// Writes a skill of the project with this frontmatter.
    pub fn skill(&self, name: &str, frontmatter: &str) -> PathBuf {
        self.write(
            format!(".agents/skills/{name}/SKILL.md"),
            format!("---\n{frontmatter}\n---\n# {name}\n\nText.\n"),
        )
    }

    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let full = self.project().join(path);
        std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display()))
    }

    /// The command, before it is started: for tests that need another directory, stdin or signals.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.user_home())
            .env("FUGATO_HOME", self.home())
            .env("FUGATO_LANG", self.lang)
            .env("NO_COLOR", "1");
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        let output = self.command().args(args).output().expect("the binary starts");
        Ran {
            stdout: self.clean(&output.stdout),
            stderr: self.clean(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// `fugato skill ls --json` in words: `env.fugato("skill ls --json")`.
    pub fn fugato(&self, line: &str) -> Ran {
        self.run(line.split_whitespace())
    }

    /// Replaces the world's own path, so that outputs can be compared.
    fn clean(&self, bytes: &[u8]) -> String {
        let real = self.room.path().canonicalize().unwrap_or_else(|_| self.room.path().to_owned());
        String::from_utf8_lossy(bytes)
            .replace(&real.display().to_string(), "[ROOM]")
            .replace(&self.room.path().display().to_string(), "[ROOM]")
    }
}

#[expect(clippy::panic, reason = "assertions of tests")]
impl Ran {
    /// Checks the exit code, showing everything when it differs.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("{error}\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr)
        })
    }

    /// Checks that stdout or stderr contains each of these.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(
                self.stdout.contains(part) || self.stderr.contains(part),
                "`{part}` is missing\n--- stdout\n{}\n--- stderr\n{}",
                self.stdout,
                self.stderr
            );
        }
        self
    }
}

//! Where a host's program is, which version it is, and whether that one works.

use super::Host;
use crate::process::{self, CancelToken, End, Spec, find_program};
use fugato_model::{Words, words};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `2.1.325`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A program that is there and says which version it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub program: PathBuf,
    pub version: Version,
}

/// Why a host cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// No such program; how to get it.
    Missing(Words),
    /// It is there and does not do what it should.
    Broken(Words),
    /// Its options or its output differ from what is understood here.
    TooOld { found: Found, words: Words },
}

impl Lacking {
    pub fn words(&self) -> &Words {
        match self {
            Self::Missing(words) | Self::Broken(words) | Self::TooOld { words, .. } => words,
        }
    }
}

/// The oldest version the tests were run with.
const fn oldest(host: Host) -> Version {
    match host {
        Host::Claude => Version { major: 2, minor: 1, patch: 197 },
        Host::Codex => Version { major: 0, minor: 166, patch: 0 },
    }
}

const fn package(host: Host) -> &'static str {
    match host {
        Host::Claude => "@anthropic-ai/claude-code",
        Host::Codex => "@openai/codex",
    }
}

/// Looks the program up and asks it for its version, with its own environment.
pub async fn find(host: Host, program: &OsStr, env: Vec<(OsString, OsString)>) -> Result<Found, Lacking> {
    let shown = program.to_string_lossy();
    let path = resolve(program, &env).ok_or_else(|| Lacking::Missing(missing(host, &shown)))?;
    let mut spec = Spec::new(&path, std::env::temp_dir());
    spec.args = vec!["--version".into()];
    spec.env = env;
    // Started from a cold disk on a busy machine it takes seconds; one that hangs is not usable.
    spec.time_limit = Duration::from_secs(20);
    spec.output_limit = 64 << 10;
    spec.grace = Duration::from_secs(1);
    let finished = process::run(spec, CancelToken::new(), &mut |_, _| {}).await;
    let said = String::from_utf8_lossy(&finished.stdout).into_owned();
    let path_shown = path.display();
    let broken = |en: String, zh: String| {
        let title = host.title();
        Lacking::Broken(words!(
            "{title}: `{path_shown} --version` {en}",
            "{title}：`{path_shown} --version` {zh}"
        ))
    };
    match finished.end {
        End::Exited(0) => {}
        End::Exited(code) => {
            return Err(broken(format!("ended with exit code {code}"), format!("以退出码 {code} 结束")));
        }
        End::TimedOut => return Err(broken("did not answer".into(), "没有应答".into())),
        End::CouldNotStart(words) => return Err(Lacking::Broken(words)),
        _ => return Err(broken("was ended".into(), "被终止".into())),
    }
    let Some(version) = version_in(&said) else {
        return Err(broken("names no version".into(), "没有给出版本".into()));
    };
    let found = Found { program: path, version };
    let (oldest, package, title) = (oldest(host), package(host), host.title());
    if version < oldest {
        let words = words!(
            "{title} {version} is older than {oldest}, the oldest that is known to work; npm install -g {package}",
            "{title} {version} 早于已知可用的最早版本 {oldest}；npm install -g {package}"
        );
        return Err(Lacking::TooOld { found, words });
    }
    Ok(found)
}

/// Is there a program of this name or path, without starting it?
pub fn is_there(program: &OsStr, env: &[(OsString, OsString)]) -> bool {
    resolve(program, env).is_some()
}

/// The sentence for a program that is not there.
pub fn missing(host: Host, program: &str) -> Words {
    let (title, name, package) = (host.title(), host.as_str(), package(host));
    let program = fugato_model::escape_for_terminal(program);
    words!(
        "{title} is not there: no program `{program}`; install it with `npm install -g {package}`, or name it with \
         `fugato config set --layer user hosts.{name}.program /path/to/{name}`",
        "找不到 {title}：没有程序 `{program}`；用 `npm install -g {package}` 安装，或用 \
         `fugato config set --layer user hosts.{name}.program /path/to/{name}` 指定"
    )
}

/// The file behind a name or a path, if it can be executed.
pub(super) fn resolve(program: &OsStr, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let named = Path::new(program);
    if named.components().count() == 1 && !named.is_absolute() {
        return find_program(program, env);
    }
    // A directory or a file that may not be executed is no program.
    let (dir, name) = (std::path::absolute(named.parent()?).ok()?, named.file_name()?);
    let only_there = [(OsString::from("PATH"), dir.into_os_string())];
    find_program(name, &only_there)
}

/// The first three numbers with dots between them.
fn version_in(text: &str) -> Option<Version> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|word| {
        let mut parts = word.split('.').map(str::parse);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Some(Version { major, minor, patch }),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let found = |text: &str| version_in(text).map(|version| version.to_string());
        assert_eq!(found("2.1.325 (Claude Code)"), Some("2.1.325".into()));
        assert_eq!(found("codex-cli 0.166.0"), Some("0.166.0".into()));
        assert_eq!(found("v1.2.3-beta"), Some("1.2.3".into()));
        for text in ["", "codex", "1.2", "99999999999999999999.1.1", "..."] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}

//! The program a host is told to call, how that is written for it, and how ours is known again.

use std::path::{Path, PathBuf};

/// The program with nothing but the hook in it.
const SMALL: &str = "fugato-hook";

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// `fugato-hook`, which does nothing else.
    Small(PathBuf),
    /// `fugato hook`.
    Whole(PathBuf),
}

impl Program {
    /// The small program when it lies beside this one.
    pub fn beside(program: &Path) -> Self {
        let small = program.with_file_name(format!("{SMALL}{}", std::env::consts::EXE_SUFFIX));
        if small.is_file() { Self::Small(small) } else { Self::Whole(program.to_owned()) }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Small(path) | Self::Whole(path) => path,
        }
    }

    /// For a shell.
    pub fn command(&self) -> String {
        match self {
            Self::Small(path) => quoted(path),
            Self::Whole(path) => format!("{} hook", quoted(path)),
        }
    }

    /// Whether a host that can may start it without a shell: the same text works for one that cannot.
    pub fn needs_no_shell(&self) -> bool {
        matches!(self, Self::Small(path) if quoted(path) == path.to_string_lossy())
    }
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The path in a command of ours; `None` when it is somebody else's.
pub(super) fn ours(command: &str, arguments: &[String]) -> Option<PathBuf> {
    let mut words = shell_words(command)?;
    words.extend(arguments.iter().cloned());
    let path = PathBuf::from(words.first()?);
    let name = path.file_name()?.to_str()?.trim_end_matches(".exe");
    let is_ours = match words.get(1).map(String::as_str) {
        None => name == SMALL,
        Some("hook") => name == "fugato" && words.len() == 2,
        Some(_) => false,
    };
    is_ours.then_some(path)
}

/// Words as [`quoted`] writes them; anything cleverer is not ours.
fn shell_words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut is_open) = (Vec::new(), String::new(), false);
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                is_open = true;
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '\\' => {
                is_open = true;
                word.push(rest.next()?);
            }
            ' ' | '\t' => {
                if std::mem::take(&mut is_open) {
                    words.push(std::mem::take(&mut word));
                }
            }
            '"' | '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '\n' => return None,
            c => {
                is_open = true;
                word.push(c);
            }
        }
    }
    if is_open {
        words.push(word);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_known_again_whatever_its_path_and_nothing_else_is() {
        for path in ["/usr/bin/fugato", "/my tools/it's/fugato", "/工具/fugato"] {
            let whole = Program::Whole(path.into());
            assert_eq!(ours(&whole.command(), &[]), Some(path.into()), "{}", whole.command());
            let small = Program::Small(format!("{path}-hook").into());
            assert_eq!(ours(&small.command(), &[]), Some(format!("{path}-hook").into()));
        }
        assert_eq!(ours("/bin/fugato", &["hook".to_owned()]), Some("/bin/fugato".into()));
        for other in [
            "",
            "fugato",
            "fugato status",
            "fugato hook && rm -rf x",
            "echo fugato-hook",
            "other --for fugato hook",
            "'fugato-hook",
            "fugato-hook $(x)",
            "fugato hook install",
            "fugato-hooks",
        ] {
            assert_eq!(ours(other, &[]), None, "{other}");
        }
    }

    #[test]
    fn the_small_program_is_taken_when_it_lies_beside() {
        let dir = tempfile::tempdir().unwrap();
        let whole = dir.path().join("fugato");
        assert_eq!(Program::beside(&whole), Program::Whole(whole.clone()));
        std::fs::write(dir.path().join("fugato-hook"), "").unwrap();
        assert_eq!(Program::beside(&whole), Program::Small(dir.path().join("fugato-hook")));
        assert!(Program::Small("/a/fugato-hook".into()).needs_no_shell());
        assert!(!Program::Small("/a b/fugato-hook".into()).needs_no_shell());
        assert!(!Program::Whole("/a/fugato".into()).needs_no_shell());
    }
}

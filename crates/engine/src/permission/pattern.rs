//! Patterns of rules: texts with stars, paths with stars, and the host of an address. None looks at a disk.

use super::Here;
use fugato_model::{Words, words};

/// A text in which `*` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob(Vec<char>);

impl Glob {
    pub fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    pub fn is_literal(&self) -> bool {
        !self.0.contains(&'*')
    }

    /// The text itself, when it has no star and is short enough to be a name.
    pub fn as_literal(&self) -> Option<&'static str> {
        let known = ["Read", "Edit", "Write"];
        known.into_iter().find(|name| name.chars().eq(self.0.iter().copied()))
    }

    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        fits(&self.0, &text, |pattern| *pattern == '*', |pattern, found| pattern == found)
    }
}

/// A path in which `*` stands for a part of a name and `**` for any directories. As git ignores: without a slash the name
/// is meant wherever it is, and a directory means all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathPattern {
    base: Base,
    parts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Anywhere,
    Project,
    Home,
    Root,
}

impl PathPattern {
    pub fn parse(text: &str) -> Result<Self, Words> {
        if let Some(found) = text.chars().find(|c| "[]{}!".contains(*c)) {
            return Err(words!(
                "`{found}` has no meaning in a path of a rule; expected names, `*` and `**` (write a rule for each)",
                "规则路径中的 `{found}` 没有含义；应为名称、`*` 和 `**`（请各写一条规则）"
            ));
        }
        let (base, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Base::Root, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Base::Home, rest)
        } else if let Some(rest) = text.strip_prefix('/').or_else(|| text.strip_prefix("./")) {
            (Base::Project, rest)
        } else if text.trim_end_matches('/').contains('/') {
            (Base::Project, text)
        } else {
            (Base::Anywhere, text)
        };
        let parts: Vec<String> = names(rest).into_iter().map(str::to_owned).collect();
        if parts.iter().any(|part| part == "..") {
            return Err(words!(
                "`..` in the path of a rule; write where it leads",
                "规则路径中有 `..`；请直接写目标路径"
            ));
        }
        Ok(Self { base, parts })
    }

    /// Whether the path, or a directory it lies in, is meant.
    pub fn matches(&self, path: &str, here: Here<'_>) -> bool {
        let Some(path) = absolute(path, here) else { return false };
        let project = absolute(".", here).unwrap_or_default();
        let below: &[String] = match self.base {
            Base::Root => &path,
            Base::Anywhere | Base::Project => match path.strip_prefix(project.as_slice()) {
                Some(rest) => rest,
                // A name is meant everywhere, a path of the project only there.
                None if self.base == Base::Anywhere => &path,
                None => return false,
            },
            Base::Home => {
                let home = here.home.and_then(|home| absolute(home, here));
                match home.as_deref().and_then(|home| path.strip_prefix(home)) {
                    Some(rest) => rest,
                    None => return false,
                }
            }
        };
        let starts = if self.base == Base::Anywhere { 0..below.len().max(1) } else { 0..1 };
        // A directory means what is in it: a path fits when its beginning does.
        starts.into_iter().any(|start| {
            let rest = below.get(start..).unwrap_or_default();
            (0..=rest.len()).any(|end| self.fits(rest.get(..end).unwrap_or_default()))
        })
    }

    fn fits(&self, names: &[String]) -> bool {
        fits(&self.parts, names, |part| part == "**", |part, name| Glob::new(part).matches(name))
    }
}

/// One pattern against one sequence, where some steps of the pattern take any number. Remembers only the last such step, so
/// it takes at most pattern times sequence.
fn fits<P, T>(
    pattern: &[P],
    found: &[T],
    takes_any: impl Fn(&P) -> bool,
    is: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut next, mut back) = (0, 0, None);
    while let Some(item) = found.get(next) {
        match pattern.get(at) {
            Some(step) if takes_any(step) => {
                back = Some((at, next));
                at += 1;
            }
            Some(step) if is(step, item) => (at, next) = (at + 1, next + 1),
            _ => {
                let Some((star, from)) = back else { return false };
                back = Some((star, from + 1));
                (at, next) = (star + 1, from + 1);
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(takes_any)
}

fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").collect()
}

/// The names from the root down, without `.` and `..`. `None`: nobody's path.
fn absolute(path: &str, here: Here<'_>) -> Option<Vec<String>> {
    if path.contains('\0') {
        return None;
    }
    let in_home = path.strip_prefix("~/").or_else(|| (path == "~").then_some(""));
    let (base, rest) = match (in_home, here.home) {
        (Some(rest), Some(home)) => (home, rest),
        _ if path.starts_with('/') => ("", path),
        _ => (here.project, path),
    };
    let mut found: Vec<String> = Vec::new();
    for name in names(base).into_iter().chain(names(rest)) {
        if name == ".." {
            found.pop();
        } else {
            found.push(name.to_owned());
        }
    }
    Some(found)
}

/// The host an address leads to, in lower case. `None`: that cannot be said.
pub(super) fn host_of(url: &str) -> Option<String> {
    let url = url.trim();
    let (scheme, rest) = url.split_once(':')?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if scheme.is_empty() || !scheme.chars().all(is_scheme) {
        return None;
    }
    // Browsers read `\` as `/`, and take any number of them.
    let rest = rest.strip_prefix(['/', '\\'])?.trim_start_matches(['/', '\\']);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let host = host.trim_end_matches('.').to_lowercase();
    // A browser would decode it, and end somewhere else.
    let is_plain = |c: char| c.is_alphanumeric() || "-._:".contains(c);
    (!host.is_empty() && host.chars().all(is_plain)).then_some(host)
}

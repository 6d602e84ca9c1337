//! The skills that agents of a run may read: found when one first asks, limited to what was visible when the run was
//! created, and held to the content that was read first.

use crate::{FileError, SkillDir};
use fugato_model::chat::{ToolCall, ToolSpec};
use fugato_model::{Digest, RelPath};
use fugato_skill::policy::decided;
use fugato_skill::tools::{self, SkillFiles, ToolError};
use fugato_skill::{Installed, Inventory};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

type Find = dyn Fn() -> Inventory + Send + Sync;

/// Where skills come from.
pub struct Shelf {
    find: Box<Find>,
    found: OnceLock<Inventory>,
    /// What each set of names has of it: agents of one run may see different skills.
    views: Mutex<HashMap<String, Arc<Inventory>>>,
}

/// What a skill tool gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub content: String,
    pub is_error: bool,
    /// `skill/file` and its content, when a file was read.
    pub used: Option<(String, Digest)>,
}

impl Shelf {
    /// `find` is called at most once, and only if an agent asks.
    pub fn new(find: impl Fn() -> Inventory + Send + Sync + 'static) -> Self {
        Self { find: Box::new(find), found: OnceLock::new(), views: Mutex::default() }
    }

    pub fn empty() -> Self {
        Self::new(Inventory::default)
    }

    /// Performs `skill_list`, `skill_read` or `skill_search`. `visible` has one name per line; `pinned` is what agents of
    /// the run have read before.
    pub fn call(&self, call: &ToolCall, visible: &str, pinned: &BTreeMap<String, Digest>) -> Given {
        let files = Files { read: Mutex::default() };
        let answer = tools::call(&call.name, &call.arguments, &decided(&self.visible(visible)), &files);
        let read = files.read.into_inner().unwrap_or_else(PoisonError::into_inner);
        let used = (call.name == "skill_read").then_some(read).flatten();
        if let Some((key, digest)) = &used
            && pinned.get(key).is_some_and(|before| before != digest)
        {
            let content =
                format!("`{key}` was changed since this run first read it; go on with what you read");
            return Given { content, is_error: true, used: None };
        }
        match answer {
            Ok(value) => Given { content: text(&value), is_error: false, used },
            Err(error) => Given { content: error.to_string(), is_error: true, used: None },
        }
    }

    fn visible(&self, names: &str) -> Arc<Inventory> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        let view = views.entry(names.to_owned()).or_insert_with(|| {
            let names: HashSet<&str> = names.lines().collect();
            let all = self.found.get_or_init(|| (self.find)());
            let is_visible = |skill: &&Installed| {
                skill.head.name.as_ref().is_some_and(|name| names.contains(name.as_str()))
            };
            Arc::new(Inventory::new(all.all().iter().filter(is_visible).cloned().collect()))
        });
        Arc::clone(view)
    }
}

/// A page of a file is text with a line that says how to go on; anything else is JSON.
fn text(value: &Value) -> String {
    let field = |key: &str| value.get(key);
    match (field("content").and_then(Value::as_str), field("nextOffset")) {
        (Some(content), None) => content.to_owned(),
        (Some(content), Some(next)) => format!("{content}\n[more: call again with offset {next}]"),
        (None, _) => value.to_string(),
    }
}

/// The skill tools as models are told of them.
pub fn specs() -> Vec<ToolSpec> {
    let spec = |tool: tools::ToolDefinition| ToolSpec {
        name: tool.name.into(),
        description: tool.description.into(),
        parameters: tool.parameters,
    };
    tools::definitions().into_iter().map(spec).collect()
}

struct Files {
    /// The last file read.
    read: Mutex<Option<(String, Digest)>>,
}

impl SkillFiles for Files {
    fn read(&self, skill: &Installed, path: &RelPath) -> Result<Vec<u8>, ToolError> {
        let (name, path_text) = (skill.label(), path.as_str().to_owned());
        let failed = |error: FileError| match error {
            FileError::NotFound(_) => ToolError::NoFile { name: skill.label(), path: path_text.clone() },
            error => ToolError::Unreadable { path: path_text.clone(), problem: error.words().en },
        };
        let bytes = SkillDir::open(&skill.dir).and_then(|dir| dir.read(path)).map_err(failed)?;
        let read = (format!("{name}/{path}"), fugato_skill::digest_bytes(&bytes));
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
        Ok(bytes)
    }

    fn list(&self, skill: &Installed) -> Result<Vec<RelPath>, ToolError> {
        let failed =
            |error: FileError| ToolError::Unreadable { path: String::new(), problem: error.words().en };
        Ok(SkillDir::open(&skill.dir).map_err(failed)?.list())
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover_paths;
    use serde_json::json;

    fn shelf(dir: &std::path::Path) -> Shelf {
        for name in ["method", "secret"] {
            let skill = dir.join(name);
            std::fs::create_dir_all(&skill).unwrap();
            let text = format!("---\nname: {name}\ndescription: About {name}.\n---\n\n步骤一\n");
            std::fs::write(skill.join("SKILL.md"), text).unwrap();
        }
        let paths = vec![dir.join("method"), dir.join("secret")];
        Shelf::new(move || discover_paths(&paths).inventory)
    }

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall { id: "1".into(), name: name.into(), arguments }
    }

    #[test]
    fn an_agent_reads_what_was_visible_and_hidden_is_like_missing() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = shelf(dir.path());
        let none = BTreeMap::new();
        let given = shelf.call(&call("skill_read", json!({"name": "method"})), "method", &none);
        assert!(given.content.contains("步骤一") && !given.is_error);
        assert_eq!(given.used.as_ref().unwrap().0, "method/SKILL.md");
        let hidden = shelf.call(&call("skill_read", json!({"name": "secret"})), "method", &none);
        let missing = shelf.call(&call("skill_read", json!({"name": "nothere"})), "method", &none);
        assert_eq!(hidden.content.replace("secret", "nothere"), missing.content);
        assert!(!shelf.call(&call("skill_list", json!({})), "method", &none).content.contains("secret"));
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_served() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = shelf(dir.path());
        let first = shelf.call(&call("skill_read", json!({"name": "method"})), "method", &BTreeMap::new());
        let pinned = BTreeMap::from([first.used.unwrap()]);
        let again = shelf.call(&call("skill_read", json!({"name": "method"})), "method", &pinned);
        assert!(!again.is_error);
        std::fs::write(dir.path().join("method/SKILL.md"), "---\nname: method\ndescription: d\n---\nNEW\n")
            .unwrap();
        let changed = shelf.call(&call("skill_read", json!({"name": "method"})), "method", &pinned);
        assert!(changed.is_error && !changed.content.contains("NEW"), "{}", changed.content);
    }
}

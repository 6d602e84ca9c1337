//! The tools as an agent meets them: calls in, outcomes out, real files and processes in between.

mod browser;
mod browser_faults;
mod canvas;
mod chart;
mod escape;
mod examples;
mod files;
mod office;
mod scripts;
mod search;
mod shell;
mod web;

use super::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A project in a temporary directory, with something beside it that no tool may touch.
struct Project {
    temp: tempfile::TempDir,
    context: ToolContext,
}

impl Project {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        for dir in ["project", "scratch", "outside"] {
            std::fs::create_dir(temp.path().join(dir)).unwrap();
        }
        std::fs::write(temp.path().join("outside/secret.txt"), "secret-content\n").unwrap();
        let context = ToolContext {
            roots: vec![temp.path().join("project")],
            scratch: temp.path().join("scratch"),
            access: Access::ReadWrite,
            env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
            limits: ToolLimits { grace: Duration::from_millis(300), ..ToolLimits::default() },
            ..ToolContext::default()
        };
        Self { temp, context }
    }

    fn read_only(mut self) -> Self {
        self.context.access = Access::ReadOnly;
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.temp.path().join("project").join(path)
    }

    fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }

    fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        perform(&tool_call(name, arguments), &self.context, CancelToken::new(), &mut |_| {}).await
    }

    /// The content of an outcome that must not be an error.
    async fn done(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(!outcome.is_error, "{outcome:?}");
        outcome.content
    }

    /// The content of an outcome that must be one.
    async fn refused(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(outcome.is_error, "{outcome:?}");
        outcome.content
    }
}

fn tool_call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "1".into(), name: name.into(), arguments }
}

/// Every path beneath a directory with its content (links by their target), to see whether anything changed.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let content = if kind.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if kind.is_file() {
                std::fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            if kind.is_dir() {
                dirs.push(path.clone());
            }
            all.push((path, content));
        }
    }
    all.sort();
    all
}

#[test]
fn tools_are_told_in_a_stable_order_with_schemas_that_hold_together() {
    let names = |access| specs(access).into_iter().map(|spec| spec.name).collect::<Vec<_>>();
    assert_eq!(names(Access::ReadOnly)[..3], ["Read", "Glob", "Grep"]);
    assert!(names(Access::ReadOnly).iter().all(|name| class_of(name) == Some(EffectClass::Read)));
    assert_eq!(names(Access::ReadWrite)[..6], ["Read", "Write", "Edit", "Glob", "Grep", "Bash"]);
    assert_eq!(names(Access::ReadWrite).len(), FAMILIES.iter().map(|family| family.len()).sum::<usize>());
    for spec in specs(Access::ReadWrite) {
        let properties = spec.parameters["properties"].as_object().unwrap();
        for name in spec.parameters["required"].as_array().unwrap() {
            assert!(properties.contains_key(name.as_str().unwrap()), "{}: {name}", spec.name);
        }
        assert_eq!(spec.parameters["additionalProperties"], false);
    }
}

#[test]
fn classes_say_what_may_be_repeated() {
    let classes: Vec<_> = ["Read", "Glob", "Grep", "Write", "Edit", "Bash", "read", ""].map(class_of).into();
    let (read, once) = (Some(EffectClass::Read), Some(EffectClass::Once));
    assert_eq!(classes, [read, read, read, Some(EffectClass::Idempotent), once, once, None, None]);
}

/// A value that the schema allows.
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind.unwrap() {
        "string" => json!("a.txt"),
        "integer" => json!(1),
        "boolean" => json!(true),
        "array" if schema["items"].is_object() => json!([sample(&schema["items"])]),
        "array" => json!([]),
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            properties.map(|(name, schema)| (name.clone(), sample(schema))).collect()
        }
        other => panic!("{other}"),
    }
}

/// What a schema promises, the tool takes.
#[tokio::test]
async fn every_argument_of_a_schema_is_understood() {
    let mut project = Project::new();
    // Its absence is an answer too, and a quick one.
    let settings = WebSettings { browser: Some("no-such-browser".into()), ..WebSettings::default() };
    project.context.kept = std::sync::Arc::new(Kept::new(settings));
    project.put("a.txt", "text");
    for spec in specs(Access::ReadWrite) {
        let properties = spec.parameters["properties"].as_object().unwrap();
        let arguments = properties.iter().map(|(name, schema)| (name.clone(), sample(schema)));
        let outcome = project.call(&spec.name, Value::Object(arguments.collect())).await;
        assert!(!outcome.content.contains("wrong arguments"), "{}: {outcome:?}", spec.name);
    }
}

#[tokio::test]
async fn wrong_calls_are_answered_with_what_would_be_right() {
    let project = Project::new();
    let unknown = project.refused("Delete", json!({})).await;
    assert!(
        unknown.starts_with("unknown tool `Delete`; known are Read, Write, Edit, Glob, Grep, Bash"),
        "{unknown}"
    );
    assert!(project.refused("Read", json!({})).await.contains("missing field `path`"));
    assert!(project.refused("Read", json!({"path": 7})).await.contains("expected a string"));
    assert!(project.refused("Read", json!([])).await.contains("wrong arguments"));
    let extra = project.refused("Bash", json!({"command": "true", "timeout": 60000})).await;
    assert!(extra.contains("`timeout`") && extra.contains("`timeout_seconds`"), "{extra}");
}

#[tokio::test]
async fn a_cancelled_call_does_nothing() {
    let project = Project::new();
    let cancel = CancelToken::new();
    cancel.cancel();
    for (name, arguments) in [
        ("Write", json!({"path": "a", "content": "x"})),
        ("Bash", json!({"command": "touch a"})),
        ("Glob", json!({"pattern": "*"})),
    ] {
        let outcome =
            perform(&tool_call(name, arguments), &project.context, cancel.clone(), &mut |_| {}).await;
        assert!(outcome.is_error && outcome.content.contains("cancelled"), "{outcome:?}");
    }
    assert!(!project.path("a").exists());
}

#[tokio::test]
async fn explore_cannot_write_by_any_tool() {
    let project = Project::new().read_only();
    project.put("a.txt", "text");
    let before = snapshot(project.temp.path());
    for tool in Tool::all() {
        for arguments in [
            json!({"path": "a.txt", "content": "x"}),
            json!({"path": "new/b.txt", "content": "x"}),
            json!({"path": "a.txt", "old_string": "text", "new_string": "x"}),
            json!({"command": "echo x > a.txt"}),
            json!({"path": project.context.scratch.join("c"), "content": "x"}),
        ] {
            let outcome = project.call(tool.name, arguments).await;
            if !tool.is_for(Access::ReadOnly) {
                assert!(outcome.content.contains("may only read"), "{outcome:?}");
            }
        }
    }
    assert_eq!(snapshot(project.temp.path()), before);
}

#[test]
fn the_engine_knows_every_tool_by_its_effect() {
    for tool in Tool::all() {
        let class = fugato_engine::tools::class_of(tool.name).map(|class| format!("{class:?}"));
        assert_eq!(class, Some(format!("{:?}", tool.class)), "{}", tool.name);
    }
}

#[tokio::test]
async fn a_box_can_be_narrowed_and_never_widened() {
    let project = Project::new();
    let narrow = ToolBox::new(project.context.clone()).only(&["Read", "Bash", "Teleport"]).without(&["Bash"]);
    assert_eq!(narrow.names().collect::<Vec<_>>(), ["Read"]);
    assert_eq!(narrow.specs().len(), 1);
    assert_eq!((narrow.class_of("Read"), narrow.class_of("Bash")), (Some(EffectClass::Read), None));
    let again = narrow.only(&["Read", "Write"]);
    let write = tool_call("Write", json!({"path": "a", "content": "x"}));
    let outcome = again.perform(&write, CancelToken::new(), &mut |_| {}).await;
    assert_eq!(outcome.content, "unknown tool `Write`; known are Read");
    assert!(outcome.is_error && !project.path("a").exists());
    let read_only = ToolBox::new(Project::new().read_only().context).only(&["Write", "Bash", "Edit"]);
    assert_eq!(read_only.names().count(), 0);
}

//! Large values by reference: a prompt says `artifact:NAME`, and reading that path gives the variable as it is now.

use fugato_engine::Run;
use fugato_model::chat::ToolCall;
use fugato_skill::VarName;
use fugato_skill::phases::prompt::ARTIFACT;
use serde_json::Value;
use std::path::Path;

/// A variable that a tool call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Artifact {
    name: VarName,
    text: String,
}

/// What the call refers to. `None`: it reads no artifact, or one that is not there, which the tool then says.
pub(super) fn wanted(call: &ToolCall, run: &Run) -> Option<Artifact> {
    let path = [PATH, "file_path"].iter().find_map(|key| call.arguments.get(*key)?.as_str())?;
    let name = VarName::parse(path.strip_prefix(ARTIFACT).filter(|_| call.name == "Read")?).ok()?;
    let value = run.variables.get(name.as_str())?;
    // Indented JSON has lines, and a page of a file is made of lines.
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    Some(Artifact { name, text })
}

const PATH: &str = "path";

impl Artifact {
    /// Puts the value where tools may read, and the call to that place.
    pub(super) fn place(&self, call: &mut ToolCall, scratch: &Path) -> std::io::Result<()> {
        let dir = scratch.join("artifacts");
        std::fs::create_dir_all(&dir)?;
        let file = dir.join(self.name.as_str());
        std::fs::write(&file, &self.text)?;
        if let Some(arguments) = call.arguments.as_object_mut() {
            arguments.remove("file_path");
            arguments.insert(PATH.to_owned(), file.display().to_string().into());
        }
        Ok(())
    }
}

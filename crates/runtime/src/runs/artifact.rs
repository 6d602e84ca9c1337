//! Long values by reference: a prompt says `artifact:NAME`, an answer of a tool `sha256:…`, and reading that path gives the
//! variable as it is now, or the whole answer.

use crate::store::Store;
use fugato_engine::Run;
use fugato_model::Digest;
use fugato_model::chat::ToolCall;
use fugato_skill::VarName;
use fugato_skill::phases::prompt::ARTIFACT;
use serde_json::Value;
use std::path::Path;

/// A value that a tool call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Artifact {
    Variable { name: VarName, text: String },
    Blob(Digest),
}

/// What the call refers to. `None`: it reads no artifact, or one that is not there, which the tool then says.
pub(super) fn wanted(call: &ToolCall, run: &Run) -> Option<Artifact> {
    let path = [PATH, "file_path"].iter().find_map(|key| call.arguments.get(*key)?.as_str())?;
    if call.name != "Read" {
        return None;
    }
    if let Ok(digest) = path.parse() {
        return Some(Artifact::Blob(digest));
    }
    let name = VarName::parse(path.strip_prefix(ARTIFACT)?).ok()?;
    let value = run.variables.get(name.as_str())?;
    // Indented JSON has lines, and a page of a file is made of lines.
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    Some(Artifact::Variable { name, text })
}

const PATH: &str = "path";

impl Artifact {
    /// Puts the value where tools may read, and the call to that place. The error is for the model.
    pub(super) fn place(
        &self,
        call: &mut ToolCall,
        scratch: &Path,
        store: Option<&Store>,
    ) -> Result<(), String> {
        let (name, bytes) = match self {
            Self::Variable { name, text } => (name.as_str().to_owned(), text.clone().into_bytes()),
            Self::Blob(digest) => {
                let reader = store.and_then(|store| store.reader().ok());
                let bytes = reader.and_then(|reader| reader.blob(digest).ok());
                (digest.to_string(), bytes.ok_or_else(|| format!("there is no value `{digest}`"))?)
            }
        };
        let dir = scratch.join("artifacts");
        let file = dir.join(name.replace(':', "-"));
        let write = || std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(&file, bytes));
        write().map_err(|error| format!("the value cannot be put into a file: {error}"))?;
        if let Some(arguments) = call.arguments.as_object_mut() {
            arguments.remove("file_path");
            arguments.insert(PATH.to_owned(), file.display().to_string().into());
        }
        Ok(())
    }
}

//! From a model's JSON to a tool and back. Arguments are checked here; access is the resolution's word.

use super::read::{Offset, read};
use super::search::Search;
use super::{ListItem, MAX_READ_BYTES, ToolError, list};
use crate::Installed;
use crate::policy::Resolution;
use fugato_model::{RelPath, nearest};
use serde_json::{Map, Value, json};

/// Brings the files of a skill, at the digest pinned when the agent was dispatched. Implemented where files are.
pub trait SkillFiles {
    fn read(&self, skill: &Installed, path: &RelPath) -> Result<Vec<u8>, ToolError>;
    /// All files of the skill, sorted.
    fn list(&self, skill: &Installed) -> Result<Vec<RelPath>, ToolError>;
}

const DEFAULT_HITS: u64 = 10;
const DEFAULT_CONTEXT: u64 = 2;
/// A call that asks for more gets this much: the answer is bounded in bytes anyway.
const MAX_HITS: u64 = 100;
const MAX_CONTEXT: u64 = 50;
/// Longer than any sentence somebody looks for. The cost of a hostile search is the product of text and query.
const MAX_QUERY_BYTES: usize = 1024;

/// Runs one tool call of an agent.
pub fn call(
    name: &str,
    arguments: &Value,
    resolution: &Resolution<'_>,
    files: &dyn SkillFiles,
) -> Result<Value, ToolError> {
    match name {
        "skill_list" => {
            let arguments = Arguments::new(arguments, &["query"])?;
            let query = arguments.text("query")?.map(checked_query).transpose()?;
            skill_list(list(resolution, query))
        }
        "skill_read" => {
            skill_read(&Arguments::new(arguments, &["name", "path", "offset", "limit"])?, resolution, files)
        }
        "skill_search" => {
            let accepted = ["name", "query", "path", "limit", "contextLines"];
            skill_search(&Arguments::new(arguments, &accepted)?, resolution, files)
        }
        other => Err(ToolError::UnknownTool(other.chars().take(80).collect())),
    }
}

/// The whole list while it fits into one answer; then without descriptions; then the advice to narrow it.
fn skill_list(mut items: Vec<ListItem>) -> Result<Value, ToolError> {
    let answer = json!(items);
    if answer.to_string().len() <= MAX_READ_BYTES {
        return Ok(answer);
    }
    items.iter_mut().for_each(|item| item.description.clear());
    let answer = json!(items);
    if answer.to_string().len() <= MAX_READ_BYTES {
        return Ok(answer);
    }
    let count = items.len();
    Err(ToolError::argument("query", format!("{count} skills match, too many to list (give a narrower one)")))
}

fn checked_query(query: &str) -> Result<&str, ToolError> {
    if query.len() > MAX_QUERY_BYTES {
        let found = query.len();
        return Err(ToolError::argument("query", format!("it has {found} bytes (limit {MAX_QUERY_BYTES})")));
    }
    Ok(query)
}

fn skill_read(
    arguments: &Arguments<'_>,
    resolution: &Resolution<'_>,
    files: &dyn SkillFiles,
) -> Result<Value, ToolError> {
    let (name, skill) = arguments.skill(resolution)?;
    let offset = arguments.offset()?;
    let limit = arguments.count("limit")?.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let path = match arguments.path()? {
        Some(path) => path,
        None => file_of(skill)?,
    };
    let bytes = files.read(skill, &path)?;
    Ok(json!(read(name, path.as_str(), &bytes, offset, limit)?))
}

fn skill_search(
    arguments: &Arguments<'_>,
    resolution: &Resolution<'_>,
    files: &dyn SkillFiles,
) -> Result<Value, ToolError> {
    let (_, skill) = arguments.skill(resolution)?;
    let query = checked_query(arguments.required("query")?)?;
    if query.is_empty() {
        return Err(ToolError::argument("query", "it is empty (expected a text to look for)"));
    }
    let limit = arguments.count("limit")?.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
    let context = arguments.count("contextLines")?.unwrap_or(DEFAULT_CONTEXT).min(MAX_CONTEXT);
    let narrow = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut search = Search::new(query, narrow(limit), narrow(context));
    match arguments.path()? {
        Some(path) => {
            let bytes = files.read(skill, &path)?;
            // Asked for by name, a binary file is an answer of its own; found on the way it is passed over.
            if let Err(error) = std::str::from_utf8(&bytes) {
                return Err(ToolError::Binary {
                    path: path.as_str().to_owned(),
                    offset: error.valid_up_to(),
                });
            }
            search.file(path.as_str(), &bytes);
        }
        None => {
            for path in files.list(skill)? {
                let bytes = files.read(skill, &path)?;
                if !search.file(path.as_str(), &bytes) {
                    break;
                }
            }
        }
    }
    Ok(json!(search.finish()))
}

/// The file that describes the skill: `SKILL.md`, however it is spelt.
fn file_of(skill: &Installed) -> Result<RelPath, ToolError> {
    RelPath::parse(&skill.file).map_err(|error| ToolError::argument("path", error.to_string()))
}

/// The arguments of one call, checked as they are asked for.
pub(super) struct Arguments<'v>(Option<&'v Map<String, Value>>);

impl<'v> Arguments<'v> {
    /// Models leave arguments out as `null` or an empty object; anything else must be an object of known keys.
    pub fn new(value: &'v Value, accepted: &[&str]) -> Result<Self, ToolError> {
        let map = match value {
            Value::Null => return Ok(Self(None)),
            Value::Object(map) => map,
            _ => return Err(ToolError::argument("arguments", "expected an object")),
        };
        if let Some(unknown) = map.keys().find(|key| !accepted.contains(&key.as_str())) {
            let hint = nearest(unknown, accepted.iter().copied())
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            let shown: String = unknown.chars().take(80).collect();
            return Err(ToolError::argument(&shown, format!("is not an argument of this tool{hint}")));
        }
        Ok(Self(Some(map)))
    }

    fn get(&self, key: &str) -> Option<&'v Value> {
        self.0.and_then(|map| map.get(key)).filter(|value| !value.is_null())
    }

    pub fn text(&self, key: &str) -> Result<Option<&'v str>, ToolError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ToolError::argument(key, "expected a string")),
        }
    }

    pub fn required(&self, key: &str) -> Result<&'v str, ToolError> {
        self.text(key)?.ok_or_else(|| ToolError::argument(key, "is missing"))
    }

    pub fn texts(&self, key: &str) -> Result<Option<Vec<&'v str>>, ToolError> {
        let wrong = || ToolError::argument(key, "expected a list of strings");
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().ok_or_else(wrong)).collect::<Result<_, _>>().map(Some)
            }
            Some(_) => Err(wrong()),
        }
    }

    fn count(&self, key: &str) -> Result<Option<u64>, ToolError> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => value
                .as_u64()
                .map(Some)
                .ok_or_else(|| ToolError::argument(key, "expected a whole number from 0")),
        }
    }

    fn offset(&self) -> Result<Offset, ToolError> {
        let text = match self.get("offset") {
            None => return Ok(Offset::START),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        text.parse().map_err(|error: super::OffsetError| ToolError::argument("offset", error.to_string()))
    }

    fn path(&self) -> Result<Option<RelPath>, ToolError> {
        let Some(path) = self.text("path")? else { return Ok(None) };
        RelPath::parse(path).map(Some).map_err(|error| ToolError::argument("path", error.to_string()))
    }

    /// The skill the call names, if the agent may read it.
    fn skill<'a>(&self, resolution: &Resolution<'a>) -> Result<(&'v str, &'a Installed), ToolError> {
        let name = self.required("name")?;
        let skill = resolution.can_read(name);
        let skill = skill.ok_or_else(|| ToolError::NotAvailable { name: name.chars().take(80).collect() })?;
        Ok((name, skill))
    }
}

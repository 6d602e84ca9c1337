//! Edits of a policy in its file: bind, unbind, mode defaults. Text in, text and diff out; comments and layout stay.
//!
//! Two promises. Binding never drops what an agent had: without a list it writes `["+", name]`. Unbinding never
//! widens: a list that would become empty, and so inherit, becomes `["-"]` (`["+"]` stays when it was there).

use crate::profile::{self, Agent, Entry, EntryError, Mode, Profile, SkillsBlock};
use fugato_model::{Diagnostic, Words, nearest, words};
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Which of the two lists is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum List {
    Visible,
    Deny,
}

impl List {
    const fn key(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::Deny => "deny",
        }
    }
}

/// The file after an edit. Nothing is written: that is the caller's, after approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// Unified diff; empty when nothing changes.
    pub diff: String,
    /// What the edit did not do and a person might expect.
    pub notes: Vec<Words>,
}

impl Edited {
    pub fn is_change(&self) -> bool {
        !self.diff.is_empty()
    }
}

/// Why nothing was edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the profile has errors")]
    Profile(Vec<Diagnostic>),
    #[error("the profile has no mode `{0}`")]
    NoMode(Mode),
    #[error("there is no agent `{id}` in mode {mode}")]
    UnknownAgent { id: String, mode: Mode, nearest: Option<String> },
    #[error(transparent)]
    Entry(#[from] EntryError),
    #[error("`{entry}` cannot be bound or unbound in `{}`", list.key())]
    NotForList { entry: Entry, list: List },
}

impl EditError {
    pub fn words(&self) -> Words {
        match self {
            Self::Profile(_) => words!("the profile has errors: repair them first", "配置有错误：请先修复"),
            Self::NoMode(mode) => words!("the profile has no mode `{mode}`", "配置中没有 `{mode}` 模式"),
            Self::UnknownAgent { id, mode, .. } => {
                words!("there is no agent `{id}` in mode {mode}", "{mode} 模式中没有代理 `{id}`")
            }
            Self::Entry(error) => error.words(),
            Self::NotForList { entry, list } => {
                let list = list.key();
                words!(
                    "`{entry}` cannot be bound or unbound in `{list}`",
                    "不能在 `{list}` 中绑定或解绑 `{entry}`"
                )
            }
        }
    }

    pub fn hint(&self) -> Option<Words> {
        match self {
            Self::UnknownAgent { nearest: Some(near), .. } => {
                Some(words!("did you mean `{near}`?", "是否想写 `{near}`？"))
            }
            Self::Entry(error) => error.hint(),
            _ => None,
        }
    }
}

/// Puts a skill (or `*`, `+`) into a list of an agent. Doing it twice changes nothing.
pub fn bind(text: &str, mode: Mode, agent_id: &str, skill: &str, list: List) -> Result<Edited, EditError> {
    let entry = Entry::parse(skill)?;
    let usable = match list {
        List::Visible => entry != Entry::Nothing,
        List::Deny => matches!(entry, Entry::Name(_) | Entry::All),
    };
    if !usable {
        return Err(EditError::NotForList { entry, list });
    }
    let file = File::open(text, mode)?;
    let agent = file.agent(agent_id)?;
    let owner = file.object(&agent.pointer)?;
    match list {
        List::Visible => bind_visible(&owner, agent.skills.as_ref(), &entry),
        List::Deny => add_to(&skills_of(&owner, None), List::Deny, &entry),
    }
    let notes = file.notes_of_binding(agent, &entry, list);
    file.finish(notes)
}

/// Takes a skill (or `*`, `+`) out of a list of an agent.
pub fn unbind(text: &str, mode: Mode, agent_id: &str, skill: &str, list: List) -> Result<Edited, EditError> {
    let entry = Entry::parse(skill)?;
    // Without its `-`, a list that gives nothing gives whatever else stands in it.
    if entry == Entry::Nothing {
        return Err(EditError::NotForList { entry, list });
    }
    let file = File::open(text, mode)?;
    let agent = file.agent(agent_id)?;
    let owner = file.object(&agent.pointer)?;
    let array = owner.object_value("skills").and_then(|skills| skills.array_value(list.key()));
    if let Some(array) = array {
        let listed = elements_equal(&array, entry.as_str());
        let removed = !listed.is_empty();
        listed.into_iter().for_each(CstNode::remove);
        if removed && list == List::Visible && array.elements().is_empty() {
            array.append("-".into());
        }
    }
    let notes = file.notes_of_unbinding(agent, &entry, list);
    file.finish(notes)
}

/// Sets the mode's own lists. A list that is not given stays as it is.
pub fn set_defaults(
    text: &str,
    mode: Mode,
    visible: Option<Vec<Entry>>,
    deny: Option<Vec<Entry>>,
) -> Result<Edited, EditError> {
    let check = |entries: Option<&Vec<Entry>>, list: List, refused: &[Entry]| match entries
        .and_then(|entries| entries.iter().find(|entry| refused.contains(entry)))
    {
        Some(entry) => Err(EditError::NotForList { entry: entry.clone(), list }),
        None => Ok(()),
    };
    check(visible.as_ref(), List::Visible, &[Entry::Inherit])?;
    check(deny.as_ref(), List::Deny, &[Entry::Inherit, Entry::Nothing])?;
    let file = File::open(text, mode)?;
    if visible.is_none() && deny.is_none() {
        return file.finish(Vec::new());
    }
    let policy = file.profile.policy(mode).ok_or(EditError::NoMode(mode))?;
    let owner = file.object(&policy.pointer)?;
    let had_block = policy.skills.is_some();
    let first = owner.get("mode").map(|_| 1);
    let skills = skills_of(&owner, first.or(Some(0)));
    match visible {
        Some(entries) => {
            remove_property(&skills, "none");
            set_list(&skills, List::Visible, &entries);
        }
        // Without a block the mode means `["*"]`; a block without a list would mean nothing.
        None if !had_block => set_list(&skills, List::Visible, &[Entry::All]),
        None => {}
    }
    if let Some(entries) = deny {
        set_list(&skills, List::Deny, &entries);
    }
    file.finish(Vec::new())
}

fn bind_visible(owner: &CstObject, block: Option<&SkillsBlock>, entry: &Entry) {
    let skills = skills_of(owner, None);
    match block {
        // Whatever stood beside `none` or `-` had no effect and must not get one now.
        Some(block) if block.is_nothing() => {
            remove_property(&skills, "none");
            set_list(&skills, List::Visible, std::slice::from_ref(entry));
        }
        Some(block) if block.visible.as_ref().is_some_and(|list| !list.is_empty()) => {
            if *entry == Entry::Inherit && !block.inherits() {
                if let Some(array) = skills.array_value("visible") {
                    array.insert(0, "+".into());
                }
            } else {
                add_to(&skills, List::Visible, entry);
            }
        }
        _ => {
            add_to(&skills, List::Visible, &Entry::Inherit);
            add_to(&skills, List::Visible, entry);
        }
    }
}

/// A profile that reads without errors, as values and as a tree of its text.
struct File<'t> {
    text: &'t str,
    mark: &'t str,
    mode: Mode,
    profile: Profile,
    root: CstRootNode,
}

impl<'t> File<'t> {
    fn open(text: &'t str, mode: Mode) -> Result<Self, EditError> {
        let parsed = Profile::parse("profile", text);
        let errors = || parsed.diagnostics.iter().filter(|one| one.is_error()).cloned().collect::<Vec<_>>();
        let Some(profile) = parsed.profile.clone().filter(|_| !parsed.has_errors()) else {
            return Err(EditError::Profile(errors()));
        };
        if profile.policy(mode).is_none() {
            return Err(EditError::NoMode(mode));
        }
        let (body, mark) = profile::without_bom(text);
        let root = CstRootNode::parse(body, &profile::OPTIONS).map_err(|_| EditError::Profile(Vec::new()))?;
        let mark = text.get(..mark).unwrap_or_default();
        Ok(Self { text, mark, mode, profile, root })
    }

    fn agent(&self, id: &str) -> Result<&Agent, EditError> {
        let (mode, shown) = (self.mode, id.chars().take(80).collect::<String>());
        self.profile.agent(mode, id).ok_or_else(|| {
            let ids = self.profile.agents(mode).iter().map(|agent| agent.id.as_str());
            EditError::UnknownAgent { nearest: nearest(id, ids).map(str::to_owned), id: shown, mode }
        })
    }

    /// The object at a JSON pointer the reader gave.
    fn object(&self, pointer: &str) -> Result<CstObject, EditError> {
        let mut node = self.root.value();
        for step in pointer.split('/').skip(1) {
            node = match node {
                Some(CstNode::Container(container)) => match (container.as_object(), container.as_array()) {
                    (Some(object), _) => object.get(step).and_then(|property| property.value()),
                    (_, Some(array)) => {
                        step.parse().ok().and_then(|at: usize| array.elements().into_iter().nth(at))
                    }
                    _ => None,
                },
                _ => None,
            };
        }
        node.and_then(|node| node.as_object()).ok_or_else(|| EditError::Profile(Vec::new()))
    }

    fn finish(self, notes: Vec<Words>) -> Result<Edited, EditError> {
        let text = format!("{}{}", self.mark, self.root);
        let after = Profile::parse("profile", &text);
        if after.has_errors() {
            return Err(EditError::Profile(after.diagnostics));
        }
        let diff = if text == self.text { String::new() } else { unified(self.text, &text) };
        Ok(Edited { text, diff, notes })
    }

    fn notes_of_binding(&self, agent: &Agent, entry: &Entry, list: List) -> Vec<Words> {
        let mut notes = Vec::new();
        if list == List::Visible
            && let Some(pointer) = self.denied_at(agent, entry)
        {
            notes.push(words!(
                "`{entry}` stays denied by `{pointer}`: deny always wins",
                "`{entry}` 仍被 `{pointer}` 禁止：deny 总是优先"
            ));
        }
        notes
    }

    fn notes_of_unbinding(&self, agent: &Agent, entry: &Entry, list: List) -> Vec<Words> {
        let id = &agent.id;
        let mode_block = self.profile.mode_skills(self.mode);
        let inherits = agent.skills.as_ref().is_none_or(SkillsBlock::inherits);
        let own = agent.skills.as_ref().and_then(|block| block.visible.as_deref()).unwrap_or_default();
        let by_mode = |wanted: &Entry| match mode_block {
            None => *wanted == Entry::All,
            Some(block) => block.visible.iter().flatten().any(|listed| listed.entry == *wanted),
        };
        let mut notes = Vec::new();
        match list {
            List::Visible if inherits && by_mode(entry) => notes.push(words!(
                "`{id}` still inherits `{entry}` from the mode; to take it away: fugato policy bind PROFILE {id} {entry} --deny",
                "`{id}` 仍从模式继承 `{entry}`；要去掉它：fugato policy bind PROFILE {id} {entry} --deny"
            )),
            List::Visible
                if *entry != Entry::All
                    && (own.iter().any(|listed| listed.entry == Entry::All) || (inherits && by_mode(&Entry::All))) =>
            {
                notes.push(words!(
                    "`{id}` still sees `{entry}` through `*`; to take it away: fugato policy bind PROFILE {id} {entry} --deny",
                    "`{id}` 仍通过 `*` 可见 `{entry}`；要去掉它：fugato policy bind PROFILE {id} {entry} --deny"
                ));
            }
            List::Deny if mode_block.is_some_and(|block| denies(block, entry)) => notes.push(words!(
                "`{entry}` stays denied by the mode",
                "`{entry}` 仍被模式禁止"
            )),
            _ => {}
        }
        notes
    }

    fn denied_at(&self, agent: &Agent, entry: &Entry) -> Option<String> {
        let blocks = agent.skills.iter().chain(self.profile.mode_skills(self.mode));
        blocks
            .flat_map(|block| block.deny.iter().map(move |listed| (block, listed)))
            .find(|(_, listed)| listed.entry == *entry || listed.entry == Entry::All)
            .map(|(block, listed)| block.deny_pointer(listed.index))
    }
}

fn denies(block: &SkillsBlock, entry: &Entry) -> bool {
    block.deny.iter().any(|listed| listed.entry == *entry || listed.entry == Entry::All)
}

/// The `skills` object of an owner, made when there is none.
fn skills_of(owner: &CstObject, at: Option<usize>) -> CstObject {
    if owner.get("skills").is_none() {
        let empty = CstInputValue::Object(Vec::new());
        match at {
            Some(index) => owner.insert(index, "skills", empty),
            None => owner.append("skills", empty),
        };
    }
    owner.object_value_or_set("skills")
}

fn add_to(skills: &CstObject, list: List, entry: &Entry) {
    match skills.array_value(list.key()) {
        None => {
            skills.append(list.key(), CstInputValue::Array(vec![entry.as_str().into()]));
        }
        Some(array) if elements_equal(&array, entry.as_str()).is_empty() => {
            array.append(entry.as_str().into());
        }
        Some(_) => {}
    }
}

/// Past this many changed elements a list is written anew: each change in place costs a walk over the list, and no
/// comment of the old one would fit.
const MAX_CHANGES_IN_PLACE: usize = 64;

/// Makes a list what is wanted with as few changes as its order allows, so that comments beside elements stay.
fn set_list(skills: &CstObject, list: List, entries: &[Entry]) {
    let mut known = HashSet::with_capacity(entries.len());
    let wanted: Vec<&str> = entries.iter().map(Entry::as_str).filter(|text| known.insert(*text)).collect();
    let all = || CstInputValue::Array(wanted.iter().map(|text| (*text).into()).collect());
    let Some(array) = skills.array_value(list.key()) else {
        match skills.get(list.key()) {
            Some(property) => property.set_value(all()),
            None => {
                skills.append(list.key(), all());
            }
        }
        return;
    };
    let mut seen = HashSet::new();
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for element in array.elements() {
        let text = text_of(&element).filter(|text| known.contains(text.as_str()));
        match text.filter(|text| seen.insert(text.clone())) {
            Some(text) => kept.push(text),
            None => gone.push(element),
        }
    }
    let in_order =
        wanted.iter().copied().filter(|text| seen.contains(*text)).eq(kept.iter().map(String::as_str));
    if !in_order || gone.len() + (wanted.len() - kept.len()) > MAX_CHANGES_IN_PLACE {
        array.replace_with(all());
        return;
    }
    gone.into_iter().for_each(CstNode::remove);
    let mut kept = kept.into_iter().peekable();
    for (index, text) in wanted.iter().enumerate() {
        if kept.next_if(|kept| kept == text).is_none() {
            array.insert(index, (*text).into());
        }
    }
}

fn remove_property(object: &CstObject, key: &str) {
    if let Some(property) = object.get(key) {
        property.remove();
    }
}

fn elements_equal(array: &CstArray, wanted: &str) -> Vec<CstNode> {
    array.elements().into_iter().filter(|element| text_of(element).as_deref() == Some(wanted)).collect()
}

fn text_of(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

fn unified(before: &str, after: &str) -> String {
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header("a/profile", "b/profile")
        .to_string()
}

#[cfg(test)]
mod tests;

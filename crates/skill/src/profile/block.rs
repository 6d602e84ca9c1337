//! A `skills` block: the two lists as they were written, each element with its place in the file.

use super::entry::Entry;

/// A byte range of the profile's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    pub start: usize,
    pub end: usize,
}

/// May the block be used?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Standing {
    #[default]
    Sound,
    /// It has an error: whoever depends on it gets nothing (fail closed).
    Refused,
}

impl Standing {
    pub fn is_refused(self) -> bool {
        self == Self::Refused
    }
}

/// One element of a list and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub entry: Entry,
    /// Position in the array as written, so that a JSON pointer can be built.
    pub index: usize,
    pub place: Place,
}

/// The skills of a mode or of an agent.
#[derive(Clone, Debug, Default)]
pub struct SkillsBlock {
    /// `None`: the key is absent. The difference to an empty list matters to people, see [`SkillsBlock::inherits`].
    pub visible: Option<Vec<Listed>>,
    pub deny: Vec<Listed>,
    /// `"none": true`: no skills, whatever else is written.
    pub none: bool,
    /// `"allowMissing": true`: a denied name need not be installed.
    pub allow_missing: bool,
    /// JSON pointer of the block, such as `/mainAgent/skills`.
    pub pointer: String,
    pub place: Place,
    /// Place of the value of `visible`.
    pub visible_place: Place,
    pub standing: Standing,
}

impl SkillsBlock {
    /// The elements of `visible`; `None` when the key is absent.
    pub fn visible_entries(&self) -> Option<Vec<Entry>> {
        self.visible.as_ref().map(|list| list.iter().map(|listed| listed.entry.clone()).collect())
    }

    /// At agent level: is the mode's list part of the agent's? True for an absent or empty list (rule 1) and a
    /// leading `+` (rule 2).
    pub fn inherits(&self) -> bool {
        if self.is_nothing() {
            return false;
        }
        self.visible.as_ref().and_then(|list| list.first()).is_none_or(|first| first.entry == Entry::Inherit)
    }

    /// `"none": true` or a list with `"-"`: no skills.
    pub fn is_nothing(&self) -> bool {
        self.none || self.visible.iter().flatten().any(|listed| listed.entry == Entry::Nothing)
    }

    pub fn visible_pointer(&self, index: usize) -> String {
        format!("{}/visible/{index}", self.pointer)
    }

    pub fn deny_pointer(&self, index: usize) -> String {
        format!("{}/deny/{index}", self.pointer)
    }
}

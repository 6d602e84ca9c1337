//! Ids: readable ones made from what a node says, without randomness, so that the same call gives the same file.

use super::error::CanvasError;
use super::model::Canvas;
use std::collections::{HashMap, HashSet};

/// Ids that are taken, and new ones made from what a node says: readable, and the same every time.
pub struct Ids {
    taken: HashSet<String>,
    /// The last number tried for a name, so that a thousand equal texts are not a million tries.
    numbers: HashMap<String, usize>,
}

/// Longer ones only cost tokens.
const ID_CHARS: usize = 24;

impl Ids {
    pub fn of(canvas: &Canvas) -> Self {
        Self { taken: canvas.ids(), numbers: HashMap::new() }
    }

    pub fn take(&mut self, id: &str) -> Result<String, CanvasError> {
        if id.is_empty() {
            return Err(CanvasError::Refused("an id cannot be empty".into()));
        }
        if !self.taken.insert(id.to_owned()) {
            return Err(CanvasError::Taken(id.to_owned()));
        }
        Ok(id.to_owned())
    }

    /// From the first line.
    pub fn made_from(&mut self, text: &str) -> String {
        let line = text.lines().find(|line| line.contains(char::is_alphanumeric)).unwrap_or_default();
        let mut name = String::new();
        for character in line.chars().take(400) {
            if name.chars().count() >= ID_CHARS {
                // Not in the middle of a word, unless that is most of it.
                let cut = name.rfind('-').filter(|at| at * 2 > name.len());
                name.truncate(cut.unwrap_or(name.len()));
                break;
            }
            if character.is_alphanumeric() {
                name.extend(character.to_lowercase());
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
        }
        let name = match name.trim_matches('-') {
            "" => "node",
            name => name,
        };
        let number = self.numbers.entry(name.to_owned()).or_insert(1);
        let mut id = name.to_owned();
        while !self.taken.insert(id.clone()) {
            *number += 1;
            id = format!("{name}-{number}");
        }
        id
    }
}

//! A program that parses and checks: declarations, what they depend on, and their levels.

use super::error::SopError;
use super::given::Given;
use super::{commands, graph, parse};
use crate::limits::SOP_ERRORS;
use crate::place::Place;
use std::collections::HashMap;
use std::sync::Arc;

/// A checked program: names are unique, references are to what exists, nothing depends on itself.
///
/// Each declaration has a number that it keeps while others come and go ([`Program::edit`]), so that a change of one does
/// not touch what is known of the rest.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// In the order of the text.
    pub(super) declarations: Vec<Declaration>,
    pub(super) by_name: HashMap<Arc<str>, usize>,
    /// By number: where the declaration is in the order of the text.
    pub(super) places: Vec<usize>,
    /// Numbers that nobody has any more.
    pub(super) free: Vec<usize>,
    /// By number: the numbers of those that refer to it.
    pub(super) dependents: Vec<Vec<usize>>,
    /// What it was read from, if that is all of it.
    pub(super) text: Option<Arc<str>>,
}

/// `@name command arguments`.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub name: Arc<str>,
    pub command: Arc<str>,
    pub arguments: Vec<Argument>,
    /// The comment lines directly above.
    pub description: Option<Arc<str>>,
    /// 0: it stands nowhere, its value is given.
    pub line: u32,
    /// The line with the `@`.
    pub place: Place,
    pub(super) command_place: Place,
    /// The byte behind it, at the start of a line: reading goes on there as at the beginning.
    pub(super) end: usize,
    pub(super) number: usize,
    /// The numbers of what it refers to, each once, in the order of the arguments.
    pub(super) dependencies: Vec<usize>,
}

/// One argument of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    Literal(Arc<str>),
    /// `$name`.
    Reference(Arc<str>),
}

impl Program {
    /// Reads and checks a program; otherwise what is wrong with it, in the order of its lines, up to a bound.
    pub fn parse(text: &str) -> Result<Self, Vec<SopError>> {
        Self::parse_given(text, &|_| None)
    }

    /// As [`Program::parse`], of a program that may refer to variables which whoever runs it gives.
    pub fn parse_given(text: &str, given: Given<'_>) -> Result<Self, Vec<SopError>> {
        Self::parse_inside(text, Place::new(0, text.len()), given)
    }

    /// As [`Program::parse_given`], of a program that is a part of a file: lines and places are those of the file.
    pub fn parse_inside(file: &str, part: Place, given: Given<'_>) -> Result<Self, Vec<SopError>> {
        let parsed = parse::parse(file, part);
        let written = parsed.declarations.len();
        let (mut program, mut errors) = graph::check(parsed, given);
        if errors.is_empty() {
            let is_whole = part == Place::new(0, file.len()) && program.len() == written;
            program.text = is_whole.then(|| file.into());
            return Ok(program);
        }
        errors.sort_by_key(|error| error.place.start);
        errors.truncate(SOP_ERRORS);
        Err(errors)
    }

    /// The commands that nobody knows, each with the nearest that somebody does. Those of the language are always known.
    pub fn unknown_commands(&self, known: &[&str]) -> Vec<SopError> {
        commands::unknown(self, known)
    }

    /// In the order of the text.
    pub fn declarations(&self) -> &[Declaration] {
        &self.declarations
    }

    pub fn get(&self, name: &str) -> Option<&Declaration> {
        self.by_name.get(name).and_then(|number| self.at(*number))
    }

    pub fn len(&self) -> usize {
        self.declarations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.declarations.is_empty()
    }

    /// What runs at the same time, in the order in which it runs: names sorted.
    pub fn levels(&self) -> Vec<Vec<&Declaration>> {
        let open = self.by_number().map(|found| found.map_or(0, |it| it.dependencies.len()));
        let (by_number, _) = graph::levels(open.collect(), &self.dependents);
        let level_of = |declaration: &Declaration| by_number.get(declaration.number).copied().unwrap_or(0);
        let count = self.declarations.iter().map(level_of).max().map_or(0, |last| last + 1);
        let mut levels: Vec<Vec<&Declaration>> = vec![Vec::new(); count];
        for declaration in &self.declarations {
            if let Some(level) = levels.get_mut(level_of(declaration)) {
                level.push(declaration);
            }
        }
        for level in &mut levels {
            level.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        }
        levels
    }

    /// The names a declaration refers to, each once.
    pub fn dependencies<'p>(&'p self, declaration: &'p Declaration) -> impl Iterator<Item = &'p Arc<str>> {
        declaration.dependencies.iter().filter_map(|number| self.at(*number)).map(|found| &found.name)
    }

    /// The declaration of a number.
    pub(super) fn at(&self, number: usize) -> Option<&Declaration> {
        self.places.get(number).and_then(|place| self.declarations.get(*place))
    }

    pub(super) fn dependents_of(&self, number: usize) -> &[usize] {
        self.dependents.get(number).map(Vec::as_slice).unwrap_or_default()
    }

    /// All declarations by their numbers, some of which nobody has.
    pub(super) fn by_number(&self) -> impl Iterator<Item = Option<&Declaration>> {
        (0..self.places.len()).map(|number| self.at(number))
    }
}

impl Declaration {
    /// Nobody wrote it: its value comes from whoever runs the program.
    pub const fn is_given(&self) -> bool {
        self.line == 0
    }

    /// Does the same: where it stands and what is said about it do not matter.
    pub fn is_same_work(&self, other: &Self) -> bool {
        self.name == other.name && self.command == other.command && self.arguments == other.arguments
    }

    /// Does the same and is described the same, wherever it stands.
    pub(super) fn says_same(&self, other: &Self) -> bool {
        self.is_same_work(other) && self.description == other.description
    }
}

/// The same declarations in the same order, wherever they stand.
impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.declarations.iter().zip(&other.declarations).all(|(a, b)| a.says_same(b))
    }
}

//! What has to be done to a program so that it says what another text does, when most of the text is the same.
//!
//! The texts are compared by their bytes. Reading begins anew behind every declaration, and what is read there does not
//! depend on what stands before: so only the declarations between what both texts begin with and what both end with are
//! read, and only what depends on them is checked. A text with anything wrong in it is left to whoever reads it whole.
//! Beside that, places behind the change are moved, which is all that grows with the program.

use super::lines::breaks;
use super::parse::{body, parse_from};
use super::program::{Argument, Declaration, Program};
use crate::limits::SOP_PROGRAM_BYTES;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A change of one program, found by [`Program::edit`] and good for that program as it was then.
#[derive(Clone, Debug)]
pub struct Edit {
    text: Arc<str>,
    /// Which declarations are replaced, in the order of the text, and by what.
    replaced: Range<usize>,
    declarations: Vec<Declaration>,
    moved: Moved,
    /// Numbers taken for names that were not declared.
    taken: usize,
    /// Numbers of what is new, other, or dependent on such.
    pub(super) affected: Vec<usize>,
    /// Numbers of what is no longer declared, in the order of the text.
    pub(super) dropped: Vec<usize>,
}

/// How far what stands behind the change is from where it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moved {
    lines: i64,
    bytes: isize,
}

impl Edit {
    /// The declarations that were read.
    pub fn declarations(&self) -> &[Declaration] {
        &self.declarations
    }

    /// Does the text declare the same in the same order, with the same descriptions?
    pub fn changes_nothing(&self, program: &Program) -> bool {
        let old = program.declarations.get(self.replaced.clone()).unwrap_or_default();
        old.len() == self.declarations.len()
            && old.iter().zip(&self.declarations).all(|(old, new)| old.says_same(new))
    }
}

impl Program {
    /// What has to be done so that this program says what `text` does. `None`: the text has to be read whole, because
    /// something is wrong with it or because this program was not read from a text of its own.
    pub fn edit(&self, text: &str) -> Option<Edit> {
        let old = self.text.as_deref().filter(|_| text.len() <= SOP_PROGRAM_BYTES)?;
        let Read { replaced, declarations, moved } = self.read(old, text)?;
        let mut draft = Draft::new(self, replaced.clone(), declarations);
        draft.number()?;
        draft.refer()?;
        let dropped = draft.dropped()?;
        let affected = draft.affected()?;
        let Draft { declarations, taken, .. } = draft;
        Some(Edit { text: text.into(), replaced, declarations, moved, taken, affected, dropped })
    }

    /// Reads what is other. `None`: not all of it reads.
    fn read(&self, old: &str, new: &str) -> Option<Read> {
        let same_before = common_prefix(old.as_bytes(), new.as_bytes());
        let same_behind = common_suffix(old.as_bytes(), new.as_bytes(), same_before);
        // Whoever reads a declaration looks as far as to the `@` of the next one.
        let known = self.declarations.partition_point(|declaration| declaration.place.start < same_before);
        let from = known.saturating_sub(1);
        let (start, line) = match from.checked_sub(1).and_then(|last| self.declarations.get(last)) {
            Some(last) => (last.end, line_behind(last, old)),
            None => (body(new), 1),
        };
        let bytes = isize::try_from(new.len()).ok()? - isize::try_from(old.len()).ok()?;
        let mut to = None;
        let parsed = parse_from(new, start, line, |end| {
            let before = end.checked_add_signed(bytes.saturating_neg());
            let before = before.filter(|before| before + same_behind >= old.len());
            to = before.and_then(|before| Some((self.ends_at(before, old)?, end)));
            to.is_some()
        });
        if !parsed.errors.is_empty() {
            return None;
        }
        let Some((to, end)) = to else {
            let replaced = from..self.declarations.len();
            return Some(Read { replaced, declarations: parsed.declarations, moved: Moved::default() });
        };
        let was = to.checked_sub(1).and_then(|last| self.declarations.get(last));
        let was = was.map_or(1, |last| line_behind(last, old));
        let is = line + breaks(new.get(start..end)?);
        let moved = Moved { lines: i64::from(is) - i64::from(was), bytes };
        (from <= to).then_some(Read { replaced: from..to, declarations: parsed.declarations, moved })
    }

    /// How many declarations end before this byte, if one ends right there.
    fn ends_at(&self, byte: usize, text: &str) -> Option<usize> {
        if byte == body(text) {
            return Some(0);
        }
        self.declarations.binary_search_by_key(&byte, |declaration| declaration.end).ok().map(|last| last + 1)
    }

    /// Makes the change. Gives the numbers of what is new, other, or dependent on such.
    pub(super) fn apply(&mut self, edit: Edit) -> Vec<usize> {
        let Edit { text, replaced, declarations, moved, taken, affected, dropped } = edit;
        self.forget(&replaced, &dropped);
        let from_free = taken.min(self.free.len());
        self.free.truncate(self.free.len() - from_free);
        let numbers = self.places.len() + taken - from_free;
        self.places.resize(numbers, usize::MAX);
        self.dependents.resize_with(numbers, Vec::new);
        self.free.extend(dropped);
        for declaration in &declarations {
            self.by_name.entry(Arc::clone(&declaration.name)).or_insert(declaration.number);
            for on in &declaration.dependencies {
                if let Some(list) = self.dependents.get_mut(*on) {
                    list.push(declaration.number);
                }
            }
        }
        let (behind, read) = (replaced.start + declarations.len(), replaced.start);
        let has_other_places = replaced.len() != declarations.len();
        self.declarations.splice(replaced, declarations);
        for (place, declaration) in self.declarations.iter_mut().enumerate().skip(read) {
            let is_behind = place >= behind;
            if is_behind && !has_other_places && moved == Moved::default() {
                break;
            }
            if is_behind {
                declaration.moves(moved);
            }
            if let Some(slot) = self.places.get_mut(declaration.number) {
                *slot = place;
            }
        }
        self.text = Some(text);
        affected
    }

    /// Takes out what declarations have to do with others.
    fn forget(&mut self, replaced: &Range<usize>, dropped: &[usize]) {
        let gone = self.declarations.get(replaced.clone()).unwrap_or_default();
        let mut on: Vec<usize> = gone.iter().flat_map(|old| old.dependencies.iter().copied()).collect();
        on.sort_unstable();
        on.dedup();
        for number in on {
            let Some(list) = self.dependents.get_mut(number) else { continue };
            list.retain(|dependent| {
                self.places.get(*dependent).is_none_or(|place| !replaced.contains(place))
            });
        }
        for number in dropped {
            let Some(place) = self.places.get_mut(*number) else { continue };
            let place = std::mem::replace(place, usize::MAX);
            if let Some(old) = self.declarations.get(place) {
                self.by_name.remove(&old.name);
            }
            if let Some(list) = self.dependents.get_mut(*number) {
                list.clear();
            }
        }
    }
}

impl Declaration {
    fn moves(&mut self, Moved { lines, bytes }: Moved) {
        let line = i64::from(self.line).saturating_add(lines);
        self.line = u32::try_from(line).unwrap_or(u32::MAX);
        for byte in [
            &mut self.place.start,
            &mut self.place.end,
            &mut self.command_place.start,
            &mut self.command_place.end,
            &mut self.end,
        ] {
            *byte = byte.saturating_add_signed(bytes);
        }
    }
}

/// What is other in a text.
struct Read {
    replaced: Range<usize>,
    declarations: Vec<Declaration>,
    moved: Moved,
}

/// An edit on its way: the program as it is, and what it would have instead of some of its declarations.
struct Draft<'p> {
    program: &'p Program,
    replaced: Range<usize>,
    declarations: Vec<Declaration>,
    /// By name: which of the new ones it is.
    by_name: HashMap<Arc<str>, usize>,
    taken: usize,
}

impl<'p> Draft<'p> {
    fn new(program: &'p Program, replaced: Range<usize>, declarations: Vec<Declaration>) -> Self {
        Self { program, replaced, declarations, by_name: HashMap::new(), taken: 0 }
    }

    /// A name that was declared in the same place of the text keeps its number. `None`: a name is declared twice.
    fn number(&mut self) -> Option<()> {
        let Program { by_name, free, places, .. } = self.program;
        for (at, declaration) in self.declarations.iter_mut().enumerate() {
            if self.by_name.insert(Arc::clone(&declaration.name), at).is_some() {
                return None;
            }
            declaration.number = match by_name.get(&declaration.name) {
                Some(number) if self.replaced.contains(places.get(*number)?) => *number,
                Some(_) => return None,
                None => {
                    self.taken += 1;
                    match free.len().checked_sub(self.taken).and_then(|last| free.get(last)) {
                        Some(number) => *number,
                        None => places.len() + self.taken - free.len() - 1,
                    }
                }
            };
        }
        Some(())
    }

    /// `None`: somebody refers to what is not declared.
    fn refer(&mut self) -> Option<()> {
        // The last one that was seen to refer to a number: references of one declaration are told apart in O(1).
        let mut last_use: HashMap<usize, usize> = HashMap::new();
        let mut all = Vec::with_capacity(self.declarations.len());
        for (at, declaration) in self.declarations.iter().enumerate() {
            let mut found = Vec::new();
            for argument in &declaration.arguments {
                let Argument::Reference(name) = argument else { continue };
                let number = self.number_of(name)?;
                if last_use.insert(number, at) != Some(at) {
                    found.push(number);
                }
            }
            all.push(found);
        }
        for (declaration, dependencies) in self.declarations.iter_mut().zip(all) {
            declaration.dependencies = dependencies;
        }
        Some(())
    }

    fn number_of(&self, name: &str) -> Option<usize> {
        match self.by_name.get(name) {
            Some(at) => self.declarations.get(*at).map(|new| new.number),
            None => self.program.by_name.get(name).copied().filter(|number| !self.is_replaced(*number)),
        }
    }

    fn is_replaced(&self, number: usize) -> bool {
        self.program.places.get(number).is_some_and(|place| self.replaced.contains(place))
    }

    fn old(&self) -> &'p [Declaration] {
        self.program.declarations.get(self.replaced.clone()).unwrap_or_default()
    }

    /// `None`: somebody who stays refers to one of them.
    fn dropped(&self) -> Option<Vec<usize>> {
        let gone = self.old().iter().filter(|old| !self.by_name.contains_key(&old.name));
        let numbers: Vec<usize> = gone.map(|old| old.number).collect();
        let mut dependents = numbers.iter().flat_map(|number| self.program.dependents_of(*number));
        dependents.all(|dependent| self.is_replaced(*dependent)).then_some(numbers)
    }

    /// What is new, other, or dependent on such. `None`: some of them depend on each other in a cycle; every new cycle
    /// has a changed declaration in it, so all of it is among them.
    fn affected(&self) -> Option<Vec<usize>> {
        let numbers = self.program.places.len() + self.taken;
        let mut new_dependents: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut affected = Vec::new();
        let mut is_affected = vec![false; numbers];
        for new in &self.declarations {
            for on in &new.dependencies {
                new_dependents.entry(*on).or_default().push(new.number);
            }
            let old = self.program.get(&new.name);
            if old.is_none_or(|old| !old.is_same_work(new)) {
                affected.push(new.number);
                mark(&mut is_affected, new.number);
            }
        }
        let dependents = |number: usize| {
            let staying = self.program.dependents_of(number).iter().filter(|to| !self.is_replaced(**to));
            staying.chain(new_dependents.get(&number).into_iter().flatten()).copied()
        };
        let mut at = 0;
        let mut open = vec![0_usize; numbers];
        while let Some(number) = affected.get(at).copied() {
            for dependent in dependents(number) {
                if let Some(open) = open.get_mut(dependent) {
                    *open += 1;
                }
                if mark(&mut is_affected, dependent) {
                    affected.push(dependent);
                }
            }
            at += 1;
        }
        let mut free: Vec<usize> =
            affected.iter().copied().filter(|number| open.get(*number) == Some(&0)).collect();
        let mut ordered = 0;
        while let Some(number) = free.pop() {
            ordered += 1;
            for dependent in dependents(number) {
                if let Some(open) = open.get_mut(dependent) {
                    *open -= 1;
                    if *open == 0 {
                        free.push(dependent);
                    }
                }
            }
        }
        (ordered == affected.len()).then_some(affected)
    }
}

/// `false`: it was marked already.
fn mark(marks: &mut [bool], at: usize) -> bool {
    marks.get_mut(at).is_some_and(|mark| !std::mem::replace(mark, true))
}

/// The line that starts where a declaration ends.
fn line_behind(declaration: &Declaration, text: &str) -> u32 {
    declaration.line + breaks(text.get(declaration.place.start..declaration.end).unwrap_or_default())
}

/// Compared at once: a program's text is the same but for a few bytes.
const CHUNK: usize = 4096;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    for (a, b) in a.chunks(CHUNK).zip(b.chunks(CHUNK)) {
        if a != b {
            return same + a.iter().zip(b).take_while(|(a, b)| a == b).count();
        }
        same += a.len();
    }
    same
}

/// Without the bytes that both begin with.
fn common_suffix(a: &[u8], b: &[u8], prefix: usize) -> usize {
    let most = a.len().min(b.len()) - prefix;
    let last = |bytes: &'_ [u8]| bytes.len() - most;
    let (a, b) = (a.get(last(a)..).unwrap_or_default(), b.get(last(b)..).unwrap_or_default());
    let mut same = 0;
    for (a, b) in a.rchunks(CHUNK).zip(b.rchunks(CHUNK)) {
        if a != b {
            return same + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        }
        same += a.len();
    }
    same
}

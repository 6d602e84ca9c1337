//! What depends on what: duplicates, references to nothing, cycles, and levels. Linear in declarations and references.
//! In a program that was just read, the number of a declaration is its place in the text.

use super::error::{Problem, SopError};
use super::given::{self, Given};
use super::parse::Parsed;
use super::program::{Argument, Declaration, Program};
use crate::limits::REPORTED_KEYS;
use crate::phases::graph::groups;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Members of a cycle that are printed.
const SHOWN_MEMBERS: usize = 20;

pub(super) fn check(parsed: Parsed, given: Given<'_>) -> (Program, Vec<SopError>) {
    let Parsed { mut declarations, broken, mut errors } = parsed;
    let mut by_name = names(&declarations, &mut errors);
    let known_broken: HashSet<&str> = broken.iter().map(|name| &**name).collect();
    given::declare(&mut declarations, &mut by_name, &known_broken, given);
    let edges = edges(&declarations, &by_name, &known_broken, &mut errors);
    let dependents = dependents(&edges);
    let (_, ordered) = levels(edges.iter().map(Vec::len).collect(), &dependents);
    if ordered < edges.len() {
        errors.extend(cycles(&declarations, &edges));
    }
    for (number, (declaration, dependencies)) in declarations.iter_mut().zip(edges).enumerate() {
        (declaration.number, declaration.dependencies) = (number, dependencies);
    }
    let places = (0..declarations.len()).collect();
    (Program { declarations, by_name, places, free: Vec::new(), dependents, text: None }, errors)
}

fn names(declarations: &[Declaration], errors: &mut Vec<SopError>) -> HashMap<Arc<str>, usize> {
    let mut by_name = HashMap::with_capacity(declarations.len());
    let mut told: HashSet<&str> = HashSet::new();
    for (index, declaration) in declarations.iter().enumerate() {
        let first = *by_name.entry(Arc::clone(&declaration.name)).or_insert(index);
        if first != index && told.insert(&declaration.name) {
            errors.push(SopError {
                line: declaration.line,
                place: declaration.place,
                problem: Problem::DeclaredTwice {
                    name: Arc::clone(&declaration.name),
                    first_line: declarations.get(first).map_or(0, |first| first.line),
                },
            });
        }
    }
    by_name
}

/// For each declaration what it refers to, each once, in the order of the arguments.
fn edges(
    declarations: &[Declaration],
    by_name: &HashMap<Arc<str>, usize>,
    broken: &HashSet<&str>,
    errors: &mut Vec<SopError>,
) -> Vec<Vec<usize>> {
    let mut guesses = 0;
    // The last declaration that was seen to refer to each: references of one declaration are told apart in O(1).
    let mut last_use = vec![usize::MAX; declarations.len()];
    let mut edges = Vec::with_capacity(declarations.len());
    for (index, declaration) in declarations.iter().enumerate() {
        let mut found = Vec::new();
        let mut missing: HashSet<&str> = HashSet::new();
        for argument in &declaration.arguments {
            let Argument::Reference(name) = argument else { continue };
            match by_name.get(name).and_then(|at| last_use.get_mut(*at).map(|last| (*at, last))) {
                Some((at, last)) if *last != index => {
                    *last = index;
                    found.push(at);
                }
                Some(_) => {}
                None if broken.contains(&**name) || !missing.insert(name) => {}
                None => {
                    guesses += 1;
                    let names = declarations.iter().filter(|other| other.name != declaration.name);
                    let near = (guesses <= REPORTED_KEYS && !name.is_empty())
                        .then(|| fugato_model::nearest(name, names.map(|other| &*other.name)))
                        .flatten();
                    errors.push(SopError {
                        line: declaration.line,
                        place: declaration.place,
                        problem: Problem::UndefinedVariable {
                            name: Arc::clone(&declaration.name),
                            missing: Arc::clone(name),
                            near: near.map(Arc::from),
                        },
                    });
                }
            }
        }
        edges.push(found);
    }
    edges
}

fn dependents(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (index, dependencies) in edges.iter().enumerate() {
        for &dependency in dependencies {
            if let Some(list) = dependents.get_mut(dependency) {
                list.push(index);
            }
        }
    }
    dependents
}

/// The length of the longest way to each, by how many each waits for and who waits for it; and how many have one: those
/// in a cycle do not.
pub(super) fn levels(mut open: Vec<usize>, dependents: &[Vec<usize>]) -> (Vec<usize>, usize) {
    let mut levels = vec![0; open.len()];
    let mut queue: Vec<usize> =
        open.iter().enumerate().filter(|(_, open)| **open == 0).map(|(index, _)| index).collect();
    let mut done = 0;
    while let Some(index) = queue.pop() {
        done += 1;
        let next = levels.get(index).map_or(0, |level| level + 1);
        for &dependent in dependents.get(index).map(Vec::as_slice).unwrap_or_default() {
            if let (Some(level), Some(open)) = (levels.get_mut(dependent), open.get_mut(dependent)) {
                *level = next.max(*level);
                *open -= 1;
                if *open == 0 {
                    queue.push(dependent);
                }
            }
        }
    }
    (levels, done)
}

/// One cycle of every group of declarations that all depend on each other.
fn cycles(declarations: &[Declaration], edges: &[Vec<usize>]) -> Vec<SopError> {
    let groups = groups(edges);
    let mut group_of = vec![usize::MAX; edges.len()];
    for (number, group) in groups.iter().enumerate() {
        for &member in group {
            if let Some(slot) = group_of.get_mut(member) {
                *slot = number;
            }
        }
    }
    let inside = |from: usize, number: usize| {
        let dependencies = edges.get(from).map(Vec::as_slice).unwrap_or_default();
        dependencies.iter().copied().find(|to| group_of.get(*to) == Some(&number))
    };
    let mut errors = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let Some(&start) = group.first() else { continue };
        // Following any reference that stays inside must come back to a member already seen.
        let mut seen: HashMap<usize, usize> = HashMap::new();
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(node) = at.filter(|node| !seen.contains_key(node)) {
            seen.insert(node, path.len());
            path.push(node);
            at = inside(node, number);
        }
        let Some(cycle) = at.and_then(|node| path.get(*seen.get(&node)?..)) else { continue };
        errors.extend(report(declarations, cycle));
    }
    errors
}

/// The cycle from the member that is declared first.
fn report(declarations: &[Declaration], cycle: &[usize]) -> Option<SopError> {
    let first = cycle.iter().enumerate().min_by_key(|(_, member)| **member).map(|(at, _)| at)?;
    let mut members =
        cycle.iter().cycle().skip(first).take(cycle.len()).filter_map(|at| declarations.get(*at));
    let head = members.next()?;
    let names = std::iter::once(head).chain(members).map(|member| Arc::clone(&member.name));
    Some(SopError {
        line: head.line,
        place: head.place,
        problem: Problem::Cycle {
            names: names.take(SHOWN_MEMBERS).collect(),
            more: cycle.len().saturating_sub(SHOWN_MEMBERS),
        },
    })
}

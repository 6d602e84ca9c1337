//! Which commands of a program are next, and what their outcomes mean for every other variable.
//!
//! A machine without clock or threads: [`Interpreter::ready`] gives the commands of a level, [`Interpreter::finished`] takes
//! what came of each, in any order; the next level starts when the last of this one has ended. So what is started, and
//! in which order, depends on outcomes alone and never on who was faster. Every reference is looked at a fixed number
//! of times; values are shared, never copied.

use super::budget::{Budget, Halt, Used};
use super::commands::{CANNOT_COMPLETE, FINAL_ANSWER, is_built_in};
use super::program::{Argument, Declaration, Program};
use super::value::{Outcome, Undefined, Value};
use crate::limits::SOP_TEXT_BYTES;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A program on its way.
#[derive(Clone, Debug)]
pub struct Interpreter {
    pub(super) program: Program,
    budget: Budget,
    used: Used,
    /// By the number of the declaration, as what follows.
    pub(super) states: Vec<State>,
    /// How many of its dependencies are not settled.
    pub(super) open: Vec<usize>,
    /// The next level, in no order.
    pub(super) next: Vec<usize>,
    pub(super) running: usize,
    /// How many have what their commands gave.
    pub(super) gave: usize,
    /// Bytes of text made by commands of the language.
    pub(super) joined: usize,
    pub(super) halted: Option<Halt>,
}

/// The same program as far on its way, whatever the numbers of its declarations.
impl PartialEq for Interpreter {
    fn eq(&self, other: &Self) -> bool {
        let states = |of: &Self, other: &Self| {
            let both = of.program.declarations.iter().zip(&other.program.declarations);
            both.into_iter().all(|(a, b)| {
                of.states.get(a.number) == other.states.get(b.number)
                    && of.open.get(a.number) == other.open.get(b.number)
            })
        };
        let next = |of: &Self| {
            let places = of.next.iter().filter_map(|number| of.program.places.get(*number).copied());
            places.collect::<BTreeSet<usize>>()
        };
        self.program == other.program
            && (self.budget, &self.used, &self.halted) == (other.budget, &other.used, &other.halted)
            && (self.running, self.gave, self.joined) == (other.running, other.gave, other.joined)
            && next(self) == next(other)
            && states(self, other)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    Waiting,
    Ready,
    Running,
    Settled(Value),
}

impl State {
    fn is_of_command(&self) -> bool {
        matches!(self, Self::Settled(value) if value.is_of_command())
    }
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The variable its outcome is for.
    pub name: Arc<str>,
    pub command: Arc<str>,
    pub arguments: Vec<Arc<str>>,
    /// What the comment above it says: shown as progress.
    pub description: Option<Arc<str>>,
    pub line: u32,
}

impl Command {
    /// The arguments as one text.
    pub fn prompt(&self) -> String {
        self.arguments.join(" ")
    }

    fn prompt_chars(&self) -> usize {
        let texts: usize = self.arguments.iter().map(|text| text.chars().count()).sum();
        texts + self.arguments.len().saturating_sub(1)
    }
}

/// What the program says to whoever asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Final { name: Arc<str>, text: Arc<str> },
    CannotComplete { name: Arc<str>, reason: Arc<str> },
}

/// An outcome of something that does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no command for @{name} is running")]
pub struct NotRunning {
    pub name: String,
}

impl Interpreter {
    pub fn new(program: Program, budget: Budget) -> Self {
        Self::resume(program, budget, |_| None)
    }

    /// A program of which some variables already have what their commands gave: those commands do not run again.
    pub fn resume(program: Program, budget: Budget, mut value: impl FnMut(&str) -> Option<Value>) -> Self {
        let known = program.by_number().map(|found| found.and_then(|it| value(&it.name))).collect();
        let mut interpreter = Self {
            program: Program::default(),
            budget,
            used: Used::default(),
            states: Vec::new(),
            open: Vec::new(),
            next: Vec::new(),
            running: 0,
            gave: 0,
            joined: 0,
            halted: None,
        };
        interpreter.take_up(program, known);
        interpreter
    }

    /// Sets out with a program and the values that are known, by number.
    pub(super) fn take_up(&mut self, program: Program, known: Vec<Option<Value>>) {
        self.states = known
            .into_iter()
            .map(|value| value.filter(Value::is_of_command).map_or(State::Waiting, State::Settled))
            .collect();
        self.gave = self.states.iter().filter(|state| matches!(state, State::Settled(_))).count();
        let is_open = |at: &&usize| !matches!(self.states.get(**at), Some(State::Settled(_)));
        self.open = program
            .by_number()
            .map(|found| found.map_or(0, |it| it.dependencies.iter().filter(is_open).count()))
            .collect();
        self.program = program;
        self.next.clear();
        self.joined = 0;
        self.halted = None;
        let is_free = |at: &usize| {
            matches!(self.states.get(*at), Some(State::Waiting)) && self.open.get(*at) == Some(&0)
        };
        let numbers = self.program.declarations.iter().map(|declaration| declaration.number);
        let free: Vec<usize> = numbers.filter(is_free).collect();
        self.set_out(free);
    }

    /// What waits for nothing is next, or never will be.
    pub(super) fn set_out(&mut self, free: Vec<usize>) {
        let mut settled = Vec::new();
        for index in free {
            self.decide(index, &mut settled);
        }
        self.tell_dependents(settled);
    }

    /// The commands of the next level, names sorted, now counted as running. Empty while commands run, after a halt,
    /// and at the end.
    pub fn ready(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        while self.running == 0 && self.halted.is_none() && !self.next.is_empty() {
            let mut level = std::mem::take(&mut self.next);
            level.sort_unstable_by(|a, b| self.name(*a).cmp(&self.name(*b)));
            let mut level = level.into_iter();
            while let Some(index) = level.next() {
                let Some(declaration) = self.program.at(index) else { continue };
                let command = self.command(declaration);
                if is_built_in(&command.command) {
                    let value = self.built_in(&command);
                    self.settle(index, value);
                    continue;
                }
                if let Err(halt) = self.used.start(&self.budget, &command.command, command.prompt_chars()) {
                    self.halted = Some(halt);
                    self.next.push(index);
                    self.next.extend(level.by_ref());
                    break;
                }
                self.running += 1;
                self.set(index, State::Running);
                commands.push(command);
            }
        }
        commands
    }

    /// Takes what came of a running command.
    pub fn finished(&mut self, name: &str, outcome: Outcome) -> Result<(), NotRunning> {
        let running = self.program.by_name.get(name).copied();
        let running = running.filter(|at| matches!(self.states.get(*at), Some(State::Running)));
        let declaration = running.and_then(|at| Some((at, self.program.at(at)?)));
        let Some((index, declaration)) = declaration else {
            return Err(NotRunning { name: crate::problems::shorten(name) });
        };
        let value = outcome.into_value(&declaration.command);
        if value.is_failed() {
            let halt = self.used.fail(&self.budget, &declaration.command);
            self.halted = self.halted.take().or(halt);
        }
        self.running -= 1;
        self.settle(index, value);
        Ok(())
    }

    /// Nothing runs and nothing more will be started.
    pub fn is_finished(&self) -> bool {
        self.running == 0 && (self.next.is_empty() || self.halted.is_some())
    }

    /// The bound that stopped the program.
    pub fn halted(&self) -> Option<&Halt> {
        self.halted.as_ref()
    }

    /// Starts counting anew, for instance because a person asked for more; what was stopped goes on.
    pub fn renew(&mut self, budget: Budget) {
        self.budget = budget;
        self.used = Used::default();
        self.halted = None;
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How many commands were started since the budget was given.
    pub fn commands_started(&self) -> usize {
        self.used.commands
    }

    /// Names of the variables whose commands run, in the order of the program.
    pub fn running(&self) -> impl Iterator<Item = &Arc<str>> {
        let running = self.in_order().filter(|(state, _)| matches!(state, State::Running));
        running.map(|(_, declaration)| &declaration.name)
    }

    pub fn value(&self, name: &str) -> Option<Value> {
        self.program.by_name.get(name).map(|at| self.value_at(*at))
    }

    /// Every variable with its value, in the order of the program.
    pub fn values(&self) -> impl Iterator<Item = (&Arc<str>, Value)> {
        let declarations = self.program.declarations.iter();
        declarations.map(|declaration| (&declaration.name, self.value_at(declaration.number)))
    }

    /// The variables whose own command failed, in the order of the program.
    pub fn failed(&self) -> impl Iterator<Item = (&Arc<str>, &Value)> {
        self.in_order().filter_map(|(state, declaration)| match state {
            State::Settled(value) if value.is_failed() => Some((&declaration.name, value)),
            _ => None,
        })
    }

    /// The last `final_answer` that has a value, else the last `cannot_complete` that was reached.
    pub fn answer(&self) -> Option<Answer> {
        let of = |command: &'static str| {
            self.in_order().rev().filter(move |(_, declaration)| &*declaration.command == command)
        };
        let last = of(FINAL_ANSWER).find_map(|(state, declaration)| match state {
            State::Settled(Value::Success(text)) => {
                Some(Answer::Final { name: Arc::clone(&declaration.name), text: Arc::clone(text) })
            }
            _ => None,
        });
        last.or_else(|| {
            of(CANNOT_COMPLETE).find_map(|(state, declaration)| match state {
                State::Settled(Value::Failed(reason)) => Some(Answer::CannotComplete {
                    name: Arc::clone(&declaration.name),
                    reason: Arc::clone(reason),
                }),
                _ => None,
            })
        })
    }

    fn value_at(&self, index: usize) -> Value {
        match self.states.get(index) {
            Some(State::Settled(value)) => value.clone(),
            Some(State::Running) => Value::Undefined(Undefined::Running),
            Some(State::Ready) => Value::Undefined(match &self.halted {
                Some(halt) => Undefined::Halted(halt.clone()),
                None => Undefined::NotStarted,
            }),
            Some(State::Waiting) | None => self.blocked(index),
        }
    }

    /// Every declaration with its state, in the order of the program.
    fn in_order(&self) -> impl DoubleEndedIterator<Item = (&State, &Declaration)> {
        let declarations = self.program.declarations.iter();
        declarations.filter_map(|declaration| Some((self.states.get(declaration.number)?, declaration)))
    }

    pub(super) fn name(&self, index: usize) -> Option<&Arc<str>> {
        self.program.at(index).map(|declaration| &declaration.name)
    }

    pub(super) fn set(&mut self, index: usize, state: State) {
        if let Some(slot) = self.states.get_mut(index) {
            self.gave -= usize::from(slot.is_of_command());
            self.gave += usize::from(state.is_of_command());
            *slot = state;
        }
    }

    fn command(&self, declaration: &Declaration) -> Command {
        let text = |argument: &Argument| match argument {
            Argument::Literal(text) => Arc::clone(text),
            Argument::Reference(name) => {
                let state = self.program.by_name.get(name).and_then(|at| self.states.get(*at));
                match state {
                    Some(State::Settled(Value::Success(text))) => Arc::clone(text),
                    _ => Arc::from(""),
                }
            }
        };
        Command {
            name: Arc::clone(&declaration.name),
            command: Arc::clone(&declaration.command),
            arguments: declaration.arguments.iter().map(text).collect(),
            description: declaration.description.clone(),
            line: declaration.line,
        }
    }

    /// What a command of the language gives. Texts double with every `assign $x $x`, so they are bounded.
    fn built_in(&mut self, command: &Command) -> Value {
        let text = match command.arguments.as_slice() {
            [one] => Arc::clone(one),
            several => {
                let spaces = several.len().saturating_sub(1);
                let bytes = several.iter().fold(spaces, |sum, text| sum.saturating_add(text.len()));
                if self.joined.saturating_add(bytes) > SOP_TEXT_BYTES {
                    let limit = SOP_TEXT_BYTES;
                    let reason = format!("joined texts would have more than {limit} bytes together");
                    return Value::Failed(reason.into());
                }
                self.joined += bytes;
                Arc::from(several.join(" "))
            }
        };
        match &*command.command {
            CANNOT_COMPLETE => Outcome::Failed(text).into_value(&command.command),
            _ => Value::Success(text),
        }
    }

    fn settle(&mut self, index: usize, value: Value) {
        self.set(index, State::Settled(value));
        self.tell_dependents(vec![index]);
    }

    /// Carries news along references, as far as they settle something. A list and not recursion: chains are long.
    fn tell_dependents(&mut self, mut settled: Vec<usize>) {
        while let Some(index) = settled.pop() {
            for at in 0..self.program.dependents_of(index).len() {
                let Some(&dependent) = self.program.dependents_of(index).get(at) else { continue };
                if let Some(open) = self.open.get_mut(dependent) {
                    *open = open.saturating_sub(1);
                    if *open == 0 && matches!(self.states.get(dependent), Some(State::Waiting)) {
                        self.decide(dependent, &mut settled);
                    }
                }
            }
        }
    }

    /// All dependencies are settled: it can run, or it never will.
    fn decide(&mut self, index: usize, settled: &mut Vec<usize>) {
        let has_all =
            self.dependencies(index).all(|(_, value)| value.is_some_and(|value| value.success().is_some()));
        if has_all {
            self.set(index, State::Ready);
            self.next.push(index);
        } else {
            let value = self.blocked(index);
            self.set(index, State::Settled(value));
            settled.push(index);
        }
    }

    /// Each dependency with its value, if it is settled.
    fn dependencies(&self, index: usize) -> impl Iterator<Item = (&Arc<str>, Option<&Value>)> {
        let dependencies = self.program.at(index).map(|declaration| &declaration.dependencies);
        dependencies.into_iter().flatten().filter_map(|at| {
            let value = match self.states.get(*at)? {
                State::Settled(value) => Some(value),
                _ => None,
            };
            Some((self.name(*at)?, value))
        })
    }

    /// The value of what cannot run (yet): the first canceled dependency wins, else it waits for the first without value.
    fn blocked(&self, index: usize) -> Value {
        let canceled = self.dependencies(index).find_map(|(name, value)| match value {
            Some(Value::Canceled { reason, .. }) => {
                Some(Value::Canceled { reason: Arc::clone(reason), via: Some(Arc::clone(name)) })
            }
            _ => None,
        });
        canceled.unwrap_or_else(|| {
            let missing = self
                .dependencies(index)
                .find(|(_, value)| value.is_none_or(|value| value.success().is_none()));
            Value::Undefined(match missing {
                Some((name, _)) => Undefined::WaitingFor(Arc::clone(name)),
                None => Undefined::NotStarted,
            })
        })
    }
}

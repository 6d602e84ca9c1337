//! Who writes each variable, and whether it is set when a phase starts. Says nothing to people.

use super::graph::{Bits, Graph};
use super::{Phase, Place};
use crate::variable::{VarName, identifiers};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// The variables of a skill.
pub(super) struct Flow<'p> {
    /// Names and switches of the phases, in declared order.
    pub names: Vec<String>,
    pub enabled: Vec<bool>,
    pub parallel: Vec<bool>,
    pub graph: &'p Graph,
    pub writers: BTreeMap<VarName, Writers>,
    /// Inline phases that do not say what they set, the last one first, with the words they use.
    open: Vec<(usize, Range<usize>)>,
    words: HashMap<Range<usize>, HashSet<&'p str>>,
    pub skill_text: &'p str,
    body_start: usize,
}

/// Who writes one variable.
#[derive(Default)]
pub(super) struct Writers {
    pub phases: Bits,
    pub list: Vec<Writer>,
}

#[derive(Clone, Copy)]
pub(super) struct Writer {
    pub phase: usize,
    /// `None`: the inline phase itself.
    pub subagent: Option<usize>,
    pub place: Place,
}

/// Can a reader have the variable?
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Yes,
    /// Only writers in the reader's own phase.
    InThisPhase,
    /// Only in a phase that need not be complete.
    Elsewhere(usize),
    /// Nobody says that it is set, but this inline phase comes before.
    ByUse {
        phase: usize,
        mentioned: bool,
    },
    Never,
}

impl<'p> Flow<'p> {
    pub(super) fn new(phases: &[Phase], graph: &'p Graph, skill_text: &'p str, body_start: usize) -> Self {
        let mut flow = Self {
            names: phases.iter().map(|phase| phase.name.clone()).collect(),
            enabled: phases.iter().map(|phase| phase.enabled).collect(),
            parallel: phases.iter().map(|phase| phase.parallel).collect(),
            graph,
            writers: BTreeMap::new(),
            open: Vec::new(),
            words: HashMap::new(),
            skill_text,
            body_start,
        };
        for (index, phase) in phases.iter().enumerate() {
            for name in &phase.sets {
                flow.write(name, phases.len(), Writer { phase: index, subagent: None, place: phase.place });
            }
            for (at, subagent) in phase.subagents.iter().enumerate() {
                if let Some(name) = &subagent.output {
                    let place = subagent.output_place;
                    flow.write(name, phases.len(), Writer { phase: index, subagent: Some(at), place });
                }
            }
        }
        for &index in graph.order.iter().rev() {
            let Some(phase) = phases.get(index) else { continue };
            if phase.inline && phase.enabled && phase.sets.is_empty() {
                let range = flow.markdown_range(phase);
                let text = skill_text.get(range.clone()).unwrap_or_default();
                flow.words.entry(range.clone()).or_insert_with(|| spoken_words(text).collect());
                flow.open.push((index, range));
            }
        }
        flow
    }

    fn write(&mut self, name: &VarName, phases: usize, writer: Writer) {
        let writers = self
            .writers
            .entry(name.clone())
            .or_insert_with(|| Writers { phases: Bits::new(phases), list: Vec::new() });
        writers.phases.add(writer.phase);
        writers.list.push(writer);
    }

    pub(super) fn markdown_range(&self, phase: &Phase) -> Range<usize> {
        phase.section.clone().unwrap_or(self.body_start..self.skill_text.len())
    }

    pub(super) fn name(&self, phase: usize) -> String {
        crate::problems::shorten(self.names.get(phase).map(String::as_str).unwrap_or_default())
    }

    pub(super) fn is(&self, list: &[bool], phase: usize) -> bool {
        list.get(phase).copied().unwrap_or_default()
    }

    /// Is the variable set when the phase starts?
    pub(super) fn answer(&self, variable: &VarName, phase: usize) -> Answer {
        if variable.is_built_in() || self.graph.is_uncertain(phase) {
            return Answer::Yes;
        }
        let ancestors = self.graph.ancestors(phase);
        let writers = self.writers.get(variable);
        if let (Some(ancestors), Some(writers)) = (ancestors, writers) {
            if ancestors.meets(&writers.phases) {
                return Answer::Yes;
            }
            if writers.phases.has(phase) {
                return Answer::InThisPhase;
            }
        }
        let before =
            || self.open.iter().filter(|(open, _)| ancestors.is_some_and(|before| before.has(*open)));
        let mentions = |range: &Range<usize>| {
            self.words.get(range).is_some_and(|words| words.contains(variable.as_str()))
        };
        if let Some((phase, _)) = before().find(|(_, range)| mentions(range)) {
            return Answer::ByUse { phase: *phase, mentioned: true };
        }
        if let Some(writer) = writers.and_then(|writers| writers.list.first()) {
            return Answer::Elsewhere(writer.phase);
        }
        match before().next() {
            Some((phase, _)) => Answer::ByUse { phase: *phase, mentioned: false },
            None => Answer::Never,
        }
    }

    /// The name that was probably meant.
    pub(super) fn nearest(&self, variable: &VarName) -> Option<&str> {
        let names = VarName::BUILT_IN.into_iter().chain(self.writers.keys().map(VarName::as_str));
        fugato_model::nearest(variable.as_str(), names)
    }
}

/// The words of a text, except those that are only read (`{{X}}`).
fn spoken_words(text: &str) -> impl Iterator<Item = &str> {
    let is_read =
        |at: usize| text.get(..at).is_some_and(|before| before.trim_end_matches(' ').ends_with("{{"));
    identifiers(text).filter(move |(at, _)| !is_read(*at)).map(|(_, word)| word)
}

//! Every use of a variable: does the reader run after a writer? Also notes what the engine has to know of it.

use super::flow::{Answer, Flow};
use super::graph::{Graph, draw, groups, shortest_cycle};
use super::report::{File, Report};
use super::{Phase, Place};
use crate::interpolate::Template;
use crate::variable::VarName;
use fugato_model::{Code, Diagnostic, Words, words};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// Checks writers and readers, and notes for the engine what was found out: which siblings wait for which, and what inline
/// phases are expected to set.
pub(super) fn check(phases: &mut [Phase], graph: &Graph, body_start: usize, report: &mut Report<'_>) {
    let flow = Flow::new(phases, graph, report.skill.text, body_start);
    flow.writers_at_once(report);
    let mut notes = Notes::default();
    for (index, phase) in phases.iter().enumerate().filter(|(_, phase)| phase.enabled) {
        flow.subagent_reads(index, phase, &mut notes, report);
        if phase.inline {
            flow.markdown_reads(index, phase, &mut notes, report);
        }
    }
    notes.write(phases);
    for phase in phases.iter() {
        sibling_cycles(phase, report);
    }
}

/// What the check finds out besides mistakes.
#[derive(Default)]
struct Notes {
    /// Siblings a subagent waits for, by phase and subagent.
    after: BTreeMap<(usize, usize), Vec<usize>>,
    /// What an inline phase is expected to set.
    by_use: BTreeMap<(usize, VarName), ()>,
    /// Variables that each piece of Markdown names, once each. Several phases may share the whole body.
    markdown: HashMap<Range<usize>, Rc<Vec<(VarName, Place)>>>,
}

impl Notes {
    fn write(self, phases: &mut [Phase]) {
        for (phase, name) in self.by_use.into_keys() {
            if let Some(phase) = phases.get_mut(phase) {
                phase.sets_by_use.push(name);
            }
        }
        for ((phase, subagent), mut siblings) in self.after {
            siblings.sort_unstable();
            siblings.dedup();
            if let Some(subagent) = phases.get_mut(phase).and_then(|phase| phase.subagents.get_mut(subagent))
            {
                subagent.after = siblings;
            }
        }
    }
}

impl Flow<'_> {
    fn subagent_reads(&self, index: usize, phase: &Phase, notes: &mut Notes, report: &mut Report<'_>) {
        // Who in this phase writes what; two are enough to find one that is not the reader itself.
        let mut own: HashMap<&VarName, Vec<usize>> = HashMap::new();
        for (at, subagent) in phase.subagents.iter().enumerate() {
            if let Some(name) = &subagent.output {
                let writers = own.entry(name).or_default();
                if writers.len() < 2 {
                    writers.push(at);
                }
            }
        }
        for (at, subagent) in phase.subagents.iter().enumerate() {
            let required =
                subagent.requires.iter().map(|required| (&required.name, required.place, "requires"));
            let used = subagent.args.variables().map(|(name, place)| (name, place, "args"));
            let mut seen = HashSet::new();
            for (variable, place, field) in required.chain(used) {
                if !seen.insert((variable, field)) {
                    continue;
                }
                let read = Read { variable, place, field, phase: index, file: report.file };
                match self.answer(variable, index) {
                    Answer::InThisPhase => {
                        let writers = own.get(variable).map(Vec::as_slice).unwrap_or_default();
                        self.sibling_read(&read, at, phase, writers, notes, report);
                    }
                    answer => self.outside_read(&read, answer, notes, report),
                }
            }
        }
    }

    fn sibling_read(
        &self,
        read: &Read<'_>,
        reader: usize,
        phase: &Phase,
        writers: &[usize],
        notes: &mut Notes,
        report: &mut Report<'_>,
    ) {
        let variable = read.variable;
        let other = writers.iter().copied().find(|writer| *writer != reader);
        let Some(other) = other else {
            return read.error(report, Code::F0809, || {
                (
                    words!(
                        "`{variable}` is the subagent's own output; it is not set before it runs",
                        "`{variable}` 是该子代理自己的输出，运行之前没有值"
                    ),
                    None,
                )
            });
        };
        let id = phase.subagents.get(other).map(|subagent| subagent.id.as_str()).unwrap_or_default();
        if phase.parallel {
            notes.after.entry((read.phase, reader)).or_default().push(other);
            return report.warning(Code::F0815, |file| {
                let message = words!(
                    "`{variable}` is written by the parallel subagent `{id}`; this one waits for it",
                    "`{variable}` 由并行的子代理 `{id}` 写入；本子代理会等它完成"
                );
                file.warning(Code::F0815, read.place, message).field(read.field).hint(words!(
                    "put it into a phase of its own, or take `parallel: true` out",
                    "把它放进单独的阶段，或去掉 `parallel: true`"
                ))
            });
        }
        if other > reader {
            read.error(report, Code::F0809, || {
                (
                    words!(
                        "`{variable}` is written by `{id}`, which runs later in this phase",
                        "`{variable}` 由 `{id}` 写入，而它在本阶段中稍后才运行"
                    ),
                    Some(words!("move `{id}` up", "把 `{id}` 移到前面")),
                )
            });
        }
    }

    fn outside_read(&self, read: &Read<'_>, answer: Answer, notes: &mut Notes, report: &mut Report<'_>) {
        let variable = read.variable;
        let reader = || self.name(read.phase);
        match answer {
            Answer::Yes => {}
            Answer::ByUse { phase, mentioned } => {
                notes.by_use.insert((phase, variable.clone()), ());
                if !mentioned {
                    self.expect_from_inline(read, phase, report);
                }
            }
            Answer::InThisPhase => read.error(report, Code::F0809, || {
                (
                    words!(
                        "`{variable}` is set by this phase itself; it has no value when it starts",
                        "`{variable}` 由本阶段自己设置，开始时还没有值"
                    ),
                    Some(literal_hint(variable)),
                )
            }),
            Answer::Elsewhere(writer) => read.error(report, Code::F0809, || {
                let (writer, reader) = (self.name(writer), reader());
                (
                    words!(
                        "`{variable}` is set by phase `{writer}`, which need not be complete when `{reader}` runs",
                        "`{variable}` 由阶段 `{writer}` 设置，而 `{reader}` 运行时它未必完成"
                    ),
                    Some(words!("depends_on: [{writer}]", "depends_on: [{writer}]")),
                )
            }),
            Answer::Never => read.error(report, Code::F0809, || {
                let reader = reader();
                let message = words!(
                    "`{variable}` is set by nothing that runs before phase `{reader}`",
                    "在阶段 `{reader}` 之前没有任何步骤设置 `{variable}`"
                );
                (message, Some(self.never_hint(read)))
            }),
        }
    }

    fn never_hint(&self, read: &Read<'_>) -> Words {
        let variable = read.variable;
        match self.nearest(variable) {
            Some(near) => words!("did you mean `{near}`?", "是不是 `{near}`？"),
            None if read.field == MARKDOWN => literal_hint(variable),
            None => words!(
                "output: {variable} in an earlier phase, or sets: [{variable}] in an inline one",
                "在更早的阶段写 output: {variable}，或在内联阶段写 sets: [{variable}]"
            ),
        }
    }

    fn expect_from_inline(&self, read: &Read<'_>, setter: usize, report: &mut Report<'_>) {
        let variable = read.variable;
        report.warning(Code::F0809, |_| {
            let setter = self.name(setter);
            let message = words!(
                "no subagent sets `{variable}`; the inline phase `{setter}` is expected to",
                "没有子代理设置 `{variable}`；将由内联阶段 `{setter}` 设置"
            );
            let diagnostic = read.file.warning(Code::F0809, read.place, message).field(read.field);
            match self.nearest(variable) {
                Some(near) => diagnostic.hint(words!(
                    "sets: [{variable}] in `{setter}`; or did you mean `{near}`?",
                    "在 `{setter}` 中写 sets: [{variable}]；或者是想写 `{near}`？"
                )),
                None => diagnostic.hint(words!(
                    "sets: [{variable}] in `{setter}`",
                    "在 `{setter}` 中写 sets: [{variable}]"
                )),
            }
        });
    }

    fn markdown_reads(&self, index: usize, phase: &Phase, notes: &mut Notes, report: &mut Report<'_>) {
        let range = self.markdown_range(phase);
        let named = match notes.markdown.get(&range) {
            Some(named) => Rc::clone(named),
            None => {
                let named = Rc::new(self.read_markdown(&range, report));
                notes.markdown.insert(range, Rc::clone(&named));
                named
            }
        };
        for (variable, place) in named.iter() {
            let read = Read { variable, place: *place, field: MARKDOWN, phase: index, file: report.skill };
            self.outside_read(&read, self.answer(variable, index), notes, report);
        }
    }

    fn read_markdown(&self, range: &Range<usize>, report: &mut Report<'_>) -> Vec<(VarName, Place)> {
        let text = self.skill_text.get(range.clone()).unwrap_or_default();
        let (template, mistakes) = Template::parse_markdown(text, range.start);
        let skill = report.skill;
        for mistake in mistakes {
            report.warning(Code::F0810, |_| {
                let message = Words {
                    en: format!("{}; it stays as it is", mistake.message.en),
                    zh: format!("{}；将原样保留", mistake.message.zh),
                };
                skill.warning(Code::F0810, Place::new(mistake.start, mistake.end), message)
            });
        }
        let mut seen = HashSet::new();
        let named = template.variables().filter(|(variable, _)| seen.insert(*variable));
        named.map(|(variable, place)| (variable.clone(), place)).collect()
    }
}

const MARKDOWN: &str = "markdown";

/// One use of a variable.
struct Read<'r> {
    variable: &'r VarName,
    place: Place,
    field: &'static str,
    phase: usize,
    file: File<'r>,
}

impl Read<'_> {
    fn error(&self, report: &mut Report<'_>, code: Code, make: impl FnOnce() -> (Words, Option<Words>)) {
        report.error(code, |_| {
            let (message, hint) = make();
            let diagnostic: Diagnostic = self.file.error(code, self.place, message).field(self.field);
            match hint {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic,
            }
        });
    }
}

fn literal_hint(variable: &VarName) -> Words {
    words!(
        "write `{{{{{{{{{variable}}}}}` if the braces are meant as text",
        "如果大括号就是文字，请写 `{{{{{{{{{variable}}}}}`"
    )
}

/// Parallel subagents that wait for each other would wait for ever.
fn sibling_cycles(phase: &Phase, report: &mut Report<'_>) {
    if phase.subagents.iter().all(|subagent| subagent.after.is_empty()) {
        return;
    }
    let edges: Vec<Vec<usize>> = phase.subagents.iter().map(|subagent| subagent.after.clone()).collect();
    for group in groups(&edges).iter().filter(|group| group.len() > 1) {
        let Some(&start) = group.first() else { continue };
        let members: HashSet<usize> = group.iter().copied().collect();
        let Some(cycle) = shortest_cycle(&edges, start, &|node| members.contains(&node)) else { continue };
        let waiting: Vec<_> = cycle.iter().filter_map(|&at| phase.subagents.get(at)).collect();
        report.error(Code::F0815, |file| {
            let drawn = draw(waiting.iter().map(|subagent| subagent.id.as_str()));
            let message = words!(
                "parallel subagents wait for each other's outputs: {drawn}",
                "并行的子代理互相等待对方的输出：{drawn}"
            );
            let place = waiting.first().map(|subagent| subagent.place).unwrap_or_default();
            file.error(Code::F0815, place, message)
                .field("args")
                .hint(words!("put one of them into a later phase", "把其中一个放到后面的阶段"))
        });
    }
}

//! Two writers of one variable that may run at the same time.

use super::flow::{Flow, Writer};
use super::report::Report;
use crate::variable::VarName;
use fugato_model::{Code, words};

impl Flow<'_> {
    /// Two writers that may run at the same time: which one counts would depend on chance.
    pub(super) fn writers_at_once(&self, report: &mut Report<'_>) {
        let mut position = vec![0; self.names.len()];
        for (at, &phase) in self.graph.order.iter().enumerate() {
            if let Some(slot) = position.get_mut(phase) {
                *slot = at;
            }
        }
        for (name, writers) in &self.writers {
            let mut list: Vec<Writer> =
                writers.list.iter().copied().filter(|writer| self.is(&self.enabled, writer.phase)).collect();
            list.sort_by_key(|writer| (position.get(writer.phase).copied(), writer.subagent));
            // Neighbours are enough: if each one is complete before the next starts, all are in a row.
            for (first, second) in list.iter().zip(list.iter().skip(1)) {
                if self.at_once(first, second) {
                    self.report_writers(name, first, second, report);
                }
            }
        }
    }

    fn at_once(&self, first: &Writer, second: &Writer) -> bool {
        if first.phase == second.phase {
            return self.is(&self.parallel, first.phase) && first.subagent.is_some();
        }
        let unknown = self.graph.is_uncertain(first.phase) || self.graph.is_uncertain(second.phase);
        !unknown && !self.graph.is_ancestor(first.phase, second.phase)
    }

    fn report_writers(&self, name: &VarName, first: &Writer, second: &Writer, report: &mut Report<'_>) {
        let (first, second) =
            if first.place.start <= second.place.start { (first, second) } else { (second, first) };
        report.error(Code::F0808, |file| {
            let (line, again) = (file.line(first.place), file.line(second.place));
            let (message, hint) = if first.phase == second.phase {
                (
                    words!(
                        "two parallel subagents write `{name}`: line {line} and line {again}",
                        "两个并行的子代理都写 `{name}`：第 {line} 行和第 {again} 行"
                    ),
                    words!("output: {name}_2", "output: {name}_2"),
                )
            } else {
                let (a, b) = (self.name(first.phase), self.name(second.phase));
                (
                    words!(
                        "phases `{a}` (line {line}) and `{b}` (line {again}) may run at the same time and both write `{name}`",
                        "阶段 `{a}`（第 {line} 行）和 `{b}`（第 {again} 行）可能同时运行，且都写 `{name}`"
                    ),
                    words!("output: {name}_2, or depends_on: [{a}]", "output: {name}_2，或 depends_on: [{a}]"),
                )
            };
            file.error(Code::F0808, second.place, message)
                .field("output")
                .related(file.text, first.place.start, first.place.end, words!("and here", "以及这里"))
                .hint(hint)
        });
    }
}

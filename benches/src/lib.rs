//! Measures of fugato, each beside a bare program that does the same calls: what durability and bookkeeping cost.
//!
//! Every scenario is a room: it sets itself up in a throw-away directory, measures both sides in turns (A, B, A, B, so
//! that a busy machine slows both) and returns [`Figure`]s. Nothing here asserts a time.

mod agent;
mod bare;
mod dag;
mod delegation;
mod documents;
mod figure;
mod hook;
mod inside;
mod journal;
mod many;
mod nodes;
mod place;
mod queue;
mod server;
mod shelf;
mod skills;
mod sop;
mod status;

pub use figure::{Figure, Samples, Verdict, document, table};
pub use place::{Bench, BenchError, Sizes};

/// One thing that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub measure: fn(&Bench) -> Result<Vec<Figure>, BenchError>,
}

/// All scenarios, in the order of the table.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "dag", measure: dag::measure },
    Scenario { name: "nodes", measure: nodes::measure },
    Scenario { name: "straggler", measure: nodes::straggler },
    Scenario { name: "resume", measure: nodes::resume },
    Scenario { name: "agent", measure: agent::measure },
    Scenario { name: "many", measure: many::measure },
    Scenario { name: "delegation", measure: delegation::measure },
    Scenario { name: "queue", measure: queue::measure },
    Scenario { name: "sop", measure: sop::measure },
    Scenario { name: "documents", measure: documents::measure },
    Scenario { name: "shelf", measure: shelf::measure },
    Scenario { name: "status", measure: status::measure },
    Scenario { name: "hook", measure: hook::measure },
];

/// What a process of this program may be besides the one that measures: one side of a scenario, alone in its process, so
/// that start-up and memory are its own.
pub fn part(words: &[&str]) -> Option<Result<(), BenchError>> {
    Some(match words {
        ["serve"] => server::serve(),
        ["agent", dir, url, steps] => agent::part(dir, url, steps),
        ["nodes", dir, count] => nodes::part(dir, count),
        ["sop", dir, count] => sop::part(dir, count),
        ["queue", dir, url, count] => queue::part(dir, url, count),
        ["document", file, part, what] => documents::part(file, part, what),
        ["delegation", dir, url, count] => delegation::part(dir, url, count),
        _ => return None,
    })
}

/// The other side.
pub fn bare_part(words: &[&str]) -> Option<Result<(), BenchError>> {
    Some(match words {
        ["bare-dag", url, tools] => bare::dag(url, tools),
        ["bare-agent", url, tools, file] => bare::agent(url, tools, file, bare::Journal::None),
        ["bare-agent-journal", url, tools, file] => bare::agent(url, tools, file, bare::Journal::Synced),
        ["bare-many", url, tools, count] => bare::many(url, tools, count),
        ["bare-chains", url, tools, slow] => bare::chains(url, tools, slow),
        ["bare-journal", dir, count] => journal::part(dir, count),
        ["bare-loop", dir, count] => journal::loop_part(dir, count),
        _ => return None,
    })
}

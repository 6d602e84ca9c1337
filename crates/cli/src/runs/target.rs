//! Which run and which agent a word of the operator's is meant for, with the sentences for when there is none.

use super::{find, state, store_error};
use crate::app::App;
use crate::error::CliError;
use crate::status::view_error;
use fugato_engine::{AgentPath, Target};
use fugato_model::{Exit, nearest, words};
use fugato_runtime::store::{Reader, RunRow};
use fugato_runtime::view::{self, Active, Overview};
use std::path::Path;

/// A run that can be told something, and how it stands.
#[derive(Debug)]
pub struct Told {
    pub reader: Reader,
    pub row: RunRow,
    pub view: Overview,
}

/// The run of this id, or the active one.
pub fn told(run: Option<&str>, app: &App) -> Result<Told, CliError> {
    let state = state(app);
    let Some(reader) = Reader::open(&state).map_err(|error| store_error(&error))? else {
        return Err(nobody(Some(&state)));
    };
    let row = match run {
        Some(id) => find(&reader, Some(id))?,
        None => match view::active(&reader, &state).map_err(|error| store_error(&error))? {
            Active::Run(row) => *row,
            Active::Ended(_) => return Err(nobody(None)),
            Active::Nothing => return Err(nobody(Some(&state))),
        },
    };
    let view = view::of_run(&state, &reader, &row).map_err(|error| view_error(&error))?;
    Ok(Told { reader, row, view })
}

/// `state`: where another program may keep a run that `fugato status` shows. What it does with our words nobody here knows.
fn nobody(state: Option<&Path>) -> CliError {
    let foreign = state.and_then(|state| view::foreign(state).ok().flatten());
    let error = CliError::new(
        Exit::NoActiveRun,
        words!("No active orchestration to intervene in.", "没有可以干预的编排。"),
    );
    match foreign.map(|view| fugato_model::escape_for_terminal(&view.id).into_owned()) {
        Some(id) => error.hint(words!(
            "run `{id}` belongs to another program, which reads its own control.json; fugato only shows it",
            "运行 `{id}` 属于另一个程序，由该程序读取它自己的 control.json；fugato 只能显示它"
        )),
        None => error.hint(words!("runs that can go on: fugato runs", "查看可以继续的运行：fugato runs")),
    }
}

impl Told {
    /// An agent of the run by its id, or everybody.
    pub fn target(&self, name: &str) -> Result<Target, CliError> {
        if name == "all" {
            return Ok(Target::All);
        }
        let known = || self.view.agents.iter().map(|agent| agent.id.as_str());
        if known().any(|id| id == name) {
            return Ok(Target::Agent(AgentPath::new(name)));
        }
        // `builder` is enough where only one agent is called so, in whatever phase.
        let mut called = known().filter(|id| id.rsplit_once('/').is_some_and(|(_, last)| last == name));
        if let (Some(only), None) = (called.next(), called.next()) {
            return Ok(Target::Agent(AgentPath::new(only)));
        }
        let list = known().take(MOST_NAMED).collect::<Vec<_>>().join(", ");
        let more = known().count().saturating_sub(MOST_NAMED);
        let list = if more > 0 { format!("{list}, +{more}") } else { list };
        let error = CliError::not_found(words!(
            "Agent '{name}' not found in active orchestration. Available agents: {list}",
            "当前编排中没有代理 '{name}'。可用的代理：{list}"
        ));
        // What was typed may be the beginning, or the last part, of what was meant.
        let last = |id: &'_ str| id.rsplit_once('/').map_or(id.len(), |(_, last)| last.len());
        let called = || known().map(|id| id.get(id.len() - last(id)..).unwrap_or(id));
        let meant = |near: &str| known().find(|id| id.ends_with(near)).map(str::to_owned);
        let near = nearest(name, known()).map(str::to_owned);
        Err(match near.or_else(|| nearest(name, called()).and_then(meant)) {
            Some(near) => error.hint(words!("did you mean `{near}`?", "是否指 `{near}`？")),
            None => error,
        })
    }
}

/// More names than this help nobody.
const MOST_NAMED: usize = 50;

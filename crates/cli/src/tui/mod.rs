//! `fugato` on a terminal and `fugato watch`: the runs of this project on the screen, live, and every way to intervene.
//!
//! Messages go into the model, effects come out, and the model is drawn: nothing else decides what is on the screen.
//! Reading the store, telling runs something and waiting for keys each have a thread of their own.

mod act;
mod commands;
mod directives;
mod draw;
mod editor;
mod input;
mod intervene;
mod keys;
mod live;
mod log;
mod messages;
mod model;
mod modes;
mod mouse;
mod news;
mod reading;
mod roster;
mod source;
mod state;
mod talk;
mod terminal;
#[cfg(test)]
mod tests;
mod watched;
mod wrap;

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::runs::{find, reader, state, store_error};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, words};
use fugato_runtime::store::Reader;
use model::{Action, Effect, Message, Model, Start};
use source::Ask;
use std::io::IsTerminal as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use terminal::Glass;

/// Watch a run.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The run, or the beginning of its id [default: the active one, else the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
}

pub fn run(args: &WatchArgs, app: &mut App) -> Outcome {
    watch(app, args.run.as_deref())
}

/// Can a screen be drawn here?
pub fn is_possible(app: &App) -> bool {
    let is_smart = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    !app.out.json && is_smart && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// `fugato` alone: the run somebody works on, or the list.
pub fn home(app: &mut App) -> Outcome {
    show(app, Start::Choose)
}

/// One run; without a name the active one, else the newest.
pub fn watch(app: &mut App, run: Option<&str>) -> Outcome {
    app.refuse_json("watch")?;
    if !is_possible(app) {
        return Err(CliError::usage(words!("`fugato watch` needs a terminal", "`fugato watch` 需要终端"))
            .hint(words!("elsewhere: fugato events --follow", "其他场合：fugato events --follow")));
    }
    let start = match run {
        Some(run) => Start::Run(find(&reader(app)?, Some(run))?.id),
        None => match Reader::open(&state(app)).map_err(|error| store_error(&error))? {
            None => Start::Choose,
            Some(reader) => {
                let active = reader.active().map_err(|error| store_error(&error))?;
                let row = active.map_or_else(|| find(&reader, None).ok(), Some);
                row.map_or(Start::Choose, |row| Start::Run(row.id))
            }
        },
    };
    show(app, start)
}

/// Between two drawings at least.
const FRAME: Duration = Duration::from_millis(33);
/// Times are shown in seconds.
const TICK: Duration = Duration::from_millis(1000);
/// Messages that may wait; whoever makes them waits then.
const WAITING: usize = 64;

fn show(app: &mut App, start: Start) -> Outcome {
    app.out.flush()?;
    let (out, messages) = sync_channel(WAITING);
    let unusable = |error: std::io::Error| CliError::output(&error);
    terminal::listen_to_signals(out.clone()).map_err(unusable)?;
    let has_mouse = app.config.has_mouse();
    let mut glass = Glass::take(app.out.width, has_mouse).map_err(unusable)?;
    terminal::listen_to_keys(out.clone());
    let hands = act::Hands { state: state(app), cwd: app.places.cwd.clone(), secrets: app.secrets() };
    let mut stage = Stage {
        asks: source::start(state(app), out.clone()),
        acts: act::start(hands, out),
        model: Model::new(app.out.lang, app.out.width, start),
    };
    stage.model.has_mouse = has_mouse;
    (stage.model.columns, stage.model.rows) = glass.size();
    let ended = stage.play(&messages, &mut glass);
    drop(glass);
    fugato_runtime::runs::stop_listening(&state(app));
    // What cannot be drawn on is gone: nobody is left to be told, and the runs go on.
    Ok(ended.unwrap_or(Exit::Interrupted))
}

/// The model and whom its effects go to.
struct Stage {
    model: Model,
    asks: Sender<Ask>,
    acts: Sender<Action>,
}

impl Stage {
    fn play(&mut self, messages: &Receiver<Message>, glass: &mut Glass) -> std::io::Result<Exit> {
        let mut drawn: Option<Instant> = None;
        let mut ticked = Instant::now();
        loop {
            let due = drawn.map_or(Duration::ZERO, |drawn| FRAME.saturating_sub(drawn.elapsed()));
            if self.model.is_stale && due.is_zero() {
                self.model.now = now();
                // A screen that grew while nobody looked.
                (self.model.columns, self.model.rows) = glass.size();
                glass.draw(&draw::screen(&self.model))?;
                self.model.is_stale = false;
                drawn = Some(Instant::now());
            }
            let tick = TICK.saturating_sub(ticked.elapsed());
            let wait = if self.model.is_stale { due.min(tick) } else { tick };
            match messages.recv_timeout(wait) {
                Ok(message) => {
                    if let Some(exit) = self.take(message, glass)? {
                        return Ok(exit);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Failed),
            }
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                self.take(Message::Tick, glass)?;
            }
        }
    }

    fn take(&mut self, message: Message, glass: &mut Glass) -> std::io::Result<Option<Exit>> {
        self.model.now = now();
        for effect in self.model.update(message) {
            match effect {
                // A thread that ended has said why; there is nobody to ask any more.
                Effect::Watch { run } => drop(self.asks.send(Ask::Watch { run })),
                Effect::Load { run, row, place, seqs } => {
                    drop(self.asks.send(Ask::Load { run, row, place, seqs }));
                }
                Effect::Read { run, from, count } => drop(self.asks.send(Ask::Read { run, from, count })),
                Effect::Mouse(has_mouse) => glass.mouse(has_mouse)?,
                Effect::Act(action) => drop(self.acts.send(action)),
                Effect::Copy(text) => glass.copy(&text)?,
                Effect::Suspend => glass.suspend()?,
                Effect::Repaint => glass.forget()?,
                Effect::Quit(exit) => return Ok(Some(exit)),
            }
        }
        Ok(None)
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

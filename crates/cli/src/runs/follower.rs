//! Watches a run for a person or a program: every notice becomes lines, a board, or JSON.

use super::board::{Board, Screen};
use super::drive::Watching;
use super::reporter::Reporter;
use crate::app::App;
use fugato_engine::{Event, Run};
use fugato_runtime::runs::{Notice, Place, StreamPart, Streams};
use std::time::Instant;

/// Follows the log with its own copy of the run, so that names are at hand.
pub struct Follower {
    reporter: Reporter,
    board: Board,
    run: Run,
    /// What each subagent says, for programs.
    streams: Streams,
    watching: Watching,
    has_board: bool,
    began: Instant,
    /// When something was last printed or drawn, in milliseconds since the beginning.
    said: i64,
    drawn: i64,
    pub first_at: Option<i64>,
    pub last_at: i64,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Show {
    /// Lines, and on a terminal a board.
    Person,
    JsonLines,
    /// One document at the end.
    Document,
}

/// Off a terminal nothing is silent for ten seconds.
const HEARTBEAT_MS: i64 = 9_000;
/// Ten times a second.
const REDRAW_MS: i64 = 100;

impl Follower {
    pub fn new(run: &Run, watching: Watching, app: &mut App) -> Self {
        let (streams, resumed) = Streams::resumed(run);
        if watching.jsonl {
            resumed.iter().for_each(|part| print(part, app));
        }
        let mut run = run.clone();
        run.take_changes();
        let has_board = app.out.screen().is_some() && !watching.jsonl;
        Self {
            reporter: Reporter::new(&run, has_board),
            board: Board::new(&run, 0),
            run,
            streams,
            watching,
            has_board,
            began: Instant::now(),
            said: 0,
            drawn: -REDRAW_MS,
            first_at: None,
            last_at: 0,
        }
    }

    pub fn notice(&mut self, notice: Notice, app: &mut App) {
        let now = self.now();
        match notice {
            Notice::Event(event) => self.event(&event, now, app),
            Notice::Warning(words) => app.out.note(&words),
            Notice::Memory { agent, place } if self.watching.stream => {
                let place = if place == Place::Log { "log" } else { "memory" };
                let line = serde_json::json!({"type": "memory", "agent": agent, "in": place});
                let _ = app.out.line(line).and_then(|()| app.out.flush());
            }
            Notice::Memory { .. }
            | Notice::Said { .. }
            | Notice::Hosted { .. }
            | Notice::Acted { .. }
            | Notice::Heard { .. } => {}
            Notice::Live { agent, text } => {
                if self.watching.jsonl
                    && let Some(part) = self.streams.live(&agent, &text)
                {
                    print(&part, app);
                } else if self.watching.stream && !text.is_empty() {
                    let line = serde_json::json!({"type": "live", "agent": agent, "text": text});
                    let _ = app.out.line(line).and_then(|()| app.out.flush());
                }
                self.board.live(&agent, &text, now);
            }
            Notice::Retry { agent, wait, reason } => {
                let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
                self.board.retry(&agent, wait_ms, &reason, now);
                if self.show(app) == Show::Person {
                    let (wait, english, chinese) =
                        (super::reporter::duration(wait_ms), &reason.en, &reason.zh);
                    app.out.note(&fugato_model::words!(
                        "  {agent}: asked again in {wait}: {english}",
                        "  {agent}：{wait} 后再次调用：{chinese}"
                    ));
                    self.said = now;
                }
            }
        }
    }

    fn event(&mut self, event: &Event, now: i64, app: &mut App) {
        self.first_at.get_or_insert(event.at);
        self.last_at = event.at;
        match self.show(app) {
            Show::JsonLines => {
                self.apply(event);
                if let Ok(text) = serde_json::to_string(event) {
                    let _ = app.out.line(text).and_then(|()| app.out.flush());
                }
                for part in self.streams.event(event, &self.run) {
                    print(&part, app);
                }
            }
            Show::Document => {}
            Show::Person => {
                self.apply(event);
                self.board.event(event, &self.run, now);
                self.reporter.event(event, &self.run, &mut app.out);
                self.said = now;
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        // A new run is told its own first event again.
        if event.seq > self.run.seq {
            self.run.apply(event);
            self.run.take_changes();
        }
    }

    /// Called often: redraws what is on the screen, and speaks when nothing has been said for long.
    pub fn tick(&mut self, app: &mut App) {
        let now = self.now();
        if self.show(app) != Show::Person {
            return;
        }
        for stall in self.board.stalls(now) {
            app.out.note(&stall);
            self.said = now;
        }
        match app.out.screen().filter(|_| self.has_board) {
            Some((columns, rows)) if now - self.drawn >= REDRAW_MS => {
                let screen = Screen { lang: app.out.lang, width: app.out.width, columns, rows };
                app.out.board(self.board.lines(now, &self.run, screen));
                self.drawn = now;
            }
            Some(_) => {}
            None if now - self.said >= HEARTBEAT_MS => {
                if let Some(sign) = self.board.heartbeat(now) {
                    app.out.note(&sign);
                }
                self.said = now;
            }
            None => {}
        }
    }

    fn show(&self, app: &App) -> Show {
        match (self.watching.jsonl, app.out.json) {
            (true, _) => Show::JsonLines,
            (false, true) => Show::Document,
            (false, false) => Show::Person,
        }
    }

    fn now(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

fn print(part: &StreamPart, app: &mut App) {
    if let Ok(text) = serde_json::to_string(part) {
        let _ = app.out.line(text).and_then(|()| app.out.flush());
    }
}

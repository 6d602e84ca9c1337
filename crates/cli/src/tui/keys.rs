//! What the keyboard means while nothing is asked: moving and changing views.

use super::commands;
use super::editor::Editor;
use super::model::{Effect, Model, Tone, View};
use super::modes::Mode;
use super::roster::State;
use super::watched::Scope;
use fugato_model::{Exit, words};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// By how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Up(usize),
    Down(usize),
    First,
    Last,
}

impl Step {
    /// The new place in a list of so many.
    pub fn from(self, at: usize, count: usize) -> usize {
        let last = count.saturating_sub(1);
        match self {
            Self::Up(by) => at.saturating_sub(by).min(last),
            Self::Down(by) => at.saturating_add(by).min(last),
            Self::First => 0,
            Self::Last => last,
        }
    }
}

impl Model {
    pub fn normal_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return self.control_key(key);
        }
        let page = self.body_rows().saturating_sub(2).max(1);
        match key.code {
            KeyCode::Char('q') => return vec![Effect::Quit(Exit::Ok)],
            KeyCode::Char('?') | KeyCode::F(1) => self.mode = Mode::Help { scroll: 0 },
            KeyCode::Up | KeyCode::Char('k') => return self.go(Step::Up(1)),
            KeyCode::Down | KeyCode::Char('j') => return self.go(Step::Down(1)),
            KeyCode::PageUp => return self.go(Step::Up(page)),
            KeyCode::PageDown | KeyCode::Char(' ') => return self.go(Step::Down(page)),
            KeyCode::Home => return self.go(Step::First),
            KeyCode::End | KeyCode::Char('G') => return self.go(Step::Last),
            KeyCode::Tab | KeyCode::Right => return self.turn(1),
            KeyCode::BackTab | KeyCode::Left => return self.turn(View::ALL.len() - 1),
            KeyCode::Char('0') => return self.show(View::Runs),
            KeyCode::Char(digit @ '1'..='8') => {
                let nth = digit.to_digit(10).map_or(0, |digit| digit as usize - 1);
                return View::ALL.get(nth).map(|view| self.show(*view)).unwrap_or_default();
            }
            KeyCode::Char('b') => return self.show(View::Board),
            KeyCode::Char('g') => return self.show(View::Graph),
            KeyCode::Char('t') => return self.show(View::Timeline),
            KeyCode::Char('i') => return self.show(View::Inbox),
            KeyCode::Esc => return self.back(),
            KeyCode::Enter => return self.enter(),
            KeyCode::Char('/') if self.is_list() => {
                self.mode = Mode::Filter(Editor::with(&self.filter));
            }
            KeyCode::Char('/') => {
                self.show(View::Events);
                self.mode = Mode::Filter(Editor::with(&self.filter));
            }
            KeyCode::Char('a') if self.view == View::Board => {
                self.scope = if self.scope == Scope::All { Scope::Open } else { Scope::All };
            }
            KeyCode::Char('d') if self.view == View::Timeline => self.is_deep = !self.is_deep,
            KeyCode::F(2) => return self.switch_mouse(),
            KeyCode::Char('y') => {
                let line = commands::shown(self);
                self.say(Tone::Plain, &words!("copied: {line}", "已复制：{line}"));
                if let Some(status) = &mut self.status {
                    status.line = Some(line.clone());
                }
                return vec![Effect::Copy(line)];
            }
            KeyCode::Char(c) => return self.intervene(c),
            _ => {}
        }
        Vec::new()
    }

    fn control_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let half = (self.body_rows() / 2).max(1);
        match key.code {
            KeyCode::Char('d') => self.go(Step::Down(half)),
            KeyCode::Char('u') => self.go(Step::Up(half)),
            KeyCode::Char('f') => self.go(Step::Down(half * 2)),
            KeyCode::Char('b') => self.go(Step::Up(half * 2)),
            KeyCode::Char('n') => self.go(Step::Down(1)),
            KeyCode::Char('p') => self.go(Step::Up(1)),
            _ => Vec::new(),
        }
    }

    /// The next view, `by` further on.
    fn turn(&mut self, by: usize) -> Vec<Effect> {
        let at = View::ALL.iter().position(|view| *view == self.view);
        let next = at.map_or(0, |at| (at + by) % View::ALL.len());
        View::ALL.get(next).map(|view| self.show(*view)).unwrap_or_default()
    }

    pub fn show(&mut self, view: View) -> Vec<Effect> {
        if view == View::Runs {
            self.set_filter("");
            self.view = view;
            let open = self.watched.as_ref().map(|watched| watched.card.id.clone());
            let place = self.cards().iter().position(|card| Some(&card.id) == open.as_ref());
            self.chosen_run = place.unwrap_or(0);
            return Vec::new();
        }
        if self.watched.is_none() {
            self.say(Tone::Plain, &words!("open a run first: Enter", "请先打开一个运行：Enter"));
            return Vec::new();
        }
        if view == View::Agent {
            return match self.board_row().or(self.watched.as_ref().and_then(|watched| watched.chosen)) {
                Some(row) => self.open_row(row),
                None => Vec::new(),
            };
        }
        if view != self.view {
            self.set_filter("");
            self.watched.iter_mut().for_each(|watched| watched.scroll = 0);
        }
        self.view = view;
        Vec::new()
    }

    fn back(&mut self) -> Vec<Effect> {
        if !self.filter.is_empty() {
            self.set_filter("");
            return Vec::new();
        }
        match self.view {
            View::Runs if self.watched.is_some() => self.show(View::Board),
            View::Runs => Vec::new(),
            View::Board => self.show(View::Runs),
            View::Agent => {
                self.view = self.came_from;
                Vec::new()
            }
            _ => self.show(View::Board),
        }
    }

    pub fn enter(&mut self) -> Vec<Effect> {
        match self.view {
            View::Runs => match self.card().map(|card| card.id.clone()) {
                Some(id) => self.open(&id),
                None => Vec::new(),
            },
            View::Board => self.board_row().map(|row| self.open_row(row)).unwrap_or_default(),
            View::Events => {
                let row =
                    self.watched.as_ref().and_then(|watched| watched.log.get(watched.event_place()?)?.row);
                row.map(|row| self.open_row(row)).unwrap_or_default()
            }
            View::Inbox => {
                self.ask_question();
                Vec::new()
            }
            View::Graph | View::Timeline | View::Agent | View::Control | View::Policy => Vec::new(),
        }
    }

    /// The row under the cursor of the board: the chosen one while it is shown, else the first at work.
    pub fn board_row(&self) -> Option<usize> {
        let watched = self.watched.as_ref()?;
        let filter = if self.view == View::Board { self.filter.as_str() } else { "" };
        let scope = if self.view == View::Board { self.scope } else { Scope::All };
        let shown = watched.shown(filter, scope, self.lang);
        if let Some(chosen) = watched.chosen.filter(|chosen| shown.iter().any(|(at, ..)| at == chosen)) {
            return Some(chosen);
        }
        let at_work = shown.iter().find(|(_, _, state)| !state.is_over() && *state != State::Pending);
        at_work.or(shown.first()).map(|(at, ..)| *at)
    }

    pub fn go(&mut self, step: Step) -> Vec<Effect> {
        match self.view {
            View::Runs => {
                self.chosen_run = step.from(self.chosen_run, self.cards().len());
            }
            View::Board => {
                let chosen = self.board_row();
                let Some(watched) = &mut self.watched else { return Vec::new() };
                let shown = watched.shown(&self.filter, self.scope, self.lang);
                let place = shown.iter().position(|(at, ..)| Some(*at) == chosen).unwrap_or(0);
                watched.chosen = shown.get(step.from(place, shown.len())).map(|(at, ..)| *at);
            }
            View::Events => return self.go_in_events(step),
            View::Inbox => {
                let Some(watched) = &mut self.watched else { return Vec::new() };
                watched.chosen_question = step.from(watched.chosen_question, watched.questions().len());
            }
            View::Control => {
                let Some(watched) = &mut self.watched else { return Vec::new() };
                watched.chosen_directive = step.from(watched.chosen_directive, watched.directives.list.len());
            }
            View::Agent => return self.scroll_talk(step),
            View::Graph | View::Timeline | View::Policy => {
                let count = super::draw::lines_of(self);
                let most = count.saturating_sub(self.body_rows()) + 1;
                let Some(watched) = &mut self.watched else { return Vec::new() };
                watched.scroll = step.from(watched.scroll, most);
            }
        }
        Vec::new()
    }

    fn scroll_talk(&mut self, step: Step) -> Vec<Effect> {
        let (columns, width, room) = (self.columns, self.width, self.body_rows().saturating_sub(1));
        let Some(talk) = self.watched.as_mut().and_then(|watched| watched.talk.as_mut()) else {
            return Vec::new();
        };
        let total: usize = talk.entries.iter().map(|entry| entry.lines(columns, width).len()).sum();
        let most = total.saturating_sub(room);
        talk.below = match step {
            Step::Up(by) => (talk.below + by).min(most),
            Step::Down(by) => talk.below.saturating_sub(by),
            Step::First => most,
            Step::Last => 0,
        };
        if talk.below == most && matches!(step, Step::Up(_) | Step::First) {
            return self.load_earlier();
        }
        Vec::new()
    }
}

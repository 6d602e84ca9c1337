//! What the keyboard means while nothing is asked: moving, changing views, and the beginning of every intervention.

use super::commands;
use super::editor::Editor;
use super::model::{Effect, Model, Tone, View, What};
use super::modes::{Ask, Choice, ChoiceKind, Mode, Recipient, Sure};
use super::roster::State;
use super::watched::Scope;
use fugato_engine::{AgentPath, AnswerType, Asked, Target, Verb};
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

    fn intervene(&mut self, c: char) -> Vec<Effect> {
        match c {
            'p' | 'e' | 'x' | 'r' | 'm' => self.on_agent(c),
            'P' | 'X' | 'M' | 'c' => self.on_run(c),
            _ => Vec::new(),
        }
    }

    /// Why nothing can be told to the run on the screen.
    fn closed(&mut self) -> bool {
        let Some(watched) = &self.watched else {
            self.say(Tone::Plain, &words!("open a run first: Enter", "请先打开一个运行：Enter"));
            return true;
        };
        if watched.run.is_none() {
            self.say(Tone::Plain, &words!("the run is not read yet", "尚未读完该运行"));
            return true;
        }
        if watched.is_over() {
            let (id, status) = (watched.card.id.clone(), watched.status().to_owned());
            self.say(
                Tone::Bad,
                &words!(
                    "the run has ended ({status}). Once more: fugato rerun {id}",
                    "运行已结束（{status}）。重新运行：fugato rerun {id}"
                ),
            );
            return true;
        }
        false
    }

    fn on_agent(&mut self, c: char) -> Vec<Effect> {
        if self.closed() {
            return Vec::new();
        }
        let row = match self.view {
            View::Agent => {
                self.watched.as_ref().and_then(|watched| watched.talk.as_ref()).map(|talk| talk.row)
            }
            View::Board => self.board_row(),
            _ => self.watched.as_ref().and_then(|watched| watched.chosen).or_else(|| self.board_row()),
        };
        let Some(watched) = &self.watched else { return Vec::new() };
        let found = row.and_then(|at| Some((watched.row(at)?, watched.run.as_ref()?)));
        let Some(((row, state), run)) = found else {
            self.say(Tone::Plain, &words!("nobody is there yet", "还没有代理"));
            return Vec::new();
        };
        let (name, path) = (row.name.clone(), row.path(run).map(str::to_owned));
        let node = row.node.and_then(|node| run.plan_node(node)).map(|node| node.id.clone());
        let is_paused = state == State::Paused;
        if c == 'r' {
            match node.or(path) {
                Some(node) => self.mode = Mode::Confirm(Sure::Restart { node }),
                None => self.say(Tone::Bad, &words!("`{name}` has not started", "`{name}` 尚未开始")),
            }
            return Vec::new();
        }
        // A text is not asked for in vain; whether the rest is possible, the owner of the run decides.
        if path.is_none() && matches!(c, 'e' | 'm') {
            let words = match state {
                State::Pending | State::Queued => words!("`{name}` has not started", "`{name}` 尚未开始"),
                _ => words!("`{name}` is a program, not an agent", "`{name}` 是程序而不是代理"),
            };
            self.say(Tone::Bad, &words);
            return Vec::new();
        }
        let agent = path.or(node).unwrap_or(name);
        match c {
            'p' => {
                let verb = if is_paused { Verb::Resume } else { Verb::Pause };
                return self.direct(verb, Target::Agent(AgentPath::new(&agent)), None);
            }
            'e' => self.mode = Mode::Prompt { ask: Ask::Redirect { agent }, editor: Editor::default() },
            'x' => self.mode = Mode::Confirm(Sure::Cancel { agent }),
            _ => {
                let ask = Ask::Message { to: Recipient::Agent(agent) };
                self.mode = Mode::Prompt { ask, editor: Editor::default() };
            }
        }
        Vec::new()
    }

    fn on_run(&mut self, c: char) -> Vec<Effect> {
        let exhausted = self.watched.as_ref().is_some_and(|watched| watched.status() == "budget_exhausted");
        if c == 'c' && exhausted {
            let id = self.watched.as_ref().map(|watched| watched.card.id.clone()).unwrap_or_default();
            self.say(
                Tone::Bad,
                &words!(
                    "its budget is used up: fugato resume {id} --budget-tokens N",
                    "预算已用完：fugato resume {id} --budget-tokens N"
                ),
            );
            return Vec::new();
        }
        if self.closed() {
            return Vec::new();
        }
        let Some(watched) = &self.watched else { return Vec::new() };
        let is_paused = watched
            .run
            .as_ref()
            .is_some_and(|run| run.held || run.agents.iter().any(|agent| agent.paused && agent.is_live()));
        match c {
            'P' => {
                let verb = if is_paused { Verb::Resume } else { Verb::Pause };
                return self.direct(verb, Target::All, None);
            }
            'X' => self.mode = Mode::Confirm(Sure::CancelAll),
            'M' => {
                let ask = Ask::Message { to: Recipient::All };
                self.mode = Mode::Prompt { ask, editor: Editor::default() };
            }
            _ if watched.card.is_live => {
                self.say(Tone::Plain, &words!("somebody works on it already", "已有进程在执行它"));
            }
            _ => {
                let line = commands::gone_on(&watched.card.id);
                return self.act(What::GoOn, line);
            }
        }
        Vec::new()
    }

    /// Asks the person what the chosen question asks.
    fn ask_question(&mut self) {
        let Some(watched) = &self.watched else { return };
        let number = watched.questions().get(watched.chosen_question).copied();
        let asked =
            number.and_then(|number| Some((number, watched.run.as_ref()?.questions.get(number as usize)?)));
        let Some((question, asked)) = asked else { return };
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        let (kind, options): (_, Vec<String>) = match asked.about {
            Asked::Permission { .. } => (ChoiceKind::Permission, words(&["allow", "always", "deny"])),
            Asked::Uncertain { .. } => (ChoiceKind::Closed, words(&["repeat", "done", "fail"])),
            Asked::Agent { .. } | Asked::Task { .. } => match asked.wants.answer_type {
                AnswerType::Boolean => (ChoiceKind::Closed, words(&["yes", "no"])),
                AnswerType::Choice => (ChoiceKind::Closed, asked.options.clone()),
                _ => (ChoiceKind::Open, asked.options.clone()),
            },
        };
        self.mode = if options.is_empty() {
            Mode::Prompt { ask: Ask::Answer { question }, editor: Editor::default() }
        } else {
            Mode::Choice(Choice { question, options, kind, at: 0 })
        };
    }
}

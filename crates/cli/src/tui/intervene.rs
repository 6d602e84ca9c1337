//! The beginning of every intervention: whom a key means, whether that one can be told anything, and what is asked first.

use super::commands;
use super::editor::Editor;
use super::model::{Effect, Model, Tone, View, What};
use super::modes::{Ask, Choice, ChoiceKind, Mode, Recipient, Sure};
use super::roster::State;
use fugato_engine::{AgentPath, AnswerType, Asked, Target, Verb};
use fugato_model::words;

impl Model {
    pub fn intervene(&mut self, c: char) -> Vec<Effect> {
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
    pub fn ask_question(&mut self) {
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

//! What the mouse means: a click chooses what it points at, a second one opens it; the wheel scrolls. Nothing is ever sent by
//! a click: interventions need their keys.

use super::draw;
use super::keys::Step;
use super::model::{Effect, Model, Tone, View};
use super::modes::Mode;
use fugato_model::words;

/// Something a hand did, at a cell of the screen counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    pub what: Pressed,
    pub column: usize,
    pub row: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    Click,
    WheelUp,
    WheelDown,
}

/// Of one notch of the wheel.
const LINES: usize = 3;

impl Model {
    pub fn mouse(&mut self, mouse: Mouse) -> Vec<Effect> {
        match mouse.what {
            Pressed::WheelUp => self.wheel(Step::Up(LINES)),
            Pressed::WheelDown => self.wheel(Step::Down(LINES)),
            Pressed::Click => self.click(mouse.column, mouse.row),
        }
    }

    /// The mouse is for this screen, or for the terminal, which selects text with it.
    pub fn switch_mouse(&mut self) -> Vec<Effect> {
        self.has_mouse = !self.has_mouse;
        let words = match self.has_mouse {
            true => words!("the mouse chooses and scrolls", "鼠标用于选择和滚动"),
            false => words!("the mouse is the terminal's own: select text", "鼠标交还给终端，可选择文字"),
        };
        self.say(Tone::Plain, &words);
        vec![Effect::Mouse(self.has_mouse)]
    }

    fn wheel(&mut self, step: Step) -> Vec<Effect> {
        match self.mode {
            Mode::Normal => self.go(step),
            Mode::Help { scroll } => {
                self.mode = Mode::Help { scroll: step.from(scroll, draw::help::rows(self)) };
                Vec::new()
            }
            Mode::Filter(_) | Mode::Prompt { .. } | Mode::Confirm(_) | Mode::Choice(_) => Vec::new(),
        }
    }

    fn click(&mut self, column: usize, row: usize) -> Vec<Effect> {
        if self.mode != Mode::Normal {
            return Vec::new();
        }
        if let Some(view) = draw::tab_at(self, column, row) {
            return self.show(view);
        }
        let item = draw::screen(self).rows.get(row).and_then(|shown| shown.item);
        match item {
            Some(item) if self.is_chosen(item) => self.enter(),
            Some(item) => {
                self.choose(item);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn is_chosen(&self, item: usize) -> bool {
        let watched = self.watched.as_ref();
        match self.view {
            View::Runs => self.chosen_run == item,
            View::Board => self.board_row() == Some(item),
            View::Events => watched.is_some_and(|watched| watched.event_place() == Some(item)),
            View::Inbox => watched.is_some_and(|watched| watched.chosen_question == item),
            View::Control | View::Agent | View::Graph | View::Timeline | View::Policy => false,
        }
    }

    fn choose(&mut self, item: usize) {
        if self.view == View::Runs {
            self.chosen_run = item;
        }
        let Some(watched) = &mut self.watched else { return };
        match self.view {
            View::Board => watched.chosen = Some(item),
            View::Events => watched.choose_event(item),
            View::Inbox => watched.chosen_question = item,
            View::Control => watched.chosen_directive = item,
            View::Runs | View::Agent | View::Graph | View::Timeline | View::Policy => {}
        }
    }
}

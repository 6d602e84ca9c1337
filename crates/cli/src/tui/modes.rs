//! What the keyboard means while the screen asks something: a text, a yes, one of several answers. Nothing is sent before
//! the key that says so.

use super::commands::{self, answered, approved};
use super::editor::{Editor, Erase, Move};
use super::model::{Effect, Model, Unowned, View, What};
use fugato_engine::{AgentPath, Command, MessageKind, Target, Verb};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the keyboard is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Normal,
    Help {
        scroll: usize,
    },
    Filter(Editor),
    Prompt {
        ask: Ask,
        editor: Editor,
    },
    Confirm(Sure),
    Choice(Choice),
}

/// What a text is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    Redirect {
        agent: String,
    },
    Message {
        to: Recipient,
    },
    Answer {
        question: u32,
    },
    /// Why something is not allowed; may be left empty.
    Deny {
        question: u32,
    },
    /// The second question before everything is cancelled: the word must be typed.
    CancelAll,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    All,
    Agent(String),
}

impl Recipient {
    pub fn target(&self) -> Target {
        match self {
            Self::All => Target::All,
            Self::Agent(path) => Target::Agent(AgentPath::new(path)),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::All => "all",
            Self::Agent(path) => path,
        }
    }
}

/// What a yes is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sure {
    Cancel {
        agent: String,
    },
    Restart {
        node: String,
    },
    /// The first of two questions.
    CancelAll,
}

/// One of several answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub question: u32,
    pub options: Vec<String>,
    pub kind: ChoiceKind,
    pub at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceKind {
    /// Only these.
    Closed,
    /// These, or words of one's own: one more line.
    Open,
    /// Allow, always, deny.
    Permission,
}

impl Choice {
    /// Lines to choose from.
    pub fn count(&self) -> usize {
        self.options.len() + usize::from(self.kind == ChoiceKind::Open)
    }
}

/// What must be typed before everything is cancelled.
pub const CANCEL_ALL_WORD: &str = "all";

impl Model {
    pub fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, is_control) {
            (KeyCode::Char('c'), true) => return vec![Effect::Quit(fugato_model::Exit::Interrupted)],
            (KeyCode::Char('z'), true) => return vec![Effect::Suspend],
            (KeyCode::Char('l'), true) => return vec![Effect::Repaint],
            _ => {}
        }
        match std::mem::take(&mut self.mode) {
            Mode::Normal => self.normal_key(key),
            Mode::Help { scroll } => self.help_key(key, scroll),
            Mode::Filter(editor) => self.filter_key(key, editor),
            Mode::Prompt { ask, editor } => self.prompt_key(key, ask, editor),
            Mode::Confirm(sure) => self.confirm_key(key, sure),
            Mode::Choice(choice) => self.choice_key(key, choice),
        }
    }

    pub fn paste(&mut self, text: &str) {
        match &mut self.mode {
            Mode::Prompt { editor, .. } => editor.insert(text),
            Mode::Filter(editor) => {
                editor.insert(text.lines().next().unwrap_or_default());
                let filter = editor.text();
                self.set_filter(&filter);
            }
            Mode::Normal | Mode::Help { .. } | Mode::Confirm(_) | Mode::Choice(_) => {}
        }
    }

    fn help_key(&mut self, key: KeyEvent, scroll: usize) -> Vec<Effect> {
        let scroll = match key.code {
            KeyCode::Down | KeyCode::Char('j') => scroll + 1,
            KeyCode::PageDown | KeyCode::Char(' ') => scroll + self.body_rows(),
            KeyCode::Up | KeyCode::Char('k') => scroll.saturating_sub(1),
            KeyCode::PageUp => scroll.saturating_sub(self.body_rows()),
            KeyCode::Home => 0,
            _ => return Vec::new(),
        };
        self.mode = Mode::Help { scroll: scroll.min(super::draw::help::rows(self).saturating_sub(1)) };
        Vec::new()
    }

    fn filter_key(&mut self, key: KeyEvent, mut editor: Editor) -> Vec<Effect> {
        match key.code {
            KeyCode::Enter => return Vec::new(),
            KeyCode::Esc => self.set_filter(""),
            _ => {
                edit(&mut editor, key);
                let filter = editor.text();
                self.set_filter(&filter);
                self.mode = Mode::Filter(editor);
            }
        }
        Vec::new()
    }

    fn prompt_key(&mut self, key: KeyEvent, ask: Ask, mut editor: Editor) -> Vec<Effect> {
        let breaks = KeyModifiers::ALT | KeyModifiers::SHIFT;
        match key.code {
            KeyCode::Esc => return Vec::new(),
            KeyCode::Enter if key.modifiers.intersects(breaks) => editor.insert("\n"),
            KeyCode::Enter => {
                let may_be_empty = matches!(ask, Ask::Deny { .. });
                if may_be_empty || !editor.is_blank() {
                    return self.submit(&ask, editor);
                }
            }
            _ => edit(&mut editor, key),
        }
        self.mode = Mode::Prompt { ask, editor };
        Vec::new()
    }

    fn submit(&mut self, ask: &Ask, editor: Editor) -> Vec<Effect> {
        let Some(run) = self.watched.as_ref().map(|watched| watched.card.id.clone()) else {
            return Vec::new();
        };
        let text = editor.text();
        let text = text.trim();
        match ask {
            Ask::Redirect { agent } => {
                self.direct(Verb::Redirect, Target::Agent(AgentPath::new(agent)), Some(text))
            }
            Ask::Message { to } => {
                let (from, text) = ("user".to_owned(), text.to_owned());
                let line = commands::sent(&run, to.name(), &text);
                let command = Command::Send { to: to.target(), from, text, kind: MessageKind::Handoff };
                self.act(What::Tell { command, unowned: Unowned::Leave }, line)
            }
            Ask::Answer { question } => {
                self.answer(*question, text.to_owned(), answered(&run, *question, text))
            }
            Ask::Deny { question } => {
                let answer = if text.is_empty() { "deny".to_owned() } else { format!("deny: {text}") };
                self.answer(*question, answer.clone(), approved(&run, *question, &answer))
            }
            Ask::CancelAll if text == CANCEL_ALL_WORD => self.direct(Verb::Cancel, Target::All, None),
            // Anything else is a no; but a slip of the finger may be mended.
            Ask::CancelAll => {
                self.mode = Mode::Prompt { ask: Ask::CancelAll, editor };
                Vec::new()
            }
        }
    }

    fn confirm_key(&mut self, key: KeyEvent, sure: Sure) -> Vec<Effect> {
        match key.code {
            KeyCode::Char('y' | 'Y') => match sure {
                Sure::Cancel { agent } => {
                    self.direct(Verb::Cancel, Target::Agent(AgentPath::new(&agent)), None)
                }
                Sure::Restart { node } => {
                    self.direct(Verb::Restart, Target::Agent(AgentPath::new(&node)), None)
                }
                Sure::CancelAll => {
                    self.mode = Mode::Prompt { ask: Ask::CancelAll, editor: Editor::default() };
                    Vec::new()
                }
            },
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc | KeyCode::Enter => Vec::new(),
            _ => {
                self.mode = Mode::Confirm(sure);
                Vec::new()
            }
        }
    }

    fn choice_key(&mut self, key: KeyEvent, mut choice: Choice) -> Vec<Effect> {
        let last = choice.count().saturating_sub(1);
        match key.code {
            KeyCode::Esc => return Vec::new(),
            KeyCode::Down | KeyCode::Char('j') => choice.at = (choice.at + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => choice.at = choice.at.saturating_sub(1),
            KeyCode::Home => choice.at = 0,
            KeyCode::End => choice.at = last,
            KeyCode::Enter => return self.chosen(&choice),
            KeyCode::Char(digit @ '1'..='9') => {
                let at = digit.to_digit(10).map_or(0, |digit| digit as usize - 1);
                if at <= last {
                    choice.at = at;
                    return self.chosen(&choice);
                }
            }
            _ => {}
        }
        self.mode = Mode::Choice(choice);
        Vec::new()
    }

    fn chosen(&mut self, choice: &Choice) -> Vec<Effect> {
        let Some(run) = self.watched.as_ref().map(|watched| watched.card.id.clone()) else {
            return Vec::new();
        };
        let question = choice.question;
        match (choice.kind, choice.options.get(choice.at)) {
            (ChoiceKind::Permission, Some(word)) if word == "deny" => {
                self.mode = Mode::Prompt { ask: Ask::Deny { question }, editor: Editor::default() };
                Vec::new()
            }
            (ChoiceKind::Permission, Some(word)) => {
                self.answer(question, word.clone(), approved(&run, question, word))
            }
            (_, Some(option)) => self.answer(question, option.clone(), answered(&run, question, option)),
            (_, None) => {
                self.mode = Mode::Prompt { ask: Ask::Answer { question }, editor: Editor::default() };
                Vec::new()
            }
        }
    }

    fn answer(&mut self, question: u32, answer: String, line: String) -> Vec<Effect> {
        let command = Command::Answer { question, answer };
        self.act(What::Tell { command, unowned: Unowned::GoOn }, line)
    }

    pub fn direct(&mut self, verb: Verb, target: Target, text: Option<&str>) -> Vec<Effect> {
        let Some(run) = self.watched.as_ref().map(|watched| watched.card.id.clone()) else {
            return Vec::new();
        };
        let line = commands::directive(&run, verb, &target, text);
        let command = Command::Direct { verb, target, text: text.map(str::to_owned) };
        self.act(What::Tell { command, unowned: Unowned::Leave }, line)
    }

    /// Rows between the lines at the top and those at the bottom.
    pub fn body_rows(&self) -> usize {
        super::draw::Areas::of(self.columns, self.rows).body
    }

    pub fn is_list(&self) -> bool {
        matches!(self.view, View::Runs | View::Board | View::Events)
    }
}

/// The keys every line editor has.
fn edit(editor: &mut Editor, key: KeyEvent) {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let is_alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char('a') if is_control => editor.go(Move::Start),
        KeyCode::Char('e') if is_control => editor.go(Move::End),
        KeyCode::Char('b') if is_control => editor.go(Move::Left),
        KeyCode::Char('f') if is_control => editor.go(Move::Right),
        KeyCode::Char('b') if is_alt => editor.go(Move::WordLeft),
        KeyCode::Char('f') if is_alt => editor.go(Move::WordRight),
        KeyCode::Char('u') if is_control => editor.erase(Erase::ToStart),
        KeyCode::Char('k') if is_control => editor.erase(Erase::ToEnd),
        KeyCode::Char('w') if is_control => editor.erase(Erase::WordBefore),
        KeyCode::Char('d') if is_control => editor.erase(Erase::After),
        KeyCode::Char('h') if is_control => editor.erase(Erase::Before),
        KeyCode::Char('j') if is_control => editor.insert("\n"),
        KeyCode::Char(c) if !is_control && !is_alt => editor.insert(c.encode_utf8(&mut [0; 4])),
        KeyCode::Left if is_control || is_alt => editor.go(Move::WordLeft),
        KeyCode::Right if is_control || is_alt => editor.go(Move::WordRight),
        KeyCode::Left => editor.go(Move::Left),
        KeyCode::Right => editor.go(Move::Right),
        KeyCode::Home => editor.go(Move::Start),
        KeyCode::End => editor.go(Move::End),
        KeyCode::Backspace if is_control || is_alt => editor.erase(Erase::WordBefore),
        KeyCode::Backspace => editor.erase(Erase::Before),
        KeyCode::Delete => editor.erase(Erase::After),
        _ => {}
    }
}

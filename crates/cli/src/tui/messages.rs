//! What goes into the model and what comes out of it.

use super::mouse::Mouse;
use super::news::News;
use super::watched::Card;
use fugato_engine::Command;
use fugato_model::{Exit, Words};
use fugato_runtime::runs::Spoken;
use ratatui::crossterm::event::KeyEvent;

/// What happened outside.
#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    Paste(String),
    Mouse(Mouse),
    Resize(usize, usize),
    /// Some time has passed.
    Tick,
    /// The runs of this project, newest first.
    Runs(Vec<Card>),
    /// The run on the screen, as lists show it now.
    Card(Card),
    News {
        run: String,
        news: Vec<News>,
    },
    /// Events of one row, from the log.
    Page {
        run: String,
        row: usize,
        place: Place,
        news: Vec<News>,
    },
    /// Events that were asked for, in their order.
    Past {
        run: String,
        news: Vec<News>,
    },
    /// What somebody in a run is saying.
    Spoken {
        run: String,
        spoken: Spoken,
    },
    /// The run on the screen was removed.
    Gone {
        run: String,
    },
    Acted {
        id: u64,
        end: ActionEnd,
    },
    /// The store cannot be read; it is tried again.
    Trouble(Words),
    End(Exit),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Watch {
        run: String,
    },
    Load {
        run: String,
        row: usize,
        place: Place,
        seqs: Vec<u64>,
    },
    /// These events, for the list.
    Read {
        run: String,
        from: u64,
        count: u64,
    },
    Act(Action),
    Mouse(bool),
    Copy(String),
    Suspend,
    Repaint,
    Quit(Exit),
}

/// Where loaded entries go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Before,
    After,
}

/// Something for the owner of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    pub id: u64,
    pub run: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Tell {
        command: Command,
        unowned: Unowned,
    },
    /// Another process of ours takes the run over.
    GoOn,
}

/// What becomes of a command when nobody works on the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unowned {
    Leave,
    /// A process is started that goes on with the run, and decides it first.
    GoOn,
}

/// How an action ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionEnd {
    Applied,
    /// It is recorded; its owner has not taken it yet.
    Recorded,
    /// It is recorded, and nobody works on the run.
    Unowned,
    /// A process goes on with the run.
    WentOn,
    Refused(Words),
    Failed(Words),
}

/// Something that was told from here.
#[derive(Clone, Debug)]
pub struct Sent {
    pub id: u64,
    pub run: String,
    /// The same as a command line.
    pub line: String,
    pub end: Option<ActionEnd>,
}

/// The line above the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub tone: Tone,
    pub text: String,
    pub at: i64,
    /// What `y` copies while it stands there.
    pub line: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Busy,
    Good,
    Bad,
}

//! Does what a person asked for, on a thread of its own and in the order of the keys: the screen never waits for the
//! owner of a run.

use super::model::{Action, ActionEnd, Message, Unowned, What};
use crate::runs::spawn;
use fugato_engine::Command;
use fugato_model::{Words, words};
use fugato_runtime::runs::{CommandError, command};
use fugato_runtime::store::{Redactor, Store};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender, channel};
use std::time::Duration;

/// What is needed to reach a run.
#[derive(Debug)]
pub struct Hands {
    pub state: PathBuf,
    pub cwd: PathBuf,
    /// No secret is written, whatever somebody types.
    pub secrets: Arc<Redactor>,
}

/// An owner looks forty times a second; one that has not answered by then is said to be slow, and answers later.
const PATIENCE: Duration = Duration::from_secs(4);

pub fn start(hands: Hands, out: SyncSender<Message>) -> Sender<Action> {
    let (tell, told) = channel::<Action>();
    std::thread::spawn(move || {
        for action in told {
            let end = hands.perform(&action);
            if out.send(Message::Acted { id: action.id, end }).is_err() {
                return;
            }
        }
    });
    tell
}

impl Hands {
    fn perform(&self, action: &Action) -> ActionEnd {
        match &action.what {
            What::Tell { command, unowned } => self.tell(&action.run, command, *unowned),
            What::GoOn => self.go_on(&action.run),
        }
    }

    fn tell(&self, run: &str, told: &Command, unowned: Unowned) -> ActionEnd {
        let store = match Store::open(&self.state) {
            Ok(store) => store,
            Err(error) => return ActionEnd::Failed(error.words()),
        };
        store.set_redactor(Arc::clone(&self.secrets));
        match command(&store, run, told, PATIENCE) {
            Ok(()) => ActionEnd::Applied,
            Err(CommandError::Refused(refusal)) => ActionEnd::Refused(refusal.words),
            Err(CommandError::Pending) => ActionEnd::Recorded,
            Err(CommandError::Unowned) => match unowned {
                Unowned::Leave => ActionEnd::Unowned,
                Unowned::GoOn => {
                    drop(store);
                    self.go_on(run)
                }
            },
            Err(CommandError::Store(error)) => ActionEnd::Failed(error.words()),
        }
    }

    fn go_on(&self, run: &str) -> ActionEnd {
        let flags: [&str; 0] = [];
        match spawn(run, &flags, &self.state, &self.cwd) {
            Ok(mut child) => {
                // Somebody must take note of its end, or it would look alive for ever.
                std::thread::spawn(move || child.wait());
                ActionEnd::WentOn
            }
            Err(error) => ActionEnd::Failed(whole(&error)),
        }
    }
}

fn whole(error: &crate::error::CliError) -> Words {
    let (en, zh) = (&error.message.en, &error.message.zh);
    words!("{en}", "{zh}")
}

//! Asking a person on the terminal. Reading blocks, so it has a thread of its own: Ctrl-C must work meanwhile.

use super::drive::Interrupts;
use crate::app::App;
use fugato_engine::Run;
use std::io::BufRead as _;
use std::sync::mpsc;
use std::time::Duration;

/// What became of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Answered {
        question: u32,
        answer: String,
    },
    /// The input is closed, or there is no question.
    Nobody,
    Interrupted,
}

/// Asks the first open question; its text has been printed.
pub fn ask(run: &Run, interrupts: &Interrupts, app: &mut App) -> Asked {
    // Not every unanswered one: whoever asked may be gone.
    let Some((question, _)) = run.open_questions().next() else { return Asked::Nobody };
    app.out.prompt();
    let (tell, told) = mpsc::channel();
    // If nobody types, the thread ends with the process.
    let reading = std::thread::Builder::new().name("fugato-prompt".into()).spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let _ = tell.send(read.is_ok_and(|bytes| bytes > 0).then_some(line));
    });
    if reading.is_err() {
        return Asked::Nobody;
    }
    loop {
        match told.recv_timeout(Duration::from_millis(50)) {
            Ok(Some(line)) => {
                let answer = line.trim_end_matches(['\n', '\r']).to_owned();
                return Asked::Answered { question, answer };
            }
            Ok(None) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                app.out.aside("");
                return Asked::Nobody;
            }
            Err(mpsc::RecvTimeoutError::Timeout) if interrupts.count() > 0 => {
                app.out.aside("");
                return Asked::Interrupted;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
}

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
    match read_line(interrupts) {
        Line::Typed(answer) => Asked::Answered { question, answer },
        Line::Closed => {
            app.out.aside("");
            Asked::Nobody
        }
        Line::Interrupted => {
            app.out.aside("");
            Asked::Interrupted
        }
    }
}

/// What became of waiting for a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its break.
    Typed(String),
    Closed,
    Interrupted,
}

/// Reads one line of the standard input, unless Ctrl-C is or was pressed.
pub fn read_line(interrupts: &Interrupts) -> Line {
    let (tell, told) = mpsc::channel();
    // If nobody types, the thread ends with the process.
    let reading = std::thread::Builder::new().name("fugato-prompt".into()).spawn(move || {
        let mut line = Vec::new();
        let read = std::io::stdin().lock().read_until(b'\n', &mut line);
        let line = String::from_utf8_lossy(&line).into_owned();
        let _ = tell.send(read.is_ok_and(|bytes| bytes > 0).then_some(line));
    });
    if reading.is_err() {
        return Line::Closed;
    }
    loop {
        match told.recv_timeout(Duration::from_millis(50)) {
            Ok(Some(line)) => return Line::Typed(line.trim_end_matches(['\n', '\r']).to_owned()),
            Ok(None) | Err(mpsc::RecvTimeoutError::Disconnected) => return Line::Closed,
            Err(mpsc::RecvTimeoutError::Timeout) if interrupts.count() > 0 => return Line::Interrupted,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
}

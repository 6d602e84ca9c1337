//! A conversation line by line, typed on a terminal or piped in. Between two lines nobody holds the run, so another
//! process may answer as well.

use super::{Chat, Newest};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::runs::drive::Interrupts;
use crate::runs::prompt::{Line, read_line};
use crate::runs::{open, reporter};
use fugato_model::{Exit, words};
use std::io::IsTerminal as _;

/// Says every line until the input ends.
pub(super) fn talk(chat: &Chat<'_>, app: &mut App) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| CliError::internal(&error))?;
    let interrupts = Interrupts::listen(&runtime);
    let is_typed = std::io::stdin().is_terminal();
    let mut exit = welcome(chat, is_typed, app)?;
    if exit == Exit::Interrupted {
        return Ok(exit);
    }
    loop {
        if is_typed {
            app.out.prompt();
        }
        // One that was pressed while a request ended counts, too.
        let line = match read_line(&interrupts) {
            Line::Typed(line) => line,
            Line::Closed => {
                if is_typed {
                    app.out.aside("");
                }
                return Ok(exit);
            }
            Line::Interrupted => {
                app.out.aside("");
                chat.tell_left(app);
                return Ok(Exit::Interrupted);
            }
        };
        if line.trim().is_empty() {
            continue;
        }
        match chat.say(&line, app) {
            Ok(Exit::Interrupted) => return Ok(Exit::Interrupted),
            Ok(said) => exit = said,
            // On a terminal one can say something else; in a pipe, what follows was meant to follow an answer.
            Err(error) if is_typed => crate::tell(&error, &mut app.out),
            Err(error) => return Err(error),
        }
    }
}

/// Where the conversation stands: what it asked, or what was interrupted.
fn welcome(chat: &Chat<'_>, is_typed: bool, app: &mut App) -> Outcome {
    let newest = chat.newest(app)?;
    if is_typed {
        let (name, session) =
            (&chat.name, fugato_model::escape_for_terminal(&chat.args.session).into_owned());
        app.out.note(&words!(
            "{name}, conversation `{session}`. Ctrl-D ends; Ctrl-C leaves it as it is",
            "{name}，会话 `{session}`。Ctrl-D 结束；Ctrl-C 随时离开"
        ));
    }
    match newest {
        Newest::Interrupted(reader, row) => chat.go_on(reader, &row, app),
        Newest::Asks(reader, row) if is_typed => {
            let (_, run) = open(&reader, &row)?;
            if let Some((number, _)) = run.open_questions().next() {
                app.out.aside(&reporter::asked(&run, number, app.out.lang));
            }
            Ok(Exit::Waiting)
        }
        Newest::Asks(..) => Ok(Exit::Waiting),
        _ => Ok(Exit::Ok),
    }
}

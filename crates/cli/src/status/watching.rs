//! `fugato status --watch`: on a terminal the whole screen of `fugato watch`; elsewhere, and for runs of other programs, the
//! dashboard anew every second, until the run is over or nobody reads any more.

use super::{Layout, Looked, StatusArgs, document, lines, look, now, say_nobody};
use crate::app::App;
use crate::error::Outcome;
use fugato_model::Exit;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(1);

pub fn run(args: &StatusArgs, app: &mut App) -> Outcome {
    let is_screen = app.out.columns().is_some() && !app.out.json;
    let mut shown = String::new();
    let mut following = args.run.clone();
    loop {
        let view = match look(following.as_deref(), app)? {
            Looked::Run(view) => view,
            nobody => return say_nobody(&nobody, app),
        };
        // The run that was there at first, whatever else becomes active meanwhile.
        following = Some(view.id.clone());
        let is_ours = || crate::runs::reader(app).is_ok_and(|reader| reader.run(&view.id).is_ok());
        if is_screen && crate::tui::is_possible(app) && is_ours() {
            return crate::tui::watch(app, Some(&view.id));
        }
        let text = if app.out.json {
            document(&view, now(), app.out.lang).to_string()
        } else {
            lines(&view, None, now(), &Layout::new(app, args.all)).join("\n")
        };
        if is_screen {
            // To the upper left corner, and nothing of what was there before stays.
            app.out.line(format!("\x1b[H\x1b[J{text}"))?;
        } else if text != shown {
            app.out.line(&text)?;
        }
        app.out.flush()?;
        shown = text;
        if !view.is_active() {
            return Ok(Exit::Ok);
        }
        std::thread::sleep(EVERY);
        if app.out.is_unread() {
            return Ok(Exit::Ok);
        }
    }
}

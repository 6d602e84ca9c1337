//! Drives a session in this process, with progress, questions and Ctrl-C: what `run`, `resume` and `answer` share.

use super::follower::Follower;
use super::prompt::{Asked, ask};
use super::run_error;
use super::summary::summary;
use crate::app::App;
use crate::error::{CliError, Outcome};
use fugato_engine::{Input, Outcome as Ended, Run};
use fugato_model::{Exit, words};
use fugato_runtime::runs::{Control, End, Notice, RunError, Session};
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc as watch};
use std::time::Duration;
use tokio::sync::mpsc;

/// How the person watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watching {
    /// Events as lines of JSON.
    pub jsonl: bool,
    /// And the text of models as it arrives.
    pub stream: bool,
    pub no_input: bool,
}

type Watcher = Box<dyn FnMut(Notice) + Send>;

/// How often notices are taken and the screen is looked at.
const TICK: Duration = Duration::from_millis(20);

/// How a session was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A question is open.
    Waiting(Exit),
    Over {
        end: End,
        elapsed_ms: i64,
    },
}

/// Opens a session and drives it on this thread's runtime.
pub fn drive(
    app: &mut App,
    watching: &Watching,
    open: impl FnOnce(Watcher) -> Result<Session, RunError>,
) -> Outcome {
    follow(app, watching, open, |run, left, app| tell(run, left, watching, app))
}

/// The last words about a run.
pub fn tell(run: &Run, left: Left, watching: &Watching, app: &mut App) -> Outcome {
    match left {
        Left::Waiting(exit) => waiting(run, exit, app),
        Left::Over { end, elapsed_ms } => finish(run, end, elapsed_ms, watching, app),
    }
}

/// The same, with words of one's own at the end.
pub fn follow(
    app: &mut App,
    watching: &Watching,
    open: impl FnOnce(Watcher) -> Result<Session, RunError>,
    conclude: impl FnOnce(&Run, Left, &mut App) -> Outcome,
) -> Outcome {
    let (tell, told) = watch::channel::<Notice>();
    // The watcher runs inside the session's commit: it only hands over.
    let watcher: Watcher = Box::new(move |notice| {
        let _ = tell.send(notice);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::internal(&error))?;
    let interrupts = Interrupts::listen(&runtime);
    let mut session = {
        let _inside = runtime.enter();
        open(watcher).map_err(|error| run_error(&error))?
    };
    session.stay_while_paused();
    let mut follower = Follower::new(session.run(), *watching, app);
    loop {
        let end = runtime.block_on(work(&mut session, &told, &interrupts, &mut follower, app));
        app.out.board(Vec::new());
        match end.map_err(|error| run_error(&error))? {
            End::AwaitingInput if can_ask(app, watching) => match ask(session.run(), &interrupts, app) {
                Asked::Answered { question, answer } => session.tell(Input::Answer { question, answer }),
                Asked::Nobody => return conclude(session.run(), Left::Waiting(Exit::Waiting), app),
                Asked::Interrupted => {
                    return conclude(session.run(), Left::Waiting(Exit::Interrupted), app);
                }
            },
            End::AwaitingInput => return conclude(session.run(), Left::Waiting(Exit::Waiting), app),
            end @ (End::Ended | End::Paused | End::Stopped) => {
                let elapsed_ms = follower.last_at - follower.first_at.unwrap_or(follower.last_at);
                return conclude(session.run(), Left::Over { end, elapsed_ms }, app);
            }
        }
    }
}

/// Until the session has nothing more to do. The first Ctrl-C stops it gracefully, the second ends the process.
async fn work(
    session: &mut Session,
    told: &watch::Receiver<Notice>,
    interrupts: &Interrupts,
    follower: &mut Follower,
    app: &mut App,
) -> Result<End, RunError> {
    let id = session.run().spec.id.clone();
    let (controls, inbox) = mpsc::channel(16);
    let mut is_stopping = false;
    let end = {
        let mut work = std::pin::pin!(session.drive(inbox));
        loop {
            let end = tokio::select! {
                end = &mut work => Some(end),
                () = tokio::time::sleep(TICK) => None,
            };
            while let Ok(notice) = told.try_recv() {
                follower.notice(notice, app);
            }
            if let Some(end) = end {
                break end;
            }
            follower.tick(app);
            match interrupts.count() {
                0 => {}
                1 if is_stopping => {}
                1 => {
                    is_stopping = true;
                    let _ = controls.try_send(Control::Stop);
                    app.out.note(&words!(
                        "stopping; Ctrl-C again to stop now",
                        "正在停止；再按一次 Ctrl-C 立即停止"
                    ));
                }
                _ => stop_now(&id, app),
            }
        }
    };
    drop(controls);
    session.files_written().await;
    while let Ok(notice) = told.try_recv() {
        follower.notice(notice, app);
    }
    end
}

/// Processes of the run die with this one; what was under way is looked at when the run is resumed.
fn stop_now(id: &str, app: &mut App) -> ! {
    app.out.board(Vec::new());
    app.out
        .note(&words!("stopped at once. Go on: fugato resume {id}", "已立即停止。继续：fugato resume {id}"));
    let _ = app.out.flush();
    std::process::exit(i32::from(Exit::Interrupted.code()))
}

/// How often Ctrl-C was pressed since the session was opened.
#[derive(Clone, Debug)]
pub struct Interrupts(Arc<AtomicUsize>);

impl Interrupts {
    pub fn listen(runtime: &tokio::runtime::Runtime) -> Self {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        // Lives as long as the runtime, which ends with the command.
        runtime.spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self(count)
    }

    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn can_ask(app: &App, watching: &Watching) -> bool {
    std::io::stdin().is_terminal() && !app.out.json && !watching.jsonl && !watching.no_input
}

fn waiting(run: &Run, exit: Exit, app: &mut App) -> Outcome {
    if app.out.json {
        app.out.json(&document(run, app.out.lang))?;
    } else {
        let (en, zh) = (super::show::answering(run, "TEXT"), super::show::answering(run, "内容"));
        app.out.note(&words!(
            "waiting for an answer. Answer now, tomorrow, from anywhere: {en}",
            "等待回答。随时可以回答：{zh}"
        ));
    }
    Ok(exit)
}

fn finish(run: &Run, end: End, elapsed: i64, watching: &Watching, app: &mut App) -> Outcome {
    let id = run.spec.id.clone();
    if app.out.json {
        app.out.json(&document(run, app.out.lang))?;
    }
    match (&run.ended, end) {
        (Some((outcome, ..)), _) => {
            if !app.out.json && !watching.jsonl {
                summary(run, elapsed, &mut app.out)?;
            }
            Ok(exit_of(*outcome))
        }
        (None, End::Stopped) => {
            app.out.note(&words!(
                "stopped; what is done stays done. Go on: fugato resume {id}",
                "已停止；已完成的部分会保留。继续：fugato resume {id}"
            ));
            Ok(Exit::Interrupted)
        }
        (None, _) => {
            app.out.note(&words!("paused. Go on: fugato resume {id}", "已暂停。继续：fugato resume {id}"));
            Ok(Exit::Waiting)
        }
    }
}

pub fn exit_of(outcome: Ended) -> Exit {
    match outcome {
        Ended::Complete => Exit::Ok,
        Ended::Failed | Ended::Aborted => Exit::Failed,
        Ended::BudgetExhausted => Exit::Refused,
    }
}

/// `--json`: the run as it stands.
pub fn document(run: &Run, lang: fugato_model::Lang) -> serde_json::Value {
    let mut view = serde_json::to_value(run.view(lang)).unwrap_or_default();
    if let Some(object) = view.as_object_mut() {
        object.insert("schema".into(), "fugato.run/v1".into());
    }
    view
}

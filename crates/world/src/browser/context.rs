//! A browser, and the contexts in it: each has tabs, cookies and a gate of its own. What every action shares is here: the
//! time it may take, the tab it is about, and the report at its end.

use super::cdp::{Connection, Wires};
use super::error::BrowserError;
use super::events::{Dialogs, State, auto_attach};
use super::snapshot::Refs;
use crate::web::{Gate, Guard, Refused};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep};

/// A cold start on a busy machine takes seconds.
const START: Duration = Duration::from_secs(60);
/// What a click starts has begun by then; a page that starts it later is waited for with `wait`.
const MOMENT: Duration = Duration::from_millis(150);
/// How long a page that loads after a click is waited for.
const LOADING: Duration = Duration::from_secs(10);
/// Of the page that every action shows at its end; `snapshot` shows the rest.
const REPORT_BYTES: usize = 6 << 10;

/// A running browser at the other end of a pipe.
#[derive(Debug)]
pub struct Browser {
    connection: Connection,
    state: Arc<State>,
    wires: Arc<Wires>,
    guard: Guard,
}

impl Browser {
    /// Greets the browser. All its contexts will reach what `guard` allows.
    pub async fn connect(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        guard: Guard,
    ) -> Result<Self, BrowserError> {
        let state: Arc<State> = Arc::default();
        let hearing = Arc::clone(&state);
        let (connection, wires) =
            Connection::open(reader, writer, move |connection, event| hearing.take(connection, &event));
        let deadline = Instant::now() + START;
        connection.call(None, "Browser.getVersion", json!({}), deadline).await?;
        connection.call(None, "Target.setAutoAttach", auto_attach(), deadline).await?;
        Ok(Self { connection, state, wires: Arc::new(wires), guard })
    }

    pub fn is_alive(&self) -> bool {
        !self.connection.is_closed()
    }

    /// A new place with no tabs and no cookies.
    pub async fn context(&self) -> Result<Context, BrowserError> {
        let gate = Gate::open(self.guard.clone())
            .await
            .map_err(|error| BrowserError::page(format!("no port for the browser's connections: {error}")))?;
        let deadline = Instant::now() + START;
        let wanted = json!({
            "disposeOnDetach": true,
            "proxyServer": format!("socks5://127.0.0.1:{}", gate.port()),
            "proxyBypassList": "<-loopback>",
        });
        let made = self.connection.call(None, "Target.createBrowserContext", wanted, deadline).await?;
        let id = text_of(&made, "/browserContextId");
        let refuse = json!({"behavior": "deny", "browserContextId": id, "eventsEnabled": true});
        self.connection.call(None, "Browser.setDownloadBehavior", refuse, deadline).await?;
        Ok(Context {
            connection: self.connection.clone(),
            state: Arc::clone(&self.state),
            _wires: Arc::clone(&self.wires),
            guard: self.guard.clone(),
            gate,
            id,
            current: None,
            refs: HashMap::new(),
            deadline,
            seconds: 0,
        })
    }

    /// Asks the browser to end. Whoever owns the process makes sure.
    pub fn close(&self) {
        self.connection.tell(None, "Browser.close", &json!({}));
    }
}

/// The tabs of one user of the browser.
#[derive(Debug)]
pub struct Context {
    pub(super) connection: Connection,
    pub(super) state: Arc<State>,
    _wires: Arc<Wires>,
    pub(super) guard: Guard,
    pub(super) gate: Gate,
    pub(super) id: String,
    /// The tab that actions are about.
    pub(super) current: Option<String>,
    pub(super) refs: HashMap<String, Refs>,
    pub(super) deadline: Instant,
    seconds: u64,
}

/// What an action gives: words for whoever asked.
pub type Outcome = Result<String, BrowserError>;

/// A tab as actions use it.
#[derive(Clone, Debug)]
pub(super) struct Here {
    pub target: String,
    pub session: String,
}

impl Context {
    pub fn is_alive(&self) -> bool {
        !self.connection.is_closed()
    }

    /// From here an action has this long.
    pub(super) fn begin(&mut self, seconds: u64) {
        self.seconds = seconds;
        self.deadline = Instant::now() + Duration::from_secs(seconds);
    }

    /// Names the action in what went wrong, and forgets a tab that is of no use any more.
    pub(super) fn end<T>(
        &mut self,
        action: &'static str,
        result: Result<T, BrowserError>,
    ) -> Result<T, BrowserError> {
        result.map_err(|error| match error {
            _ if self.connection.is_closed() => BrowserError::Gone,
            BrowserError::TooSlow(_, 0) => BrowserError::TooSlow(action, self.seconds),
            BrowserError::Crashed => {
                self.forget_current();
                BrowserError::Crashed
            }
            error => error,
        })
    }

    pub(super) async fn call(&self, method: &'static str, params: Value) -> Result<Value, BrowserError> {
        self.connection.call(None, method, params, self.deadline).await
    }

    pub(super) async fn ask(
        &self,
        session: &str,
        method: &'static str,
        params: Value,
    ) -> Result<Value, BrowserError> {
        self.connection.call(Some(session), method, params, self.deadline).await
    }

    /// The tab that actions are about.
    pub(super) fn here(&mut self) -> Result<Here, BrowserError> {
        let current = self.current.clone().ok_or(BrowserError::NoPage)?;
        let found = self.state.of(&current, |tab| (tab.is_crashed, tab.session.clone()));
        match found {
            Some((false, session)) => Ok(Here { target: current, session }),
            Some((true, _)) => Err(BrowserError::Crashed),
            None => {
                self.current = None;
                Err(BrowserError::NoPage)
            }
        }
    }

    /// A new tab becomes the one that actions are about.
    pub(super) async fn open_tab(&mut self) -> Result<Here, BrowserError> {
        let wanted = json!({"url": "about:blank", "browserContextId": self.id});
        let made = self.call("Target.createTarget", wanted).await?;
        let target = text_of(&made, "/targetId");
        let session = self
            .state
            .until(self.deadline, |tabs| {
                tabs.iter().find(|tab| tab.target == target).map(|tab| tab.session.clone())
            })
            .await
            .ok_or(BrowserError::TooSlow("opening a tab", 0))?;
        // Told already, and answered only now: a page that is opened before its process heard of it says nothing of its
        // documents, and every call would wait in vain.
        self.ask(&session, "Page.enable", json!({})).await?;
        self.current = Some(target.clone());
        Ok(Here { target, session })
    }

    pub(super) fn forget_current(&mut self) {
        if let Some(target) = self.current.take() {
            self.refs.remove(&target);
            self.connection.tell(None, "Target.closeTarget", &json!({"targetId": target}));
            self.state.tabs().retain(|tab| tab.target != target);
        }
    }

    pub(super) fn answer_dialogs(&self, here: &Here, dialogs: Dialogs) {
        self.state.of(&here.target, |tab| tab.dialogs = dialogs);
    }

    /// Waits for what an action may have started.
    pub(super) async fn settle(&self, here: &Here) {
        sleep(MOMENT).await;
        let until = self.deadline.min(Instant::now() + LOADING);
        let is_still = |tabs: &mut Vec<super::events::Tab>| {
            let tab = tabs.iter().find(|tab| tab.target == here.target);
            tab.is_none_or(|tab| !tab.is_loading || tab.is_crashed).then_some(())
        };
        // Not loaded in time is no failure: the report says so.
        let _ = self.state.until(until, is_still).await;
    }

    /// Address, title, what happened meanwhile, and the beginning of the page.
    pub(super) async fn report(&mut self, here: &Here) -> Outcome {
        let mut text = self.heading(here).await?;
        let page = self.page(here, 1, REPORT_BYTES).await;
        match page {
            Ok(page) => text.push_str(&page),
            Err(BrowserError::TooSlow(..)) => text.push_str("[the page is busy and could not be read]"),
            Err(error) => return Err(error),
        }
        Ok(text)
    }

    pub(super) async fn heading(&mut self, here: &Here) -> Outcome {
        // The browser itself knows these, also when the page does not answer.
        let about = self.call("Target.getTargetInfo", json!({"targetId": here.target})).await?;
        let (url, title) = (text_of(&about, "/targetInfo/url"), text_of(&about, "/targetInfo/title"));
        let mut text =
            format!("page: {}\ntitle: {}\n", super::events::short(&url), super::events::short(&title));
        let (notes, loading) = self
            .state
            .of(&here.target, |tab| (std::mem::take(&mut tab.notes), tab.is_loading))
            .unwrap_or_default();
        if loading {
            text.push_str("[still loading]\n");
        }
        let refused = self.gate.take_refused();
        let refused = refused.iter().filter(|refused| !matches!(refused, Refused::Unknown(_)));
        for note in notes.into_iter().chain(refused.map(|refused| format!("not loaded: {refused}"))) {
            text.push_str(&format!("[{note}]\n"));
        }
        text.push('\n');
        Ok(text)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.connection.tell(None, "Target.disposeBrowserContext", &json!({"browserContextId": self.id}));
    }
}

pub(super) fn text_of(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

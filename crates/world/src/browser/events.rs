//! What the browser tells us, kept as the state of its tabs. The one place that hears events; it never waits.

use super::cdp::{Connection, Event};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Notes of a tab that nobody has read; a page that opens a thousand dialogs needs no thousand lines.
const MAX_NOTES: usize = 10;
/// A page that opens windows for ever is not followed.
const MAX_TABS: usize = 20;

/// How questions of a page are answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Dialogs {
    /// Messages are confirmed, questions declined.
    #[default]
    Careful,
    /// Yes to everything, with this text where one is asked for.
    Accept(Option<String>),
    Dismiss,
}

#[derive(Debug)]
pub(super) struct Tab {
    /// Also the id of its main frame.
    pub target: String,
    pub session: String,
    pub context: String,
    pub is_loading: bool,
    /// The document can be read, though pictures may still come.
    pub is_ready: bool,
    /// Counts the documents of the main frame: refs of another document mean nothing.
    pub document: u64,
    pub is_crashed: bool,
    pub dialogs: Dialogs,
    pub notes: Vec<String>,
    /// Frames of other sites live in processes of their own: their frame and its session.
    pub frames: HashMap<String, String>,
}

impl Tab {
    fn note(&mut self, text: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(text);
        }
    }
}

/// All tabs of a browser, in the order they were opened.
#[derive(Debug, Default)]
pub(super) struct State {
    tabs: Mutex<Vec<Tab>>,
    changed: Notify,
}

impl State {
    pub fn tabs(&self) -> MutexGuard<'_, Vec<Tab>> {
        self.tabs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks one tab; `None`: it is gone.
    pub fn of<T>(&self, target: &str, ask: impl FnOnce(&mut Tab) -> T) -> Option<T> {
        self.tabs().iter_mut().find(|tab| tab.target == target).map(ask)
    }

    /// Waits until `find` finds something, or nothing more can come.
    pub async fn until<T>(
        &self,
        deadline: Instant,
        mut find: impl FnMut(&mut Vec<Tab>) -> Option<T>,
    ) -> Option<T> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = find(&mut self.tabs()) {
                return Some(found);
            }
            timeout_at(deadline, changed).await.ok()?;
        }
    }

    /// Takes one event and answers it where the page would wait for us.
    pub fn take(self: &Arc<Self>, connection: &Connection, event: &Event) {
        let mut tabs = self.tabs();
        let text = |key: &str| event.params.get(key).and_then(Value::as_str).unwrap_or_default();
        match event.method.as_str() {
            "Target.attachedToTarget" => attached(&mut tabs, connection, event),
            "Target.detachedFromTarget" => {
                let session = text("sessionId");
                connection.fail_session(session);
                tabs.retain(|tab| tab.session != session);
                for tab in tabs.iter_mut() {
                    tab.frames.retain(|_, own| own != session);
                }
            }
            "Target.targetCrashed" => {
                for tab in tabs.iter_mut().filter(|tab| tab.target == text("targetId")) {
                    tab.is_crashed = true;
                    tab.is_loading = false;
                    connection.fail_session(&tab.session);
                }
            }
            "Browser.downloadWillBegin" => {
                let (frame, name, url) = (text("frameId"), text("suggestedFilename"), text("url"));
                let is_here = |tab: &&mut Tab| tab.target == frame || tab.frames.contains_key(frame);
                if let Some(tab) = tabs.iter_mut().find(is_here) {
                    let (name, url) = (short(name), short(url));
                    tab.note(format!("the page offered a download of `{name}` ({url}), which was refused; WebFetch can read it"));
                }
            }
            method => {
                let Some(session) = event.session.as_deref() else { return };
                let owner =
                    |tab: &&mut Tab| tab.session == session || tab.frames.values().any(|own| own == session);
                if let Some(tab) = tabs.iter_mut().find(owner) {
                    of_page(tab, connection, session, method, &event.params);
                }
            }
        }
        drop(tabs);
        self.changed.notify_waiters();
    }
}

/// A tab, or a frame of another site inside one. It waits until everything is switched on.
fn attached(tabs: &mut Vec<Tab>, connection: &Connection, event: &Event) {
    let text =
        |pointer: &str| event.params.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (session, target, kind) =
        (text("/sessionId"), text("/targetInfo/targetId"), text("/targetInfo/type"));
    let context = text("/targetInfo/browserContextId");
    let tell = |method: &str, params: Value| connection.tell(Some(&session), method, &params);
    tell("Target.setAutoAttach", auto_attach());
    tell("Page.enable", json!({}));
    if kind == "page" {
        if tabs.iter().filter(|tab| tab.context == context).count() >= MAX_TABS {
            connection.tell(None, "Target.closeTarget", &json!({"targetId": target}));
            return;
        }
        tell("Page.setInterceptFileChooserDialog", json!({"enabled": true}));
        tell(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false}),
        );
        let (opener, url) = (text("/targetInfo/openerId"), short(&text("/targetInfo/url")));
        if let Some(opener) = tabs.iter_mut().find(|tab| tab.target == opener) {
            let shown = if url.is_empty() { String::new() } else { format!(" ({url})") };
            opener.note(format!("the page opened another tab{shown}; browser-tabs lists and selects it"));
        }
        tabs.push(Tab {
            target,
            session: session.clone(),
            context,
            is_loading: false,
            is_ready: true,
            document: 0,
            is_crashed: false,
            dialogs: Dialogs::default(),
            notes: Vec::new(),
            frames: HashMap::new(),
        });
    } else if let Some(parent) = event.session.as_deref() {
        let is_parent =
            |tab: &&mut Tab| tab.session == parent || tab.frames.values().any(|own| own == parent);
        if let Some(tab) = tabs.iter_mut().find(is_parent) {
            tab.frames.insert(target, session.clone());
        }
    }
    tell("Runtime.runIfWaitingForDebugger", json!({}));
}

pub(super) fn auto_attach() -> Value {
    json!({
        "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true,
        "filter": [{"type": "page"}, {"type": "iframe"}, {"exclude": true}],
    })
}

fn of_page(tab: &mut Tab, connection: &Connection, session: &str, method: &str, params: &Value) {
    let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_main = text("frameId") == tab.target;
    match method {
        "Page.frameStartedLoading" | "Page.frameStartedNavigating" if is_main => {
            tab.is_loading = true;
            tab.is_ready = false;
        }
        "Page.frameStoppedLoading" if is_main => {
            tab.is_loading = false;
            tab.is_ready = true;
        }
        "Page.domContentEventFired" if session == tab.session => tab.is_ready = true,
        "Page.frameNavigated" if session == tab.session && params.pointer("/frame/parentId").is_none() => {
            tab.document += 1;
        }
        "Inspector.targetCrashed" if session == tab.session => {
            tab.is_crashed = true;
            tab.is_loading = false;
            connection.fail_session(session);
        }
        "Page.fileChooserOpened" => {
            tab.note("the page asked for a file to upload; uploading is not possible here".to_owned());
        }
        "Page.javascriptDialogOpening" => {
            let (accept, answer) = answer_to(text("type"), &tab.dialogs);
            let mut reply = json!({"accept": accept});
            if let (Some(answer), Some(fields)) = (answer, reply.as_object_mut()) {
                fields.insert("promptText".into(), answer.into());
            }
            connection.tell(Some(session), "Page.handleJavaScriptDialog", &reply);
            let (kind, message) = (text("type"), short(text("message")));
            let done = if accept { "accepted" } else { "declined" };
            let hint = match (kind, accept) {
                ("confirm" | "prompt", false) => "; to accept it repeat the action with dialogs=\"accept\"",
                _ => "",
            };
            tab.note(format!("the page showed a dialog ({kind}): \"{message}\"; it was {done}{hint}"));
        }
        _ => {}
    }
}

fn answer_to(kind: &str, dialogs: &Dialogs) -> (bool, Option<String>) {
    match (dialogs, kind) {
        (Dialogs::Accept(text), _) => (true, text.clone()),
        // Leaving a page must always be possible.
        (_, "beforeunload") => (true, None),
        (Dialogs::Careful, kind) => (kind == "alert", None),
        (Dialogs::Dismiss, _) => (false, None),
    }
}

/// On one line and of bounded length.
pub(super) fn short(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    if text.chars().nth(300).is_some() { format!("{line}…") } else { line }
}

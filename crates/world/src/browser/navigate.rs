//! Going somewhere, going back, and waiting for something.

use super::context::{Context, Here, Outcome, text_of};
use super::error::BrowserError;
use super::events::Dialogs;
use crate::web::Refused;
use reqwest::Url;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// For the page to answer and its document to arrive.
const NAVIGATION: u64 = 40;
/// Kept for reading what there is when a page never finishes.
const READING: Duration = Duration::from_secs(10);
/// Pictures and scripts after the document.
const REST: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is waited for.
#[derive(Clone, Debug)]
pub enum Until {
    /// This text is on the page.
    Text(String),
    /// This text is no longer on the page.
    Gone(String),
    /// The address contains this.
    Url(String),
    /// Only time.
    Time(Duration),
}

impl Context {
    /// Opens an address in the current tab, or in a first one.
    pub async fn navigate(&mut self, address: &str, dialogs: Dialogs) -> Outcome {
        self.begin(NAVIGATION);
        let result = self.go(address, dialogs).await;
        self.end("browser-navigate", result)
    }

    async fn go(&mut self, address: &str, dialogs: Dialogs) -> Outcome {
        let url = Url::parse(address.trim()).map_err(|error| {
            BrowserError::page(format!("`{}` is not an address: {error}", super::events::short(address)))
        })?;
        self.guard.check(&url)?;
        let here = match self.here() {
            Ok(here) => here,
            Err(BrowserError::Crashed | BrowserError::NoPage) => {
                self.forget_current();
                self.open_tab().await?
            }
            Err(error) => return Err(error),
        };
        self.answer_dialogs(&here, dialogs);
        self.gate.take_refused();
        self.load(&here, &url).await?;
        self.report(&here).await
    }

    async fn load(&mut self, here: &Here, url: &Url) -> Result<(), BrowserError> {
        let before = self.state.of(&here.target, |tab| tab.document).unwrap_or(0);
        let wait = self.deadline - READING;
        let asked = self
            .connection
            .call(Some(&here.session), "Page.navigate", json!({"url": url.as_str()}), wait)
            .await;
        let answer = match asked {
            Err(BrowserError::TooSlow(..)) => return Err(self.stop(here, url).await),
            answer => answer?,
        };
        let problem = text_of(&answer, "/errorText");
        // A download is no page; the tab has a note of it.
        if !problem.is_empty() && problem != "net::ERR_ABORTED" {
            return Err(self.not_loaded(url, &problem));
        }
        let is_new = answer.get("loaderId").is_some() && problem.is_empty();
        let is_ready = |tabs: &mut Vec<super::events::Tab>| {
            let tab = tabs.iter().find(|tab| tab.target == here.target);
            tab.is_none_or(|tab| tab.is_crashed || ((!is_new || tab.document > before) && tab.is_ready))
                .then_some(())
        };
        if self.state.until(wait, is_ready).await.is_none() {
            // The document never ends: what is there can be read.
            self.connection.tell(Some(&here.session), "Page.stopLoading", &json!({}));
            return Ok(());
        }
        let is_done = |tabs: &mut Vec<super::events::Tab>| {
            let tab = tabs.iter().find(|tab| tab.target == here.target);
            tab.is_none_or(|tab| tab.is_crashed || !tab.is_loading).then_some(())
        };
        let _ = self.state.until(wait.min(Instant::now() + REST), is_done).await;
        self.here().map(|_| ())
    }

    /// Nothing came. The tab is kept if it still listens.
    async fn stop(&mut self, here: &Here, url: &Url) -> BrowserError {
        let host = url.host_str().unwrap_or_default().to_owned();
        if self.ask(&here.session, "Page.stopLoading", json!({})).await.is_err() {
            self.forget_current();
        }
        let seconds = NAVIGATION - READING.as_secs();
        BrowserError::page(format!(
            "{host} sent no page within {seconds} s; loading was stopped and the browser can be used"
        ))
    }

    fn not_loaded(&mut self, url: &Url, problem: &str) -> BrowserError {
        // The browser asks for names on its own account too; those are nobody's business.
        let is_ours = |refused: &Refused| !matches!(refused, Refused::Unknown(name) if Some(name.as_str()) != url.host_str());
        if let Some(refused) = self.gate.take_refused().into_iter().find(is_ours) {
            return BrowserError::page(format!(
                "{} was not loaded: {refused}",
                super::events::short(url.as_str())
            ));
        }
        let known = match problem {
            "net::ERR_TOO_MANY_REDIRECTS" => "it redirects in a circle",
            "net::ERR_CONNECTION_REFUSED" | "net::ERR_SOCKS_CONNECTION_FAILED" => "nobody answers there",
            "net::ERR_SOCKS_CONNECTION_HOST_UNREACHABLE" => "the host cannot be reached",
            "net::ERR_EMPTY_RESPONSE" => "the server sent nothing",
            problem if problem.starts_with("net::ERR_CERT") => "its certificate is not valid",
            _ => "it cannot be loaded",
        };
        BrowserError::page(format!("{}: {known} ({problem})", super::events::short(url.as_str())))
    }

    /// The page before this one.
    pub async fn back(&mut self, dialogs: Dialogs) -> Outcome {
        self.begin(NAVIGATION);
        let result = self.go_back(dialogs).await;
        self.end("browser-back", result)
    }

    async fn go_back(&mut self, dialogs: Dialogs) -> Outcome {
        let here = self.here()?;
        self.answer_dialogs(&here, dialogs);
        let history = self.ask(&here.session, "Page.getNavigationHistory", json!({})).await?;
        let index = history.get("currentIndex").and_then(Value::as_u64).unwrap_or(0);
        let before = index.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        let before = before.and_then(|before| history.get("entries")?.get(before));
        // The blank page every tab begins with is nothing to go back to.
        let entry =
            before.filter(|entry| text_of(entry, "/url") != "about:blank").and_then(|entry| entry.get("id"));
        let Some(entry) = entry else { return Err(BrowserError::page("there is no page before this one")) };
        self.ask(&here.session, "Page.navigateToHistoryEntry", json!({"entryId": entry})).await?;
        self.settle(&here).await;
        self.report(&here).await
    }

    /// Waits until something is so, at most `limit`.
    pub async fn wait(&mut self, until: &Until, limit: Duration) -> Outcome {
        self.begin(limit.as_secs().max(1) + READING.as_secs());
        let result = self.watch(until, Instant::now() + limit).await;
        self.end("browser-wait", result)
    }

    async fn watch(&mut self, until: &Until, last: Instant) -> Outcome {
        let here = self.here()?;
        if let Until::Time(time) = until {
            sleep(*time).await;
            return self.report(&here).await;
        }
        loop {
            // A page that is just being replaced answers nothing; the next look does.
            if let Ok(Ok(true)) = timeout_at(last, self.holds(&here, until)).await {
                return self.report(&here).await;
            }
            let here = self.here()?;
            if Instant::now() >= last {
                let what = match until {
                    Until::Text(text) => {
                        format!("the text \"{}\" did not appear", super::events::short(text))
                    }
                    Until::Gone(text) => {
                        format!("the text \"{}\" did not go away", super::events::short(text))
                    }
                    Until::Url(part) => {
                        format!("the address never contained `{}`", super::events::short(part))
                    }
                    Until::Time(_) => String::new(),
                };
                let page = self.report(&here).await?;
                return Err(BrowserError::page(format!("{what} in time\n\n{page}")));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    async fn holds(&self, here: &Here, until: &Until) -> Result<bool, BrowserError> {
        match until {
            Until::Time(_) => Ok(true),
            Until::Url(part) => {
                let about = self.call("Target.getTargetInfo", json!({"targetId": here.target})).await?;
                Ok(text_of(&about, "/targetInfo/url").contains(part.as_str()))
            }
            Until::Text(text) => self.is_shown(here, text).await,
            Until::Gone(text) => Ok(!self.is_shown(here, text).await?),
        }
    }

    /// In the page or any of its frames.
    async fn is_shown(&self, here: &Here, text: &str) -> Result<bool, BrowserError> {
        let frames = self.state.of(&here.target, |tab| tab.frames.values().cloned().collect::<Vec<_>>());
        let look = format!("({LOOK})({})", Value::from(text));
        for session in std::iter::once(here.session.clone()).chain(frames.unwrap_or_default()) {
            let answer = self
                .ask(&session, "Runtime.evaluate", json!({"expression": look, "returnByValue": true}))
                .await?;
            if answer.pointer("/result/value").and_then(Value::as_bool) == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

const LOOK: &str = "text => {
    const has = view => {
        try {
            const root = view.document.body || view.document.documentElement;
            if (root && root.innerText.includes(text)) return true;
        } catch { return false }
        for (let i = 0; i < view.frames.length && i < 50; i++) if (has(view.frames[i])) return true;
        return false;
    };
    return has(window);
}";

//! The tabs of a context, numbered from 1 in the order they were opened.

use super::context::{Context, Outcome, text_of};
use super::error::BrowserError;
use super::events::Dialogs;
use serde_json::json;

impl Context {
    pub async fn list_tabs(&mut self) -> Outcome {
        self.begin(20);
        let result = self.tab_lines().await;
        self.end("browser-tabs", result)
    }

    async fn tab_lines(&mut self) -> Outcome {
        let targets = self.targets();
        if targets.is_empty() {
            return Ok("no tab is open".to_owned());
        }
        let mut lines = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            let about = self.call("Target.getTargetInfo", json!({"targetId": target})).await?;
            let (url, title) = (text_of(&about, "/targetInfo/url"), text_of(&about, "/targetInfo/title"));
            let mark = if self.current.as_ref() == Some(target) { " (current)" } else { "" };
            let (url, title) = (super::events::short(&url), super::events::short(&title));
            lines.push(format!("{}{mark}: {title} {url}", number + 1));
        }
        Ok(lines.join("\n"))
    }

    /// A new tab, with a page if one is named.
    pub async fn open(&mut self, address: Option<&str>, dialogs: Dialogs) -> Outcome {
        self.begin(30);
        let before = self.current.clone();
        let opened = self.open_tab().await;
        self.end("browser-tabs", opened)?;
        let Some(address) = address else { return self.list_tabs().await };
        let result = self.navigate(address, dialogs).await;
        if result.is_err() {
            // A tab that shows nothing is not left behind.
            self.forget_current();
            self.current = before;
        }
        result
    }

    pub async fn select_tab(&mut self, number: usize) -> Outcome {
        self.begin(30);
        let result = self.show_tab(number).await;
        self.end("browser-tabs", result)
    }

    async fn show_tab(&mut self, number: usize) -> Outcome {
        self.current = Some(self.numbered(number)?);
        let here = self.here()?;
        self.ask(&here.session, "Page.bringToFront", json!({})).await?;
        self.report(&here).await
    }

    pub async fn close_tab(&mut self, number: usize) -> Outcome {
        self.begin(20);
        let target = self.numbered(number)?;
        let was = self.current.replace(target.clone());
        self.forget_current();
        self.current = was.filter(|was| *was != target).or_else(|| self.targets().pop());
        self.list_tabs().await
    }

    fn targets(&self) -> Vec<String> {
        let tabs = self.state.tabs();
        tabs.iter().filter(|tab| tab.context == self.id).map(|tab| tab.target.clone()).collect()
    }

    fn numbered(&self, number: usize) -> Result<String, BrowserError> {
        let targets = self.targets();
        let found = number.checked_sub(1).and_then(|index| targets.get(index).cloned());
        found.ok_or_else(|| {
            BrowserError::page(format!("there is no tab {number}; {} are open", targets.len()))
        })
    }
}

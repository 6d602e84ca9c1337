//! Pictures of a page, and what a script on it gives.

use super::context::{Context, Outcome, text_of};
use super::error::BrowserError;
use super::events::Dialogs;
use base64::Engine as _;
use serde_json::{Value, json};

/// What a graphics buffer of Chromium holds; the rest of a longer page is not in the picture.
const MAX_HEIGHT: f64 = 16_000.0;
/// For a script; one that waits for a promise has the time of the call.
const SCRIPT_MS: u64 = 15_000;

/// A picture.
#[derive(Clone, Debug)]
pub struct Screenshot {
    pub png: Vec<u8>,
    pub width: u32,
    pub height: u32,
    /// The page goes on below.
    pub is_cut: bool,
    /// Address and title, and what happened meanwhile.
    pub heading: String,
}

impl Context {
    pub async fn screenshot(&mut self, full_page: bool) -> Result<Screenshot, BrowserError> {
        self.begin(40);
        let result = self.picture(full_page).await;
        self.end("browser-screenshot", result)
    }

    async fn picture(&mut self, full_page: bool) -> Result<Screenshot, BrowserError> {
        let here = self.here()?;
        let metrics = self.ask(&here.session, "Page.getLayoutMetrics", json!({})).await?;
        let size = |pointer: &str| metrics.pointer(pointer).and_then(Value::as_f64).unwrap_or(0.0);
        let (mut wanted, mut is_cut) = (json!({"format": "png"}), false);
        if full_page {
            let (width, height) =
                (size("/cssContentSize/width").max(1.0), size("/cssContentSize/height").max(1.0));
            is_cut = height > MAX_HEIGHT;
            let clip = json!({
                "x": 0, "y": 0, "width": width.min(MAX_HEIGHT), "height": height.min(MAX_HEIGHT), "scale": 1,
            });
            wanted = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        }
        let picture = self.ask(&here.session, "Page.captureScreenshot", wanted).await?;
        let png = base64::engine::general_purpose::STANDARD
            .decode(text_of(&picture, "/data"))
            .map_err(|_| BrowserError::page("the picture could not be read"))?;
        let (width, height) =
            dimensions(&png).ok_or_else(|| BrowserError::page("the picture could not be read"))?;
        let heading = self.heading(&here).await?;
        Ok(Screenshot { png, width, height, is_cut, heading })
    }

    /// Runs a script in the page and gives its value as JSON. A promise is waited for.
    pub async fn evaluate(&mut self, script: &str, dialogs: Dialogs) -> Outcome {
        self.begin(30);
        let result = self.run_script(script, dialogs).await;
        self.end("browser-evaluate", result)
    }

    async fn run_script(&mut self, script: &str, dialogs: Dialogs) -> Outcome {
        let here = self.here()?;
        self.answer_dialogs(&here, dialogs);
        let wanted = json!({
            "expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true,
            "timeout": SCRIPT_MS, "replMode": true,
        });
        let answer = match self.ask(&here.session, "Runtime.evaluate", wanted).await {
            Err(BrowserError::Protocol(_, why)) if why.contains("terminated") || why == "Internal error" => {
                return Err(BrowserError::page(format!(
                    "the script ran longer than {} s and was ended",
                    SCRIPT_MS / 1000
                )));
            }
            Err(BrowserError::Protocol(_, why)) => {
                return Err(BrowserError::page(format!(
                    "the script has no value that can be given back: {why}"
                )));
            }
            answer => answer?,
        };
        if let Some(thrown) = answer.get("exceptionDetails") {
            let text = text_of(thrown, "/exception/description");
            let text = if text.is_empty() { text_of(thrown, "/text") } else { text };
            let value = thrown.pointer("/exception/value").map(Value::to_string).unwrap_or_default();
            let text: String = format!("{text} {value}").chars().take(2000).collect();
            return Err(BrowserError::page(format!("the script failed: {}", text.trim())));
        }
        let result = answer.get("result").cloned().unwrap_or_default();
        let value = match (result.get("value"), result.get("unserializableValue")) {
            (Some(Value::String(text)), _) => text.clone(),
            (Some(value), _) => serde_json::to_string_pretty(value).unwrap_or_default(),
            (None, Some(other)) => other.as_str().unwrap_or_default().to_owned(),
            (None, None) => text_of(&result, "/type"),
        };
        self.settle(&here).await;
        let heading = self.heading(&here).await?;
        Ok(format!("{heading}{value}"))
    }
}

/// From the head of a PNG.
fn dimensions(png: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(png.get(at..at + 4)?.try_into().ok()?));
    Some((number(16)?, number(20)?))
}

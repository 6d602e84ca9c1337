//! The calls of browser-*: arguments in, an action of the agent's own context, words out.

use super::super::arguments::{count, parse};
use super::super::outcome::{Failure, ToolOutcome};
use super::super::place::{Place, PlaceError};
use super::super::slot::{Parents, Slot};
use super::super::{Call, ToolContext};
use fugato_world::browser::{BrowserError, Click, Context, Dialogs, Screenshot, Target, Typing, Until};
use serde::Deserialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

type Done = Result<ToolOutcome, Failure>;

/// A browser that dies while it is asked is started once more; then something is wrong with the machine.
const TRIES: u32 = 2;

/// What is done with a page, as data: a call whose browser died at the start is made again from it.
enum Action {
    Navigate(String, Dialogs),
    Snapshot(usize),
    Click(Click),
    Type(Typing),
    Select(Target, Vec<String>, Dialogs),
    Screenshot { full_page: bool },
    Wait(Until, Duration),
    Back,
    ListTabs,
    OpenTab(Option<String>),
    SelectTab(usize),
    CloseTab(usize),
    Evaluate(String, Dialogs),
}

enum Given {
    Text(String),
    Picture(Box<Screenshot>),
}

impl Action {
    async fn perform(&self, pages: &mut Context) -> Result<Given, BrowserError> {
        let text = match self {
            Self::Navigate(url, dialogs) => pages.navigate(url, dialogs.clone()).await,
            Self::Snapshot(start) => pages.snapshot(*start).await,
            Self::Click(click) => pages.click(click.clone()).await,
            Self::Type(typing) => pages.type_text(typing.clone()).await,
            Self::Select(target, options, dialogs) => pages.select(target, options, dialogs.clone()).await,
            Self::Screenshot { full_page } => {
                return pages.screenshot(*full_page).await.map(|picture| Given::Picture(Box::new(picture)));
            }
            Self::Wait(until, limit) => pages.wait(until, *limit).await,
            Self::Back => pages.back(Dialogs::Careful).await,
            Self::ListTabs => pages.list_tabs().await,
            Self::OpenTab(url) => pages.open(url.as_deref(), Dialogs::Careful).await,
            Self::SelectTab(tab) => pages.select_tab(*tab).await,
            Self::CloseTab(tab) => pages.close_tab(*tab).await,
            Self::Evaluate(script, dialogs) => pages.evaluate(script, dialogs.clone()).await,
        };
        text.map(Given::Text)
    }

    /// Done a second time it does nothing that was not wanted.
    fn can_be_repeated(&self) -> bool {
        matches!(self, Self::Navigate(..) | Self::ListTabs | Self::OpenTab(_))
    }
}

/// Performs an action in the agent's own context and answers for it.
async fn answer(call: Call<'_>, action: Action) -> Done {
    let Call { context, cancel, .. } = call;
    let (given, note) = tokio::select! {
        done = act(context, &action) => done?,
        () = cancel.cancelled() => return Err(Failure::cancelled()),
    };
    let Given::Text(text) = given else { return Err(Failure::new("a picture came unasked")) };
    let text = format!("{}{text}", note.unwrap_or_default());
    Ok(ToolOutcome::fitted(text.into_bytes(), context.limits.inline_bytes))
}

/// A browser that is gone is started anew, and the agent is told. What may have been done already is not done again.
async fn act(context: &ToolContext, action: &Action) -> Result<(Given, Option<&'static str>), Failure> {
    let mut restarted = false;
    for tried in 0..TRIES {
        let seat = context.kept.browser.seat(context).await?;
        restarted |= seat.is_new_browser;
        let mut pages = seat.context.lock().await;
        match action.perform(&mut pages).await {
            Ok(given) => return Ok((given, restarted.then_some(ANEW))),
            Err(BrowserError::Gone) if action.can_be_repeated() => {}
            // The page it was to leave died under it: on a new one it goes where it was sent.
            Err(BrowserError::Crashed) if matches!(action, Action::Navigate(..)) && tried == 0 => {}
            Err(BrowserError::Gone) => {
                return Err(Failure::new(
                    "the browser ended while this was done; open the page again with browser-navigate",
                ));
            }
            Err(error) => {
                let note = if restarted { ANEW } else { "" };
                return Err(Failure::new(format!("{note}{error}")));
            }
        }
    }
    Err(Failure::new("the browser ends whenever it is used; something is wrong with it on this machine"))
}

const ANEW: &str = "[the browser had ended and was started anew: earlier tabs, logins and refs are gone]\n";

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Accept,
    Dismiss,
}

fn dialogs(answer: Option<&Answer>, text: Option<&String>) -> Dialogs {
    match (answer, text) {
        (Some(Answer::Accept), text) => Dialogs::Accept(text.cloned()),
        (None, Some(text)) => Dialogs::Accept(Some(text.clone())),
        (Some(Answer::Dismiss), _) => Dialogs::Dismiss,
        (None, None) => Dialogs::Careful,
    }
}

fn element(name: Option<&String>, selector: Option<&String>) -> Result<Option<Target>, Failure> {
    match (name, selector) {
        (Some(name), None) => Ok(Some(Target::Ref(name.clone()))),
        (None, Some(selector)) => Ok(Some(Target::Selector(selector.clone()))),
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(Failure::new("give `ref` or `selector`, not both")),
    }
}

fn needed(target: Option<Target>) -> Result<Target, Failure> {
    target.ok_or_else(|| Failure::new("`ref` or `selector` is needed: which element?"))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Navigate {
    url: String,
    #[serde(default)]
    dialogs: Option<Answer>,
    #[serde(default)]
    prompt_text: Option<String>,
}

pub(super) async fn navigate(call: Call<'_>) -> Done {
    let wanted: Navigate = parse(call.arguments)?;
    let dialogs = dialogs(wanted.dialogs.as_ref(), wanted.prompt_text.as_ref());
    answer(call, Action::Navigate(wanted.url, dialogs)).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    #[serde(default, deserialize_with = "count")]
    start: Option<u64>,
}

pub(super) async fn snapshot(call: Call<'_>) -> Done {
    let wanted: Snapshot = parse(call.arguments)?;
    let start = wanted.start.and_then(|start| usize::try_from(start).ok()).unwrap_or(1);
    answer(call, Action::Snapshot(start)).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clicking {
    #[serde(default, rename = "ref")]
    name: Option<String>,
    #[serde(default)]
    selector: Option<String>,
    #[serde(default)]
    double: bool,
    #[serde(default)]
    dialogs: Option<Answer>,
    #[serde(default)]
    prompt_text: Option<String>,
}

pub(super) async fn click(call: Call<'_>) -> Done {
    let wanted: Clicking = parse(call.arguments)?;
    let click = Click {
        target: needed(element(wanted.name.as_ref(), wanted.selector.as_ref())?)?,
        is_double: wanted.double,
        dialogs: dialogs(wanted.dialogs.as_ref(), wanted.prompt_text.as_ref()),
    };
    answer(call, Action::Click(click)).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Writing {
    #[serde(default, rename = "ref")]
    name: Option<String>,
    #[serde(default)]
    selector: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    clear: bool,
    #[serde(default)]
    submit: bool,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    dialogs: Option<Answer>,
    #[serde(default)]
    prompt_text: Option<String>,
}

pub(super) async fn type_text(call: Call<'_>) -> Done {
    let wanted: Writing = parse(call.arguments)?;
    let typing = Typing {
        target: element(wanted.name.as_ref(), wanted.selector.as_ref())?,
        text: wanted.text,
        clear: wanted.clear,
        key: wanted.key.or_else(|| wanted.submit.then(|| "Enter".to_owned())),
        dialogs: dialogs(wanted.dialogs.as_ref(), wanted.prompt_text.as_ref()),
    };
    answer(call, Action::Type(typing)).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choosing {
    #[serde(default, rename = "ref")]
    name: Option<String>,
    #[serde(default)]
    selector: Option<String>,
    options: Vec<String>,
    #[serde(default)]
    dialogs: Option<Answer>,
    #[serde(default)]
    prompt_text: Option<String>,
}

pub(super) async fn select(call: Call<'_>) -> Done {
    let wanted: Choosing = parse(call.arguments)?;
    let target = needed(element(wanted.name.as_ref(), wanted.selector.as_ref())?)?;
    if wanted.options.is_empty() {
        return Err(Failure::new("`options` is empty: which one?"));
    }
    let dialogs = dialogs(wanted.dialogs.as_ref(), wanted.prompt_text.as_ref());
    answer(call, Action::Select(target, wanted.options, dialogs)).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Picture {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    full_page: bool,
}

pub(super) async fn screenshot(call: Call<'_>) -> Done {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let wanted: Picture = parse(call.arguments)?;
    let context = call.context.clone();
    let path = match wanted.path {
        Some(path) => path,
        None if context.scratch.is_dir() => {
            let name =
                format!("screenshot-{}-{}.png", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            context.scratch.join(name).to_string_lossy().into_owned()
        }
        None => {
            return Err(Failure::new(
                "there is no scratch directory; say with `path` where the picture goes",
            ));
        }
    };
    let action = Action::Screenshot { full_page: wanted.full_page };
    let given = tokio::select! {
        done = act(&context, &action) => done?.0,
        () = call.cancel.cancelled() => return Err(Failure::cancelled()),
    };
    let Given::Picture(picture) = given else { return Err(Failure::new("no picture came")) };
    let saving = tokio::task::spawn_blocking(move || save(&picture, &path, &context));
    saving.await.unwrap_or_else(|error| Err(Failure::new(format!("the tool broke off: {error}"))))
}

fn save(picture: &Screenshot, path: &str, context: &ToolContext) -> Done {
    let place = Place::new(context, path)?;
    let (size, limit) = (picture.png.len(), context.limits.file_bytes);
    if size > limit {
        return Err(PlaceError::TooLarge { path: place.shown, size: size as u64, limit }.into());
    }
    Slot::open(&place, Parents::Make)?.replace(&picture.png)?;
    let Screenshot { width, height, heading, .. } = picture;
    let cut = if picture.is_cut { "; the page goes on below" } else { "" };
    Ok(ToolOutcome::text(format!("{heading}saved as {path} ({width}x{height} pixels, {size} bytes{cut})")))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Waiting {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    gone: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default, deserialize_with = "count")]
    ms: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    timeout_seconds: Option<u64>,
}

pub(super) async fn wait(call: Call<'_>) -> Done {
    let wanted: Waiting = parse(call.arguments)?;
    let until = match (wanted.text, wanted.gone, wanted.url, wanted.ms) {
        (Some(text), None, None, None) => Until::Text(text),
        (None, Some(text), None, None) => Until::Gone(text),
        (None, None, Some(part), None) => Until::Url(part),
        (None, None, None, Some(ms)) => Until::Time(Duration::from_millis(ms.min(60_000))),
        _ => return Err(Failure::new("give one of `text`, `gone`, `url` and `ms`")),
    };
    let limit = match &until {
        Until::Time(time) => *time,
        _ => Duration::from_secs(wanted.timeout_seconds.unwrap_or(15).clamp(1, 120)),
    };
    answer(call, Action::Wait(until, limit)).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub(super) async fn back(call: Call<'_>) -> Done {
    let _: Nothing = parse(call.arguments)?;
    answer(call, Action::Back).await
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TabAction {
    #[default]
    List,
    Open,
    Select,
    Close,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tabs {
    #[serde(default)]
    action: TabAction,
    #[serde(default, deserialize_with = "count")]
    tab: Option<u64>,
    #[serde(default)]
    url: Option<String>,
}

pub(super) async fn tabs(call: Call<'_>) -> Done {
    let wanted: Tabs = parse(call.arguments)?;
    let tab = || {
        let number = wanted.tab.and_then(|tab| usize::try_from(tab).ok());
        number.ok_or_else(|| Failure::new("`tab` is needed: the number of a tab, as browser-tabs lists them"))
    };
    let action = match wanted.action {
        TabAction::List => Action::ListTabs,
        TabAction::Open => Action::OpenTab(wanted.url.clone()),
        TabAction::Select => Action::SelectTab(tab()?),
        TabAction::Close => Action::CloseTab(tab()?),
    };
    answer(call, action).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Evaluate {
    script: String,
    #[serde(default)]
    dialogs: Option<Answer>,
    #[serde(default)]
    prompt_text: Option<String>,
}

pub(super) async fn evaluate(call: Call<'_>) -> Done {
    let wanted: Evaluate = parse(call.arguments)?;
    let dialogs = dialogs(wanted.dialogs.as_ref(), wanted.prompt_text.as_ref());
    answer(call, Action::Evaluate(wanted.script, dialogs)).await
}

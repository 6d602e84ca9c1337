//! Clicking, typing and choosing, with the events a person's hands would cause.

use super::context::{Context, Here, Outcome, text_of};
use super::error::BrowserError;
use super::events::{Dialogs, short};
use super::keys;
use super::snapshot::Node;
use serde_json::{Value, json};

const ACTION: u64 = 30;
/// Longer texts are put in at once: no person types them either.
const TYPED: usize = 300;

/// An element.
#[derive(Clone, Debug)]
pub enum Target {
    /// `e12`, from a snapshot.
    Ref(String),
    /// CSS, in the page itself; the first match.
    Selector(String),
}

#[derive(Clone, Debug)]
pub struct Click {
    pub target: Target,
    pub is_double: bool,
    pub dialogs: Dialogs,
}

#[derive(Clone, Debug)]
pub struct Typing {
    /// None: whatever has the focus.
    pub target: Option<Target>,
    pub text: String,
    /// Empties the field first.
    pub clear: bool,
    /// A key pressed at the end.
    pub key: Option<String>,
    pub dialogs: Dialogs,
}

impl Context {
    pub async fn click(&mut self, click: Click) -> Outcome {
        self.begin(ACTION);
        let result = self.do_click(click).await;
        self.end("browser-click", result)
    }

    async fn do_click(&mut self, click: Click) -> Outcome {
        let here = self.here()?;
        let node = self.find(&here, &click.target).await?;
        self.answer_dialogs(&here, click.dialogs);
        let ready = self.on_node(&node, READY, &[]).await?;
        if let Some(problem) = ready.get("problem").and_then(Value::as_str) {
            return Err(unusable(problem, &text_of(&ready, "/by")));
        }
        let (x, y) = self.point(&node).await?;
        let mouse = |kind: &str, count: u32| {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": count})
        };
        let mut events = vec![mouse("mouseMoved", 0), mouse("mousePressed", 1), mouse("mouseReleased", 1)];
        if click.is_double {
            events.extend([mouse("mousePressed", 2), mouse("mouseReleased", 2)]);
        }
        for event in events {
            // A click that closes its own tab is answered by nobody.
            match self.ask(&here.session, "Input.dispatchMouseEvent", event).await {
                Err(BrowserError::Crashed) if self.is_closed(&here) => return self.after_closing().await,
                answer => answer?,
            };
        }
        self.after(&here).await
    }

    pub async fn type_text(&mut self, typing: Typing) -> Outcome {
        self.begin(ACTION);
        let result = self.do_type(typing).await;
        self.end("browser-type", result)
    }

    async fn do_type(&mut self, typing: Typing) -> Outcome {
        let here = self.here()?;
        let key = match &typing.key {
            None => None,
            Some(name) => Some(keys::named(name).ok_or_else(|| {
                BrowserError::page(format!("there is no key `{}`; known are {}", short(name), keys::names()))
            })?),
        };
        self.answer_dialogs(&here, typing.dialogs);
        if let Some(target) = &typing.target {
            let node = self.find(&here, target).await?;
            let focused = self.on_node(&node, FOCUS, &[]).await?;
            if let Some(problem) = focused.get("problem").and_then(Value::as_str) {
                return Err(unusable(problem, &text_of(&focused, "/by")));
            }
        }
        if typing.clear {
            self.press(&here, keys::select_all()).await?;
            for event in keys::named("Backspace").into_iter().flatten() {
                self.press(&here, event).await?;
            }
        }
        self.write(&here, &typing.text).await?;
        for event in key.into_iter().flatten() {
            self.press(&here, event).await?;
        }
        self.after(&here).await
    }

    /// ASCII key by key, because scripts listen to keys; the rest as an input method would put it in.
    async fn write(&mut self, here: &Here, text: &str) -> Result<(), BrowserError> {
        let mut pending = String::new();
        let by_keys = text.len() <= TYPED;
        for c in text.chars() {
            match keys::printable(c).filter(|_| by_keys) {
                None => pending.push(c),
                Some(events) => {
                    self.insert(here, &mut pending).await?;
                    for event in events {
                        self.press(here, event).await?;
                    }
                }
            }
        }
        self.insert(here, &mut pending).await
    }

    async fn insert(&self, here: &Here, text: &mut String) -> Result<(), BrowserError> {
        if !text.is_empty() {
            let text = std::mem::take(text);
            self.ask(&here.session, "Input.insertText", json!({"text": text})).await?;
        }
        Ok(())
    }

    async fn press(&self, here: &Here, event: Value) -> Result<(), BrowserError> {
        self.ask(&here.session, "Input.dispatchKeyEvent", event).await.map(|_| ())
    }

    /// Chooses options of a list by their value or their text.
    pub async fn select(&mut self, target: &Target, options: &[String], dialogs: Dialogs) -> Outcome {
        self.begin(ACTION);
        let result = self.do_select(target, options, dialogs).await;
        self.end("browser-select", result)
    }

    async fn do_select(&mut self, target: &Target, options: &[String], dialogs: Dialogs) -> Outcome {
        let here = self.here()?;
        let node = self.find(&here, target).await?;
        self.answer_dialogs(&here, dialogs);
        let done = self.on_node(&node, SELECT, &[json!(options)]).await?;
        if let Some(problem) = done.get("problem").and_then(Value::as_str) {
            let by = done.get("by").map(Value::to_string).unwrap_or_default();
            return Err(unusable(problem, &short(&by)));
        }
        self.after(&here).await
    }

    async fn after(&mut self, here: &Here) -> Outcome {
        self.settle(here).await;
        if self.is_closed(here) { self.after_closing().await } else { self.report(here).await }
    }

    fn is_closed(&self, here: &Here) -> bool {
        self.state.of(&here.target, |_| ()).is_none()
    }

    async fn after_closing(&mut self) -> Outcome {
        self.forget_current();
        let tabs = self.list_tabs().await?;
        Ok(format!(
            "the tab closed itself\n{tabs}\n[select another with browser-tabs, or use browser-navigate]"
        ))
    }

    async fn find(&mut self, here: &Here, target: &Target) -> Result<Node, BrowserError> {
        match target {
            Target::Ref(name) => self.of_ref(here, name),
            Target::Selector(selector) => {
                let expression = format!("document.querySelector({})", Value::from(selector.as_str()));
                let found =
                    self.ask(&here.session, "Runtime.evaluate", json!({"expression": expression})).await?;
                if found.get("exceptionDetails").is_some() {
                    return Err(BrowserError::page(format!("`{}` is not a CSS selector", short(selector))));
                }
                let object = text_of(&found, "/result/objectId");
                if object.is_empty() {
                    return Err(BrowserError::page(format!(
                        "nothing on the page matches `{}`",
                        short(selector)
                    )));
                }
                let about = self.ask(&here.session, "DOM.describeNode", json!({"objectId": object})).await?;
                let backend = about.pointer("/node/backendNodeId").and_then(Value::as_u64).unwrap_or(0);
                Ok(Node { session: here.session.clone(), backend, owners: Vec::new() })
            }
        }
    }

    /// Calls a function with the element as `this`.
    async fn on_node(&self, node: &Node, function: &str, arguments: &[Value]) -> Result<Value, BrowserError> {
        let gone = |error| match error {
            BrowserError::Protocol(..) => BrowserError::page(GONE),
            error => error,
        };
        let wanted = json!({"backendNodeId": node.backend});
        let object = self.ask(&node.session, "DOM.resolveNode", wanted).await.map_err(gone)?;
        let arguments: Vec<Value> = arguments.iter().map(|value| json!({"value": value})).collect();
        let call = json!({
            "objectId": text_of(&object, "/object/objectId"), "functionDeclaration": function, "arguments": arguments,
            "returnByValue": true, "userGesture": true,
        });
        let answer = self.ask(&node.session, "Runtime.callFunctionOn", call).await?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            let text = short(&text_of(thrown, "/exception/description"));
            return Err(BrowserError::page(format!("the page did not allow it: {text}")));
        }
        Ok(answer.pointer("/result/value").cloned().unwrap_or_default())
    }

    /// The middle of the element's first visible part, in the coordinates of the tab.
    async fn point(&self, node: &Node) -> Result<(f64, f64), BrowserError> {
        let (mut x, mut y) = middle(&self.quads(&node.session, node.backend).await?)
            .ok_or_else(|| unusable("invisible", ""))?;
        for (session, owner) in &node.owners {
            let quads = self.quads(session, *owner).await?;
            let corner = quads.pointer("/quads/0").and_then(Value::as_array).cloned().unwrap_or_default();
            x += corner.first().and_then(Value::as_f64).unwrap_or(0.0);
            y += corner.get(1).and_then(Value::as_f64).unwrap_or(0.0);
        }
        Ok((x, y))
    }

    async fn quads(&self, session: &str, backend: u64) -> Result<Value, BrowserError> {
        let quads = self.ask(session, "DOM.getContentQuads", json!({"backendNodeId": backend})).await;
        quads.map_err(|error| match error {
            BrowserError::Protocol(..) => unusable("invisible", ""),
            error => error,
        })
    }
}

const GONE: &str = "the element is no longer on the page; take a new browser-snapshot";

fn unusable(problem: &str, by: &str) -> BrowserError {
    BrowserError::page(match problem {
        "gone" => GONE.to_owned(),
        "disabled" => "the element is disabled".to_owned(),
        "option" => "options are chosen with browser-select, on the list they belong to".to_owned(),
        "invisible" => "the element cannot be seen, so it cannot be clicked".to_owned(),
        "covered" => format!("the element is covered by {}; close or move that first", short(by)),
        "not editable" => format!("text cannot be typed into {}", short(by)),
        "read-only" => "the field is read-only".to_owned(),
        "file" => "files cannot be uploaded here".to_owned(),
        "not a list" => "this is not a list of options; click it and then the choice".to_owned(),
        "no option" => format!("there is no such option; there are {by}"),
        other => other.to_owned(),
    })
}

/// Of the first quad with a size. A quad is eight numbers.
fn middle(quads: &Value) -> Option<(f64, f64)> {
    quads.get("quads")?.as_array()?.iter().find_map(|quad| {
        let numbers: Vec<f64> = quad.as_array()?.iter().filter_map(Value::as_f64).collect();
        let [x1, y1, x2, y2, x3, y3, x4, y4] = numbers.as_slice() else { return None };
        let area = ((x1 - x3) * (y2 - y4) - (x2 - x4) * (y1 - y3)).abs() / 2.0;
        (area > 0.5).then_some(((x1 + x2 + x3 + x4) / 4.0, (y1 + y2 + y3 + y4) / 4.0))
    })
}

/// Brings the element into view and says whether a click on its middle would reach it.
const READY: &str = "function() {
    const e = this.nodeType === 1 ? this : this.parentElement;
    if (!e || !e.isConnected) return {problem: 'gone'};
    if (e.tagName === 'OPTION' || e.tagName === 'OPTGROUP') return {problem: 'option'};
    if (e.disabled) return {problem: 'disabled'};
    e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const r = [...e.getClientRects()].find(r => r.width > 0 && r.height > 0);
    if (!r) return {problem: 'invisible'};
    const x = r.left + r.width / 2, y = r.top + r.height / 2;
    let hit = e.ownerDocument.elementFromPoint(x, y);
    while (hit && hit.shadowRoot) {
        const inner = hit.shadowRoot.elementFromPoint(x, y);
        if (!inner || inner === hit) break;
        hit = inner;
    }
    if (!hit) return {problem: 'invisible'};
    const inside = (a, b) => { for (let n = b; n; n = n.parentNode || n.host) if (n === a) return true; return false };
    const labels = e.labels ? [...e.labels] : [];
    if (inside(e, hit) || inside(hit, e) || labels.some(l => inside(l, hit))) return {};
    const text = (hit.innerText || '').trim().slice(0, 80);
    const name = hit.tagName.toLowerCase() + (hit.id ? '#' + hit.id : '');
    return {problem: 'covered', by: `<${name}>` + (text ? ` \"${text}\"` : '')};
}";

const FOCUS: &str = "function() {
    const e = this.nodeType === 1 ? this : this.parentElement;
    if (!e || !e.isConnected) return {problem: 'gone'};
    if (e.disabled) return {problem: 'disabled'};
    if (e.readOnly) return {problem: 'read-only'};
    if (e.type === 'file') return {problem: 'file'};
    const unwritable = ['button', 'submit', 'reset', 'checkbox', 'radio', 'image', 'hidden', 'range', 'color'];
    const is_field = e.tagName === 'TEXTAREA' || (e.tagName === 'INPUT' && !unwritable.includes(e.type));
    if (!is_field && !e.isContentEditable && e.tabIndex < 0) return {problem: 'not editable', by: `<${e.tagName.toLowerCase()}>`};
    e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    e.focus();
    if (is_field) { try { const n = e.value.length; e.setSelectionRange(n, n); } catch {} }
    return {};
}";

const SELECT: &str = "function(wanted) {
    const e = this.nodeType === 1 ? this : this.parentElement;
    if (!e || !e.isConnected) return {problem: 'gone'};
    if (e.tagName !== 'SELECT') return {problem: 'not a list'};
    if (e.disabled) return {problem: 'disabled'};
    const all = [...e.options];
    const chosen = [];
    for (const w of wanted) {
        const found = all.find(o => o.value === w) || all.find(o => o.label.trim() === w.trim());
        if (!found) return {problem: 'no option', by: all.slice(0, 40).map(o => o.label.trim())};
        if (found.disabled) return {problem: 'disabled'};
        chosen.push(found);
    }
    e.focus();
    if (e.multiple) for (const o of all) o.selected = chosen.includes(o);
    else e.value = chosen[0].value, chosen[0].selected = true;
    e.dispatchEvent(new Event('input', {bubbles: true}));
    e.dispatchEvent(new Event('change', {bubbles: true}));
    return {};
}";

//! One line of the board: somebody at work, what it does now, and the last that was heard of it.

use super::Screen;
use crate::printer::{paint, style};
use crate::render::Width;
use crate::runs::estimate::tokens;
use crate::runs::reporter::{duration, short};
use fugato_model::{Lang, Words, words};
use serde_json::Value;

/// Somebody at work.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    pub doing: Doing,
    pub since: i64,
    pub tokens: u64,
    /// The end of what was streamed last, or what its tool was given.
    pub stream: String,
    /// It belongs to an earlier call: the next text replaces it.
    pub is_old: bool,
    pub heard: i64,
    /// The present silence has been told.
    pub is_told: bool,
}

/// What it does now.
#[derive(Clone, Debug, PartialEq)]
pub enum Doing {
    Starting,
    Script,
    Thinking {
        model: String,
        since: i64,
    },
    Tools {
        names: Vec<(u32, String)>,
        since: i64,
    },
    Retrying {
        reason: Words,
        until: i64,
    },
    Person,
    /// The agents it started are at work.
    Agents,
}

impl Row {
    pub fn new(name: &str, doing: Doing, now: i64) -> Self {
        let name = fugato_model::escape_for_terminal(name).into_owned();
        Self {
            name,
            doing,
            since: now,
            tokens: 0,
            stream: String::new(),
            is_old: false,
            heard: now,
            is_told: false,
        }
    }

    pub fn hear(&mut self, now: i64) {
        (self.heard, self.is_told) = (now, false);
    }

    pub fn tool_started(&mut self, index: u32, name: &str, arguments: &Value, now: i64) {
        self.hear(now);
        (self.stream, self.is_old) = (short(arguments), true);
        let name = fugato_model::escape_for_terminal(name).into_owned();
        match &mut self.doing {
            Doing::Tools { names, .. } => names.push((index, name)),
            doing => *doing = Doing::Tools { names: vec![(index, name)], since: now },
        }
    }

    pub fn tool_ended(&mut self, index: u32, now: i64) {
        self.hear(now);
        if let Doing::Tools { names, .. } = &mut self.doing {
            names.retain(|(number, _)| *number != index);
            if names.is_empty() {
                self.doing = Doing::Starting;
            }
        }
    }

    /// In a few cells.
    pub fn state(&self, now: i64, lang: Lang) -> String {
        match (&self.doing, lang) {
            (Doing::Starting, Lang::En) => "starting".into(),
            (Doing::Starting, Lang::Zh) => "准备中".into(),
            (Doing::Script, Lang::En) => "script".into(),
            (Doing::Script, Lang::Zh) => "脚本".into(),
            (Doing::Thinking { .. }, Lang::En) => "thinking".into(),
            (Doing::Thinking { .. }, Lang::Zh) => "思考中".into(),
            (Doing::Tools { names, .. }, lang) => {
                let first = names.first().map(|(_, name)| name.as_str()).unwrap_or_default();
                let more = if names.len() > 1 { format!(" +{}", names.len() - 1) } else { String::new() };
                let word = if lang == Lang::En { "tool" } else { "工具" };
                format!("{word} {first}{more}")
            }
            (Doing::Retrying { until, .. }, Lang::En) => format!("retry in {}", duration(until - now)),
            (Doing::Retrying { until, .. }, Lang::Zh) => format!("{} 后重试", duration(until - now)),
            (Doing::Agents, Lang::En) => "waiting for its agents".into(),
            (Doing::Agents, Lang::Zh) => "等待子代理".into(),
            (Doing::Person, Lang::En) => "waiting for you".into(),
            (Doing::Person, Lang::Zh) => "等您回答".into(),
        }
    }

    /// The reason of a silence, whole.
    pub fn waits_for(&self, now: i64, lang: Lang) -> String {
        let for_model = |model: &str, since: i64| {
            let time = duration(now - since);
            words!("waiting for the model {model} since {time}", "自 {time} 前起等待模型 {model}")
        };
        let words = match &self.doing {
            Doing::Thinking { model, since } => for_model(model, *since),
            Doing::Tools { names, since } => {
                let names: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
                let (names, time) = (names.join(", "), duration(now - since));
                words!("running the tool {names} since {time}", "工具 {names} 已运行 {time}")
            }
            Doing::Script => {
                let time = duration(now - self.since);
                words!("its script has been running for {time}", "其脚本已运行 {time}")
            }
            Doing::Retrying { reason, .. } => {
                let (english, chinese) = (&reason.en, &reason.zh);
                words!("the model will be asked again: {english}", "稍后将再次调用模型：{chinese}")
            }
            Doing::Starting | Doing::Person | Doing::Agents => words!("it is about to start", "即将开始"),
        };
        words.in_lang(lang).to_owned()
    }

    pub fn line(
        &self,
        state: &str,
        names: usize,
        states: usize,
        columns: usize,
        now: i64,
        screen: Screen,
    ) -> String {
        let width = screen.width;
        let pad = |text: &str, cells: usize| " ".repeat(cells.saturating_sub(width.of(text)));
        let name = width.cut(&self.name, names);
        let name_pad = pad(&name, names);
        let look = if self.doing == Doing::Person { style::WARN } else { style::PLAIN };
        let used = if self.tokens > 0 { tokens(self.tokens) } else { String::new() };
        let time = seconds(now - self.since);
        let figures = format!("{time:>8} {used:>6}");
        // On a narrow screen first the text goes, then the figures, then the end of the state.
        let fixed = 2 + names + 2 + states;
        let left = columns.saturating_sub(2 + names + 2);
        let state = width.cut(state, left);
        let mut line = format!(
            "{} {}{name_pad}  {}",
            paint(style::DIM, "▸"),
            paint(style::NAME, &name),
            paint(look, &state)
        );
        if fixed + 1 + width.of(&figures) <= columns {
            line.push_str(&pad(&state, states));
            let taken = fixed + 1 + width.of(&figures) + 2;
            let text = self.tail(columns.saturating_sub(taken), width);
            let rest = format!(" {figures}  {text}");
            line.push_str(&paint(style::DIM, rest.trim_end()));
        }
        line
    }

    /// The end of the last line that says something, in so many cells.
    fn tail(&self, cells: usize, width: Width) -> String {
        use unicode_segmentation::UnicodeSegmentation as _;
        let line = self.stream.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let line = fugato_model::escape_for_terminal(line).into_owned();
        if width.of(&line) <= cells {
            return line;
        }
        // A few cells of text are a riddle.
        if cells < 8 {
            return String::new();
        }
        let mut used = width.of("…");
        let mut kept: Vec<&str> = Vec::new();
        for grapheme in line.graphemes(true).rev() {
            used += width.of(grapheme);
            if used > cells {
                break;
            }
            kept.push(grapheme);
        }
        kept.push("…");
        kept.into_iter().rev().collect()
    }
}

/// `0.4 s`: a figure that is redrawn should not change its unit under one's eyes.
pub fn seconds(ms: i64) -> String {
    match ms.max(0) {
        ms @ 0..1000 => format!("0.{} s", ms / 100),
        ms => duration(ms),
    }
}

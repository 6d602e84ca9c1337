//! One agent's conversation, or what a node did, as entries a person reads. Made from the events that concern it.

use super::news::{Body, News};
use super::wrap::wrap;
use crate::render::Width;
use fugato_engine::{Event, EventKind, Verdict};
use fugato_model::chat::Part;
use fugato_model::{Lang, Words, words};
use serde_json::Value;

/// What is shown of one row.
#[derive(Debug, Default)]
pub struct Talk {
    pub row: usize,
    pub entries: Vec<Entry>,
    /// Lines between the last one and the lower edge: 0 follows what comes.
    pub below: usize,
    /// Entries before these that are in the log only.
    pub earlier: usize,
    pub is_loading: bool,
    /// Number of the last event that was read.
    pub upto: u64,
}

/// Something that was said or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub seq: u64,
    pub at: i64,
    pub by: Speaker,
    /// Who or what, in a few words.
    pub title: String,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Task,
    Agent,
    Thought,
    Call,
    Result,
    Failure,
    Message,
    Question,
    Note,
}

/// Events of agents outside that are read by their names.
const OUTSIDE: [&str; 3] = ["tool.asked", "tool.answered", "tool.denied"];

/// Longer texts are cut: the whole is in the log.
const MOST_CHARS: usize = 6000;

impl Talk {
    /// What has just happened; `columns` is the room, so that a reader who has scrolled up stays where he is.
    pub fn push(&mut self, news: &News, lang: Lang, columns: usize, width: Width) {
        if self.is_loading || self.upto >= news.seq {
            return;
        }
        self.upto = news.seq;
        for entry in entries(news, lang) {
            if self.below > 0 {
                self.below += entry.lines(columns, width).len();
            }
            self.entries.push(entry);
        }
    }
}

impl Entry {
    /// Its text in lines of so many cells, with the blank line after it.
    pub fn lines(&self, columns: usize, width: Width) -> Vec<String> {
        let mut lines = vec![String::new()];
        if !self.text.is_empty() {
            lines.extend(wrap(&self.text, columns.saturating_sub(2), width));
        }
        lines.push(String::new());
        lines
    }
}

/// The entries of one event.
pub fn entries(news: &News, lang: Lang) -> Vec<Entry> {
    let event = match &news.body {
        Body::Known(event) => event,
        Body::Raw(text) => {
            let (seq, at) = (news.seq, news.at);
            return vec![Entry {
                seq,
                at,
                by: Speaker::Note,
                title: news.kind.to_string(),
                text: cut(text, lang),
            }];
        }
    };
    let made = Made { event, lang };
    match &event.kind {
        EventKind::AgentStarted { prompt, model, agent_type, .. } => vec![
            made.note(&words!("started: {agent_type}, {model}", "已启动：{agent_type}，{model}")),
            made.entry(Speaker::Task, &words!("task", "任务"), prompt),
        ],
        EventKind::AgentContinued { prompt, .. } => {
            vec![made.entry(Speaker::Task, &words!("next task", "下一项任务"), prompt)]
        }
        EventKind::ModelAnswered { answer, .. } => {
            answer.message.parts.iter().filter_map(|part| made.part(part)).collect()
        }
        EventKind::ToolCompleted { content, is_error: false, .. } => {
            vec![made.entry(Speaker::Result, &words!("result", "结果"), content)]
        }
        EventKind::ToolCompleted { content, is_error: true, .. } => {
            vec![made.entry(Speaker::Failure, &words!("error", "错误"), content)]
        }
        EventKind::ToolRefused { reason, .. } => {
            vec![made.entry(Speaker::Failure, &words!("refused", "已拒绝"), reason)]
        }
        EventKind::AgentActed { tool, arguments, is_error, head, .. } => vec![
            made.entry(Speaker::Call, &words!("{tool}", "{tool}"), &shown(arguments)),
            match is_error {
                false => made.entry(Speaker::Result, &words!("result", "结果"), head),
                true => made.entry(Speaker::Failure, &words!("error", "错误"), head),
            },
        ],
        EventKind::MessageSent { from, text, .. } => {
            vec![made.entry(Speaker::Message, &words!("message from {from}", "来自 {from} 的消息"), text)]
        }
        EventKind::InputRequested { text, options, .. } => {
            let options =
                if options.is_empty() { String::new() } else { format!("\n[{}]", options.join(" / ")) };
            vec![made.entry(
                Speaker::Question,
                &words!("question to you", "向您提问"),
                &format!("{text}{options}"),
            )]
        }
        EventKind::InputAnswered { answer, .. } => {
            vec![made.entry(Speaker::Message, &words!("your answer", "您的回答"), answer)]
        }
        EventKind::AgentCompacted { summary, .. } => {
            vec![made.entry(
                Speaker::Note,
                &words!("the conversation so far, summed up", "此前对话的总结"),
                summary,
            )]
        }
        EventKind::AgentStopped { verdict, .. } => vec![made.verdict(verdict)],
        EventKind::NodeStarted { arguments: Some(arguments), .. } => {
            vec![made.entry(Speaker::Task, &words!("started with", "启动参数"), &shown(arguments))]
        }
        EventKind::SkillCalled { arguments, starts: true, .. } => {
            let arguments = arguments.join(" ");
            vec![made.entry(Speaker::Task, &words!("started with", "启动参数"), &arguments)]
        }
        EventKind::NodePrinted { stdout, .. } => {
            vec![made.entry(Speaker::Result, &words!("printed", "输出"), stdout)]
        }
        EventKind::NodeCompleted { value, .. } => {
            vec![made.entry(Speaker::Result, &words!("its result", "其结果"), &shown(value))]
        }
        EventKind::NodeStarted { arguments: None, .. }
        | EventKind::ModelRequested { .. }
        | EventKind::ToolRequested { .. }
        | EventKind::SkillUsed { .. }
        | EventKind::AgentHosted { .. } => Vec::new(),
        kind if OUTSIDE.contains(&&*news.kind) => {
            made.outside(&news.kind, &serde_json::to_value(kind).unwrap_or_default())
        }
        kind => {
            let sentence = fugato_runtime::exports::sentence_of(kind, |_| None);
            sentence.map(|sentence| made.note(&sentence.words)).into_iter().collect()
        }
    }
}

struct Made<'e> {
    event: &'e Event,
    lang: Lang,
}

impl Made<'_> {
    fn entry(&self, by: Speaker, title: &Words, text: &str) -> Entry {
        let (seq, at) = (self.event.seq, self.event.at);
        let title = fugato_model::escape_for_terminal(title.in_lang(self.lang)).into_owned();
        Entry { seq, at, by, title, text: cut(text.trim(), self.lang) }
    }

    fn note(&self, words: &Words) -> Entry {
        self.entry(Speaker::Note, words, "")
    }

    fn part(&self, part: &Part) -> Option<Entry> {
        match part {
            Part::Text { text } if text.trim().is_empty() => None,
            Part::Text { text } => Some(self.entry(Speaker::Agent, &words!("says", "说"), text)),
            Part::Reasoning { text, .. } if text.trim().is_empty() => None,
            Part::Reasoning { text, .. } => {
                Some(self.entry(Speaker::Thought, &words!("thinks", "思考"), text))
            }
            Part::ToolCall(call) => {
                let name = &call.name;
                Some(self.entry(Speaker::Call, &words!("{name}", "{name}"), &shown(&call.arguments)))
            }
            Part::ToolResult(_) => None,
            Part::Image { media_type, .. } => {
                Some(self.note(&words!("a picture ({media_type})", "一张图片（{media_type}）")))
            }
        }
    }

    /// What a tool of another program was asked and answered.
    fn outside(&self, name: &str, fields: &Value) -> Vec<Entry> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let tool = text("tool");
        let is_error = fields.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        vec![match name {
            "tool.asked" => {
                let arguments = fields.get("arguments").map(shown).unwrap_or_default();
                self.entry(Speaker::Call, &words!("{tool}", "{tool}"), &arguments)
            }
            "tool.denied" => {
                self.entry(Speaker::Failure, &words!("{tool} denied", "{tool} 被拒绝"), &text("reason"))
            }
            _ if is_error => self.entry(Speaker::Failure, &words!("error", "错误"), &text("content")),
            _ => self.entry(Speaker::Result, &words!("result", "结果"), &text("content")),
        }]
    }

    fn verdict(&self, verdict: &Verdict) -> Entry {
        match verdict {
            Verdict::Submitted { value } => {
                self.entry(Speaker::Result, &words!("handed in its result", "提交了结果"), &shown(value))
            }
            // It was said right before.
            Verdict::Answered { .. } => self.note(&words!("finished", "已结束")),
            Verdict::Failed { message } => self.entry(Speaker::Failure, &words!("failed", "失败"), message),
            Verdict::LimitReached { limit, .. } => {
                self.note(&words!("stopped at the limit of {limit}", "达到 {limit} 上限，已停止"))
            }
            Verdict::Cancelled => self.note(&words!("cancelled", "已取消")),
        }
    }
}

/// A value for eyes: text as it is, short objects on one line.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.len() == 1 => {
            let command = fields.get("command").and_then(Value::as_str);
            command.map_or_else(|| value.to_string(), |command| format!("$ {command}"))
        }
        other => {
            let line = other.to_string();
            if line.len() <= 120 { line } else { serde_json::to_string_pretty(other).unwrap_or(line) }
        }
    }
}

fn cut(text: &str, lang: Lang) -> String {
    let Some((at, _)) = text.char_indices().nth(MOST_CHARS) else { return text.to_owned() };
    let (head, rest) = text.split_at(at);
    let more = rest.chars().count();
    let note = words!(
        "[… {more} characters more, whole in `fugato events`]",
        "[… 另有 {more} 个字符，全文见 `fugato events`]"
    );
    format!("{head}\n{}", note.in_lang(lang))
}

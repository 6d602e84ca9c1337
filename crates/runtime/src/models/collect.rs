//! Collects a stream into an answer. A tool call counts only when its end was seen and its arguments are one JSON object;
//! before that it is not a value anybody could run.

use super::error::ModelError;
use super::{ModelRequest, Transcript, strict_json};
use fugato_model::chat::{Answer, Message, ModelFault, Part, Role, StopReason, ToolCall, Usage};
use fugato_model::words;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// What arrives while a model answers: for live display only, never a base for decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    ToolCallStarted { id: String, name: String },
    ToolCallArguments { id: String, fragment: String },
}

/// What kind of answer an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerShape {
    /// Text or tool calls.
    Said,
    /// Nothing at all.
    Empty,
    /// The model thought and then said nothing.
    OnlyReasoning,
    Refused,
}

pub fn shape_of(answer: &Answer) -> AnswerShape {
    let parts = &answer.message.parts;
    let says = |part: &Part| match part {
        Part::Text { text } => !text.trim().is_empty(),
        Part::Reasoning { .. } => false,
        Part::ToolCall(_) | Part::ToolResult(_) | Part::Image { .. } => true,
    };
    if answer.stop == StopReason::Refusal {
        AnswerShape::Refused
    } else if parts.iter().any(says) {
        AnswerShape::Said
    } else if parts.iter().any(|part| matches!(part, Part::Reasoning { text, .. } if !text.is_empty())) {
        AnswerShape::OnlyReasoning
    } else {
        AnswerShape::Empty
    }
}

/// One piece of a stream: JSON under an event's name, or the bare end marker `[DONE]`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame<'a> {
    Json { event: &'a str, value: &'a Value },
    Done,
}

/// What a frame meant for the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    More,
    /// Nobody knows this frame; it is counted.
    Unknown,
    /// The end marker; more frames may follow, but need not.
    Finished,
    End,
}

/// Reads the frames of one provider's stream.
pub(super) trait Decode: Send {
    fn read(&mut self, frame: Frame<'_>, out: &mut Collector<'_>) -> Result<Flow, ModelError>;
}

pub(super) type OnDelta<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// The answer so far.
pub(super) struct Collector<'a> {
    on_delta: OnDelta<'a>,
    transcript: &'a Transcript,
    own_ids: String,
    ids: HashSet<String>,
    blocks: Vec<Block>,
    by_key: HashMap<u64, usize>,
    pub usage: Usage,
    pub stop: Option<StopReason>,
    pub unknown_frames: u64,
    pub replaced_ids: u64,
}

enum Block {
    Text(String),
    Reasoning { text: String, signature: Option<String> },
    Tool { id: String, name: String, arguments: String, whole: Option<Value>, ended: bool },
}

impl<'a> Collector<'a> {
    pub fn new(request: &ModelRequest<'a>, on_delta: OnDelta<'a>) -> Self {
        // The length grows with every answer, the step survives compaction: together an id is never given twice.
        let own_ids = format!("call_{}_{}", request.about.step, request.transcript.len());
        Self {
            on_delta,
            transcript: request.transcript,
            own_ids,
            ids: HashSet::new(),
            blocks: Vec::new(),
            by_key: HashMap::new(),
            usage: Usage::default(),
            stop: None,
            unknown_frames: 0,
            replaced_ids: 0,
        }
    }

    /// Whether a block of this key was begun.
    pub fn has(&self, key: u64) -> bool {
        self.by_key.contains_key(&key)
    }

    pub fn text(&mut self, key: u64, piece: &str) {
        if piece.is_empty() {
            return;
        }
        match self.block(key, || Block::Text(String::new())) {
            Some(Block::Text(text)) => text.push_str(piece),
            _ => return,
        }
        (self.on_delta)(Delta::Text(piece.to_owned()));
    }

    pub fn reasoning(&mut self, key: u64, piece: &str) {
        if let Some(Block::Reasoning { text, .. }) = self.block(key, Block::thought) {
            text.push_str(piece);
            if !piece.is_empty() {
                (self.on_delta)(Delta::Reasoning(piece.to_owned()));
            }
        }
    }

    /// The provider's proof of its reasoning, to be sent back unchanged.
    pub fn sign(&mut self, key: u64, proof: &str) {
        if let Some(Block::Reasoning { signature, .. }) = self.block(key, Block::thought) {
            signature.get_or_insert_default().push_str(proof);
        }
    }

    /// Text without a key continues the last block, if that is text.
    pub fn append_text(&mut self, piece: &str) {
        if !matches!(self.blocks.last(), Some(Block::Text(_))) && !piece.is_empty() {
            self.blocks.push(Block::Text(String::new()));
        }
        if let (false, Some(Block::Text(text))) = (piece.is_empty(), self.blocks.last_mut()) {
            text.push_str(piece);
            (self.on_delta)(Delta::Text(piece.to_owned()));
        }
    }

    pub fn append_reasoning(&mut self, piece: &str) {
        let continues = matches!(self.blocks.last(), Some(Block::Reasoning { signature: None, .. }));
        if !continues && !piece.is_empty() {
            self.blocks.push(Block::thought());
        }
        if let (false, Some(Block::Reasoning { text, .. })) = (piece.is_empty(), self.blocks.last_mut()) {
            text.push_str(piece);
            (self.on_delta)(Delta::Reasoning(piece.to_owned()));
        }
    }

    /// A proof that belongs to what follows.
    pub fn append_signature(&mut self, proof: String) {
        self.blocks.push(Block::Reasoning { text: String::new(), signature: Some(proof) });
    }

    /// A call begins. A second beginning of the same key is a repeated frame and changes nothing.
    pub fn begin_tool(&mut self, key: u64, id: Option<&str>, name: &str) {
        if self.has(key) {
            return;
        }
        let id = self.accept_id(id);
        (self.on_delta)(Delta::ToolCallStarted { id: id.clone(), name: name.to_owned() });
        self.by_key.insert(key, self.blocks.len());
        let name = name.to_owned();
        self.blocks.push(Block::Tool { id, name, arguments: String::new(), whole: None, ended: false });
    }

    /// A name that came later than the beginning.
    pub fn name_tool(&mut self, key: u64, late: &str) {
        if let Some(Block::Tool { name, .. }) = self.existing(key)
            && name.is_empty()
        {
            late.clone_into(name);
        }
    }

    pub fn tool_arguments(&mut self, key: u64, fragment: &str) {
        let Some(Block::Tool { id, arguments, ended: false, .. }) = self.existing(key) else {
            self.unknown_frames += 1;
            return;
        };
        arguments.push_str(fragment);
        let id = id.clone();
        if !fragment.is_empty() {
            (self.on_delta)(Delta::ToolCallArguments { id, fragment: fragment.to_owned() });
        }
    }

    /// The provider says the call is whole, and may say its arguments once more: then those count.
    pub fn end_tool(&mut self, key: u64, all: Option<&str>) {
        if let Some(Block::Tool { arguments, ended, .. }) = self.existing(key) {
            if let Some(all) = all {
                all.clone_into(arguments);
            }
            *ended = true;
        }
    }

    /// Arguments that came parsed at the beginning; they count when no text of them follows.
    pub fn preset_arguments(&mut self, key: u64, value: &Value) {
        if let Some(Block::Tool { whole, .. }) = self.existing(key) {
            *whole = Some(value.clone());
        }
    }

    pub fn end_all_tools(&mut self) {
        for block in &mut self.blocks {
            if let Block::Tool { ended, .. } = block {
                *ended = true;
            }
        }
    }

    /// A call that arrived in one piece.
    pub fn whole_tool(&mut self, id: Option<&str>, name: &str, arguments: &Value) {
        let id = self.accept_id(id);
        (self.on_delta)(Delta::ToolCallStarted { id: id.clone(), name: name.to_owned() });
        let fragment = arguments.to_string();
        (self.on_delta)(Delta::ToolCallArguments { id: id.clone(), fragment });
        let (name, whole) = (name.to_owned(), Some(arguments.clone()));
        self.blocks.push(Block::Tool { id, name, arguments: String::new(), whole, ended: true });
    }

    /// The finished answer, or why it is none.
    pub fn finish(&mut self) -> Result<Answer, ModelError> {
        let Some(stop) = self.stop else {
            let words = words!("the answer has no reason for its end", "答案没有给出结束原因");
            return Err(ModelError::new(ModelFault::Transient, words));
        };
        let mut parts = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            parts.extend(block.finish(stop)?);
        }
        let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop = match (stop, calls) {
            (StopReason::EndTurn | StopReason::Other, true) => StopReason::ToolUse,
            (StopReason::ToolUse, false) => {
                let words = words!(
                    "the answer ends with a tool call, but no tool call arrived",
                    "答案以工具调用结束，但没有收到任何工具调用"
                );
                return Err(ModelError::new(ModelFault::Transient, words));
            }
            (stop, _) => stop,
        };
        Ok(Answer { message: Message { role: Role::Assistant, parts }, stop, usage: self.usage })
    }

    /// Adds what had arrived to an error. Tool calls are left out: none of them may run.
    pub fn attach(&self, mut error: ModelError) -> ModelError {
        let parts: Vec<Part> = self.blocks.iter().filter_map(Block::partial).collect();
        if !parts.is_empty() {
            error.partial = Some(Message { role: Role::Assistant, parts });
        }
        if self.usage != Usage::default() {
            error.usage = Some(Box::new(self.usage));
        }
        error
    }

    fn block(&mut self, key: u64, make: impl FnOnce() -> Block) -> Option<&mut Block> {
        let next = self.blocks.len();
        let at = *self.by_key.entry(key).or_insert(next);
        if at == next {
            self.blocks.push(make());
        }
        self.blocks.get_mut(at)
    }

    fn existing(&mut self, key: u64) -> Option<&mut Block> {
        self.by_key.get(&key).and_then(|at| self.blocks.get_mut(*at))
    }

    /// The provider's id when it is one that every provider would take back and that names no other call.
    fn accept_id(&mut self, given: Option<&str>) -> String {
        let usable = |id: &&str| {
            (1..=64).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
                && !self.ids.contains(*id)
                && !self.transcript.has_call(id)
        };
        let id = match given.filter(usable) {
            Some(id) => id.to_owned(),
            None => {
                self.replaced_ids += 1;
                format!("{}_{}", self.own_ids, self.ids.len() + 1)
            }
        };
        self.ids.insert(id.clone());
        id
    }
}

impl Block {
    fn thought() -> Self {
        Self::Reasoning { text: String::new(), signature: None }
    }

    fn finish(&self, stop: StopReason) -> Result<Option<Part>, ModelError> {
        match self {
            Self::Text(text) => Ok((!text.is_empty()).then(|| Part::Text { text: text.clone() })),
            Self::Reasoning { text, signature } if text.is_empty() && signature.is_none() => Ok(None),
            Self::Reasoning { text, signature } => {
                Ok(Some(Part::Reasoning { text: text.clone(), signature: signature.clone() }))
            }
            Self::Tool { name, ended: false, .. } => Err(ModelError::new(
                ModelFault::Transient,
                words!("the call of tool `{name}` never ended", "对工具 `{name}` 的调用没有结束"),
            )),
            Self::Tool { name, .. } if name.is_empty() => Err(ModelError::new(
                ModelFault::Malformed,
                words!("a tool call has no tool name", "有一个工具调用没有工具名称"),
            )),
            Self::Tool { id, name, arguments, whole, .. } => {
                let arguments = read_arguments(arguments, whole.as_ref(), stop)
                    .map_err(|error| bad_arguments(name, &error, stop))?;
                Ok(Some(Part::ToolCall(ToolCall { id: id.clone(), name: name.clone(), arguments })))
            }
        }
    }

    fn partial(&self) -> Option<Part> {
        match self {
            Self::Text(text) => (!text.is_empty()).then(|| Part::Text { text: text.clone() }),
            Self::Reasoning { text, .. } => {
                (!text.is_empty()).then(|| Part::Reasoning { text: text.clone(), signature: None })
            }
            Self::Tool { .. } => None,
        }
    }
}

fn read_arguments(text: &str, whole: Option<&Value>, stop: StopReason) -> Result<Value, String> {
    match (text.trim(), whole) {
        ("", Some(value @ Value::Object(_))) => Ok(value.clone()),
        ("", Some(Value::String(text))) => strict_json::object(text),
        ("", Some(value)) if !value.is_null() => {
            Err(format!("expected an object, found {}", strict_json::kind(value)))
        }
        // Tools without parameters are called without arguments; but after a cut nobody knows what would have come.
        ("", _) if stop != StopReason::MaxTokens => Ok(Value::Object(serde_json::Map::new())),
        (text, _) => strict_json::object(text),
    }
}

fn bad_arguments(name: &str, error: &str, stop: StopReason) -> ModelError {
    let words = if stop == StopReason::MaxTokens {
        words!(
            "the answer was cut at its token limit inside the arguments of tool `{name}`: {error}",
            "答案在工具 `{name}` 的参数中间因达到 token 上限而被截断：{error}"
        )
    } else {
        words!(
            "the arguments of tool `{name}` are not a JSON object: {error}",
            "工具 `{name}` 的参数不是 JSON 对象：{error}"
        )
    };
    ModelError::new(ModelFault::Malformed, words)
}

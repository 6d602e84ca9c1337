//! `script:<file>`: a model that plays from a file of rules. The first rule that fits answers; none is an error that shows
//! the request, so that the missing rule can be written from it.

mod rules;

pub(super) use rules::{Script, ScriptError};

use super::collect::{Collector, OnDelta};
use super::error::{ModelError, excerpt};
use super::{ModelRequest, strict_json};
use fugato_model::chat::{Answer, ModelFault, Part, StopReason};
use fugato_model::{Code, words};
use rules::{Fault, Reply, Rule, When};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Plays the first rule that fits.
pub(super) async fn answer(
    script: &Script,
    request: &ModelRequest<'_>,
    on_delta: OnDelta<'_>,
) -> Result<Answer, ModelError> {
    let Some(rule) = script.rules.iter().find(|rule| rule.takes(request)) else {
        return Err(unmatched(script, request));
    };
    if !rule.delay.is_zero() {
        tokio::time::sleep(rule.delay).await;
    }
    let mut out = Collector::new(request, on_delta);
    out.usage = rule.reply.usage;
    if let Some(fault) = rule.fault {
        return Err(fail(fault, rule, &mut out));
    }
    say(&rule.reply, &mut out);
    out.stop = Some(rule.reply.stop.unwrap_or(StopReason::EndTurn));
    out.finish().map_err(|error| out.attach(error))
}

impl Rule {
    /// Whether the rule fits and is not used up; using it counts.
    fn takes(&self, request: &ModelRequest<'_>) -> bool {
        self.when.fits(request)
            && self.times.is_none_or(|times| {
                let used = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    (used < times).then_some(used + 1)
                });
                used.is_ok()
            })
    }
}

impl When {
    fn fits(&self, request: &ModelRequest<'_>) -> bool {
        let about = &request.about;
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| glob(wanted, found));
        let last = request.transcript.last();
        is(&self.agent, about.agent)
            && is(&self.skill, about.skill)
            && self.step.is_none_or(|step| step == about.step)
            && self.attempt.is_none_or(|attempt| attempt == about.attempt)
            && self.text.as_deref().is_none_or(|text| last.is_some_and(|last| holds(last, text)))
            && self.task.as_deref().is_none_or(|text| {
                request.transcript.messages().next().is_some_and(|first| holds(first, text))
            })
            && self.tool_result.as_deref().is_none_or(|tool| {
                last.into_iter().flat_map(|last| &last.parts).any(|part| match part {
                    Part::ToolResult(result) => request.transcript.tool_of(&result.call) == Some(tool),
                    _ => false,
                })
            })
    }
}

fn holds(message: &fugato_model::chat::Message, text: &str) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text { text: found } => found.contains(text),
        Part::ToolResult(result) => result.content.contains(text),
        _ => false,
    })
}

/// `*` stands for anything; everything else for itself.
fn glob(pattern: &str, found: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| found.strip_prefix(first)) else { return false };
    let mut pieces: Vec<_> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

fn say(reply: &Reply, out: &mut Collector<'_>) {
    out.append_reasoning(&reply.reasoning);
    // Word by word, as a real stream arrives.
    for word in reply.text.split_inclusive(' ') {
        out.append_text(word);
    }
    for (name, arguments) in &reply.tools {
        out.whole_tool(None, name, arguments);
    }
}

fn fail(fault: Fault, rule: &Rule, out: &mut Collector<'_>) -> ModelError {
    let error = match fault {
        Fault::Status(status) => {
            let fault = if status == 429 { ModelFault::RateLimited } else { ModelFault::Transient };
            let words = words!("the script answers with status {status}", "脚本返回状态 {status}");
            let asked = rule.retry_after;
            ModelError::new(fault, words).status(status).retry_after(asked)
        }
        Fault::Cut => {
            let half: String = rule.reply.text.chars().take(rule.reply.text.chars().count() / 2).collect();
            out.append_reasoning(&rule.reply.reasoning);
            out.append_text(&half);
            let words = words!("the script cuts the stream here", "脚本在此处截断数据流");
            ModelError::new(ModelFault::Transient, words)
        }
        Fault::Malformed => {
            out.append_text(&rule.reply.text);
            let name = rule.reply.tools.first().map_or("?", |(name, _)| name.as_str());
            let error = strict_json::object("{\"cut\": ").err().unwrap_or_default();
            let words = words!(
                "the arguments of tool `{name}` are not a JSON object: {error}",
                "工具 `{name}` 的参数不是 JSON 对象：{error}"
            );
            ModelError::new(ModelFault::Malformed, words)
        }
    };
    out.attach(error)
}

fn unmatched(script: &Script, request: &ModelRequest<'_>) -> ModelError {
    let about = &request.about;
    let last = request.transcript.last().map_or_else(String::new, |message| {
        let pieces = message.parts.iter().map(|part| match part {
            Part::Text { text } => text.clone(),
            Part::Reasoning { .. } => "[reasoning]".to_owned(),
            Part::ToolCall(call) => format!("[call {}]", call.name),
            Part::ToolResult(result) => {
                let tool = request.transcript.tool_of(&result.call).unwrap_or("?");
                format!("[result of {tool}] {}", result.content)
            }
            Part::Image { .. } => "[image]".to_owned(),
        });
        excerpt(&pieces.collect::<Vec<_>>().join(" "), 400)
    });
    let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let (path, agent, skill, step) = (&script.path, about.agent, about.skill, about.step);
    let (attempt, tools) = (about.attempt, tools.join(", "));
    let words = words!(
        "no rule of `{path}` fits this request: agent `{agent}`, skill `{skill}`, step {step}, attempt {attempt}, \
         tools [{tools}], last message: {last}",
        "`{path}` 中没有规则符合此请求：智能体 `{agent}`，技能 `{skill}`，第 {step} 步，第 {attempt} 次尝试，工具 [{tools}]，\
         最后一条消息：{last}"
    );
    ModelError::new(ModelFault::Rejected, words).code(Code::F0602)
}

impl Script {
    /// Reads a file of rules.
    pub fn load(path: &std::path::Path) -> Result<Self, Box<ScriptError>> {
        let shown = path.display().to_string();
        let bytes = std::fs::read(path)
            .map_err(|error| ScriptError::unreadable(&shown, &error.kind().to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| ScriptError::unreadable(&shown, "not UTF-8"))?;
        Self::parse(&shown, &text)
    }
}

/// The longest delay a rule may ask for: an hour, as the longest call.
const LONGEST_DELAY: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{About, Delta, ToolChoice, Transcript};
    use fugato_model::chat::{Message, Role, ToolCall, ToolResult};
    use serde_json::json;
    use std::sync::Arc;

    const SCRIPT: &str = "\
- when: {agent: 'plan*', step: 1}
  reply: first words
  reasoning: hm
  usage: {input: 10, output: 2}
- when: {tool_result: Read, text: secret}
  tools:
    - name: submit_result
      arguments: {ok: true, n: 3, list: [a, \"7\", null]}
- when: {skill: flaky, attempt: 0}
  fault: 429
  retry_after: 2
- when: {skill: flaky}
  times: 1
  fault: cut
  reply: half of this
- when: {skill: flaky}
  fault: malformed
  tools: [{name: Read}]
- when: {task: build}
  reply: built
";

    fn about<'a>(agent: &'a str, skill: &'a str, step: u32, attempt: u32) -> About<'a> {
        About { run: "r", agent, skill, step, attempt }
    }

    async fn play(script: &Script, transcript: &Transcript, about: About<'_>) -> Result<Answer, ModelError> {
        let request = ModelRequest {
            model: "",
            system: "",
            transcript,
            tools: &[],
            written: None,
            tool_choice: ToolChoice::Auto,
            max_tokens: None,
            schema: None,
            about,
        };
        answer(script, &request, &mut |_| {}).await
    }

    fn conversation() -> Transcript {
        let call = ToolCall { id: "1".into(), name: "Read".into(), arguments: json!({}) };
        let result = ToolResult { call: "1".into(), content: "a secret".into(), is_error: false };
        [
            Message::user("please build it"),
            Message { role: Role::Assistant, parts: vec![Part::ToolCall(call)] },
            Message { role: Role::User, parts: vec![Part::ToolResult(result)] },
        ]
        .map(Arc::new)
        .into_iter()
        .collect()
    }

    #[tokio::test]
    async fn the_first_rule_that_fits_answers() {
        let script = Script::parse("s.yaml", SCRIPT).unwrap();
        let empty = Transcript::new();
        let first = play(&script, &empty, about("planner", "", 1, 0)).await.unwrap();
        assert_eq!((first.message.text().as_str(), first.usage.input_tokens), ("first words", Some(10)));
        let second = play(&script, &conversation(), about("x", "", 2, 0)).await.unwrap();
        let call = second.message.tool_calls().next().unwrap().clone();
        assert_eq!(call.arguments, json!({"ok": true, "n": 3, "list": ["a", "7", null]}));
        assert_eq!(second.stop, StopReason::ToolUse);
        let other: Transcript = [Arc::new(Message::user("build"))].into_iter().collect();
        assert_eq!(play(&script, &other, about("x", "", 2, 0)).await.unwrap().message.text(), "built");
    }

    #[tokio::test]
    async fn faults_are_played_and_times_are_counted() {
        let script = Script::parse("s.yaml", SCRIPT).unwrap();
        let empty = Transcript::new();
        let limited = play(&script, &empty, about("x", "flaky", 1, 0)).await.unwrap_err();
        assert_eq!((limited.fault, limited.status), (ModelFault::RateLimited, Some(429)));
        assert_eq!(limited.retry_after, Some(Duration::from_secs(2)));
        let cut = play(&script, &empty, about("x", "flaky", 1, 1)).await.unwrap_err();
        assert_eq!((cut.fault, cut.partial.unwrap().text().as_str()), (ModelFault::Transient, "half o"));
        let bad = play(&script, &empty, about("x", "flaky", 1, 1)).await.unwrap_err();
        assert_eq!(bad.fault, ModelFault::Malformed);
    }

    #[tokio::test]
    async fn no_rule_is_an_error_that_shows_the_request() {
        let script = Script::parse("s.yaml", "- when: {step: 9}\n  reply: x\n").unwrap();
        let error = play(&script, &conversation(), about("planner", "web", 3, 0)).await.unwrap_err();
        assert_eq!((error.fault, error.code), (ModelFault::Rejected, Code::F0602));
        for shown in ["s.yaml", "planner", "web", "step 3", "[result of Read] a secret"] {
            assert!(error.words.en.contains(shown), "{shown}: {}", error.words.en);
        }
    }

    #[tokio::test]
    async fn text_arrives_word_by_word() {
        let script = Script::parse("s.yaml", "- reply: one two\n").unwrap();
        let transcript = Transcript::new();
        let request = ModelRequest {
            model: "",
            system: "",
            transcript: &transcript,
            tools: &[],
            written: None,
            tool_choice: ToolChoice::Auto,
            max_tokens: None,
            schema: None,
            about: About::default(),
        };
        let mut deltas = Vec::new();
        answer(&script, &request, &mut |delta| deltas.push(delta)).await.unwrap();
        assert_eq!(deltas, [Delta::Text("one ".into()), Delta::Text("two".into())]);
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, found, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("*b*", "abc", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(glob(pattern, found), expected, "{pattern} {found}");
        }
    }
}

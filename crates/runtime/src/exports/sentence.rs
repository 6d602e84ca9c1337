//! One sentence for each thing that happens to an agent, for the eyes of whoever reads its stream.

use fugato_engine::{AfterFailure, Caller, EventKind, Purpose, Verb, Verdict};
use fugato_model::chat::{Answer, ToolCall};
use fugato_model::{Words, escape_for_terminal, words};

/// A line to be: the kind of happening and its sentence.
#[derive(Debug, PartialEq)]
pub struct Sentence {
    pub kind: &'static str,
    pub words: Words,
    pub tool: Option<String>,
}

/// Longer texts of models, tools and people are cut: the whole is in the log.
const LONGEST: usize = 200;

/// One line of text, safe to print, of at most 200 characters.
pub(super) fn cut(text: &str) -> String {
    cut_to(text, LONGEST)
}

pub(super) fn cut_to(text: &str, longest: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            count += 1;
        }
        for c in word.chars() {
            if count >= longest {
                line.push('…');
                return escape_for_terminal(&line).into_owned();
            }
            line.push(c);
            count += 1;
        }
    }
    escape_for_terminal(&line).into_owned()
}

/// The sentence of an event that concerns one agent. `None`: it says nothing an agent's reader would miss.
pub fn of_event(kind: &EventKind, verb_of: impl Fn(u64) -> Option<Verb>) -> Option<Sentence> {
    match kind {
        EventKind::NodeStarted { attempt, .. } => Some(started(*attempt)),
        EventKind::NodeCompleted { warnings, .. } => Some(completed(warnings)),
        EventKind::NodeFailed { message, then, .. } => Some(failed(message, *then)),
        EventKind::NodeUncertain { .. } | EventKind::ToolUncertain { .. } => say(
            "uncertain",
            words!(
                "the process ended meanwhile; it may or may not have taken effect",
                "进程中途结束；无法确定是否已生效"
            ),
        ),
        EventKind::AgentStarted { agent_type, model, .. } => {
            let (agent_type, model) = (cut(agent_type), cut(model));
            say("started", words!("started ({agent_type}, {model})", "已启动（{agent_type}，{model}）"))
        }
        // One that starts at once has nothing to say yet.
        EventKind::AgentQueued { position: 0, .. } => None,
        EventKind::AgentQueued { position, .. } => {
            say("queued", words!("waits for a slot (place {position})", "等待空闲名额（第 {position} 位）"))
        }
        EventKind::AgentHosted { .. } => None,
        EventKind::AgentInterrupted { .. } => {
            say("interrupted", words!("its program was stopped in the middle", "执行它的程序在中途被停下"))
        }
        EventKind::AgentActed { tool, arguments, is_error, .. } => {
            let (tool, arguments) = (cut(tool), cut(&arguments.to_string()));
            match is_error {
                false => say("tool_call", words!("used {tool} {arguments}", "使用了 {tool} {arguments}")),
                true => say(
                    "tool_call",
                    words!("used {tool} {arguments}, which failed", "使用 {tool} {arguments} 失败"),
                ),
            }
        }
        EventKind::AgentWaiting { .. } => {
            say("waiting", words!("waits for its agents in the background", "等待后台代理结束"))
        }
        EventKind::AgentContinued { .. } => {
            say("started", words!("goes on with its next task", "继续下一项任务"))
        }
        EventKind::AgentStopped { verdict, .. } => Some(stopped(verdict)),
        EventKind::ModelRequested { step, purpose, .. } => {
            let words = match purpose {
                Purpose::Step => words!("thinking (step {step})", "思考中（第 {step} 步）"),
                Purpose::WrapUp => words!("coming to an end (step {step})", "正在收尾（第 {step} 步）"),
                Purpose::Summary => words!("summing up (step {step})", "正在总结（第 {step} 步）"),
            };
            say("thinking", words)
        }
        EventKind::ModelAnswered { answer, .. } => Some(answered(answer)),
        EventKind::ModelFailed { message, .. } => {
            let message = cut(message);
            say("model_error", words!("the model did not answer: {message}", "模型没有回答：{message}"))
        }
        EventKind::ModelRetried { wait_ms, reason, .. } => {
            let (en, zh) = (cut(&reason.en), cut(&reason.zh));
            say("retry", words!("asked again in {wait_ms} ms: {en}", "{wait_ms} 毫秒后再次调用：{zh}"))
        }
        EventKind::ToolRequested { call, .. } => Some(tool_call(call)),
        EventKind::ToolCompleted { content, is_error, .. } => {
            let content = cut(content);
            match is_error {
                false => say("tool_result", words!("result: {content}", "结果：{content}")),
                true => say("tool_result", words!("error: {content}", "错误：{content}")),
            }
        }
        EventKind::InputRequested { text, .. } => {
            let text = cut(text);
            say("question", words!("asks: {text}", "提问：{text}"))
        }
        EventKind::InputAnswered { answer, .. } => {
            let answer = cut(answer);
            say("answer", words!("was answered: {answer}", "得到回答：{answer}"))
        }
        EventKind::MessageSent { from, text, .. } => {
            let (from, text) = (cut(from), cut(text));
            say("message", words!("message from {from}: {text}", "来自 {from} 的消息：{text}"))
        }
        EventKind::DirectiveApplied { generation, .. } | EventKind::DirectiveHeld { generation, .. } => {
            Some(directed(verb_of(*generation), *generation))
        }
        EventKind::DirectiveExpired { generation, .. } => say(
            "directive",
            words!(
                "ended before it could act on directive {generation}",
                "在执行第 {generation} 条指令之前已结束"
            ),
        ),
        EventKind::AgentRestarted { .. } => {
            say("restarted", words!("breaks off what it was doing and goes on", "中断当前操作后继续"))
        }
        EventKind::NodeWarned { warnings, .. } => {
            let first = warnings.first()?;
            let (en, zh) = (cut(&first.en), cut(&first.zh));
            say("warning", words!("{en}", "{zh}"))
        }
        EventKind::NodePrinted { stdout, .. } => {
            let stdout = cut(stdout);
            say("output", words!("{stdout}", "{stdout}"))
        }
        EventKind::NodeRestarted { .. } => say("started", words!("is to begin again", "将重新开始")),
        EventKind::AgentCompacted { .. } => {
            say("compacted", words!("the conversation was summed up", "对话已被总结"))
        }
        EventKind::RepairAsked { problem, .. } => {
            let problem = cut(problem);
            say("repair", words!("asked for its result again: {problem}", "被要求重新给出结果：{problem}"))
        }
        EventKind::ToolRefused { reason, .. } => {
            let reason = cut(reason);
            say("tool_result", words!("refused: {reason}", "已拒绝：{reason}"))
        }
        EventKind::SkillUsed { name, .. } => {
            let name = cut(name);
            say("skill", words!("reads the skill {name}", "读取技能 {name}"))
        }
        EventKind::SkillCalled { by: Caller::Command { says: Some(says), .. }, skill, .. } => {
            let (says, skill) = (cut(says), cut(skill));
            say("skill_called", words!("{says} (calls the skill {skill})", "{says}（调用技能 {skill}）"))
        }
        EventKind::SkillCalled { skill, arguments, .. } => {
            let (skill, arguments) = (cut(skill), cut(&arguments.join(" ")));
            say(
                "skill_called",
                words!("calls the skill {skill}: {arguments}", "调用技能 {skill}：{arguments}"),
            )
        }
        EventKind::SessionPrepared { entries, .. } => {
            let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            let (count, names) = (entries.len(), cut(&names.join(", ")));
            say("prepared", words!("prepared, {count} entries: {names}", "准备完成，{count} 项：{names}"))
        }
        EventKind::ProgramPlanned { program, .. } => {
            let program = cut(program);
            say("planned", words!("runs this program: {program}", "执行程序：{program}"))
        }
        EventKind::ProgramRefused { problems, .. } => {
            let first = problems.first()?;
            let (en, zh) = (cut(&first.en), cut(&first.zh));
            say("plan_refused", words!("the plan cannot be run: {en}", "计划无法执行：{zh}"))
        }
        EventKind::AgentAnnounced { announced, .. } => {
            let description = cut(&announced.description);
            say("delegated", words!("asks for an agent: {description}", "请求启动代理：{description}"))
        }
        EventKind::AgentReported { report, .. } => {
            let word = report.as_str().to_uppercase();
            say("verdict", words!("reports {word}", "报告 {word}"))
        }
        EventKind::AgentWarned { warning, .. } => {
            let (en, zh) = (cut(&warning.en), cut(&warning.zh));
            say("warning", words!("{en}", "{zh}"))
        }
        EventKind::ToolAsked { tool, arguments, .. } => {
            let (name, arguments) = (cut(tool), cut(&arguments.to_string()));
            let words = words!("{name} {arguments}", "{name} {arguments}");
            Some(Sentence { kind: "tool_call", words, tool: Some(tool.clone()) })
        }
        EventKind::ToolDenied { reason, .. } => {
            let reason = cut(reason);
            say("tool_denied", words!("denied: {reason}", "已阻止：{reason}"))
        }
        EventKind::ToolAnswered { content, is_error, .. } => {
            let content = cut(content);
            match is_error {
                false => say("tool_result", words!("result: {content}", "结果：{content}")),
                true => say("tool_result", words!("error: {content}", "错误：{content}")),
            }
        }
        EventKind::HostObserved { name, .. } => {
            let name = cut(name);
            say("observed", words!("its program says: {name}", "其程序报告：{name}"))
        }
        EventKind::AgentJoined { .. } | EventKind::MessageDelivered { .. } => None,
        EventKind::RunCreated { .. }
        | EventKind::TimerFired { .. }
        | EventKind::RunRecovered { .. }
        | EventKind::LimitsRaised { .. }
        | EventKind::RunEnded { .. }
        | EventKind::ForeignSkipped { .. }
        | EventKind::DirectiveRecorded { .. }
        | EventKind::DirectiveDelivered { .. }
        | EventKind::DirectiveRefused { .. } => None,
    }
}

fn say(kind: &'static str, words: Words) -> Option<Sentence> {
    Some(Sentence { kind, words, tool: None })
}

fn sentence(kind: &'static str, words: Words) -> Sentence {
    Sentence { kind, words, tool: None }
}

pub(super) fn started(attempt: u32) -> Sentence {
    let words = match attempt {
        0 | 1 => words!("started", "已启动"),
        _ => words!("started again (attempt {attempt})", "再次启动（第 {attempt} 次）"),
    };
    sentence("started", words)
}

fn completed(warnings: &[Words]) -> Sentence {
    let words = match warnings.first() {
        None => words!("completed", "已完成"),
        Some(first) => {
            let (en, zh) = (cut(&first.en), cut(&first.zh));
            words!("completed, with concerns: {en}", "已完成，但有疑虑：{zh}")
        }
    };
    sentence("completed", words)
}

fn failed(message: &Words, then: AfterFailure) -> Sentence {
    let (en, zh) = (cut(&message.en), cut(&message.zh));
    let words = match then {
        AfterFailure::Inline => words!(
            "failed: {en}; tried once more in the main conversation",
            "失败：{zh}；将在主对话中再试一次"
        ),
        AfterFailure::Null => {
            words!("failed, but the run goes on without it: {en}", "失败，但运行可以继续：{zh}")
        }
        AfterFailure::Abort => words!("failed: {en}", "失败：{zh}"),
    };
    sentence("failed", words)
}

fn stopped(verdict: &Verdict) -> Sentence {
    match verdict {
        Verdict::Submitted { .. } => sentence("completed", words!("handed in its result", "已提交结果")),
        Verdict::Answered { text } => {
            let text = cut(text);
            sentence("completed", words!("completed: {text}", "已完成：{text}"))
        }
        Verdict::Failed { message } => {
            let message = cut(message);
            sentence("failed", words!("failed: {message}", "失败：{message}"))
        }
        Verdict::LimitReached { limit, .. } => {
            let limit = cut(limit);
            sentence("failed", words!("stopped at the limit of {limit}", "达到 {limit} 上限，已停止"))
        }
        Verdict::Cancelled => sentence("cancelled", words!("cancelled", "已取消")),
    }
}

fn answered(answer: &Answer) -> Sentence {
    let text = cut(&answer.message.text());
    let calls = answer.message.tool_calls().count();
    let words = match (text.is_empty(), calls) {
        (false, _) => words!("{text}", "{text}"),
        (true, 0) => words!("answered nothing", "没有回答任何内容"),
        (true, 1) => words!("asks for a tool", "请求调用工具"),
        (true, _) => words!("asks for {calls} tools", "请求调用 {calls} 个工具"),
    };
    sentence("text", words)
}

fn tool_call(call: &ToolCall) -> Sentence {
    let (name, arguments) = (cut(&call.name), cut(&call.arguments.to_string()));
    let words = words!("{name} {arguments}", "{name} {arguments}");
    Sentence { kind: "tool_call", words, tool: Some(call.name.clone()) }
}

fn directed(verb: Option<Verb>, generation: u64) -> Sentence {
    let words = match verb {
        Some(Verb::Pause) => words!("paused by the operator", "已被操作者暂停"),
        Some(Verb::Resume) => words!("resumed by the operator", "已由操作者恢复"),
        Some(Verb::Cancel) => words!("cancelled by the operator", "已被操作者取消"),
        Some(Verb::Restart) => words!("restarted by the operator", "已由操作者重新开始"),
        Some(Verb::Redirect) => words!("redirected by the operator", "已被操作者重定向"),
        None => words!("directive {generation} took effect", "第 {generation} 条指令已生效"),
    };
    sentence("directive", words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_hostile_texts_become_one_short_safe_line() {
        assert_eq!(cut("a\n\tb  c\u{202e}"), "a b c\\u{202e}");
        let cut = cut(&"长".repeat(300));
        assert_eq!(cut.chars().count(), 201);
        assert!(cut.ends_with('…'));
        assert_eq!(super::cut(&"x".repeat(200)), "x".repeat(200));
    }
}

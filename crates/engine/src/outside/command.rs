//! What people tell agents outside: decided at once by whoever tells it, in one order, and gone by at each agent's next call.

use super::desk::Desk;
use super::ending::{cancel, end_if_over};
use super::rows::AgentRow;
use crate::event::{EventKind, Outcome, Target, Verb};
use crate::input::{Command, Refusal};
use fugato_model::{Words, words};

/// More than this unread, and whoever sends is told so: nothing is dropped.
const MOST_UNREAD: usize = 1000;
const MOST_UNREAD_BYTES: usize = 1024 * 1024;

pub fn command(desk: &mut Desk<'_>, command: &Command) -> Result<(), Refusal> {
    if desk.run.ended.is_some() {
        return refuse(words!("the run has ended", "运行已结束"));
    }
    match command {
        Command::Direct { verb, target, text } => direct(desk, *verb, target, text.as_deref()),
        Command::Send { to, from, text } => send(desk, to, from, text),
        Command::Answer { .. } => refuse(words!(
            "agents outside ask where they run: answer there",
            "外部代理在其所在的程序中提问：请在那里回答"
        )),
        Command::Raise { .. } => {
            refuse(words!("agents outside have no limits here", "外部代理在此没有可调整的上限"))
        }
    }
}

fn direct(desk: &mut Desk<'_>, verb: Verb, target: &Target, text: Option<&str>) -> Result<(), Refusal> {
    let agents = targets(desk, target)?;
    check(desk, verb, target, &agents, text)?;
    let generation = desk.run.generation + 1;
    let told = text.map(str::to_owned);
    desk.emit(EventKind::DirectiveRecorded { generation, verb, target: target.clone(), text: told });
    for agent in &agents {
        supersede(desk, *agent, generation, verb);
        match verb {
            Verb::Redirect => {
                let task = text.unwrap_or_default();
                let text = format!("The operator redirects you. This supersedes your task:\n\n{task}");
                desk.emit(EventKind::MessageSent { to: *agent, from: "user".into(), text });
            }
            Verb::Cancel => cancel(desk, *agent),
            Verb::Pause | Verb::Resume | Verb::Restart => {}
        }
    }
    if verb == Verb::Cancel {
        if *target == Target::All {
            let reason = words!("cancelled by the operator", "已被操作者取消");
            desk.emit(EventKind::RunEnded { outcome: Outcome::Aborted, reason, result: None });
        } else if let Some(agent) = agents.first() {
            end_if_over(desk, *agent);
        }
    }
    Ok(())
}

/// What a later directive makes pointless: a pause before a resume, and the other way round; an older redirect.
fn supersede(desk: &mut Desk<'_>, agent: u32, generation: u64, verb: Verb) {
    let holds = |verb: Verb| matches!(verb, Verb::Pause | Verb::Resume);
    let due = desk.agent(agent).map(|row| row.due.clone()).unwrap_or_default();
    for due in due {
        let is_older = due.generation < generation;
        if is_older && (due.verb == verb || (holds(due.verb) && holds(verb))) {
            desk.emit(EventKind::DirectiveExpired { generation: due.generation, agent });
        }
    }
}

fn send(desk: &mut Desk<'_>, to: &Target, from: &str, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return refuse(words!("the message is empty", "消息为空"));
    }
    let agents = targets(desk, to)?;
    for agent in &agents {
        let Some(row) = desk.agent(*agent) else { continue };
        let path = row.path.clone();
        if !row.is_live() {
            return refuse(finished(&path));
        }
        let bytes: usize = row.unread.iter().map(|unread| unread.text.len()).sum();
        if row.unread.len() >= MOST_UNREAD || bytes + text.len() > MOST_UNREAD_BYTES {
            let count = row.unread.len();
            return refuse(words!(
                "inbox full: `{path}` has {count} unread messages",
                "收件箱已满：`{path}` 有 {count} 条未读消息"
            ));
        }
    }
    for to in agents {
        desk.emit(EventKind::MessageSent { to, from: from.to_owned(), text: text.to_owned() });
    }
    Ok(())
}

fn targets(desk: &Desk<'_>, target: &Target) -> Result<Vec<u32>, Refusal> {
    match target {
        Target::All => Ok(desk.live()),
        Target::Agent(path) => match desk.by_path(path.as_str()) {
            Some(agent) => Ok(vec![agent]),
            None => refuse(unknown(desk, path.as_str())),
        },
    }
}

/// The table of legal moves.
fn check(
    desk: &mut Desk<'_>,
    verb: Verb,
    target: &Target,
    agents: &[u32],
    text: Option<&str>,
) -> Result<(), Refusal> {
    if verb == Verb::Restart {
        return refuse(words!(
            "an agent outside is started by its own program",
            "外部代理由其所在的程序启动，无法在此重新开始"
        ));
    }
    if verb == Verb::Redirect && text.is_none_or(|text| text.trim().is_empty()) {
        return refuse(words!("a redirect needs an instruction", "重定向需要给出新的指令"));
    }
    let Target::Agent(path) = target else {
        return match verb {
            Verb::Resume if !desk.run.held && desk.run.paused == 0 => {
                refuse(words!("nothing is paused", "没有暂停的代理"))
            }
            Verb::Pause if desk.run.held && desk.run.paused == desk.run.live => {
                refuse(words!("the run is paused already", "运行已经暂停"))
            }
            _ => Ok(()),
        };
    };
    let Some(row) = agents.first().and_then(|agent| desk.agent(*agent)) else {
        return refuse(unknown(desk, path.as_str()));
    };
    match verb {
        _ if !row.is_live() => refuse(finished(path.as_str())),
        Verb::Resume if !row.paused => {
            refuse(words!("agent `{path}` is running, not paused", "代理 `{path}` 正在运行，没有暂停"))
        }
        Verb::Pause if row.paused => {
            refuse(words!("agent `{path}` is paused already", "代理 `{path}` 已经暂停"))
        }
        _ => Ok(()),
    }
}

fn finished(path: &str) -> Words {
    words!("agent `{path}` has finished", "代理 `{path}` 已结束")
}

fn unknown(desk: &Desk<'_>, path: &str) -> Words {
    let known = desk.paths();
    let list = known.join(", ");
    let (hint_en, hint_zh) = match fugato_model::nearest(path, known.iter().map(String::as_str)) {
        Some(near) => (format!("; did you mean `{near}`?"), format!("；是不是 `{near}`？")),
        None => (String::new(), String::new()),
    };
    words!(
        "agent '{path}' not found; available agents: {list}{hint_en}",
        "没有代理 '{path}'；现有代理：{list}{hint_zh}"
    )
}

fn refuse<T>(words: Words) -> Result<T, Refusal> {
    Err(Refusal { words })
}

/// How many messages may be handed over at once, and their texts.
pub(super) fn oldest(row: &AgentRow, most_bytes: usize) -> (u32, Vec<String>) {
    let (mut count, mut bytes, mut texts) = (0, 0, Vec::new());
    for unread in &row.unread {
        bytes += unread.text.len();
        // One that is too long for any answer goes alone.
        if count > 0 && bytes > most_bytes {
            break;
        }
        count += 1;
        texts.push(if unread.from == "user" {
            unread.text.clone()
        } else {
            format!("Message from `{}`:\n{}", unread.from, unread.text)
        });
    }
    (count, texts)
}

//! One agent's conversation, or what a program of the plan was given and gave; the newest below.

use super::chrome::sign;
use super::{Shown, cut, empty, not_read_yet};
use crate::printer::style;
use crate::render::canvas::{Line, Span};
use crate::runs::{duration, tokens};
use crate::tui::model::Model;
use crate::tui::talk::{Entry, Speaker, Talk};
use crate::tui::watched::Watched;
use anstyle::Style;
use fugato_model::words;

pub fn rows(model: &Model, room: usize) -> Vec<Shown> {
    let Some(watched) = &model.watched else { return not_read_yet(model) };
    let Some(talk) = &watched.talk else {
        return empty(
            model,
            &[
                words!("no agent is chosen", "没有选择代理"),
                words!("Enter on the board opens one", "在看板上按 Enter 打开"),
            ],
        );
    };
    let mut shown: Vec<Shown> = vec![title(model, watched, talk).into()];
    let room = room.saturating_sub(1);
    let lines = lines(model, watched, talk, room);
    if lines.is_empty() {
        let words = match talk.is_loading {
            true => words!("reading …", "正在读取 …"),
            false => words!("nothing has happened yet", "还没有发生任何事"),
        };
        shown.extend(empty(model, &[words]));
    }
    shown.extend(lines.into_iter().map(Shown::from));
    shown
}

fn title(model: &Model, watched: &Watched, talk: &Talk) -> Line {
    let (lang, width) = (model.lang, model.width);
    let Some(((row, state), run)) = watched.row(talk.row).zip(watched.run.as_ref()) else {
        return Vec::new();
    };
    let mut line = vec![
        Span::plain(" "),
        sign(state, model),
        Span::new(style::NAME, format!(" {}", row.name)),
        Span::new(
            super::board::look_of(state),
            format!("  {}", super::board::state_words(row, state, run, lang)),
        ),
        Span::new(style::DIM, format!("  {}", row.role)),
    ];
    if let Some(agent) = row.agent.and_then(|agent| run.agents.get(agent as usize)) {
        let (model_name, used, steps) = (&agent.model, tokens(agent.spent.tokens()), agent.step);
        let text = words!(
            "  {model_name}  step {steps}  {used} tokens",
            "  {model_name}  第 {steps} 步  {used} 词元"
        );
        line.push(Span::new(style::DIM, text.in_lang(lang)));
    }
    if talk.below > 0 {
        let below = talk.below;
        let text = words!("  {below} lines below: End", "  下方还有 {below} 行：End");
        line.insert(3, Span::new(style::WARN, text.in_lang(lang)));
    }
    cut(line, model.columns, width)
}

/// From the lower edge upwards, as many as there is room for.
fn lines(model: &Model, watched: &Watched, talk: &Talk, room: usize) -> Vec<Line> {
    let wanted = room + talk.below;
    let mut upwards: Vec<Line> = Vec::new();
    // What is being said now is seen by whoever looks at the newest.
    if let Some(entry) = speaking(model, watched, talk).filter(|_| talk.below == 0) {
        upwards.extend(drawn(&entry, watched, model).into_iter().rev());
    }
    for entry in talk.entries.iter().rev() {
        upwards.extend(drawn(entry, watched, model).into_iter().rev());
        if upwards.len() >= wanted {
            break;
        }
    }
    let forgotten = watched.roster.rows.get(talk.row).map_or(0, |row| row.forgotten);
    if upwards.len() < wanted && talk.earlier > 0 {
        let text = match talk.is_loading {
            _ if talk.earlier <= forgotten => {
                let (count, id) = (talk.earlier, &watched.card.id);
                words!(
                    "  {count} events before: fugato events {id}",
                    "  更早的 {count} 条事件：fugato events {id}"
                )
            }
            true => words!("  reading what was before …", "  正在读取更早的内容 …"),
            false => words!("  PgUp reads what was before", "  PgUp 读取更早的内容"),
        };
        upwards.push(vec![Span::new(style::DIM, text.in_lang(model.lang))]);
    }
    let skipped = talk.below.min(upwards.len());
    let mut lines: Vec<Line> = upwards.into_iter().skip(skipped).take(room).collect();
    lines.reverse();
    lines
}

/// What it says just now, as far as that was heard.
fn speaking(model: &Model, watched: &Watched, talk: &Talk) -> Option<Entry> {
    let row = watched.roster.rows.get(talk.row)?;
    let run = watched.run.as_ref()?;
    let text = row.path(run).and_then(|path| watched.live.of(path)).or_else(|| watched.live.of(&row.name))?;
    let words = words!("is saying …", "正在说 …");
    let title = words.in_lang(model.lang).to_owned();
    Some(Entry { seq: u64::MAX, at: model.now, by: Speaker::Agent, title, text: text.trim_end().to_owned() })
}

fn drawn(entry: &Entry, watched: &Watched, model: &Model) -> Vec<Line> {
    let (look, text_look) = looks(entry.by);
    let start = watched.log.start.unwrap_or(entry.at);
    let time = duration(entry.at.saturating_sub(start));
    let mut drawn: Vec<Line> = Vec::new();
    for (nth, text) in entry.lines(model.columns, model.width).into_iter().enumerate() {
        drawn.push(match nth {
            0 => cut(
                vec![
                    Span::new(look, format!(" {}", entry.title)),
                    Span::new(style::DIM, format!("  {time}")),
                ],
                model.columns,
                model.width,
            ),
            _ => vec![Span::plain("  "), Span::new(text_look, text)],
        });
    }
    drawn
}

fn looks(by: Speaker) -> (Style, Style) {
    match by {
        Speaker::Task => (style::BOLD, style::PLAIN),
        Speaker::Agent => (style::NAME, style::PLAIN),
        Speaker::Thought => (style::DIM, style::DIM),
        Speaker::Call => (style::WARN, style::PLAIN),
        Speaker::Result => (style::GOOD, style::DIM),
        Speaker::Failure => (style::BAD, style::PLAIN),
        Speaker::Message | Speaker::Question => (style::WARN.bold(), style::PLAIN),
        Speaker::Note => (style::DIM, style::DIM),
    }
}

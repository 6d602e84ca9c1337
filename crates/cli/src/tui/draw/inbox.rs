//! What waits for a person: questions of agents, calls that must be allowed, effects that may or may not have happened.

use super::{Look, Shown, cut, empty, not_read_yet, pointer, rule, window};
use crate::printer::style;
use crate::render::canvas::{Line, Span};
use crate::tui::model::Model;
use crate::tui::watched::Watched;
use crate::tui::wrap::wrap;
use fugato_engine::{Asked, Question, Run};
use fugato_model::{Lang, words};

pub fn rows(model: &Model, room: usize) -> Vec<Shown> {
    let lang = model.lang;
    let Some((watched, run)) =
        model.watched.as_ref().and_then(|watched| Some((watched, watched.run.as_ref()?)))
    else {
        return not_read_yet(model);
    };
    let questions = watched.questions();
    let mut shown: Vec<Shown> = Vec::new();
    if questions.is_empty() {
        shown
            .extend(empty(model, &[words!("nothing waits for you in this run", "这次运行没有等您处理的事")]));
    }
    let chosen = watched.chosen_question.min(questions.len().saturating_sub(1));
    let list_room = if questions.is_empty() { 0 } else { questions.len().min((room / 3).max(1)) };
    for place in window(chosen, questions.len(), list_room) {
        let Some(number) = questions.get(place) else { continue };
        let look = if place == chosen { Look::Chosen } else { Look::Plain };
        let line = line(*number, run, look, model);
        shown.push(Shown { line, look, item: Some(place) });
    }
    if let Some(number) = questions.get(chosen) {
        shown.extend(whole(*number, run, model).into_iter().map(Shown::from));
    }
    let elsewhere = super::chrome::waiting_elsewhere(model, Some(&watched.card.id));
    shown.truncate(room.saturating_sub(usize::from(elsewhere > 0)));
    if elsewhere > 0 {
        let text = words!(
            "  other runs that wait for you: {elsewhere} (0 lists them)",
            "  另有 {elsewhere} 个运行等您回答（按 0 列出）"
        );
        shown.push(vec![Span::new(style::WARN, text.in_lang(lang))].into());
    }
    shown
}

fn line(number: u32, run: &Run, look: Look, model: &Model) -> Line {
    let Some(question) = run.questions.get(number as usize) else { return Vec::new() };
    let text = run.question_words(number);
    let text = text.in_lang(model.lang);
    let line = vec![
        Span::plain(pointer(look, model.width)),
        Span::plain(" "),
        Span::new(style::DIM, format!("#{number} ")),
        Span::new(style::WARN, kind(question, model.lang)),
        Span::new(style::NAME, format!("  {}  ", who(question, run))),
        Span::plain(text.lines().next().unwrap_or_default()),
    ];
    cut(line, model.columns, model.width)
}

fn kind(question: &Question, lang: Lang) -> &'static str {
    let (english, chinese) = match question.about {
        Asked::Agent { .. } => ("question", "提问"),
        Asked::Permission { .. } => ("approval", "待批准"),
        Asked::Task { .. } => ("your task", "您的任务"),
        Asked::Uncertain { .. } => ("uncertain", "不确定"),
    };
    if lang == Lang::En { english } else { chinese }
}

pub fn who(question: &Question, run: &Run) -> String {
    match question.about {
        Asked::Agent { agent, .. } | Asked::Permission { agent, .. } | Asked::Task { agent } => {
            run.agents.get(agent as usize).map(|agent| agent.path.to_string()).unwrap_or_default()
        }
        Asked::Uncertain { node } => run.plan_node(node).map(|node| node.id.clone()).unwrap_or_default(),
    }
}

/// Every word of it: nobody should allow what they did not see.
pub fn whole(number: u32, run: &Run, model: &Model) -> Vec<Line> {
    let (width, columns, lang) = (model.width, model.columns, model.lang);
    let Some(question) = run.questions.get(number as usize) else { return Vec::new() };
    let mut lines = vec![rule(&format!("#{number}  {}", who(question, run)), columns, width)];
    let words = run.question_words(number);
    let wrapped = wrap(words.in_lang(lang), columns.saturating_sub(4), width).into_iter();
    lines.extend(wrapped.map(|text| vec![Span::plain("  "), Span::plain(text)]));
    if !question.options.is_empty() {
        let options = question.options.join(" / ");
        let wrapped = wrap(&format!("[{options}]"), columns.saturating_sub(4), width).into_iter();
        lines.extend(wrapped.map(|text| vec![Span::plain("  "), Span::new(style::DIM, text)]));
    }
    lines
}

/// Used where the run is at hand anyway.
pub fn question(watched: &Watched, number: u32) -> Option<(&Question, &Run)> {
    let run = watched.run.as_ref()?;
    Some((run.questions.get(number as usize)?, run))
}

//! What was told to the run, newest first, and what became of it: recorded → delivered → applied, or refused and why.

use super::elapsed;
use super::{Look, Shown, cut, empty, not_read_yet, pointer, rule, window};
use crate::printer::style;
use crate::render::Width;
use crate::render::canvas::{Line, Span};
use crate::tui::directives::{Directive, Receipt};
use crate::tui::log;
use crate::tui::model::{ActionEnd, Model, Sent};
use crate::tui::watched::Watched;
use crate::tui::wrap::wrap;
use fugato_model::{Lang, words};

/// Lines for the whole text of the chosen one.
const DETAIL: usize = 6;
const COLUMNS_FOR_THE_WAY: usize = 72;

pub fn rows(model: &Model, room: usize) -> Vec<Shown> {
    let Some(watched) = model.watched.as_ref() else { return not_read_yet(model) };
    let open: Vec<Line> = unsettled(model, watched).map(|sent| sent_line(sent, model)).collect();
    let count = watched.directives.list.len();
    if count == 0 && open.is_empty() {
        return empty(
            model,
            &[
                words!("nobody has intervened in this run", "还没有人干预过这次运行"),
                words!(
                    "p pauses an agent, e redirects it, x cancels it; P and X concern all",
                    "p 暂停代理，e 重定向，x 取消；P 和 X 针对全部"
                ),
            ],
        );
    }
    let mut shown: Vec<Shown> = open.into_iter().take(room / 2).map(Shown::from).collect();
    let detail = if room >= 12 { detail(model, watched) } else { Vec::new() };
    let left = room.saturating_sub(shown.len() + detail.len());
    for place in window(watched.chosen_directive, count, left) {
        let Some(own) = watched.directive(place) else { continue };
        let look = if place == watched.chosen_directive { Look::Chosen } else { Look::Plain };
        shown.push(Shown { line: line(own, watched, model, look), look, item: Some(place) });
    }
    shown.resize_with(room.saturating_sub(detail.len()), Shown::default);
    shown.extend(detail.into_iter().map(Shown::from));
    shown
}

/// Sent from here, and not in the log: under way, or refused.
fn unsettled<'m>(model: &'m Model, watched: &'m Watched) -> impl Iterator<Item = &'m Sent> {
    let is_open = |sent: &&Sent| !matches!(sent.end, Some(ActionEnd::Applied | ActionEnd::WentOn));
    model.sent.iter().rev().filter(|sent| sent.run == watched.card.id).filter(is_open)
}

fn sent_line(sent: &Sent, model: &Model) -> Line {
    let lang = model.lang;
    let arrow = arrow(model.width);
    let (look, words) = match &sent.end {
        None => (style::NAME, words!("sending", "发送中")),
        Some(ActionEnd::Recorded | ActionEnd::Unowned) => (style::WARN, words!("recorded", "已记录")),
        Some(ActionEnd::Refused(why)) => {
            let (en, zh) = (&why.en, &why.zh);
            (style::BAD, words!("recorded {arrow} refused: {en}", "已记录 {arrow} 已拒绝：{zh}"))
        }
        Some(ActionEnd::Failed(why)) => {
            let (en, zh) = (&why.en, &why.zh);
            (style::BAD, words!("failed: {en}", "失败：{zh}"))
        }
        Some(ActionEnd::Applied | ActionEnd::WentOn) => (style::GOOD, words!("applied", "已生效")),
    };
    let told = sent.line.strip_prefix("fugato ").unwrap_or(&sent.line);
    let told = told.strip_prefix("intervene ").unwrap_or(told);
    let told = told.split(" --run ").next().unwrap_or(told);
    let line = vec![
        Span::new(style::DIM, "      "),
        Span::plain(told),
        Span::plain("  "),
        Span::new(look, words.in_lang(lang)),
    ];
    cut(line, model.columns, model.width)
}

fn line(own: &Directive, watched: &Watched, model: &Model, chosen: Look) -> Line {
    let (lang, width) = (model.lang, model.width);
    let start = watched.log.start.unwrap_or(own.at);
    let time = elapsed(own.at.saturating_sub(start));
    let told = log::directive(own.verb, &own.target, own.text.as_deref());
    let (look, receipt) = receipt(own, lang, width);
    // Where there is no room for the whole way, the last step of it.
    let is_short = model.columns < COLUMNS_FOR_THE_WAY;
    let receipt = match receipt.rsplit_once(arrow(width)) {
        Some((_, last)) if is_short => last.trim().to_owned(),
        _ => receipt,
    };
    let taken = 6 + 11 + 2 + width.of(&receipt).min(model.columns / 2);
    let told = width.cut(&told, model.columns.saturating_sub(taken).max(12));
    let line = vec![
        Span::plain(pointer(chosen, width)),
        Span::new(style::DIM, format!("#{:<4}{time:>9}  ", own.generation)),
        Span::plain(told),
        Span::plain("  "),
        Span::new(look, receipt),
    ];
    cut(line, model.columns, width)
}

fn receipt(own: &Directive, lang: Lang, width: Width) -> (anstyle::Style, String) {
    let arrow = arrow(width);
    let agents = own.applied.len();
    let (look, words) = match own.receipt() {
        Receipt::Recorded => (style::WARN, words!("recorded", "已记录")),
        Receipt::Delivered => (style::WARN, words!("recorded {arrow} delivered", "已记录 {arrow} 已送达")),
        Receipt::Applied if agents > 1 => (
            style::GOOD,
            words!(
                "recorded {arrow} delivered {arrow} applied ({agents})",
                "已记录 {arrow} 已送达 {arrow} 已生效（{agents}）"
            ),
        ),
        Receipt::Applied => (
            style::GOOD,
            words!("recorded {arrow} delivered {arrow} applied", "已记录 {arrow} 已送达 {arrow} 已生效"),
        ),
        Receipt::Expired => (style::DIM, words!("recorded {arrow} too late", "已记录 {arrow} 已过期")),
        Receipt::Refused => {
            let (en, zh) =
                own.refused.as_ref().map(|why| (why.en.as_str(), why.zh.as_str())).unwrap_or_default();
            (style::BAD, words!("recorded {arrow} refused: {en}", "已记录 {arrow} 已拒绝：{zh}"))
        }
    };
    (look, words.in_lang(lang).to_owned())
}

/// The whole text, and in whom it took effect.
fn detail(model: &Model, watched: &Watched) -> Vec<Line> {
    let Some(own) = watched.directive(watched.chosen_directive) else { return Vec::new() };
    let (width, columns, lang) = (model.width, model.columns, model.lang);
    let mut lines = vec![rule(&format!("#{}", own.generation), columns, width)];
    let told = log::directive(own.verb, &own.target, None);
    let text = own.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    let mut say = |text: &str| {
        let wrapped = wrap(text, columns.saturating_sub(4), width).into_iter();
        lines.extend(wrapped.map(|text| vec![Span::plain("  "), Span::plain(text)]));
    };
    say(&format!("{told}{text}"));
    for (agents, english, chinese) in [
        (&own.applied, "applied", "已生效"),
        (&own.delivered, "delivered", "已送达"),
        (&own.expired, "too late for", "已过期"),
    ] {
        if !agents.is_empty() {
            let agents = agents.join(", ");
            say(words!("{english}: {agents}", "{chinese}：{agents}").in_lang(lang));
        }
    }
    if let Some(why) = &own.refused {
        say(why.in_lang(lang));
    }
    lines.truncate(DETAIL);
    lines
}

fn arrow(width: Width) -> &'static str {
    match width {
        Width::Narrow => "→",
        Width::Wide => "->",
    }
}

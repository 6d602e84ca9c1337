//! The lines around every view: what run this is and how it stands, the views, the last news, the keys.

use super::board::{glyph, look_of};
use super::{cut, fit, say};
use crate::printer::style;
use crate::render::canvas::{Line, Span, width_of};
use crate::runs::{cost_words, look, tokens};
use crate::tui::model::{Model, Runs, Tone, View};
use crate::tui::modes::Mode;
use crate::tui::watched::Watched;
use fugato_model::{Lang, words};

/// The first line.
pub fn head(model: &Model) -> Line {
    let (lang, width, columns) = (model.lang, model.width, model.columns);
    let Some(watched) = model.watched.as_ref().filter(|_| model.view != View::Runs) else {
        let count = model.cards().len();
        let waits = waiting_elsewhere(model, None);
        let mut line = vec![
            Span::new(style::NAME, " fugato  "),
            Span::new(style::BOLD, View::Runs.name(lang)),
            Span::plain(format!("  {count}")),
        ];
        if waits > 0 {
            let text = words!("  {waits} wait for you", "  {waits} 个等您回答");
            line.push(Span::new(style::WARN, text.in_lang(lang)));
        }
        return cut(line, columns, width);
    };
    let mut left = vec![Span::new(style::NAME, format!(" {}  ", watched.card.id))];
    let status = watched.status();
    left.push(Span::new(look(status), status_word(status, lang)));
    if !super::Areas::of(columns, model.rows).has_tabs {
        left.push(Span::new(style::BOLD, format!("  [{}]", model.view.name(lang))));
    }
    let questions = watched.questions().len();
    if questions > 0 {
        let text = words!("  {questions} for you: i", "  {questions} 项待您处理：i");
        left.push(Span::new(style::WARN, text.in_lang(lang)));
    }
    let title = fugato_model::escape_for_terminal(&watched.card.title);
    let used = width_of(&left, width);
    // The title is worth more than the last figures.
    let wish = width.of(&title).min(TITLE);
    let room = columns.saturating_sub(used + 4);
    let figures = figures(watched, model);
    let right = (1..=figures.len()).rev().map(|count| shortened(&figures, count));
    let mut fitting = right.filter(|right| width.of(right) + wish <= room);
    if let Some(right) = fitting.next() {
        let title_room = room - width.of(&right);
        left.push(Span::plain("  "));
        left.push(Span::plain(fit(&title, title_room, width)));
        left.push(Span::new(style::DIM, format!(" {right} ")));
    }
    cut(left, columns, width)
}

/// Cells of a title that are worth giving figures up for.
const TITLE: usize = 16;

/// The first and the last figure say most: those between them go first.
fn shortened(figures: &[String], count: usize) -> String {
    let Some((last, first)) = figures.split_last() else { return String::new() };
    let kept = first.iter().take(count.saturating_sub(1)).chain([last]);
    kept.map(String::as_str).collect::<Vec<_>>().join("  ")
}

/// What it came to so far.
fn figures(watched: &Watched, model: &Model) -> Vec<String> {
    let Some(run) = &watched.run else { return vec![String::new()] };
    let lang = model.lang;
    let states = watched.roster.rows.iter().map(|row| row.state(run, watched.card.is_live));
    let (mut over, mut total) = (0usize, 0usize);
    for state in states {
        total += 1;
        over += usize::from(state.is_over());
    }
    let to = if watched.card.is_live && !watched.is_over() { model.now } else { run.last_at() };
    let time = super::elapsed(to.saturating_sub(run.started_at));
    let mut parts = vec![say(lang, &words!("{over}/{total} done", "完成 {over}/{total}"))];
    if run.spent.answers > 0 {
        let spent = tokens(run.spent.tokens());
        parts.push(say(lang, &words!("{spent} tokens", "{spent} 词元")));
        parts.push(cost_words(run));
    }
    parts.push(time);
    parts
}

/// Runs other than this one that wait for a person.
pub fn waiting_elsewhere(model: &Model, own: Option<&str>) -> usize {
    let Runs::Known(cards) = &model.runs else { return 0 };
    cards.iter().filter(|card| card.status == "awaiting_input" && Some(card.id.as_str()) != own).count()
}

/// The second line: the views with their numbers.
pub fn tabs(model: &Model) -> Line {
    let (lang, width, columns) = (model.lang, model.width, model.columns);
    let waiting = model.watched.as_ref().map_or(0, |watched| watched.questions().len());
    let badge = |view: View| match (view, waiting) {
        (View::Inbox, 1..) => format!(" ({waiting})"),
        _ => String::new(),
    };
    let tab = |nth: usize, view: View, is_long: bool| {
        let is_here = view == model.view;
        let name = if is_long || is_here { format!(" {}", view.name(lang)) } else { String::new() };
        let text = format!("{}{name}{}", nth + 1, badge(view));
        match (is_here, view, waiting) {
            (true, ..) => Span::new(style::BOLD.invert(), format!("[{text}]")),
            (false, View::Inbox, 1..) => Span::new(style::WARN, text),
            _ => Span::new(style::DIM, text),
        }
    };
    let line = |is_long: bool, gap: &str| -> Line {
        let tabs = View::ALL.into_iter().enumerate().map(|(nth, view)| tab(nth, view, is_long));
        tabs.flat_map(|tab| [Span::plain(gap), tab]).collect()
    };
    let wishes =
        [(true, "  "), (true, " "), (false, "  ")].into_iter().map(|(is_long, gap)| line(is_long, gap));
    let mut fitting = wishes.filter(|line| width_of(line, width) <= columns);
    fitting.next().unwrap_or_else(|| cut(line(false, " "), columns, width))
}

/// The view whose tab is at this column of the second line, which has a gap before each tab.
pub fn tab_at(model: &Model, column: usize) -> Option<View> {
    let mut ends = 0;
    for (nth, span) in tabs(model).iter().enumerate() {
        ends += model.width.of(&span.text);
        if column < ends {
            return View::ALL.get(nth / 2).copied().filter(|_| nth % 2 == 1);
        }
    }
    None
}

/// The last news; or what is typed into the filter, and where the cursor stands then.
pub fn status(model: &Model) -> (Line, Option<usize>) {
    let (lang, width, columns) = (model.lang, model.width, model.columns);
    if let Mode::Filter(editor) = &model.mode {
        let before = width.of(&editor.before());
        let line = vec![Span::new(style::NAME, " /"), Span::plain(editor.text())];
        return (cut(line, columns, width), Some((2 + before).min(columns.saturating_sub(1))));
    }
    if let Some(status) = &model.status {
        let look = match status.tone {
            Tone::Plain => style::PLAIN,
            Tone::Busy => style::NAME,
            Tone::Good => style::GOOD,
            Tone::Bad => style::BAD,
        };
        return (cut(vec![Span::new(look, format!(" {}", status.text))], columns, width), None);
    }
    let line = match &model.watched {
        Some(watched) if watched.is_loading() && model.view != View::Runs => {
            let (seq, last) = (watched.seq, watched.card.last_seq);
            let text = words!(" reading {seq} of {last} events", " 正在读取事件：{seq}/{last}");
            vec![Span::new(style::NAME, text.in_lang(lang))]
        }
        _ if !model.filter.is_empty() => {
            let filter = &model.filter;
            let text =
                words!(" only what has `{filter}`  Esc: all", " 只显示包含 `{filter}` 的内容  Esc：全部");
            vec![Span::new(style::WARN, text.in_lang(lang))]
        }
        Some(watched) if model.view != View::Runs => standing(watched, lang),
        _ => Vec::new(),
    };
    (cut(line, columns, width), None)
}

/// Why nothing moves, and the key that changes it.
fn standing(watched: &Watched, lang: Lang) -> Line {
    let text = match watched.status() {
        "interrupted" => {
            words!(" its process is gone. Go on with it: c", " 其进程已不存在。按 c 继续")
        }
        "awaiting_input" => words!(" it waits for you. Answer: i, Enter", " 正在等您回答：i，Enter"),
        "paused" => words!(" paused. All go on: P, one: p", " 已暂停。全部继续：P，单个：p"),
        "budget_exhausted" => {
            let id = &watched.card.id;
            words!(
                " its budget is used up: fugato resume {id} --budget-tokens N",
                " 预算已用完：fugato resume {id} --budget-tokens N"
            )
        }
        _ => return Vec::new(),
    };
    vec![Span::new(style::WARN, text.in_lang(lang))]
}

/// The last line.
pub fn keys(model: &Model) -> Line {
    let (lang, width, columns) = (model.lang, model.width, model.columns);
    let pairs: &[(&str, &str, &str)] = match (&model.mode, model.view) {
        (Mode::Help { .. }, _) => &[("↑↓", "scroll", "滚动"), ("Esc", "close", "关闭")],
        (Mode::Filter(_), _) => &[("Enter", "keep", "保留"), ("Esc", "all", "全部")],
        (Mode::Prompt { .. }, _) => {
            &[("Enter", "send", "发送"), ("Alt+Enter", "new line", "换行"), ("Esc", "do nothing", "取消")]
        }
        (Mode::Confirm(_), _) => &[("y", "yes", "是"), ("n", "no", "否")],
        (Mode::Choice(_), _) => {
            &[("↑↓", "choose", "选择"), ("Enter", "answer", "回答"), ("Esc", "later", "稍后")]
        }
        (Mode::Normal, View::Runs) => &[
            ("Enter", "open", "打开"),
            ("/", "filter", "筛选"),
            ("y", "copy command", "复制命令"),
            ("?", "help", "帮助"),
            ("q", "quit", "退出"),
        ],
        (Mode::Normal, View::Inbox) => &[
            ("Enter", "answer", "回答"),
            ("Esc", "back", "返回"),
            ("?", "help", "帮助"),
            ("q", "quit", "退出"),
        ],
        (Mode::Normal, View::Board | View::Agent) => &[
            ("p", "pause", "暂停"),
            ("e", "redirect", "重定向"),
            ("x", "cancel", "取消"),
            ("m", "message", "消息"),
            ("r", "restart", "重启"),
            ("Enter", "open", "打开"),
            ("/", "filter", "筛选"),
            ("?", "help", "帮助"),
            ("q", "quit", "退出"),
        ],
        (Mode::Normal, View::Timeline) => &[
            ("d", "calls", "调用"),
            ("↑↓", "scroll", "滚动"),
            ("Tab", "next", "下一个"),
            ("?", "help", "帮助"),
            ("q", "quit", "退出"),
        ],
        (Mode::Normal, _) => &[
            ("↑↓", "move", "移动"),
            ("Tab", "next", "下一个"),
            ("/", "filter", "筛选"),
            ("y", "copy command", "复制命令"),
            ("?", "help", "帮助"),
            ("q", "quit", "退出"),
        ],
    };
    let shown = |key: &str| {
        if width == crate::render::Width::Wide { key.replace("↑↓", "j k") } else { key.to_owned() }
    };
    // What does not fit is left out from the middle: help and quit stay.
    let entry = |(key, english, chinese): &(&str, &str, &str)| -> Line {
        let word = if lang == Lang::En { *english } else { *chinese };
        vec![Span::new(style::BOLD, format!(" {}", shown(key))), Span::new(style::DIM, format!(" {word} "))]
    };
    let mut entries: Vec<Line> = pairs.iter().map(entry).collect();
    while entries.iter().map(|entry| width_of(entry, width)).sum::<usize>() > columns && entries.len() > 2 {
        let at = entries.len().saturating_sub(3);
        entries.remove(at);
    }
    cut(entries.concat(), columns, width)
}

/// All there is room for on a very small screen.
pub fn tiny(model: &Model) -> Line {
    let (least_columns, least_rows) = super::LEAST;
    let size = format!("{least_columns}x{least_rows}");
    let text = match &model.watched {
        Some(watched) => {
            let (status, waiting) = (status_word(watched.status(), model.lang), watched.questions().len());
            match waiting {
                0 => words!("{status}; enlarge to {size}, q quits", "{status}；请放大到 {size}，q 退出"),
                _ => words!(
                    "{status}, {waiting} for you; enlarge to {size}",
                    "{status}，{waiting} 项待处理；请放大到 {size}"
                ),
            }
        }
        None => words!("fugato: enlarge to {size}, q quits", "fugato：请放大到 {size}，q 退出"),
    };
    cut(vec![Span::plain(text.in_lang(model.lang))], model.columns, model.width)
}

/// The words of runs, in the person's language.
pub fn status_word(status: &str, lang: Lang) -> String {
    if lang == Lang::En {
        return status.replace('_', " ");
    }
    let chinese = match status {
        "running" => "执行中",
        "paused" => "已暂停",
        "awaiting_input" => "等您回答",
        "interrupted" => "已中断",
        "complete" => "已完成",
        "failed" => "失败",
        "aborted" => "已取消",
        "budget_exhausted" => "预算用完",
        "disk_full" => "磁盘已满",
        other => other,
    };
    chinese.to_owned()
}

/// The sign of a row, coloured.
pub fn sign(state: crate::tui::roster::State, model: &Model) -> Span {
    Span::new(look_of(state), glyph(state, model.width))
}

//! What the agents of this run may do and see, as it was pinned when the run began, and what they have used of it.

use crate::printer::style;
use crate::render::canvas::{Line, Span};
use crate::runs::{cost_words, duration, tokens};
use crate::tui::model::Model;
use crate::tui::wrap::wrap;
use fugato_engine::{Access, AgentType, Limits, Run};
use fugato_model::{Words, words};
use std::collections::BTreeMap;

pub fn lines(model: &Model) -> Vec<Line> {
    let Some(run) = model.watched.as_ref().and_then(|watched| watched.run.as_ref()) else {
        return Vec::new();
    };
    let mut page = Page { model, lines: Vec::new() };
    page.head(&words!("Run", "运行"));
    let spec = &run.spec;
    page.field(&words!("skill", "技能"), &spec.skill.name);
    page.field(&words!("model", "模型"), &spec.model);
    if let Some(parent) = &spec.parent {
        page.field(&words!("made from", "来自"), parent);
    }
    limits(&mut page, run);
    rules(&mut page, run);
    skills(&mut page, run);
    kinds(&mut page, run);
    page.lines
}

fn limits(page: &mut Page<'_>, run: &Run) {
    let Limits { concurrent, steps, tokens: budget, micro_usd, wall_ms, tool_calls, .. } =
        run.spec.limits.clone();
    page.head(&words!("Limits", "限额"));
    page.field(&words!("at once", "同时执行"), &concurrent.to_string());
    page.field(&words!("steps per agent", "每个代理步数"), &steps.to_string());
    let of = |used: String, limit: Option<String>| match limit {
        Some(limit) => format!("{used} / {limit}"),
        None => used,
    };
    page.field(&words!("tokens", "词元"), &of(tokens(run.spent.tokens()), budget.map(tokens)));
    let usd = micro_usd.map(|micro| format!("${}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000));
    page.field(&words!("cost", "费用"), &of(cost_words(run), usd));
    page.field(
        &words!("tool calls", "工具调用"),
        &of(run.spent.tool_calls.to_string(), tool_calls.map(|n| n.to_string())),
    );
    if let Some(wall) = wall_ms {
        page.field(&words!("time", "时间"), &duration(i64::try_from(wall).unwrap_or(i64::MAX)));
    }
}

fn rules(page: &mut Page<'_>, run: &Run) {
    let rules = &run.spec.permissions.rules;
    page.head(&words!("Permissions", "权限"));
    let mode = serde_json::to_value(rules.mode).ok();
    let mode = mode.as_ref().and_then(|mode| mode.as_str()).unwrap_or("default");
    page.field(&words!("mode", "模式"), mode);
    let list = |rules: &[fugato_engine::permission::Rule]| {
        rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    for (words, rules) in [
        (words!("deny", "拒绝"), &rules.deny),
        (words!("ask you", "询问您"), &rules.ask),
        (words!("allow", "允许"), &rules.allow),
    ] {
        if !rules.is_empty() {
            page.field(&words, &list(rules));
        }
    }
}

fn skills(page: &mut Page<'_>, run: &Run) {
    let visible: Vec<&str> = run.spec.visible.lines().collect();
    let count = visible.len();
    page.head(&words!("Skills its agents may read ({count})", "其代理可读的技能（{count}）"));
    let unread: Vec<&str> =
        visible.iter().copied().filter(|name| !run.skills_used.contains_key(*name)).collect();
    let read: Vec<&str> = run.skills_used.keys().map(String::as_str).collect();
    if !read.is_empty() {
        page.field(&words!("read so far", "已读取"), &read.join(", "));
    }
    match (unread.is_empty(), count) {
        (_, 0) => page.text(words!("none", "无").in_lang(page.model.lang)),
        (true, _) => {}
        (false, _) => page.field(&words!("not read", "未读取"), &unread.join(", ")),
    }
}

fn kinds(page: &mut Page<'_>, run: &Run) {
    // Those that are at work, by what they really may; then those the main agent may start.
    let mut kinds: BTreeMap<&str, (Access, Option<&AgentType>)> = BTreeMap::new();
    for agent in &run.agents {
        // Without rights of its own, its access alone decides.
        let kind = agent.rights.as_ref().map(|_| &*agent.kind);
        kinds.insert(&agent.agent_type, (agent.access, kind));
    }
    for kind in run.spec.types.values() {
        kinds.entry(&kind.name).or_insert((kind.access, Some(kind)));
    }
    if kinds.is_empty() {
        return;
    }
    page.head(&words!("Kinds of agents", "代理的种类"));
    for (name, (access, kind)) in kinds {
        let words = match access {
            Access::ReadOnly => words!("reads only", "只读"),
            Access::ReadWrite => words!("reads and writes", "可读写"),
        };
        let mut parts = vec![page.model.lang_of(&words)];
        parts.extend(kind.map(|kind| match &kind.tools {
            Some(tools) => tools.join(", "),
            None => page.model.lang_of(&words!("all tools of its parent", "父代理的全部工具")),
        }));
        let less = kind.map(|kind| kind.disallowed.join(", ")).filter(|less| !less.is_empty());
        parts.extend(less.map(|less| page.model.lang_of(&words!("not {less}", "除 {less}"))));
        page.named(name, &parts.join(page.model.lang_of(&words!("; ", "；")).as_str()));
    }
}

struct Page<'m> {
    model: &'m Model,
    lines: Vec<Line>,
}

/// Cells of the names on the left.
const NAMES: usize = 18;

impl Page<'_> {
    fn head(&mut self, words: &Words) {
        if !self.lines.is_empty() {
            self.lines.push(Vec::new());
        }
        self.lines.push(vec![Span::new(style::NAME, format!(" {}", words.in_lang(self.model.lang)))]);
    }

    fn field(&mut self, name: &Words, value: &str) {
        let name = name.in_lang(self.model.lang).to_owned();
        self.named(&name, value);
    }

    fn named(&mut self, name: &str, value: &str) {
        let (width, columns) = (self.model.width, self.model.columns);
        let name = super::fit(&fugato_model::escape_for_terminal(name), NAMES, width);
        let wrapped = wrap(value, columns.saturating_sub(3 + NAMES + 2), width);
        for (nth, text) in wrapped.into_iter().enumerate() {
            let left = if nth == 0 { name.clone() } else { " ".repeat(NAMES) };
            self.lines.push(vec![Span::new(style::DIM, format!("   {left}  ")), Span::plain(text)]);
        }
    }

    fn text(&mut self, text: &str) {
        self.lines.push(vec![Span::new(style::DIM, format!("   {text}"))]);
    }
}

impl Model {
    fn lang_of(&self, words: &Words) -> String {
        words.in_lang(self.lang).to_owned()
    }
}

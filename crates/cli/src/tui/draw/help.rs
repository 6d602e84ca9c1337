//! Every key, with what it does.

use super::fit;
use crate::printer::style;
use crate::render::Width;
use crate::render::canvas::{Line, Span};
use crate::tui::model::Model;
use crate::tui::wrap::wrap;
use fugato_model::Lang;

/// Key, English, Chinese; without a key: a heading.
const KEYS: &[(&str, &str, &str)] = &[
    ("", "Look", "查看"),
    (
        "1 … 8",
        "board, graph, timeline, events, agent, inbox, control, policy",
        "看板、图、时间线、事件、代理、待办、干预、策略",
    ),
    ("Tab, ← →", "the next view, the one before", "下一个、上一个视图"),
    ("b g t i", "board, graph, timeline, inbox", "看板、图、时间线、待办"),
    ("0", "the list of runs", "运行列表"),
    ("↑↓ j k", "up and down; PgUp, PgDn, Home, End", "上下移动；PgUp、PgDn、Home、End"),
    ("Enter", "open the agent, the run; answer the question", "打开代理或运行；回答问题"),
    ("Esc", "back; all again after a filter", "返回；取消筛选"),
    ("/", "only what contains this text", "只显示包含该文字的内容"),
    ("a", "board: all, or only those not finished", "看板：全部，或只看未结束的"),
    ("d", "timeline: every model and tool call", "时间线：显示每次模型和工具调用"),
    ("", "Intervene: the agent under the cursor", "干预：光标所在的代理"),
    ("p", "pause it, or let it go on", "暂停，或继续"),
    ("e", "redirect it: a new instruction supersedes its task", "重定向：新的指令取代原任务"),
    ("m", "send it a message", "给它发消息"),
    ("x", "cancel it, after a question", "取消它（会先确认）"),
    ("r", "restart it: the node begins again, after a question", "重新开始该节点（会先确认）"),
    ("", "Intervene: the whole run", "干预：整个运行"),
    ("P", "pause all, or let all go on", "全部暂停，或全部继续"),
    ("M", "a message to everybody at work", "给所有工作中的代理发消息"),
    ("X", "cancel everything, after two questions", "取消全部（会确认两次）"),
    ("c", "go on with a run whose process is gone", "继续进程已不存在的运行"),
    ("", "And", "其他"),
    ("y", "copy the same as a command line", "复制对应的命令行"),
    ("click", "choose; again: open. The wheel scrolls", "点击选择，再次点击打开；滚轮滚动"),
    ("F2", "the mouse for this screen, or for selecting text", "鼠标用于本界面，或用于选择文字"),
    ("Ctrl-L", "draw everything again", "重新绘制"),
    ("Ctrl-Z", "put fugato aside; `fg` brings it back", "暂时挂起；用 `fg` 回来"),
    ("q", "quit; runs go on without this screen", "退出；运行不受影响"),
];

pub fn lines(model: &Model) -> Vec<Line> {
    let (width, columns) = (model.width, model.columns);
    let keys = 10;
    let mut lines = Vec::new();
    for (key, english, chinese) in KEYS {
        let text = if model.lang == Lang::En { english } else { chinese };
        if key.is_empty() {
            if !lines.is_empty() {
                lines.push(Vec::new());
            }
            lines.push(vec![Span::new(style::NAME, format!(" {text}"))]);
            continue;
        }
        let key = match width {
            Width::Narrow => (*key).to_owned(),
            Width::Wide => key.replace("↑↓", "Up/Dn").replace("← →", "<- ->").replace('…', "-"),
        };
        for (nth, text) in wrap(text, columns.saturating_sub(keys + 4), width).into_iter().enumerate() {
            let key = if nth == 0 { fit(&key, keys, width) } else { " ".repeat(keys) };
            lines.push(vec![Span::new(style::BOLD, format!("   {key} ")), Span::plain(text)]);
        }
    }
    lines
}

pub fn rows(model: &Model) -> usize {
    lines(model).len()
}

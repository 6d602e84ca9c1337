//! `fugato chat --list`: the conversations of this project, and which of them wait for somebody.

use crate::app::App;
use crate::error::Outcome;
use crate::printer::style;
use crate::render::{Cell, Table, shell_word};
use crate::runs::{look, reader, store_error};
use fugato_model::{Exit, Lang, words};
use fugato_runtime::store::ConversationRow;

pub(super) fn run(app: &mut App) -> Outcome {
    let found = reader(app)?.conversations().map_err(|error| store_error(&error))?;
    if app.out.json {
        let items: Vec<_> = found.iter().map(item).collect();
        app.out.json(&serde_json::json!({"schema": "fugato.conversations/v1", "conversations": items}))?;
        return Ok(Exit::Ok);
    }
    if found.is_empty() {
        app.out.note(&words!(
            "no conversations yet; begin one: fugato chat OSKILL",
            "还没有会话；开始一个：fugato chat 编排器"
        ));
        return Ok(Exit::Ok);
    }
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["CONVERSATION", "WITH", "STATUS", "REQUESTS", "RUN", "LAST"]),
        Lang::Zh => Table::new(0).header(["会话", "编排器", "状态", "请求", "运行", "最近"]),
    };
    for row in &found {
        let status = row.newest.effective_status();
        table.row([
            Cell::styled(style::NAME, &row.name),
            Cell::new(&row.orchestrator),
            Cell::styled(look(status.as_str()), status.as_str()),
            Cell::new(row.requests.to_string()),
            Cell::new(&row.newest.id),
            Cell::new(row.newest.title.clone().unwrap_or_default()),
        ]);
    }
    table.print(&mut app.out)?;
    if let Some(row) = found.iter().find(|row| awaits(row)) {
        let (name, session) = (shell_word(&row.orchestrator), shell_word(&row.name));
        app.out.note(&words!(
            "answer: fugato chat {name} --session {session} TEXT",
            "回答：fugato chat {name} --session {session} 内容"
        ));
    }
    Ok(Exit::Ok)
}

fn awaits(row: &ConversationRow) -> bool {
    row.newest.effective_status().as_str() == "awaiting_input"
}

fn item(row: &ConversationRow) -> serde_json::Value {
    serde_json::json!({
        "name": row.name, "orchestrator": row.orchestrator, "requests": row.requests, "run": row.newest.id,
        "status": row.newest.effective_status().as_str(), "awaits_input": awaits(row),
        "title": row.newest.title, "updated_at": row.newest.updated_at,
    })
}

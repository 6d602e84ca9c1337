//! Wrong usage in the person's language. clap's own sentences are English; these say the same in Chinese.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use fugato_model::{Exit, Lang};
use std::process::ExitCode;

/// Shows clap's answer: help and version go to stdout with 0, everything else is wrong usage.
pub fn answer(error: &clap::Error, lang: Lang) -> ExitCode {
    match (lang, chinese(error)) {
        (Lang::Zh, Some(text)) => {
            let mut printer = crate::printer::Printer::new(lang, crate::render::Width::default(), false);
            printer.aside(&text);
        }
        // A closed pipe is not worth a word.
        _ => drop(error.print()),
    }
    ExitCode::from(if error.use_stderr() { Exit::Usage.code() } else { Exit::Ok.code() })
}

/// The sentence, what is near, and the usage line; `None` for help, version, and what is too rare to have a sentence.
fn chinese(error: &clap::Error) -> Option<String> {
    let get = |kind| error.get(kind).map(plain).filter(|text| !text.is_empty());
    let arg = get(ContextKind::InvalidArg);
    let mut text = match error.kind() {
        ErrorKind::InvalidSubcommand => format!("没有命令 `{}`", get(ContextKind::InvalidSubcommand)?),
        ErrorKind::UnknownArgument => format!("没有参数 `{}`", arg?),
        ErrorKind::MissingRequiredArgument => format!("缺少必需的参数：{}", arg?),
        ErrorKind::MissingSubcommand => {
            let known = get(ContextKind::ValidSubcommand).unwrap_or_default();
            format!("缺少命令\n  可选：{known}")
        }
        ErrorKind::ArgumentConflict => match get(ContextKind::PriorArg) {
            Some(prior) => format!("`{}` 不能与 `{prior}` 同时使用", arg?),
            None => format!("`{}` 不能重复使用", arg?),
        },
        ErrorKind::InvalidUtf8 => "参数不是有效的 UTF-8 文本".to_owned(),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => match get(ContextKind::InvalidValue) {
            Some(value) => format!("`{}` 的值 `{value}` 无效", arg?),
            None => format!("`{}` 缺少值", arg?),
        },
        _ => return None,
    };
    if let Some(values) = get(ContextKind::ValidValue) {
        text.push_str(&format!("\n  可选：{values}"));
    }
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue] {
        if let Some(near) = get(kind) {
            text.push_str(&format!("\n提示：是不是想用 `{near}`？"));
        }
    }
    if let Some(usage) = get(ContextKind::Usage) {
        let usage = usage.trim_start_matches("Usage:").trim();
        text.push_str(&format!("\n\n用法：{usage}"));
    }
    text.push_str("\n\n更多信息请用 `--help`。");
    let head = crate::printer::paint(crate::printer::style::BAD.bold(), "错误：");
    Some(format!("{head}{text}"))
}

fn plain(value: &ContextValue) -> String {
    let text = match value {
        ContextValue::Strings(all) => all.join("、"),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(all) => all.iter().map(ToString::to_string).collect::<Vec<_>>().join("、"),
        other => other.to_string(),
    };
    text.lines().map(fugato_model::escape_for_terminal).collect::<Vec<_>>().join("\n")
}

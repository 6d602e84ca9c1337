//! Diagnostics as people see them: a caret frame with code, place, sentence and hint.

use crate::printer::Printer;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, renderer::DecorStyle};
use fugato_model::{Diagnostic, Frame, Lang, Severity, Span};

/// Draws one diagnostic to stderr-style text (styled; the printer strips what must not be shown).
pub fn report(diagnostic: &Diagnostic, printer: &Printer) -> String {
    let lang = printer.lang;
    let (label, field_separator) = match (diagnostic.severity, lang) {
        (Severity::Error, Lang::En) => (Level::ERROR.with_name("error"), ": "),
        (Severity::Warning, Lang::En) => (Level::WARNING.with_name("warning"), ": "),
        (Severity::Error, Lang::Zh) => (Level::ERROR.with_name("错误"), "："),
        (Severity::Warning, Lang::Zh) => (Level::WARNING.with_name("警告"), "："),
    };
    let message = diagnostic.message.in_lang(lang);
    let message = match &diagnostic.field {
        Some(field) if !names(message, field) => format!("{field}{field_separator}{message}"),
        _ => message.to_owned(),
    };
    let message = safe(&message);
    let path = safe(&diagnostic.path);
    let title = label.primary_title(message.as_str()).id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    let frames: Vec<(Frame, AnnotationKind, String)> = frames_in_order(diagnostic, lang);
    for (frame, kind, label) in &frames {
        // The path is named once, at the first frame.
        let start = frame.start as usize;
        let end = (frame.end as usize).max(start);
        let snippet = Snippet::source(frame.text.as_str())
            .line_start(frame.line as usize)
            .path(path.as_str())
            .annotation(kind.span(start..end).label(label.as_str()));
        group = group.element(snippet);
    }
    if frames.is_empty() {
        let mut origin = Origin::path(path.as_str());
        if let Some(Span { line, column, .. }) = diagnostic.span {
            origin = origin.line(line as usize).char_column(column as usize);
        }
        group = group.element(origin);
    }
    let hint = diagnostic.hint.as_ref().map(|hint| safe_lines(hint.in_lang(lang)));
    let help = match lang {
        Lang::En => Level::HELP,
        Lang::Zh => Level::HELP.with_name("建议"),
    };
    if let Some(hint) = &hint {
        group = group.element(help.message(hint.as_str()));
    }
    Renderer::styled().decor_style(DecorStyle::Ascii).render(&[group])
}

/// Does the sentence name the field itself?
fn names(message: &str, field: &str) -> bool {
    message.contains(&format!("`{field}`")) || message.starts_with(&format!("{field} "))
}

/// One line: `file:line:col: field: message`, safe for a terminal.
pub fn report_line(diagnostic: &Diagnostic, lang: Lang) -> String {
    safe(&diagnostic.one_line(lang))
}

fn frames_in_order(diagnostic: &Diagnostic, lang: Lang) -> Vec<(Frame, AnnotationKind, String)> {
    let mut frames = Vec::new();
    for related in &diagnostic.related {
        if let Some(frame) = &related.frame {
            frames.push((safe_frame(frame), AnnotationKind::Context, safe(related.message.in_lang(lang))));
        }
    }
    if let Some(frame) = &diagnostic.frame {
        frames.push((safe_frame(frame), AnnotationKind::Primary, String::new()));
    }
    frames.sort_by_key(|(frame, ..)| frame.line);
    frames
}

/// Escapes what a terminal would obey and moves the mark along.
fn safe_frame(frame: &Frame) -> Frame {
    let part = |from: u32, to: u32| safe(frame.text.get(from as usize..to as usize).unwrap_or_default());
    let end_of_text = u32::try_from(frame.text.len()).unwrap_or(u32::MAX);
    let (before, mark, after) =
        (part(0, frame.start), part(frame.start, frame.end), part(frame.end, end_of_text));
    let start = u32::try_from(before.len()).unwrap_or(u32::MAX);
    let end = start + u32::try_from(mark.len()).unwrap_or(0);
    Frame { line: frame.line, text: format!("{before}{mark}{after}"), start, end }
}

fn safe(text: &str) -> String {
    fugato_model::escape_for_terminal(text).into_owned()
}

/// Hints may have several lines (an example to paste).
fn safe_lines(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}

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
    let frames = frames_in_order(diagnostic, lang);
    let near = |one: &Mark, other: &Mark| other.frame.line - one.frame.line <= NEAR;
    for marks in frames.chunk_by(near) {
        group = group.element(snippet(marks, &path));
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
    let drawn = Renderer::styled()
        .decor_style(DecorStyle::Ascii)
        .term_width(printer.columns().unwrap_or(PLAIN_COLUMNS))
        .render(&[group]);
    with_true_column(drawn, diagnostic, &path)
}

/// Long source lines are cut to this off a terminal.
const PLAIN_COLUMNS: usize = 140;

/// A mark in a line of the file.
struct Mark {
    frame: Frame,
    kind: AnnotationKind,
    label: String,
}

/// Marks on one line or on neighbours share a drawing. Further apart they do not: the lines between are not known here.
const NEAR: u32 = 1;

/// Marks on one line or on neighbouring lines as one piece of source.
fn snippet<'a>(marks: &[Mark], path: &'a str) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let mut source = String::new();
    let mut line = marks.first().map_or(1, |mark| mark.frame.line);
    let first = line as usize;
    let mut line_start = 0;
    let mut annotations = Vec::new();
    for (at, mark) in marks.iter().enumerate() {
        if at == 0 || mark.frame.line != line {
            source.extend(std::iter::repeat_n('\n', (mark.frame.line - line) as usize));
            line_start = source.len();
            line = mark.frame.line;
            // The renderer does not draw an empty last line, which is where a file ends.
            source.push_str(if mark.frame.text.is_empty() { " " } else { &mark.frame.text });
        }
        // Two frames of one long line may be cut at different places: a mark outside of what is drawn moves to its end.
        let end_of_line = source.len();
        let start = (line_start + mark.frame.start as usize).min(end_of_line);
        let end = (line_start + mark.frame.end as usize).clamp(start, end_of_line);
        annotations.push(mark.kind.span(start..end).label(mark.label.clone()));
    }
    Snippet::source(source).line_start(first).path(path).annotations(annotations)
}

/// The renderer counts columns in the frame; of a long line the frame is only a part.
fn with_true_column(drawn: String, diagnostic: &Diagnostic, path: &str) -> String {
    let (Some(span), Some(frame)) = (diagnostic.span, &diagnostic.frame) else { return drawn };
    let frame = safe_frame(frame);
    let before = frame.text.get(..frame.start as usize).unwrap_or_default();
    let (line, column) = (span.line, before.chars().count() + 1);
    let place = |column: usize| format!("{path}:{line}:{column}");
    drawn.replacen(&place(column), &place(span.column as usize), 1)
}

/// Puts the problems of one file in the order in which a person meets them; those without a place come last.
pub fn in_reading_order(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|diagnostic| {
        diagnostic.span.map_or((u32::MAX, u32::MAX), |span| (span.line, span.column))
    });
}

/// Does the sentence name the field itself?
fn names(message: &str, field: &str) -> bool {
    message.contains(&format!("`{field}`")) || message.starts_with(&format!("{field} "))
}

/// One line: `file:line:col: field: message`, safe for a terminal.
pub fn report_line(diagnostic: &Diagnostic, lang: Lang) -> String {
    safe(&diagnostic.one_line(lang))
}

fn frames_in_order(diagnostic: &Diagnostic, lang: Lang) -> Vec<Mark> {
    let mut marks = Vec::new();
    for related in &diagnostic.related {
        if let Some(frame) = &related.frame {
            let label = safe(related.message.in_lang(lang));
            marks.push(Mark { frame: safe_frame(frame), kind: AnnotationKind::Context, label });
        }
    }
    if let Some(frame) = &diagnostic.frame {
        marks.push(Mark { frame: safe_frame(frame), kind: AnnotationKind::Primary, label: String::new() });
    }
    marks.sort_by_key(|mark| mark.frame.line);
    marks
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

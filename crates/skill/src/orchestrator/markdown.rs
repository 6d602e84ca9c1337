//! The lines of a Markdown text: which are headings, and which stand in a code fence and so never are.

/// A line with its break, and its rank and title if it is a heading.
pub(crate) struct Line<'a> {
    pub text: &'a str,
    pub heading: Option<(usize, &'a str)>,
    pub(super) code: InCode,
}

/// Where a line stands with respect to code fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InCode {
    Outside,
    Opens,
    Inside,
    Closes,
}

/// Every line of a Markdown text; what stands in a code fence is not a heading.
pub(crate) fn lines_outside_code(body: &str) -> impl Iterator<Item = Line<'_>> {
    let mut fence: Option<(char, usize)> = None;
    body.split_inclusive('\n').map(move |text| {
        let line = text.trim_end_matches(['\n', '\r']);
        if fence.is_none()
            && let Some(heading) = heading(line)
        {
            return Line { text, heading: Some(heading), code: InCode::Outside };
        }
        let code = match (fence, fence_marker(line)) {
            (Some((open, width)), Some((close, closing)))
                if open == close && closing >= width && line.trim_matches([open, ' ', '\t']).is_empty() =>
            {
                fence = None;
                InCode::Closes
            }
            (None, marker @ Some(_)) => {
                fence = marker;
                InCode::Opens
            }
            (Some(_), _) => InCode::Inside,
            (None, None) => InCode::Outside,
        };
        Line { text, heading: None, code }
    })
}

/// Three or more backticks or tildes, indented less than a code block.
fn fence_marker(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start_matches(' ');
    let first = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = text.chars().take_while(|c| *c == first).count();
    (width >= 3 && line.len() - text.len() < 4).then_some((first, width))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let rest = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t', '\r']));
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

/// Lower case, with runs of anything but letters and digits as one hyphen.
pub(crate) fn section_key(title: &str) -> String {
    let mut key = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            key.push(c);
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    key.trim_end_matches('-').to_owned()
}

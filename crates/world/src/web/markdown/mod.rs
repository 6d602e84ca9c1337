//! A page as Markdown: what a reader would read, with absolute links. Never fails on bad HTML; what is limited is time,
//! because some pages are built to make a parser slow.

mod blocks;
mod table;
mod writer;

use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::TendrilSink as _;
use reqwest::Url;
use scraper::{Html, HtmlTreeSink, Selector};
use std::time::{Duration, Instant};

/// Deeply nested pages take quadratic time in every HTML parser; an honest one of 8 MB takes a second.
const PARSE: Duration = Duration::from_secs(10);
/// Small enough that the clock is looked at in time.
const PIECE: usize = 8 << 10;

/// Why a page could not be made into Markdown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkdownError {
    #[error("the page is built so that reading it takes too long")]
    TooSlow,
    #[error("`{0}` is not a CSS selector")]
    BadSelector(String),
    #[error("nothing on the page matches the selector `{0}`; leave it out to see the whole page")]
    NoMatch(String),
}

/// The title and the text of a page. `selector` keeps only what it matches, and everything in it.
pub fn to_markdown(
    html: &str,
    base: &Url,
    selector: Option<&str>,
) -> Result<(Option<String>, String), MarkdownError> {
    let selector = selector.map(|text| {
        let short = || text.chars().take(200).collect::<String>();
        Selector::parse(text).map(|parsed| (parsed, short())).map_err(|_| MarkdownError::BadSelector(short()))
    });
    let selector = selector.transpose()?;
    let page = parse(html, PARSE)?;
    let base = base_of(&page, base);
    let title = first(&page, "title").map(|title| one_line(&title.text().collect::<String>()));
    let title = title.filter(|title| !title.is_empty());
    let markdown = match selector {
        None => whole(&page, &base),
        Some((selector, shown)) => {
            let mut parts = Vec::new();
            let mut last_end = None;
            for found in page.select(&selector) {
                // What stands inside a match was written with it.
                if found.ancestors().any(|above| Some(above.id()) == last_end) {
                    continue;
                }
                last_end = Some(found.id());
                parts.push(blocks::render(*found, &base, blocks::Noise::Kept));
            }
            if parts.is_empty() {
                return Err(MarkdownError::NoMatch(shown));
            }
            parts.join("\n\n")
        }
    };
    Ok((title, markdown))
}

/// Without navigation, unless there is nothing else.
fn whole(page: &Html, base: &Url) -> String {
    let root = first(page, "body").map_or(page.tree.root(), |body| *body);
    let text = blocks::render(root, base, blocks::Noise::Dropped);
    if text.trim().is_empty() { blocks::render(root, base, blocks::Noise::Kept) } else { text }
}

fn parse(html: &str, limit: Duration) -> Result<Html, MarkdownError> {
    let began = Instant::now();
    let mut parser = parse_document(HtmlTreeSink::new(Html::new_document()), ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(cut_at(rest, PIECE));
        parser.process(piece.into());
        rest = after;
        if began.elapsed() > limit {
            return Err(MarkdownError::TooSlow);
        }
    }
    Ok(parser.finish())
}

fn first<'p>(page: &'p Html, name: &str) -> Option<scraper::ElementRef<'p>> {
    let mut elements = page.tree.nodes().filter_map(scraper::ElementRef::wrap);
    elements.find(|element| element.value().name() == name)
}

fn base_of(page: &Html, own: &Url) -> Url {
    let named = first(page, "base").and_then(|base| own.join(base.attr("href")?).ok());
    // Only a base that could have served the page; `data:` and the like make no links.
    named.filter(|base| matches!(base.scheme(), "http" | "https")).unwrap_or_else(|| own.clone())
}

/// The last place at or before `most` where a text can be cut.
pub(super) fn cut_at(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(html: &str) -> String {
        let base = Url::parse("https://x.example/a/b?c").unwrap();
        to_markdown(html, &base, None).unwrap().1
    }

    #[test]
    fn a_page_reads_as_its_author_meant() {
        let html = r#"<html><head><title> A  page </title><style>p{}</style><script>x()</script></head><body>
            <nav><a href="/">Home</a></nav>
            <h1>Title <em>one</em></h1><p>First   line<br>second, <b>bold</b> and <code>a `b`</code>.</p>
            <ul><li>one</li><li>two <a href="../up?q=1#f">link</a><ol start=3><li>deep</li></ol></li></ul>
            <pre><code class="language-rust">fn main() {
    let x = 1;
}</code></pre>
            <blockquote><p>said</p><p>twice</p></blockquote>
            <img src="p.png" alt="a picture"><img src="x.png"><hr>
            <p hidden>secret</p><p style="display: none">secret</p>
            <a href="javascript:evil()">click</a> <a href="mailto:a@x.example">mail</a></body></html>"#;
        let base = Url::parse("https://x.example/a/b?c").unwrap();
        let (title, text) = to_markdown(html, &base, None).unwrap();
        assert_eq!(title.as_deref(), Some("A page"));
        let expected = "# Title *one*\n\nFirst line\nsecond, **bold** and ``a `b` ``.\n\n- one\n- two \
            [link](https://x.example/up?q=1#f)\n  3. deep\n\n```rust\nfn main() {\n    let x = 1;\n}\n```\n\n> said\n>\n\
            > twice\n\n![a picture](https://x.example/a/p.png)\n\n---\n\nclick [mail](mailto:a@x.example)";
        assert_eq!(text, expected);
    }

    #[test]
    fn tables_become_tables_and_layout_does_not() {
        let table = "<table><caption>C</caption><thead><tr><th>Name</th><th>N|o</th></tr></thead>\
            <tr><td>中文</td><td><p>1</p><p>2</p></td></tr><tr><td colspan=2>wide</td></tr></table>";
        let expected = "C\n\n| Name | N\\|o |\n| --- | --- |\n| 中文 | 1 2 |\n| wide |  |";
        assert_eq!(markdown(table), expected);
        let layout =
            "<table><tr><td><h2>A</h2><table><tr><td>x</td><td>y</td></tr></table></td></tr></table>";
        assert_eq!(markdown(layout), "## A\n\n| x | y |\n| --- | --- |");
    }

    #[test]
    fn a_selector_keeps_what_it_matches() {
        let base = Url::parse("https://x.example/").unwrap();
        let html = "<nav class=m><a href=/a>A</a></nav><div class=m>x<div class=m>inner</div></div><p>y</p>";
        let chosen = to_markdown(html, &base, Some(".m")).unwrap().1;
        assert_eq!(chosen, "[A](https://x.example/a)\n\nx\n\ninner");
        assert_eq!(to_markdown(html, &base, Some("#no")), Err(MarkdownError::NoMatch("#no".into())));
        assert_eq!(to_markdown(html, &base, Some("[[")), Err(MarkdownError::BadSelector("[[".into())));
    }

    #[test]
    fn a_page_of_navigation_only_is_shown_as_it_is() {
        assert_eq!(markdown("<nav><a href=/a>A</a></nav>"), "[A](https://x.example/a)");
        assert_eq!(markdown(""), "");
        assert_eq!(markdown("plain &amp; simple"), "plain & simple");
    }

    #[test]
    fn a_page_that_would_take_for_ever_is_given_up() {
        let nested = "<div>".repeat(2_000_000);
        assert_eq!(parse(&nested, Duration::from_millis(200)).err(), Some(MarkdownError::TooSlow));
    }

    #[test]
    fn blocks_inside_items_stay_behind_their_marks() {
        let html =
            "<ul><li><p>a</p><p>b</p></li><li></li><li><div><h3>c</h3></div></li></ul><h2><div>d</div></h2>";
        assert_eq!(markdown(html), "- a\n\n  b\n- \n- ### c\n\n## d");
    }

    #[test]
    fn hostile_pages_end_with_an_answer_or_a_sentence() {
        let pages = [
            "<div>".repeat(3_000),
            "<b>".repeat(5_000) + "x",
            "<table><tr><td>".repeat(2_000),
            "<ul><li>".repeat(2_000) + "x",
            "<blockquote>".repeat(2_000) + &"<p>x".repeat(2_000),
            "<a href=x>t".repeat(10_000),
            "<!--".repeat(10_000),
            "<pre>".repeat(5_000) + &"`".repeat(50_000),
            "\0\u{fffd}<".repeat(10_000),
        ];
        for page in pages {
            let base = Url::parse(&format!("https://x.example/{}/", "y".repeat(2_000))).unwrap();
            match to_markdown(&page, &base, None) {
                Ok((_, text)) => assert!(text.len() <= writer::MAX_BYTES + 100, "{}", text.len()),
                Err(error) => assert_eq!(error, MarkdownError::TooSlow),
            }
        }
    }
}

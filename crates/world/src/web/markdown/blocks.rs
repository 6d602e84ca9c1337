//! The walk over a page: which element becomes what. A loop over openings and closings, so depth costs no stack.

use super::table::{self, Table};
use super::writer::Writer;
use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use reqwest::Url;
use scraper::Node;
use scraper::node::Element;

/// What happens to parts of a page that lead elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noise {
    Dropped,
    Kept,
}

/// The text of a part of a page.
pub(super) fn render(root: NodeRef<'_, Node>, base: &Url, noise: Noise) -> String {
    let mut walk = Walk { base, noise, ..Walk::new(base) };
    let mut skipped = None;
    for edge in root.traverse() {
        match edge {
            _ if walk.writer().is_full() => break,
            Edge::Open(node) if skipped.is_none() => skipped = (!walk.open(node, root)).then(|| node.id()),
            Edge::Close(node) if skipped == Some(node.id()) => skipped = None,
            Edge::Close(node) if skipped.is_none() => walk.close(node),
            _ => {}
        }
    }
    walk.finish()
}

struct Walk<'p> {
    base: &'p Url,
    noise: Noise,
    /// The last one is written to; the others wait outside of a table's cell.
    writers: Vec<Writer>,
    tables: Vec<Table>,
    /// Of lists: the next number, or none for bullets.
    lists: Vec<Option<u64>>,
    /// Of marks that are open: where they begin, to take them back if nothing follows.
    marks: Vec<usize>,
    links: Vec<Option<String>>,
    /// The text of a `pre`, and what language it is.
    code: Option<(String, String)>,
    pre_depth: usize,
}

impl<'p> Walk<'p> {
    fn new(base: &'p Url) -> Self {
        Self {
            base,
            noise: Noise::Kept,
            writers: vec![Writer::default()],
            tables: Vec::new(),
            lists: Vec::new(),
            marks: Vec::new(),
            links: Vec::new(),
            code: None,
            pre_depth: 0,
        }
    }

    fn writer(&mut self) -> &mut Writer {
        if self.writers.is_empty() {
            self.writers.push(Writer::default());
        }
        let last = self.writers.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "made non-empty above")]
        &mut self.writers[last]
    }

    /// `false`: nothing of it is shown.
    fn open(&mut self, node: NodeRef<'_, Node>, root: NodeRef<'_, Node>) -> bool {
        let element = match node.value() {
            Node::Text(text) => {
                self.text(text);
                return true;
            }
            Node::Element(element) => element,
            Node::Document | Node::Fragment => return true,
            _ => return false,
        };
        let is_noise = is_noise(element) && node.id() != root.id();
        if is_never_shown(element) || (self.noise == Noise::Dropped && is_noise) {
            return false;
        }
        if self.code.is_some() {
            self.open_in_code(element);
            return true;
        }
        match element.name() {
            "table" if table::is_table_of_cells(node) && self.writers.len() == 1 => {
                self.writer().block();
                self.tables.push(Table::default());
            }
            "tr" if self.in_table() => self.table(Table::row),
            "td" | "th" if self.in_table() => self.writers.push(Writer::default()),
            "a" => self.open_link(element),
            "img" => self.image(element),
            "br" => self.writer().line(),
            "hr" => {
                self.writer().block();
                self.writer().raw("---");
                self.writer().block();
            }
            "b" | "strong" => self.open_mark("**"),
            "i" | "em" => self.open_mark("*"),
            "pre" | "listing" | "xmp" => {
                self.code = Some((String::new(), language(element)));
                self.pre_depth = 1;
            }
            "code" | "kbd" | "samp" | "tt" => self.code = Some((String::new(), String::new())),
            name => self.open_block(name, element),
        }
        true
    }

    fn open_block(&mut self, name: &str, element: &Element) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.writer().block();
                let level = name.as_bytes().get(1).copied().map_or(1, |digit| usize::from(digit - b'0'));
                self.writer().mark(&format!("{} ", "#".repeat(level)));
            }
            "ul" | "ol" | "menu" | "dir" => {
                if self.lists.is_empty() {
                    self.writer().block();
                } else {
                    self.writer().line();
                }
                let first =
                    (name == "ol").then(|| element.attr("start").and_then(|n| n.parse().ok()).unwrap_or(1));
                self.lists.push(first);
            }
            "li" => self.open_item(),
            "blockquote" => {
                self.writer().block();
                self.writer().enter("> ");
                self.writer().hold();
            }
            "dt" => self.writer().block(),
            "dd" => {
                self.writer().line();
                self.writer().mark(": ");
            }
            _ if is_block(name) => self.writer().block(),
            "td" | "th" => self.writer().text(" "),
            _ => {}
        }
    }

    fn open_item(&mut self) {
        self.writer().end_mark();
        self.writer().line();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "- ".to_owned(),
        };
        self.writer().mark(&mark);
        self.writer().enter("  ");
    }

    fn open_in_code(&mut self, element: &Element) {
        let Some((text, named)) = &mut self.code else { return };
        match element.name() {
            "br" => text.push('\n'),
            "pre" => self.pre_depth += 1,
            "code" if named.is_empty() => *named = language(element),
            _ => {}
        }
    }

    fn close(&mut self, node: NodeRef<'_, Node>) {
        let Node::Element(element) = node.value() else { return };
        let name = element.name();
        if self.code.is_some() {
            return self.close_in_code(name);
        }
        if matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "dd") {
            self.writer().end_mark();
        }
        match name {
            "table" if self.in_table() && table::is_table_of_cells(node) && self.writers.len() == 1 => {
                if let Some(table) = self.tables.pop() {
                    let text = table.finish();
                    self.writer().verbatim(&text);
                    self.writer().block();
                }
            }
            "td" | "th" if self.in_table() && self.writers.len() > 1 => {
                if let Some(cell) = self.writers.pop() {
                    let text = cell.finish();
                    self.table(|table| table.cell(&text));
                }
            }
            "a" => self.close_link(),
            "b" | "strong" => self.close_mark("**"),
            "i" | "em" => self.close_mark("*"),
            "ul" | "ol" | "menu" | "dir" => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.writer().block();
                } else {
                    self.writer().line();
                }
            }
            "li" => {
                self.writer().end_mark();
                self.writer().leave();
                self.writer().line();
                self.writer().tighten();
            }
            "blockquote" => {
                self.writer().end_mark();
                self.writer().leave();
                self.writer().block();
            }
            "caption" if self.in_table() => self.writer().block(),
            _ if is_block(name) => self.writer().block(),
            _ => {}
        }
    }

    fn close_in_code(&mut self, name: &str) {
        let is_pre = matches!(name, "pre" | "listing" | "xmp");
        if self.pre_depth > 0 {
            self.pre_depth -= usize::from(is_pre);
            if self.pre_depth > 0 || !is_pre {
                return;
            }
        } else if !matches!(name, "code" | "kbd" | "samp" | "tt") {
            return;
        }
        let Some((text, named)) = self.code.take() else { return };
        if is_pre && self.writers.len() == 1 {
            let fence = "`".repeat(longest_run(&text).max(2) + 1);
            let text = text.trim_matches('\n');
            self.writer().block();
            self.writer().verbatim(&format!("{fence}{named}\n{text}\n{fence}"));
            self.writer().block();
        } else if !text.trim().is_empty() {
            let fence = "`".repeat(longest_run(&text) + 1);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
            let end = if text.ends_with('`') { pad } else { "" };
            let start = if text.starts_with('`') { pad } else { "" };
            self.writer().open_mark(&format!("{fence}{start}{text}{end}{fence}"));
        }
    }

    fn text(&mut self, text: &str) {
        let between_cells = self.in_table() && self.writers.len() == 1;
        match &mut self.code {
            Some((code, _)) if code.len() < super::writer::MAX_BYTES => code.push_str(text),
            Some(_) => {}
            // White space between the rows of a table is nobody's.
            None if between_cells && text.trim().is_empty() => {}
            None => self.writer().text(text),
        }
    }

    fn open_mark(&mut self, mark: &str) {
        let start = self.writer().len();
        self.marks.push(start);
        self.writer().open_mark(mark);
    }

    fn close_mark(&mut self, mark: &str) {
        let start = self.marks.pop().unwrap_or(0);
        if !self.writer().take_back(start, mark) {
            self.writer().close_mark(mark);
        }
    }

    fn open_link(&mut self, element: &Element) {
        let target = element.attr("href").and_then(|href| self.target(href));
        if target.is_some() {
            self.open_mark("[");
        }
        self.links.push(target);
    }

    fn close_link(&mut self) {
        let Some(Some(target)) = self.links.pop() else { return };
        let start = self.marks.pop().unwrap_or(0);
        if !self.writer().take_back(start, "[") {
            self.writer().close_mark(&format!("]({target})"));
        }
    }

    fn image(&mut self, element: &Element) {
        let alt = element.attr("alt").map(super::one_line).unwrap_or_default();
        let source = element.attr("src").or_else(|| element.attr("data-src"));
        if let (false, Some(source)) = (alt.is_empty(), source.and_then(|source| self.target(source))) {
            self.writer().open_mark(&format!("![{alt}]({source})"));
        }
    }

    /// Whole, and only if it leads somewhere.
    fn target(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let url = self.base.join(href).ok()?;
        matches!(url.scheme(), "http" | "https" | "mailto" | "ftp" | "tel")
            .then(|| url.as_str().replace(' ', "%20").replace(')', "%29"))
    }

    fn in_table(&self) -> bool {
        !self.tables.is_empty()
    }

    fn table(&mut self, change: impl FnOnce(&mut Table)) {
        if let Some(table) = self.tables.last_mut() {
            change(table);
        }
    }

    fn finish(mut self) -> String {
        // A page that was cut in the middle of a cell still has what stands before it.
        while self.writers.len() > 1 {
            if let Some(cell) = self.writers.pop() {
                let text = cell.finish();
                self.table(|table| table.cell(&text));
            }
        }
        while let Some(table) = self.tables.pop() {
            let text = table.finish();
            self.writer().verbatim(&text);
        }
        self.writers.pop().unwrap_or_default().finish()
    }
}

fn is_never_shown(element: &Element) -> bool {
    let is_machinery = matches!(
        element.name(),
        "script"
            | "style"
            | "noscript"
            | "template"
            | "svg"
            | "canvas"
            | "iframe"
            | "object"
            | "embed"
            | "head"
            | "audio"
            | "video"
            | "math"
            | "link"
            | "meta"
            | "select"
            | "datalist"
            | "textarea"
    );
    let style = element.attr("style").unwrap_or_default();
    is_machinery
        || element.attr("hidden").is_some()
        || element.attr("aria-hidden") == Some("true")
        || (style.len() < 10_000 && style.replace(' ', "").contains("display:none"))
}

fn is_noise(element: &Element) -> bool {
    matches!(element.name(), "nav" | "button" | "dialog")
        || matches!(element.attr("role"), Some("navigation" | "search" | "dialog" | "menu" | "menubar"))
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "body"
            | "caption"
            | "center"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "dd"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "html"
            | "legend"
            | "main"
            | "nav"
            | "p"
            | "section"
            | "summary"
            | "table"
            | "tr"
    )
}

/// `language-rust`, `lang-py`, `highlight-source-js`: what highlighters write.
fn language(element: &Element) -> String {
    let name = element.classes().find_map(|class| {
        class.strip_prefix("language-").or_else(|| class.strip_prefix("lang-")).filter(|name| name.len() < 20)
    });
    name.unwrap_or_default().chars().filter(|c| c.is_alphanumeric() || "+#-".contains(*c)).collect()
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

//! SVG as text: elements with escaped attributes, nothing that is not well-formed.

use std::fmt::Write as _;

/// Asked for in this order by whoever shows the picture; Chinese has a face on every common system.
pub const FONTS: &str = "Inter, 'Helvetica Neue', Arial, 'Noto Sans', 'DejaVu Sans', 'PingFang SC', 'Microsoft YaHei', \
                         'Noto Sans CJK SC', 'Source Han Sans SC', 'WenQuanYi Micro Hei', sans-serif";

/// A picture that is being drawn.
#[derive(Clone, Debug)]
pub struct Svg {
    body: String,
}

impl Svg {
    /// With the part of the plane it shows: left, top, width, height.
    pub fn new((left, top, width, height): (f64, f64, f64, f64), background: &str) -> Self {
        let mut svg = Self { body: String::new() };
        let (wide, high) = (figure(width), figure(height));
        let view = format!("{} {} {wide} {high}", figure(left), figure(top));
        let _ = writeln!(
            svg.body,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"{view}\" \
             font-family=\"{}\">",
            escape(FONTS)
        );
        svg.element(
            "rect",
            &[
                ("x", &figure(left)),
                ("y", &figure(top)),
                ("width", &wide),
                ("height", &high),
                ("fill", background),
            ],
        );
        svg
    }

    /// An empty element.
    pub fn element(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.open(name, attributes, "/>\n");
    }

    /// An element with text in it.
    pub fn text(&mut self, text: &str, attributes: &[(&str, &str)]) {
        self.open("text", attributes, ">");
        self.body.push_str(&escape(text));
        self.body.push_str("</text>\n");
    }

    /// What a pointer shows, and what a screen reader says of the whole.
    pub fn title(&mut self, text: &str) {
        let _ = writeln!(self.body, "<title>{}</title>", escape(text));
    }

    pub fn finish(mut self) -> String {
        self.body.push_str("</svg>\n");
        self.body
    }

    fn open(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        let _ = write!(self.body, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.body, " {key}=\"{}\"", escape(value));
        }
        self.body.push_str(end);
    }
}

/// A number with at most two decimals; what is not finite is zero.
pub fn figure(number: f64) -> String {
    if !number.is_finite() {
        return "0".into();
    }
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// For text and attributes. Characters that XML has no way to write become a replacement character.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_cannot_leave_its_place() {
        let mut svg = Svg::new((0.0, 0.0, 10.0, 10.0), "white");
        svg.text("</text><script>\u{0}\u{1b}", &[("fill", "\"/><script/>")]);
        let drawn = svg.finish();
        assert!(!drawn.contains("<script"), "{drawn}");
        assert!(super::super::png(&drawn, 1.0).is_ok());
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, 1.50, -0.001, f64::NAN, 12.345].map(figure), ["1", "1.5", "0", "0", "12.35"]);
    }
}

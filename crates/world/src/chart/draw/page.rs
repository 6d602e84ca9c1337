//! Title, legend, axes and the area between them. Nothing is drawn on top of anything: margins follow from the widths of
//! the texts that stand in them.

use crate::chart::scale::Scale;
use crate::chart::spec::Spec;
use crate::picture::{Svg, clip, figure, width};

pub const INK: &str = "#24292f";
pub const SOFT: &str = "#57606a";
const GRID: &str = "#e3e6ea";
const AXIS: &str = "#8c959f";
pub const TEXT: f64 = 13.0;
const TITLE: f64 = 18.0;
const MARGIN: f64 = 20.0;

/// The inner part of a chart, in pixels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    pub fn right(self) -> f64 {
        self.left + self.width
    }

    pub fn bottom(self) -> f64 {
        self.top + self.height
    }
}

/// A picture with a title and a legend, and what is left for the rest.
pub struct Page {
    pub svg: Svg,
    pub area: Area,
}

impl Page {
    /// `legend`: names with colours; a single series needs none.
    pub fn new(spec: &Spec, (wide, high): (f64, f64), legend: &[(String, String)]) -> Self {
        let (wide, high) = (spec.width.map_or(wide, f64::from), spec.height.map_or(high, f64::from));
        let mut svg = Svg::new((0.0, 0.0, wide, high), "#ffffff");
        let mut top = MARGIN;
        if let Some(title) = spec.title.as_deref().filter(|title| !title.trim().is_empty()) {
            svg.title(title);
            for line in crate::picture::wrap(title, TITLE * 1.08, wide - 2.0 * MARGIN).into_iter().take(2) {
                put(
                    &mut svg,
                    &line,
                    (MARGIN, top + TITLE * 0.85),
                    &Style { size: TITLE, is_bold: true, ..Style::default() },
                );
                top += TITLE * 1.35;
            }
            top += 12.0;
        }
        if legend.len() > 1 {
            top = draw_legend(&mut svg, legend, top, wide);
        }
        let area =
            Area { left: MARGIN, top, width: wide - 2.0 * MARGIN, height: (high - top - MARGIN).max(40.0) };
        Self { svg, area }
    }

    /// Makes room at the left and the bottom for these labels and the names of the axes.
    pub fn reserve(&mut self, left: f64, bottom: f64, (x, y): (&str, &str)) {
        let left = left + if y.is_empty() { 8.0 } else { 30.0 };
        let bottom = bottom + if x.is_empty() { 8.0 } else { 28.0 };
        let whole = self.area;
        self.area.left += left;
        self.area.width = (self.area.width - left).max(40.0);
        self.area.height = (self.area.height - bottom).max(30.0);
        let area = self.area;
        if !x.is_empty() {
            let shown = clip(x, TEXT, area.width);
            let at = (area.left + area.width / 2.0, whole.bottom() - 2.0);
            put(&mut self.svg, &shown, at, &Style { anchor: "middle", color: SOFT, ..Style::default() });
        }
        if !y.is_empty() {
            let shown = clip(y, TEXT, area.height);
            let at = (whole.left + TEXT * 0.8, area.top + area.height / 2.0);
            put(
                &mut self.svg,
                &shown,
                at,
                &Style { anchor: "middle", color: SOFT, turn: -90.0, ..Style::default() },
            );
        }
    }

    /// Lines across at the ticks of the value axis, with their labels at the left.
    pub fn value_lines(&mut self, scale: &Scale) {
        let area = self.area;
        for (value, label) in &scale.ticks {
            let y = area.bottom() - scale.part(*value) * area.height;
            let color = if *value == 0.0 { AXIS } else { GRID };
            line(&mut self.svg, (area.left, y), (area.right(), y), color);
            let at = (area.left - 8.0, y + TEXT * 0.35);
            put(
                &mut self.svg,
                label,
                at,
                &Style { anchor: "end", color: SOFT, size: 12.0, ..Style::default() },
            );
        }
    }

    /// Ticks of numbers or dates along the bottom, as many as fit.
    pub fn bottom_ticks(&mut self, scale: &Scale) {
        let area = self.area;
        line(&mut self.svg, (area.left, area.bottom()), (area.right(), area.bottom()), AXIS);
        let mut free = f64::NEG_INFINITY;
        for (value, label) in &scale.ticks {
            let x = area.left + scale.part(*value) * area.width;
            line(&mut self.svg, (x, area.bottom()), (x, area.bottom() + 5.0), AXIS);
            let half = width(label, 12.0) / 2.0;
            if x - half < free {
                continue;
            }
            free = x + half + 10.0;
            let at = (x, area.bottom() + 19.0);
            put(
                &mut self.svg,
                label,
                at,
                &Style { anchor: "middle", color: SOFT, size: 12.0, ..Style::default() },
            );
        }
    }
}

/// The widest of these labels.
pub fn widest<'a>(labels: impl Iterator<Item = &'a str>, size: f64) -> f64 {
    labels.map(|label| width(label, size)).fold(0.0, f64::max)
}

/// How labels of categories stand below an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Labels {
    /// Below the axis, in pixels.
    pub height: f64,
    turned: bool,
    /// Every how many a label stands.
    every: usize,
}

/// Turned labels longer than this are cut.
const LONGEST: f64 = 130.0;

impl Labels {
    /// Level if they fit, turned if not, and only some of them if even that is too tight.
    pub fn fitting(labels: &[String], step: f64) -> Self {
        let widest = widest(labels.iter().map(String::as_str), 12.0);
        if widest + 5.0 <= step {
            return Self { height: 18.0, turned: false, every: 1 };
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small ratio; casts saturate"
        )]
        let every = |room: f64| ((room / step.max(0.01)).ceil() as usize).max(1);
        // Short names, and many of them: skipping some reads better than turning all.
        if widest <= 60.0 && step < 16.0 {
            return Self { height: 18.0, turned: false, every: every(widest + 12.0) };
        }
        let long = widest.min(LONGEST);
        Self { height: long * 0.64 + 20.0, turned: true, every: every(16.0) }
    }

    /// How far the first turned label reaches to the left of its tick.
    pub fn overhang(self, labels: &[String]) -> f64 {
        let first = labels.first().map_or(0.0, |label| width(label, 12.0).min(LONGEST));
        if self.turned { first * 0.77 } else { first / 2.0 }
    }

    pub fn draw(self, page: &mut Page, labels: &[String], middle: impl Fn(usize) -> f64) {
        let bottom = page.area.bottom();
        line(&mut page.svg, (page.area.left, bottom), (page.area.right(), bottom), AXIS);
        for (at, label) in labels.iter().enumerate().step_by(self.every) {
            let x = middle(at);
            match self.turned {
                true => {
                    let shown = clip(label, 12.0, LONGEST);
                    let style =
                        Style { anchor: "end", color: SOFT, size: 12.0, turn: -40.0, ..Style::default() };
                    put(&mut page.svg, &shown, (x + 4.0, bottom + 14.0), &style);
                }
                false => {
                    let style = Style { anchor: "middle", color: SOFT, size: 12.0, ..Style::default() };
                    put(&mut page.svg, label, (x, bottom + 18.0), &style);
                }
            }
        }
    }

    pub fn note(self, notes: &mut Vec<String>) {
        if self.every > 1 {
            notes.push(format!("only every {}th label of the axis is shown", self.every));
        }
    }
}

/// How text looks.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub size: f64,
    pub anchor: &'static str,
    pub color: &'static str,
    pub is_bold: bool,
    pub turn: f64,
}

impl Default for Style {
    fn default() -> Self {
        Self { size: TEXT, anchor: "start", color: INK, is_bold: false, turn: 0.0 }
    }
}

pub fn put(svg: &mut Svg, text: &str, (x, y): (f64, f64), style: &Style) {
    let (x, y) = (figure(x), figure(y));
    let turn = format!("rotate({} {x} {y})", figure(style.turn));
    let size = figure(style.size);
    let mut attributes =
        vec![("x", x.as_str()), ("y", y.as_str()), ("font-size", &size), ("fill", style.color)];
    if style.anchor != "start" {
        attributes.push(("text-anchor", style.anchor));
    }
    if style.is_bold {
        attributes.push(("font-weight", "bold"));
    }
    if style.turn != 0.0 {
        attributes.push(("transform", &turn));
    }
    svg.text(text, &attributes);
}

pub fn line(svg: &mut Svg, from: (f64, f64), to: (f64, f64), color: &str) {
    svg.element(
        "line",
        &[
            ("x1", &figure(from.0)),
            ("y1", &figure(from.1)),
            ("x2", &figure(to.0)),
            ("y2", &figure(to.1)),
            ("stroke", color),
            ("stroke-width", "1"),
        ],
    );
}

pub fn block(svg: &mut Svg, area: Area, color: &str) {
    svg.element(
        "rect",
        &[
            ("x", &figure(area.left)),
            ("y", &figure(area.top)),
            ("width", &figure(area.width)),
            ("height", &figure(area.height)),
            ("fill", color),
        ],
    );
}

/// Squares with names in rows; gives where the next thing may begin.
fn draw_legend(svg: &mut Svg, legend: &[(String, String)], top: f64, wide: f64) -> f64 {
    let (mut x, mut y) = (MARGIN, top);
    for (name, color) in legend {
        let shown = clip(name, TEXT, 180.0);
        let long = width(&shown, TEXT) + 34.0;
        if x > MARGIN && x + long > wide - MARGIN {
            (x, y) = (MARGIN, y + 20.0);
        }
        block(svg, Area { left: x, top: y, width: 12.0, height: 12.0 }, color);
        put(svg, &shown, (x + 18.0, y + 11.0), &Style::default());
        x += long;
    }
    y + 28.0
}

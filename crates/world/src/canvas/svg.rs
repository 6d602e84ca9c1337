//! A canvas as a picture, for people and tests to look at.

use super::containment::parents;
use super::measure::{LABEL, PADDING, TEXT, text_lines};
use super::model::{Canvas, Edge, Node, NodeKind, Rect, Side};
use crate::picture::{Svg, clip, figure, width};
use std::collections::HashMap;

const MARGIN: f64 = 40.0;
const INK: &str = "#1f2328";
const SOFT: &str = "#57606a";
const LINE: &str = "#8c959f";
const PAPER: &str = "#fbfbfc";
/// The presets: red, orange, yellow, green, cyan, purple.
const PRESETS: [&str; 6] = ["#d1383d", "#d9730d", "#c29000", "#2e8b57", "#0e8fa3", "#7b55c7"];
/// The whole canvas.
pub fn to_svg(canvas: &Canvas) -> String {
    let index: HashMap<&str, Frame> =
        canvas.nodes.iter().filter_map(|node| Some((node.id(), Frame::of(node.rect()?)))).collect();
    let mut svg = Svg::new(extent(canvas, &index), PAPER);
    let depth = depths(canvas);
    let mut groups: Vec<usize> = (0..canvas.nodes.len()).filter(|at| is_group(canvas, *at)).collect();
    groups.sort_by_key(|at| depth.get(*at).copied());
    let others = (0..canvas.nodes.len()).filter(|at| !is_group(canvas, *at));
    for node in groups.iter().filter_map(|at| canvas.nodes.get(*at)) {
        group(&mut svg, node);
    }
    let mut labels = Vec::new();
    for edge in &canvas.edges {
        if let (Some(from), Some(to)) = (index.get(edge.from()), index.get(edge.to())) {
            labels.extend(draw_edge(&mut svg, edge, *from, *to));
        }
    }
    for node in others.filter_map(|at| canvas.nodes.get(at)) {
        draw_node(&mut svg, node);
    }
    for (text, (x, y)) in labels {
        label(&mut svg, &text, x, y);
    }
    svg.finish()
}

fn is_group(canvas: &Canvas, at: usize) -> bool {
    canvas.nodes.get(at).is_some_and(|node| node.kind() == NodeKind::Group)
}

fn depths(canvas: &Canvas) -> Vec<usize> {
    let parents = parents(canvas);
    (0..canvas.nodes.len()).map(|at| super::containment::ancestors(&parents, at).count()).collect()
}

#[derive(Clone, Copy)]
struct Frame {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Frame {
    #[expect(clippy::cast_precision_loss, reason = "places are far below 2^52")]
    fn of(rect: Rect) -> Self {
        Self { x: rect.x as f64, y: rect.y as f64, width: rect.width as f64, height: rect.height as f64 }
    }

    fn port(self, side: Side) -> (f64, f64) {
        let (middle, centre) = (self.x + self.width / 2.0, self.y + self.height / 2.0);
        match side {
            Side::Top => (middle, self.y),
            Side::Bottom => (middle, self.y + self.height),
            Side::Left => (self.x, centre),
            Side::Right => (self.x + self.width, centre),
        }
    }
}

/// A colour of the file as SVG knows it.
fn color(wanted: Option<&str>) -> Option<String> {
    let wanted = wanted?;
    if wanted.starts_with('#') {
        return Some(wanted.to_owned());
    }
    let preset = wanted.parse::<usize>().ok()?.checked_sub(1)?;
    PRESETS.get(preset).map(|color| (*color).to_owned())
}

fn group(svg: &mut Svg, node: &Node) {
    let Some(frame) = node.rect().map(Frame::of) else { return };
    let color = color(node.color()).unwrap_or_else(|| LINE.into());
    svg.element(
        "rect",
        &[
            ("x", &figure(frame.x)),
            ("y", &figure(frame.y)),
            ("width", &figure(frame.width)),
            ("height", &figure(frame.height)),
            ("rx", "12"),
            ("fill", &color),
            ("fill-opacity", "0.06"),
            ("stroke", &color),
            ("stroke-width", "1.5"),
            ("stroke-dasharray", "6 4"),
        ],
    );
    let text = clip(node.content(), 14.0, (frame.width - 24.0).max(20.0));
    let y = frame.y + LABEL;
    svg.text(
        &text,
        &[
            ("x", &figure(frame.x + 12.0)),
            ("y", &figure(y)),
            ("font-size", "14"),
            ("font-weight", "bold"),
            ("fill", &color),
        ],
    );
}

fn draw_node(svg: &mut Svg, node: &Node) {
    let Some(frame) = node.rect().map(Frame::of) else { return };
    let color = color(node.color());
    let stroke = color.as_deref().unwrap_or("#b6bdc6");
    let attributes = [
        ("x", figure(frame.x)),
        ("y", figure(frame.y)),
        ("width", figure(frame.width)),
        ("height", figure(frame.height)),
        ("rx", "8".into()),
    ];
    let mut plain: Vec<(&str, &str)> = attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    plain.extend([("fill", "#ffffff"), ("stroke", stroke), ("stroke-width", "1.5")]);
    svg.element("rect", &plain);
    if let Some(color) = &color {
        let mut tint: Vec<(&str, &str)> =
            attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        tint.extend([("fill", color.as_str()), ("fill-opacity", "0.08")]);
        svg.element("rect", &tint);
    }
    match node.kind() {
        NodeKind::Text => text(svg, node.content(), frame),
        NodeKind::Other => text(svg, &format!("({})", node.type_name()), frame),
        NodeKind::File => named(svg, "file", node.content(), frame),
        NodeKind::Link => named(svg, "link", node.content(), frame),
        NodeKind::Group => {}
    }
}

fn named(svg: &mut Svg, kind: &str, content: &str, frame: Frame) {
    text(svg, &format!("**{kind}**\n{content}"), frame);
}

fn text(svg: &mut Svg, content: &str, frame: Frame) {
    let room = frame.width - 2.0 * PADDING + 8.0;
    let head: String = content.chars().take(4000).collect();
    let lines = text_lines(&head, room.max(TEXT));
    let total: f64 = lines.iter().map(|line| line.height).sum();
    // Short text stands in the middle, long text begins at the top.
    let space = frame.height - 12.0;
    let top = frame.y + if total < space { (frame.height - total) / 2.0 } else { 6.0 };
    let is_short = lines.len() <= 2 && !content.contains('\n');
    let (x, anchor) = match is_short {
        true => (frame.x + frame.width / 2.0, "middle"),
        false => (frame.x + PADDING - 4.0, "start"),
    };
    let mut y = top;
    for (at, line) in lines.iter().enumerate() {
        let is_last = y + line.height * 2.0 > frame.y + frame.height - 2.0 && at + 1 < lines.len();
        let shown =
            if is_last { clip(&format!("{} …", line.text), line.size, room) } else { line.text.clone() };
        svg.text(
            &shown,
            &[
                ("x", &figure(x)),
                ("y", &figure(y + line.height * 0.5 + line.size * 0.36)),
                ("font-size", &figure(line.size)),
                ("font-weight", if line.bold { "bold" } else { "normal" }),
                ("text-anchor", anchor),
                ("fill", INK),
            ],
        );
        y += line.height;
        if is_last {
            break;
        }
    }
}

/// Draws the curve and gives the label with its place, drawn last so that nothing covers it.
fn draw_edge(svg: &mut Svg, edge: &Edge, from: Frame, to: Frame) -> Option<(String, (f64, f64))> {
    let (leaves, arrives) = sides(edge, from, to);
    let (start, end) = (from.port(leaves), to.port(arrives));
    let (one, other) = handles((start, leaves), (end, arrives));
    let color = color(edge.color()).unwrap_or_else(|| LINE.into());
    let path = format!(
        "M{},{} C{},{} {},{} {},{}",
        figure(start.0),
        figure(start.1),
        figure(one.0),
        figure(one.1),
        figure(other.0),
        figure(other.1),
        figure(end.0),
        figure(end.1)
    );
    svg.element("path", &[("d", &path), ("fill", "none"), ("stroke", &color), ("stroke-width", "2")]);
    let (at_start, at_end) = edge.arrows();
    if at_start {
        arrow(svg, start, leaves, &color);
    }
    if at_end {
        arrow(svg, end, arrives, &color);
    }
    let middle = |a: f64, b: f64, c: f64, d: f64| (a + 3.0 * b + 3.0 * c + d) / 8.0;
    let place = (middle(start.0, one.0, other.0, end.0), middle(start.1, one.1, other.1, end.1));
    (!edge.label().is_empty()).then(|| (edge.label().to_owned(), place))
}

/// The points that the curve leans to.
fn handles(
    (start, leaves): ((f64, f64), Side),
    (end, arrives): ((f64, f64), Side),
) -> ((f64, f64), (f64, f64)) {
    let distance = (end.0 - start.0).hypot(end.1 - start.1);
    if leaves != arrives {
        let reach = (distance / 2.2).clamp(24.0, 160.0);
        return (away(start, leaves, reach), away(end, arrives, reach));
    }
    // An edge that leads back swings around what lies between.
    let reach = (distance * 0.3).clamp(60.0, 500.0);
    let (one, other) = (away(start, leaves, reach), away(end, arrives, reach));
    match leaves {
        Side::Bottom => ((one.0, one.1.max(other.1)), (other.0, one.1.max(other.1))),
        Side::Top => ((one.0, one.1.min(other.1)), (other.0, one.1.min(other.1))),
        Side::Right => ((one.0.max(other.0), one.1), (one.0.max(other.0), other.1)),
        Side::Left => ((one.0.min(other.0), one.1), (one.0.min(other.0), other.1)),
    }
}

/// All nodes, and how far curves swing beyond them.
fn extent(canvas: &Canvas, index: &HashMap<&str, Frame>) -> (f64, f64, f64, f64) {
    let empty = Rect { width: 200, height: 80, ..Rect::default() };
    let area = Frame::of(Rect::around(canvas.nodes.iter().filter_map(Node::rect)).unwrap_or(empty));
    let (mut left, mut top, mut right, mut bottom) =
        (area.x, area.y, area.x + area.width, area.y + area.height);
    for edge in &canvas.edges {
        let (Some(from), Some(to)) = (index.get(edge.from()), index.get(edge.to())) else { continue };
        let (leaves, arrives) = sides(edge, *from, *to);
        let (start, end) = (from.port(leaves), to.port(arrives));
        let (one, other) = handles((start, leaves), (end, arrives));
        for (point, handle) in [(start, one), (end, other)] {
            // A curve goes three quarters of the way to its handles.
            let (x, y) = (point.0 + (handle.0 - point.0) * 0.75, point.1 + (handle.1 - point.1) * 0.75);
            (left, right) = (left.min(x), right.max(x));
            (top, bottom) = (top.min(y), bottom.max(y));
        }
    }
    (left - MARGIN, top - MARGIN, right - left + 2.0 * MARGIN, bottom - top + 2.0 * MARGIN)
}

fn sides(edge: &Edge, from: Frame, to: Frame) -> (Side, Side) {
    let (usual_from, usual_to) = usual_sides(from, to);
    let (leaves, arrives) = edge.sides();
    (leaves.unwrap_or(usual_from), arrives.unwrap_or(usual_to))
}

fn usual_sides(from: Frame, to: Frame) -> (Side, Side) {
    let across = (to.x + to.width / 2.0) - (from.x + from.width / 2.0);
    let down = (to.y + to.height / 2.0) - (from.y + from.height / 2.0);
    match (across.abs() >= down.abs(), across >= 0.0, down >= 0.0) {
        (true, true, _) => (Side::Right, Side::Left),
        (true, false, _) => (Side::Left, Side::Right),
        (false, _, true) => (Side::Bottom, Side::Top),
        (false, _, false) => (Side::Top, Side::Bottom),
    }
}

fn away((x, y): (f64, f64), side: Side, by: f64) -> (f64, f64) {
    match side {
        Side::Top => (x, y - by),
        Side::Bottom => (x, y + by),
        Side::Left => (x - by, y),
        Side::Right => (x + by, y),
    }
}

fn arrow(svg: &mut Svg, tip: (f64, f64), side: Side, color: &str) {
    let base = away(tip, side, 10.0);
    let (across, down) = match side {
        Side::Top | Side::Bottom => (5.0, 0.0),
        Side::Left | Side::Right => (0.0, 5.0),
    };
    let points = format!(
        "{},{} {},{} {},{}",
        figure(tip.0),
        figure(tip.1),
        figure(base.0 + across),
        figure(base.1 + down),
        figure(base.0 - across),
        figure(base.1 - down)
    );
    svg.element("polygon", &[("points", &points), ("fill", color)]);
}

fn label(svg: &mut Svg, text: &str, x: f64, y: f64) {
    let line = clip(&text.replace('\n', " "), 14.0, 240.0);
    let wide = width(&line, 14.0) + 8.0;
    svg.element(
        "rect",
        &[
            ("x", &figure(x - wide / 2.0)),
            ("y", &figure(y - 11.0)),
            ("width", &figure(wide)),
            ("height", "20"),
            ("rx", "4"),
            ("fill", PAPER),
            ("fill-opacity", "0.92"),
        ],
    );
    let attributes = [
        ("x", figure(x)),
        ("y", figure(y + 4.0)),
        ("font-size", "14".into()),
        ("text-anchor", "middle".into()),
    ];
    let mut plain: Vec<(&str, &str)> = attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    plain.push(("fill", SOFT));
    svg.text(&line, &plain);
}

//! Lines, areas and clouds of points, over categories or along numbers and dates.

use super::page::{Labels, Page, widest};
use super::{color, colors, heights, is_stacked, value_scale};
use crate::chart::prepare::{Categories, Cloud, Names};
use crate::chart::scale::{Base, Scale, Unit};
use crate::chart::spec::{Kind, Spec};
use crate::picture::{Svg, figure};

const SIZE: (f64, f64) = (800.0, 450.0);
/// Lines of few points show each of them.
const DOTTED: usize = 40;

pub fn over_categories(spec: &Spec, data: &Categories, notes: &mut Vec<String>) -> String {
    let stacked = is_stacked(spec, data);
    let base = if spec.kind == Kind::Area { Base::Zero } else { Base::Free };
    let scale = value_scale(&heights(&data.series, data.labels.len(), stacked), base);
    let mut page = Page::new(spec, SIZE, &colors(&data.series));
    let left = widest(scale.ticks.iter().map(|(_, label)| label.as_str()), 12.0) + 8.0;
    #[expect(clippy::cast_precision_loss, reason = "numbers of categories")]
    let float = |count: usize| count as f64;
    let count = float(data.labels.len().max(1));
    let labels = Labels::fitting(&data.labels, (page.area.width - left - 30.0) / count);
    labels.note(notes);
    let left = left.max(labels.overhang(&data.labels) - (page.area.width - left) / count / 2.0);
    page.reserve(left, labels.height, (&data.names.x, &data.names.y));
    page.value_lines(&scale);
    let (area, step) = (page.area, page.area.width / count);
    let x = |at: usize| area.left + step * (float(at) + 0.5);
    let y = |value: f64| area.bottom() - scale.part(value) * area.height;
    let mut floor = vec![0.0; data.labels.len()];
    for (number, series) in data.series.iter().enumerate() {
        let color = color(number, &series.name);
        let mut pieces: Vec<Vec<Spot>> = vec![Vec::new()];
        for (at, value) in series.values.iter().enumerate() {
            let Some(value) = value else {
                // A gap stays a gap, except in piles, where nothing adds nothing.
                if !stacked && pieces.last().is_some_and(|piece| !piece.is_empty()) {
                    pieces.push(Vec::new());
                }
                continue;
            };
            let under = floor.get_mut(at).map_or(0.0, |floor| {
                let under = if stacked { *floor } else { 0.0 };
                *floor = under + value;
                under
            });
            let spot = Spot { x: x(at), y: y(under + value), floor: y(under) };
            pieces.last_mut().into_iter().for_each(|piece| piece.push(spot));
        }
        for piece in pieces {
            stroke(&mut page.svg, &piece, color, spec.kind == Kind::Area);
        }
    }
    labels.draw(&mut page, &data.labels, x);
    page.svg.finish()
}

pub fn along(spec: &Spec, unit: Unit, series: &[Cloud], names: &Names) -> String {
    let base = if spec.kind == Kind::Area { Base::Zero } else { Base::Free };
    let (mut page, across, scale) = plane(spec, unit, series, names, base);
    let area = page.area;
    let y = |value: f64| area.bottom() - scale.part(value) * area.height;
    for (number, cloud) in series.iter().enumerate() {
        let spots = cloud.points.iter().map(|(at, value)| Spot {
            x: area.left + across.part(*at) * area.width,
            y: y(*value),
            floor: y(0.0),
        });
        stroke(
            &mut page.svg,
            &spots.collect::<Vec<_>>(),
            color(number, &cloud.name),
            spec.kind == Kind::Area,
        );
    }
    page.bottom_ticks(&across);
    page.svg.finish()
}

pub fn cloud(spec: &Spec, unit: Unit, series: &[Cloud], names: &Names) -> String {
    let (mut page, across, scale) = plane(spec, unit, series, names, Base::Free);
    let area = page.area;
    let total: usize = series.iter().map(|cloud| cloud.points.len()).sum();
    let (radius, opacity) = match total {
        0..=100 => ("4.5", "0.8"),
        101..=1000 => ("3.5", "0.6"),
        _ => ("2", "0.4"),
    };
    page.bottom_ticks(&across);
    for (number, cloud) in series.iter().enumerate() {
        for (at, value) in &cloud.points {
            let (x, y) =
                (area.left + across.part(*at) * area.width, area.bottom() - scale.part(*value) * area.height);
            let color = color(number, &cloud.name);
            page.svg.element(
                "circle",
                &[
                    ("cx", &figure(x)),
                    ("cy", &figure(y)),
                    ("r", radius),
                    ("fill", color),
                    ("fill-opacity", opacity),
                ],
            );
        }
    }
    page.svg.finish()
}

/// The page with both axes, before anything is drawn on it.
fn plane(spec: &Spec, unit: Unit, series: &[Cloud], names: &Names, base: Base) -> (Page, Scale, Scale) {
    let points = || series.iter().flat_map(|cloud| cloud.points.iter());
    let values: Vec<f64> = points().map(|(_, value)| *value).collect();
    let scale = value_scale(&values, base);
    let legend: Vec<(String, String)> = series
        .iter()
        .enumerate()
        .map(|(at, cloud)| (cloud.name.clone(), color(at, &cloud.name).to_owned()))
        .collect();
    let mut page = Page::new(spec, SIZE, &legend);
    let left = widest(scale.ticks.iter().map(|(_, label)| label.as_str()), 12.0) + 8.0;
    page.reserve(left, 20.0, (&names.x, &names.y));
    // Half of the last label stands beyond the end of the axis.
    page.area.width -= 24.0;
    page.value_lines(&scale);
    let across = match (spec.kind, unit) {
        (Kind::Scatter, Unit::Number) => Scale::around(points().map(|(at, _)| *at), Base::Free, 8),
        _ => Scale::along(points().map(|(at, _)| *at), unit, 8),
    };
    (page, across, scale)
}

#[derive(Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
    floor: f64,
}

fn stroke(svg: &mut Svg, spots: &[Spot], color: &str, filled: bool) {
    let (Some(first), Some(last)) = (spots.first(), spots.last()) else { return };
    let point = |x: f64, y: f64| format!("{},{}", figure(x), figure(y));
    let path: Vec<String> = spots.iter().map(|spot| point(spot.x, spot.y)).collect();
    if filled {
        let under: Vec<String> = spots.iter().rev().map(|spot| point(spot.x, spot.floor)).collect();
        let points = format!("{} {}", path.join(" "), under.join(" "));
        svg.element("polygon", &[("points", &points), ("fill", color), ("fill-opacity", "0.35")]);
    }
    if spots.len() > 1 {
        svg.element(
            "polyline",
            &[
                ("points", &path.join(" ")),
                ("fill", "none"),
                ("stroke", color),
                ("stroke-width", "2"),
                ("stroke-linejoin", "round"),
            ],
        );
    }
    // A single value has no line.
    if spots.len() <= DOTTED && !(filled && spots.len() > 1) || std::ptr::eq(first, last) {
        for spot in spots {
            svg.element(
                "circle",
                &[("cx", &figure(spot.x)), ("cy", &figure(spot.y)), ("r", "3"), ("fill", color)],
            );
        }
    }
}

//! A pie with its legend beside it: names, values and shares, so that no label has to fit into a slice.

use super::page::{Area, Page, SOFT, Style, block, put};
use crate::chart::number::show;
use crate::chart::palette;
use crate::chart::prepare::{Categories, OTHER};
use crate::chart::spec::Spec;
use crate::picture::{clip, figure};
use std::f64::consts::TAU;

/// Smaller slices have no number in them.
const NUMBERED: f64 = 0.05;

pub fn draw(spec: &Spec, data: &Categories) -> String {
    let mut page = Page::new(spec, (720.0, 420.0), &[]);
    let values: Vec<f64> = (0..data.labels.len()).map(|at| value(data, at)).collect();
    let total: f64 = values.iter().sum();
    let area = page.area;
    let radius = (area.height / 2.0).min(area.width * 0.3);
    let (x, y) = (area.left + radius + 10.0, area.top + area.height / 2.0);
    let color = |at: usize| match data.labels.get(at) {
        Some(label) if label.starts_with(OTHER) && at + 1 == data.labels.len() => palette::OTHER,
        _ => palette::color(at),
    };
    let mut from = 0.0;
    for (at, value) in values.iter().enumerate() {
        let share = value / total;
        slice(&mut page, (x, y), radius, (from, from + share), color(at));
        if share >= NUMBERED {
            let angle = (from + share / 2.0) * TAU;
            let place = (x + radius * 0.68 * angle.sin(), y - radius * 0.68 * angle.cos() + 4.5);
            let style = Style { anchor: "middle", color: "#ffffff", is_bold: true, ..Style::default() };
            put(&mut page.svg, &percent(share), place, &style);
        }
        from += share;
    }
    let left = x + radius + 36.0;
    #[expect(clippy::cast_precision_loss, reason = "a handful of slices")]
    let step = (area.height / data.labels.len().max(1) as f64).min(28.0);
    #[expect(clippy::cast_precision_loss, reason = "a handful of slices")]
    let mut row = y - step * data.labels.len() as f64 / 2.0 + step / 2.0;
    for (at, (label, value)) in data.labels.iter().zip(&values).enumerate() {
        block(&mut page.svg, Area { left, top: row - 7.0, width: 12.0, height: 12.0 }, color(at));
        let right = area.right();
        let numbers = format!("{} · {}", show(*value), percent(value / total));
        let room = right - left - 30.0 - crate::picture::width(&numbers, 12.0);
        put(&mut page.svg, &clip(label, 13.0, room.max(40.0)), (left + 18.0, row + 4.0), &Style::default());
        let style = Style { anchor: "end", color: SOFT, size: 12.0, ..Style::default() };
        put(&mut page.svg, &numbers, (right, row + 4.0), &style);
        row += step;
    }
    page.svg.finish()
}

fn value(data: &Categories, at: usize) -> f64 {
    data.series.iter().filter_map(|series| series.values.get(at).copied().flatten()).sum()
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 1.0 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

fn slice(page: &mut Page, (x, y): (f64, f64), radius: f64, (from, to): (f64, f64), color: &str) {
    // An arc that ends where it began would be nothing.
    if to - from > 0.9999 {
        page.svg.element(
            "circle",
            &[("cx", &figure(x)), ("cy", &figure(y)), ("r", &figure(radius)), ("fill", color)],
        );
        return;
    }
    let edge = |part: f64| {
        let angle = part * TAU;
        format!("{},{}", figure(x + radius * angle.sin()), figure(y - radius * angle.cos()))
    };
    let large = i32::from(to - from > 0.5);
    let round = figure(radius);
    let path =
        format!("M{},{} L{} A{round},{round} 0 {large} 1 {} Z", figure(x), figure(y), edge(from), edge(to));
    page.svg
        .element("path", &[("d", &path), ("fill", color), ("stroke", "#ffffff"), ("stroke-width", "1.5")]);
}

//! Bars: standing, lying, side by side, on top of each other, and those of a histogram.

use super::page::{Area, Labels, Page, SOFT, Style, block, line, put, widest};
use super::{color, colors, heights, is_stacked, value_scale};
use crate::chart::number::show;
use crate::chart::prepare::{Categories, Names, Series};
use crate::chart::scale::{Base, Scale};
use crate::chart::spec::Spec;
use crate::picture::{clip, width};

const SIZE: (f64, f64) = (800.0, 450.0);
/// Bars with less room than this have no numbers.
const NUMBERED: usize = 24;

pub fn standing(spec: &Spec, data: &Categories, notes: &mut Vec<String>) -> String {
    let stacked = is_stacked(spec, data);
    let scale = value_scale(&heights(&data.series, data.labels.len(), stacked), Base::Zero);
    let mut page = Page::new(spec, SIZE, &colors(&data.series));
    let left = widest(scale.ticks.iter().map(|(_, label)| label.as_str()), 12.0) + 8.0;
    let count = float(data.labels.len().max(1));
    let labels = Labels::fitting(&data.labels, (page.area.width - left - 30.0) / count);
    labels.note(notes);
    let left = left.max(labels.overhang(&data.labels) - (page.area.width - left) / count / 2.0);
    page.reserve(left, labels.height, (&data.names.x, &data.names.y));
    page.value_lines(&scale);
    let (area, step) = (page.area, page.area.width / count);
    let y = |value: f64| area.bottom() - scale.part(value) * area.height;
    let is_numbered = !stacked && data.labels.len() * data.series.len() <= NUMBERED;
    for place in bars(data, stacked) {
        let (start, across) = (area.left + step * float(place.category), step * 0.76);
        let thick = (across / place.lanes).min(90.0);
        let left = start + step / 2.0 + thick * (place.lane - place.lanes / 2.0);
        let (top, bottom) = (y(place.from.max(place.to)), y(place.from.min(place.to)));
        let bar = Area { left: left + thick * 0.03, top, width: thick * 0.94, height: bottom - top };
        block(&mut page.svg, bar, place.color);
        let text = show(place.to);
        if is_numbered && width(&text, 11.0) < step / place.lanes {
            let at = if place.to >= 0.0 { top - 4.0 } else { bottom + 12.0 };
            let style = Style { size: 11.0, anchor: "middle", color: SOFT, ..Style::default() };
            put(&mut page.svg, &text, (bar.left + bar.width / 2.0, at), &style);
        }
    }
    labels.draw(&mut page, &data.labels, |at| area.left + step * (float(at) + 0.5));
    page.svg.finish()
}

pub fn lying(spec: &Spec, data: &Categories) -> String {
    let stacked = is_stacked(spec, data);
    let lanes = if stacked { 1.0 } else { float(data.series.len().max(1)) };
    let count = float(data.labels.len().max(1));
    let high = (count * (12.0 + 16.0 * lanes) + 110.0).clamp(200.0, 3000.0);
    let scale = value_scale(&heights(&data.series, data.labels.len(), stacked), Base::Zero);
    let mut page = Page::new(spec, (SIZE.0, high), &colors(&data.series));
    let most = page.area.width * 0.4;
    let left = widest(data.labels.iter().map(String::as_str), 12.0).min(most);
    // Lying, the axes change places; room at the right is for the numbers at the ends of bars.
    page.reserve(left, 20.0, (&data.names.y, &data.names.x));
    page.area.width -= 40.0;
    let (area, step) = (page.area, page.area.height / count);
    for (value, _) in &scale.ticks {
        let x = area.left + scale.part(*value) * area.width;
        line(&mut page.svg, (x, area.top), (x, area.bottom()), "#e3e6ea");
    }
    page.bottom_ticks(&scale);
    let x = |value: f64| area.left + scale.part(value) * area.width;
    for place in bars(data, stacked) {
        let thick = (step * 0.76 / place.lanes).min(60.0);
        let middle = area.top + step * (float(place.category) + 0.5);
        let top = middle + thick * (place.lane - place.lanes / 2.0);
        let (from, to) = (x(place.from.min(place.to)), x(place.from.max(place.to)));
        let bar = Area { left: from, top: top + thick * 0.03, width: to - from, height: thick * 0.94 };
        block(&mut page.svg, bar, place.color);
        if !stacked && thick >= 10.0 {
            let (at, anchor) = if place.to >= 0.0 { (to + 5.0, "start") } else { (from - 5.0, "end") };
            let style = Style { size: 11.0, anchor, color: SOFT, ..Style::default() };
            put(&mut page.svg, &show(place.to), (at, bar.top + bar.height / 2.0 + 4.0), &style);
        }
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small ratio; casts saturate"
    )]
    let every = ((14.0 / step).ceil() as usize).max(1);
    for (at, label) in data.labels.iter().enumerate().step_by(every) {
        let style = Style { size: 12.0, anchor: "end", color: SOFT, ..Style::default() };
        let y = area.top + step * (float(at) + 0.5) + 4.0;
        put(&mut page.svg, &clip(label, 12.0, most), (area.left - 8.0, y), &style);
    }
    page.svg.finish()
}

struct Bar {
    category: usize,
    /// Which of how many side by side.
    lane: f64,
    lanes: f64,
    from: f64,
    to: f64,
    color: &'static str,
}

fn bars(data: &Categories, stacked: bool) -> Vec<Bar> {
    let mut bars = Vec::new();
    let lanes = if stacked { 1.0 } else { float(data.series.len()) };
    for category in 0..data.labels.len() {
        let (mut above, mut below) = (0.0, 0.0);
        for (at, series) in data.series.iter().enumerate() {
            let Some(value) = series.values.get(category).copied().flatten() else { continue };
            let pile = if value >= 0.0 { &mut above } else { &mut below };
            let from = if stacked { *pile } else { 0.0 };
            *pile = from + value;
            let lane = if stacked { 0.0 } else { float(at) };
            bars.push(Bar { category, lane, lanes, from, to: from + value, color: color(at, &series.name) });
        }
    }
    bars
}

pub fn histogram(spec: &Spec, edges: &[f64], series: &[Series], names: &Names) -> String {
    let bins = edges.len().saturating_sub(1);
    let scale = value_scale(&heights(series, bins, true), Base::Zero);
    let along = Scale::along(edges.iter().copied(), crate::chart::scale::Unit::Number, 10);
    let mut page = Page::new(spec, SIZE, &colors(series));
    let left = widest(scale.ticks.iter().map(|(_, label)| label.as_str()), 12.0) + 8.0;
    page.reserve(left, 20.0, (&names.x, &names.y));
    page.value_lines(&scale);
    let area = page.area;
    for bin in 0..bins {
        let mut from = 0.0;
        for (at, series) in series.iter().enumerate() {
            let count = series.values.get(bin).copied().flatten().unwrap_or(0.0);
            let edge = |at: usize| area.left + along.part(edges.get(at).copied().unwrap_or(0.0)) * area.width;
            let (start, end) = (edge(bin), edge(bin + 1));
            let (top, bottom) = (scale.part(from + count) * area.height, scale.part(from) * area.height);
            from += count;
            let gap = ((end - start) * 0.04).min(1.0);
            let bar = Area {
                left: start + gap,
                top: area.bottom() - top,
                width: end - start - 2.0 * gap,
                height: top - bottom,
            };
            if count > 0.0 {
                block(&mut page.svg, bar, color(at, &series.name));
            }
        }
    }
    page.bottom_ticks(&along);
    page.svg.finish()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of bars")]
fn float(count: usize) -> f64 {
    count as f64
}

//! A heatmap: categories across and series down, values as shades.

use super::page::{Area, Labels, Page, SOFT, Style, block, put, widest};
use crate::chart::number::show;
use crate::chart::palette::shade;
use crate::chart::prepare::Categories;
use crate::chart::scale::Scale;
use crate::chart::spec::Spec;
use crate::picture::{clip, width};

pub fn draw(spec: &Spec, data: &Categories, notes: &mut Vec<String>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "numbers of rows and columns")]
    let (columns, rows) = (data.labels.len().max(1) as f64, data.series.len().max(1) as f64);
    let mut page = Page::new(spec, (800.0, (rows * 32.0 + 170.0).clamp(240.0, 1200.0)), &[]);
    let names: Vec<&str> = data.series.iter().map(|series| series.name.as_str()).collect();
    let most = page.area.width * 0.3;
    let left = widest(names.iter().copied(), 12.0).min(most);
    let labels = Labels::fitting(&data.labels, (page.area.width - left - 100.0) / columns);
    labels.note(notes);
    let y_name = spec.series.as_deref().unwrap_or("");
    page.reserve(left, labels.height, (&data.names.x, y_name));
    // The scale of shades stands at the right.
    page.area.width -= 84.0;
    let area = page.area;
    let (wide, high) = (area.width / columns, area.height / rows);
    let values = || data.series.iter().flat_map(|series| series.values.iter().flatten().copied());
    let low = values().fold(f64::INFINITY, f64::min);
    let high_value = values().fold(f64::NEG_INFINITY, f64::max);
    let scale = Scale { low, high: high_value, ticks: Vec::new() };
    let mut top = area.top;
    for series in &data.series {
        let mut left = area.left;
        for value in &series.values {
            let cell = Area { left, top, width: (wide - 1.0).max(0.5), height: (high - 1.0).max(0.5) };
            match value {
                Some(value) => {
                    let part = scale.part(*value);
                    block(&mut page.svg, cell, &shade(part));
                    let text = show(*value);
                    if width(&text, 11.0) + 6.0 < wide && high > 16.0 {
                        let color = if part > 0.5 { "#ffffff" } else { "#24292f" };
                        let style = Style { size: 11.0, anchor: "middle", color, ..Style::default() };
                        put(&mut page.svg, &text, (left + wide / 2.0, top + high / 2.0 + 4.0), &style);
                    }
                }
                // Nothing is not zero.
                None => block(&mut page.svg, cell, "#f3f4f6"),
            }
            left += wide;
        }
        if high >= 12.0 {
            let style = Style { size: 12.0, anchor: "end", color: SOFT, ..Style::default() };
            let at = (area.left - 8.0, top + high / 2.0 + 4.0);
            put(&mut page.svg, &clip(&series.name, 12.0, most), at, &style);
        }
        top += high;
    }
    labels.draw(&mut page, &data.labels, |at| {
        #[expect(clippy::cast_precision_loss, reason = "the number of a column")]
        let at = at as f64;
        area.left + wide * (at + 0.5)
    });
    shades(&mut page, area, &scale);
    page.svg.finish()
}

fn shades(page: &mut Page, area: Area, scale: &Scale) {
    let (left, steps) = (area.right() + 16.0, 40);
    let high = area.height.min(240.0);
    for step in 0..steps {
        let part = f64::from(step) / f64::from(steps);
        let top = area.top + high * (1.0 - part) - high / f64::from(steps);
        block(
            &mut page.svg,
            Area { left, top, width: 14.0, height: high / f64::from(steps) + 0.5 },
            &shade(part),
        );
    }
    for (part, value) in [(0.0, scale.low), (0.5, scale.low / 2.0 + scale.high / 2.0), (1.0, scale.high)] {
        let style = Style { size: 11.0, color: SOFT, ..Style::default() };
        let y = area.top + high * (1.0 - part) + if part == 1.0 { 10.0 } else { 0.0 };
        put(&mut page.svg, &show(value), (left + 20.0, y), &style);
    }
}

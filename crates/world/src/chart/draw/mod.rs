//! The picture itself. One file per kind of mark; `page` has what all of them share: title, legend, axes.

mod bars;
mod grid;
mod lines;
mod page;
mod pie;

use super::prepare::{Categories, OTHER, Prepared, Series};
use super::spec::{Kind, Spec};
use super::{palette, scale};

/// The chart as SVG.
pub fn draw(spec: &Spec, prepared: &Prepared, notes: &mut Vec<String>) -> String {
    match prepared {
        Prepared::Categories(data) => match spec.kind {
            Kind::Pie => pie::draw(spec, data),
            Kind::Line | Kind::Area => lines::over_categories(spec, data, notes),
            _ if spec.horizontal => bars::lying(spec, data),
            _ => bars::standing(spec, data, notes),
        },
        Prepared::Points { unit, series, names } => match spec.kind {
            Kind::Scatter => lines::cloud(spec, *unit, series, names),
            _ => lines::along(spec, *unit, series, names),
        },
        Prepared::Bins { edges, series, names } => bars::histogram(spec, edges, series, names),
        Prepared::Grid(data) => grid::draw(spec, data, notes),
    }
}

fn colors(series: &[Series]) -> Vec<(String, String)> {
    series
        .iter()
        .enumerate()
        .map(|(at, series)| (series.name.clone(), color(at, &series.name).to_owned()))
        .collect()
}

fn color(at: usize, name: &str) -> &'static str {
    if name == OTHER { palette::OTHER } else { palette::color(at) }
}

/// The values that lengths on the axis show: sums where bars stand on each other.
fn heights(data: &[Series], count: usize, is_stacked: bool) -> Vec<f64> {
    if !is_stacked {
        return data.iter().flat_map(|series| series.values.iter().flatten().copied()).collect();
    }
    let mut sums = Vec::with_capacity(count * 2);
    for at in 0..count {
        let values = data.iter().filter_map(|series| series.values.get(at).copied().flatten());
        let (mut above, mut below) = (0.0, 0.0);
        for value in values {
            if value >= 0.0 { above += value } else { below += value }
        }
        sums.extend([above, below]);
    }
    sums
}

fn is_stacked(spec: &Spec, data: &Categories) -> bool {
    matches!(spec.kind, Kind::StackedBar) || (spec.kind == Kind::Area && data.series.len() > 1)
}

fn value_scale(values: &[f64], base: scale::Base) -> scale::Scale {
    scale::Scale::around(values.iter().copied(), base, 6)
}

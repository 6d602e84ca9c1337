//! What is in the picture, in words.

use super::{Cloud, Prepared, Series};
use crate::chart::number::show;
use crate::chart::scale::Unit;
use crate::chart::time;

impl Prepared {
    /// What is in the picture, for whoever cannot see it.
    pub fn summary(&self) -> String {
        match self {
            Self::Categories(data) | Self::Grid(data) => {
                let series: Vec<String> =
                    data.series.iter().map(|series| described(series, &data.labels)).collect();
                format!(
                    "{} categories, {} series. {}",
                    data.labels.len(),
                    data.series.len(),
                    series.join(" ")
                )
            }
            Self::Points { unit, series, names } => {
                let shown = |value: f64| match unit {
                    Unit::Time => time::show(value, 86_400.0),
                    Unit::Year => format!("{value:.0}"),
                    Unit::Number => show(value),
                };
                let one = |cloud: &Cloud| {
                    let (mut low, mut high) =
                        ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
                    for (x, y) in &cloud.points {
                        low = (low.0.min(*x), low.1.min(*y));
                        high = (high.0.max(*x), high.1.max(*y));
                    }
                    format!(
                        "`{}`: {} points, {} from {} to {}, values from {} to {}.",
                        cloud.name,
                        cloud.points.len(),
                        names.x,
                        shown(low.0),
                        shown(high.0),
                        show(low.1),
                        show(high.1)
                    )
                };
                series.iter().map(one).collect::<Vec<_>>().join(" ")
            }
            Self::Bins { edges, series, .. } => {
                let total: f64 = series.iter().flat_map(|series| series.values.iter().flatten()).sum();
                let (low, high) =
                    (edges.first().copied().unwrap_or(0.0), edges.last().copied().unwrap_or(0.0));
                format!(
                    "{} values in {} bins from {} to {}.",
                    show(total),
                    edges.len().saturating_sub(1),
                    show(low),
                    show(high)
                )
            }
        }
    }
}

fn described(series: &Series, labels: &[String]) -> String {
    let values = series.values.iter().zip(labels).filter_map(|(value, label)| Some(((*value)?, label)));
    let by_value = |one: &(f64, &String), other: &(f64, &String)| one.0.total_cmp(&other.0);
    let all: Vec<(f64, &String)> = values.collect();
    let (Some(low), Some(high)) =
        (all.iter().copied().min_by(by_value), all.iter().copied().max_by(by_value))
    else {
        return format!("`{}`: no values.", series.name);
    };
    if all.len() <= 12 {
        let listed: Vec<String> =
            all.iter().map(|(value, label)| format!("{label} {}", show(*value))).collect();
        return format!("`{}`: {}.", series.name, listed.join(", "));
    }
    format!("`{}`: from {} ({}) to {} ({}).", series.name, show(low.0), low.1, show(high.0), high.1)
}

//! Counts of values between round numbers.

use super::chosen::Chosen;
use super::{Keys, MOST_SERIES, Names, Prepared, Series, count_skipped};
use crate::chart::error::ChartError;
use crate::chart::scale::{Base, Scale};
use crate::chart::spec::Spec;
use crate::chart::table::Cell;

pub fn histogram(spec: &Spec, chosen: &Chosen<'_>, notes: &mut Vec<String>) -> Result<Prepared, ChartError> {
    count_skipped(chosen.x, notes)?;
    let values: Vec<f64> = chosen.x.cells.iter().filter_map(Cell::number).collect();
    let edges = edges(&values, spec.bins);
    let bins = edges.len().saturating_sub(1);
    let mut keys = Keys::default();
    let mut counts: Vec<Vec<f64>> = Vec::new();
    for (row, cell) in chosen.x.cells.iter().enumerate() {
        let Some(value) = cell.number() else { continue };
        let at = match chosen.series.and_then(|column| column.cells.get(row)) {
            Some(name) => keys.of(name),
            None => keys.named("count"),
        };
        if counts.len() <= at {
            counts.resize_with(at + 1, || vec![0.0; bins]);
        }
        let bin = edges.partition_point(|edge| *edge <= value).saturating_sub(1).min(bins.saturating_sub(1));
        if let Some(count) = counts.get_mut(at).and_then(|counts| counts.get_mut(bin)) {
            *count += 1.0;
        }
    }
    let to_series =
        |(name, counts): (String, Vec<f64>)| Series { name, values: counts.into_iter().map(Some).collect() };
    let mut series: Vec<Series> = keys.names.into_iter().zip(counts).map(to_series).collect();
    series.truncate(MOST_SERIES);
    let names = Names {
        x: spec.x_label.clone().unwrap_or_else(|| chosen.x.name.clone()),
        y: spec.y_label.clone().unwrap_or_else(|| "count".into()),
    };
    Ok(Prepared::Bins { edges, series, names })
}

/// Round edges; as many bins as the spread of the middle half asks for.
fn edges(values: &[f64], wished: Option<usize>) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^52")]
    let count = sorted.len() as f64;
    let at = |part: usize| sorted.get(sorted.len().saturating_sub(1) * part / 4).copied().unwrap_or(0.0);
    let (low, high) = (at(0), at(4));
    let width = 2.0 * (at(3) - at(1)) / count.cbrt();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts saturate; limited below"
    )]
    let natural =
        if width > 0.0 { ((high - low) / width).ceil() as usize } else { count.sqrt().ceil() as usize };
    let bins = wished.unwrap_or(natural.clamp(5, 40));
    let scale = Scale::around([low, high].into_iter(), Base::Free, bins);
    let round: Vec<f64> = scale.ticks.into_iter().map(|(tick, _)| tick).collect();
    // A wish for exactly so many is kept; otherwise round numbers are worth one more or less.
    match wished {
        Some(bins) if high > low => {
            #[expect(clippy::cast_precision_loss, reason = "at most 500")]
            let edge = |at: usize| low + (high - low) * at as f64 / bins as f64;
            (0..=bins).map(edge).collect()
        }
        _ => {
            // Whole steps around the values, even when the axis began at nothing.
            let first = round.iter().rposition(|edge| *edge <= low).unwrap_or(0);
            round.into_iter().skip(first).collect()
        }
    }
}

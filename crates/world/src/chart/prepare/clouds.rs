//! Points along an axis of numbers or dates, thinned to what a picture can show.

use super::chosen::Chosen;
use super::{Cloud, Keys, MOST_SERIES, Prepared, count_skipped, no_numbers};
use crate::chart::error::ChartError;
use crate::chart::points::{thin_cloud, thin_line};
use crate::chart::scale::Unit;
use crate::chart::spec::{Aggregate, Kind, Spec};
use crate::chart::table::Cell;
use crate::chart::time;

pub fn points(
    spec: &Spec,
    chosen: &Chosen<'_>,
    unit: Unit,
    notes: &mut Vec<String>,
) -> Result<Prepared, ChartError> {
    let unit = if spec.kind == Kind::Scatter { chosen.unit().unwrap_or(unit) } else { unit };
    let place = |cell: &Cell| match (unit, cell) {
        (Unit::Time, Cell::Text(text)) => time::read(text),
        (Unit::Time, _) => None,
        (_, cell) => cell.number(),
    };
    if spec.kind == Kind::Scatter && unit != Unit::Time {
        count_skipped(chosen.x, notes)?;
    }
    for column in &chosen.y {
        count_skipped(column, notes)?;
    }
    let mut keys = Keys::default();
    let mut clouds: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut take = |at: usize, point: (f64, f64)| {
        if clouds.len() <= at {
            clouds.resize_with(at + 1, Vec::new);
        }
        clouds.get_mut(at).into_iter().for_each(|cloud| cloud.push(point));
    };
    for (row, cell) in chosen.x.cells.iter().enumerate() {
        let Some(x) = place(cell) else { continue };
        if spec.is_count() {
            let at = match chosen.series.and_then(|column| column.cells.get(row)) {
                Some(name) => keys.of(name),
                None => keys.named("count"),
            };
            take(at, (x, 1.0));
        }
        for column in chosen.y.iter().filter(|_| !spec.is_count()) {
            let name = chosen.series.and_then(|series| series.cells.get(row));
            let at = match name {
                Some(name) => keys.of(name),
                None => keys.named(&column.name),
            };
            if let Some(y) = column.cells.get(row).and_then(Cell::number) {
                take(at, (x, y));
            }
        }
    }
    let mut series: Vec<Cloud> =
        keys.names.into_iter().zip(clouds).map(|(name, points)| Cloud { name, points }).collect();
    if series.len() > MOST_SERIES {
        series.sort_by_key(|cloud| std::cmp::Reverse(cloud.points.len()));
        notes.push(format!("{} small series were left out", series.len() - MOST_SERIES));
        series.truncate(MOST_SERIES);
    }
    let before: usize = series.iter().map(|cloud| cloud.points.len()).sum();
    for cloud in &mut series {
        let points = std::mem::take(&mut cloud.points);
        cloud.points = match spec.kind {
            Kind::Scatter => thin_cloud(points),
            _ => thin_line(merged(points, spec.aggregate)),
        };
    }
    series.retain(|cloud| !cloud.points.is_empty());
    if series.is_empty() {
        return Err(chosen.y.first().map_or(ChartError::Empty, |column| no_numbers(column)));
    }
    let after: usize = series.iter().map(|cloud| cloud.points.len()).sum();
    if after < before && spec.aggregate.is_none() {
        notes.push(format!("{before} points are shown as {after} that look the same"));
    }
    Ok(Prepared::Points { unit, series, names: chosen.names(spec) })
}

/// Along the axis; with an aggregate, one point per place.
fn merged(mut points: Vec<(f64, f64)>, how: Option<Aggregate>) -> Vec<(f64, f64)> {
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let Some(how) = how else { return points };
    let same = |one: &(f64, f64), other: &(f64, f64)| one.0 == other.0;
    let merged = points.chunk_by(same).filter_map(|chunk| {
        let mut values: Vec<f64> = chunk.iter().map(|point| point.1).collect();
        Some((chunk.first()?.0, how.of(&mut values)?))
    });
    merged.collect()
}

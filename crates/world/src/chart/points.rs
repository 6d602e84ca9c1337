//! Fewer points that look the same: a million of them are more than any picture has pixels.

/// More than a line or a cloud of a usual width shows.
pub const MOST: usize = 4000;

/// A line: of each slice the first, the lowest, the highest and the last point, so that no peak is lost.
pub fn thin_line(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= MOST {
        return points;
    }
    let size = points.len().div_ceil(MOST / 4);
    let mut kept = Vec::with_capacity(MOST);
    for slice in points.chunks(size) {
        let by_value = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
        let chosen =
            [slice.first(), slice.iter().min_by(by_value), slice.iter().max_by(by_value), slice.last()];
        let mut chosen: Vec<(f64, f64)> = chosen.into_iter().flatten().copied().collect();
        chosen.sort_by(|one, other| one.0.total_cmp(&other.0));
        chosen.dedup();
        kept.extend(chosen);
    }
    kept
}

/// A cloud: of points in the same small square only the first.
pub fn thin_cloud(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= MOST {
        return points;
    }
    let bounds = |pick: fn(&(f64, f64)) -> f64| {
        points
            .iter()
            .map(pick)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (across, down) = (bounds(|point| point.0), bounds(|point| point.1));
    for squares in [400.0, 200.0, 100.0, 64.0] {
        let square = |value: f64, (low, high): (f64, f64)| {
            let part = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 400")]
            let square = (part * squares) as u16;
            square
        };
        let mut seen = std::collections::HashSet::new();
        let fresh = |point: &&(f64, f64)| seen.insert((square(point.0, across), square(point.1, down)));
        let kept: Vec<(f64, f64)> = points.iter().filter(fresh).copied().collect();
        if kept.len() <= MOST * 2 || squares <= 64.0 {
            return kept;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_points_keep_their_peaks() {
        let points: Vec<(f64, f64)> = (0..1_000_000u32)
            .map(|at| (f64::from(at), if at == 777_777 { 99.0 } else { f64::from(at % 7) }))
            .collect();
        let line = thin_line(points.clone());
        assert!(line.len() <= MOST && line.contains(&(777_777.0, 99.0)));
        assert_eq!((line.first(), line.last()), (points.first(), points.last()));
        assert!(line.is_sorted_by(|one, other| one.0 <= other.0));
        let cloud = thin_cloud(points);
        assert!(cloud.len() <= MOST * 2 && cloud.iter().any(|point| point.1 == 99.0));
    }
}

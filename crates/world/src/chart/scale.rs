//! From values to pixels, with ticks at round numbers.

use super::{number, time};

/// An axis of numbers or of moments.
#[derive(Clone, Debug)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    /// Values with their labels.
    pub ticks: Vec<(f64, String)>,
}

/// What the values of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Number,
    /// Whole numbers that are shown without separators.
    Year,
    Time,
}

/// Whether the axis must begin at nothing: lengths lie otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Zero,
    Free,
}

impl Scale {
    /// Around these values, with about this many ticks.
    pub fn around(values: impl Iterator<Item = f64>, base: Base, wanted: usize) -> Self {
        let (mut low, mut high) = span(values);
        if base == Base::Zero || (low > 0.0 && low < high * 0.4) {
            low = low.min(0.0);
        }
        if base == Base::Zero || (high < 0.0 && high > low * 0.4) {
            high = high.max(0.0);
        }
        let step = step(low, high, wanted);
        (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let mut ticks = Vec::new();
        let mut at = low;
        while at <= high + step * 0.01 && ticks.len() < 100 {
            let label = number::show_step(at, step);
            ticks.push((if label == "0" { 0.0 } else { at }, label));
            at += step;
        }
        Self { low, high, ticks }
    }

    /// Along the values themselves, without round ends.
    pub fn along(values: impl Iterator<Item = f64>, unit: Unit, wanted: usize) -> Self {
        let (low, high) = span(values);
        let ticks = match unit {
            Unit::Time => time::ticks(low, high, wanted),
            Unit::Number | Unit::Year => {
                let mut step = step(low, high, wanted);
                if unit == Unit::Year {
                    step = step.max(1.0).round();
                }
                let mut at = (low / step).ceil() * step;
                let mut ticks = Vec::new();
                while at <= high + step * 1e-6 && ticks.len() < 100 {
                    let label =
                        if unit == Unit::Year { format!("{at:.0}") } else { number::show_step(at, step) };
                    ticks.push((at, label));
                    at += step;
                }
                ticks
            }
        };
        Self { low, high, ticks }
    }

    /// Where a value lies between 0 and 1.
    pub fn part(&self, value: f64) -> f64 {
        // Halves: the distance between two large numbers of opposite sign may not fit.
        let (whole, own) = (self.high / 2.0 - self.low / 2.0, value / 2.0 - self.low / 2.0);
        if whole > 0.0 { (own / whole).clamp(-0.01, 1.01) } else { 0.5 }
    }
}

/// The smallest and the largest; never the same.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    if low > high {
        return (0.0, 1.0);
    }
    // Apart by less than what digits can tell counts as the same.
    let near = high.abs().max(low.abs()) * 1e-12;
    if high - low <= near {
        let room = if high == 0.0 { 1.0 } else { high.abs() * 0.1 };
        return (low - room, high + room);
    }
    (low, high)
}

/// One, two or five times a power of ten.
fn step(low: f64, high: f64, wanted: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a handful of ticks")]
    let rough = (high / 2.0 - low / 2.0) / wanted.max(1) as f64 * 2.0;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough * 0.999);
    step.filter(|step| step.is_normal()).unwrap_or(rough.max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], base: Base) -> Vec<String> {
        Scale::around(values.iter().copied(), base, 5).ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&[3.0, 97.0], Base::Zero), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&[1000.0, 1004.0], Base::Free), ["1,000", "1,001", "1,002", "1,003", "1,004"]);
        assert_eq!(labels(&[-3.0, 5.0], Base::Zero), ["-4", "-2", "0", "2", "4", "6"]);
        assert_eq!(labels(&[0.1, 0.35], Base::Zero), ["0", "0.1", "0.2", "0.3", "0.4"]);
    }

    #[test]
    fn one_value_none_and_huge_ones_have_an_axis_too() {
        for values in
            [&[][..], &[0.0], &[5.0], &[-1e299, 1e299], &[1e-300, 2e-300], &[f64::NAN], &[1e15, 1e15 + 1.0]]
        {
            let scale = Scale::around(values.iter().copied(), Base::Free, 5);
            assert!(scale.low < scale.high && scale.ticks.len() >= 2, "{values:?} {scale:?}");
            assert!(
                values.iter().all(|value| !value.is_finite() || (0.0..=1.0).contains(&scale.part(*value)))
            );
        }
    }
}

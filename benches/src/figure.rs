//! A measured figure: what we took, what the bare program took in the same run, and what was promised.

use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;

/// Several measures of the same thing. A busy machine only ever adds, so the least is what the program itself needs; the
/// median is what a person sees.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    pub fn add_millis(&mut self, took: Duration) {
        self.add(millis(took));
    }

    pub fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The value below which this share of the measures lies.
    pub fn share(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1) as f64;
        let at = self.0.iter().enumerate().find(|(at, _)| *at as f64 >= last * share);
        at.map_or(f64::NAN, |(_, value)| *value)
    }

    pub fn least(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }
}

pub fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// Is the promise kept?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    Over,
    /// Nothing was promised: shown to explain the others.
    Info,
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub name: String,
    pub unit: &'static str,
    pub samples: usize,
    pub median: f64,
    pub least: f64,
    pub bare_median: Option<f64>,
    pub bare_least: Option<f64>,
    /// Of the medians.
    pub ratio: Option<f64>,
    /// Of the least values.
    pub least_ratio: Option<f64>,
    /// The most it may be, and the most the ratio may be.
    pub below: Option<f64>,
    pub ratio_below: Option<f64>,
    pub verdict: Verdict,
    /// How it was measured, where that is not obvious.
    pub note: String,
}

impl Figure {
    pub fn new(name: impl Into<String>, unit: &'static str, ours: &Samples) -> Self {
        Self {
            name: name.into(),
            unit,
            samples: ours.count(),
            median: ours.median(),
            least: ours.least(),
            bare_median: None,
            bare_least: None,
            ratio: None,
            least_ratio: None,
            below: None,
            ratio_below: None,
            verdict: Verdict::Info,
            note: String::new(),
        }
    }

    /// A value that was computed from samples, not sampled.
    pub fn of(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        let mut one = Samples::default();
        one.add(value);
        Self::new(name, unit, &one)
    }

    pub fn beside(mut self, bare: &Samples) -> Self {
        self.bare_median = Some(bare.median());
        self.bare_least = Some(bare.least());
        self.ratio = Some(self.median / bare.median());
        self.least_ratio = Some(self.least / bare.least());
        self
    }

    pub fn below(mut self, most: f64) -> Self {
        self.below = Some(most);
        self.judged()
    }

    pub fn ratio_below(mut self, most: f64) -> Self {
        self.ratio_below = Some(most);
        self.judged()
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    fn judged(mut self) -> Self {
        let within = |value: Option<f64>, most: Option<f64>| match (value, most) {
            (_, None) => true,
            (Some(value), Some(most)) => value <= most,
            (None, Some(_)) => false,
        };
        let kept = within(Some(self.median), self.below) && within(self.ratio, self.ratio_below);
        self.verdict = if kept { Verdict::Ok } else { Verdict::Over };
        self
    }

    fn target(&self) -> String {
        let mut parts = Vec::new();
        if let Some(most) = self.below {
            parts.push(format!("≤ {most} {}", self.unit));
        }
        if let Some(most) = self.ratio_below {
            parts.push(format!("≤ {most}×"));
        }
        parts.join(", ")
    }
}

/// The table people read.
pub fn table(figures: &[Figure]) -> String {
    let head = ["figure", "ours (least)", "bare (least)", "ratio (least)", "target", ""].map(str::to_owned);
    let pair = |median: f64, least: f64| format!("{} ({})", short(median), short(least));
    let rows = figures.iter().map(|figure| {
        let bare = figure.bare_median.zip(figure.bare_least);
        let ratio = figure.ratio.zip(figure.least_ratio);
        [
            figure.name.clone(),
            format!("{} {}", pair(figure.median, figure.least), figure.unit),
            bare.map(|(median, least)| pair(median, least)).unwrap_or_default(),
            ratio.map(|(median, least)| format!("{}×", pair(median, least))).unwrap_or_default(),
            figure.target(),
            match figure.verdict {
                Verdict::Ok => "ok".to_owned(),
                Verdict::Over => "OVER".to_owned(),
                Verdict::Info => String::new(),
            },
        ]
    });
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

/// The same for programs.
pub fn document(figures: &[Figure]) -> serde_json::Value {
    serde_json::json!({"schema": "fugato.bench/v1", "figures": figures})
}

fn short(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64]) -> Samples {
        let mut samples = Samples::default();
        values.iter().for_each(|value| samples.add(*value));
        samples
    }

    #[test]
    fn a_promise_is_judged_by_the_median_and_by_its_ratio() {
        let (ours, bare) = (samples(&[30.0, 10.0, 90.0]), samples(&[10.0, 10.0, 5.0]));
        let figure = Figure::new("x", "ms", &ours).beside(&bare);
        assert_eq!((figure.median, figure.ratio, figure.least_ratio), (30.0, Some(3.0), Some(2.0)));
        assert_eq!(figure.clone().below(30.0).ratio_below(3.0).verdict, Verdict::Ok);
        assert_eq!(figure.clone().below(29.0).ratio_below(3.0).verdict, Verdict::Over);
        assert_eq!(figure.clone().below(30.0).ratio_below(2.9).verdict, Verdict::Over);
        assert_eq!(figure.verdict, Verdict::Info);
    }

    #[test]
    fn shares_of_the_measures_are_found_from_below() {
        let hundred = samples(&(1..=101).map(f64::from).collect::<Vec<_>>());
        assert_eq!((hundred.share(0.5), hundred.share(0.99), hundred.share(1.0)), (51.0, 100.0, 101.0));
        assert!(Samples::default().share(0.5).is_nan());
    }

    #[test]
    fn a_ratio_that_was_not_measured_keeps_no_promise() {
        assert_eq!(Figure::of("x", "ms", 1.0).ratio_below(2.0).verdict, Verdict::Over);
    }

    #[test]
    fn nothing_measured_keeps_no_promise() {
        assert_eq!(Figure::new("x", "ms", &Samples::default()).below(2.0).verdict, Verdict::Over);
    }
}

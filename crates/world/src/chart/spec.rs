//! What is wished for: the kind of chart, which columns, and how they are summed up.

use super::error::ChartError;
use serde::Deserialize;

/// A chart to draw.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    #[serde(default)]
    pub kind: Kind,
    /// The column of categories, or of numbers or dates along the axis.
    pub x: Option<String>,
    /// The column, or columns, of values.
    pub y: Option<Columns>,
    /// A column whose values split the rows into series.
    pub series: Option<String>,
    pub aggregate: Option<Aggregate>,
    #[serde(default)]
    pub sort: Sort,
    /// Only this many categories, the largest; the others are summed up.
    pub top: Option<usize>,
    pub bins: Option<usize>,
    #[serde(default)]
    pub horizontal: bool,
    pub title: Option<String>,
    pub x_label: Option<String>,
    pub y_label: Option<String>,
    pub width: Option<u32>,
    pub height: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    #[serde(alias = "column")]
    Bar,
    #[serde(alias = "grouped")]
    GroupedBar,
    #[serde(alias = "stacked")]
    StackedBar,
    Line,
    Area,
    Scatter,
    Pie,
    Histogram,
    Heatmap,
}

/// One column or several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Columns {
    One(String),
    Many(Vec<String>),
}

/// How the rows of one category become one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    #[default]
    Sum,
    #[serde(alias = "average")]
    Mean,
    Count,
    Min,
    Max,
    Median,
}

/// The order of categories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// As they come.
    #[default]
    None,
    /// By name, number or date.
    X,
    /// The largest first.
    Value,
    /// The smallest first.
    Ascending,
}

impl Columns {
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

/// Pixels; what is smaller cannot be read, what is larger is no chart.
const SIDES: std::ops::RangeInclusive<u32> = 160..=4000;

impl Spec {
    pub(super) fn check(&self) -> Result<(), ChartError> {
        for (name, side) in [("width", self.width), ("height", self.height)] {
            if side.is_some_and(|side| !SIDES.contains(&side)) {
                let (least, most) = (SIDES.start(), SIDES.end());
                return Err(ChartError::Wish(format!("`{name}` must be between {least} and {most} pixels")));
            }
        }
        for (name, count) in [("top", self.top), ("bins", self.bins)] {
            if count.is_some_and(|count| count == 0 || count > 500) {
                return Err(ChartError::Wish(format!("`{name}` must be between 1 and 500")));
            }
        }
        if self.y.as_ref().is_some_and(|columns| columns.names().is_empty()) {
            return Err(ChartError::Wish("`y` names no column".into()));
        }
        if self.kind == Kind::Heatmap && self.series.is_none() {
            return Err(ChartError::Wish(
                "a heatmap needs `x` (columns), `series` (rows) and `y` (the value of a cell)".into(),
            ));
        }
        Ok(())
    }

    pub(super) fn y_names(&self) -> Vec<&str> {
        self.y.as_ref().map(Columns::names).unwrap_or_default()
    }

    pub(super) fn is_count(&self) -> bool {
        self.aggregate == Some(Aggregate::Count)
    }
}

//! Rows grouped by category and series, summed up, sorted, and few enough to be told apart.

use super::chosen::Chosen;
use super::{Categories, Keys, MOST_SERIES, OTHER, Series, count_skipped};
use crate::chart::error::ChartError;
use crate::chart::spec::{Aggregate, Kind, Sort, Spec};
use crate::chart::table::Cell;
use crate::chart::time;
use std::collections::HashMap;

/// More cannot be told apart on an axis.
const MOST_CATEGORIES: usize = 200;
const MOST_SLICES: usize = 9;

pub fn categories(
    spec: &Spec,
    chosen: &Chosen<'_>,
    notes: &mut Vec<String>,
) -> Result<Categories, ChartError> {
    let how = spec.aggregate.unwrap_or_default();
    for column in &chosen.y {
        count_skipped(column, notes).or_else(|error| if spec.is_count() { Ok(()) } else { Err(error) })?;
    }
    let mut labels = Keys::default();
    let mut series = Keys::default();
    let mut cells: HashMap<(usize, usize), Vec<f64>> = HashMap::new();
    let mut take = |label: usize, series: usize, value: f64| {
        cells.entry((series, label)).or_default().push(value);
    };
    for (row, cell) in chosen.x.cells.iter().enumerate() {
        let label = labels.of(cell);
        match chosen.series.and_then(|column| column.cells.get(row)) {
            Some(name) => {
                let at = series.of(name);
                match chosen.y.first().and_then(|column| column.cells.get(row)).map(Cell::number) {
                    _ if spec.is_count() => take(label, at, 1.0),
                    Some(Some(value)) => take(label, at, value),
                    _ => {}
                }
            }
            None if spec.is_count() => take(label, series.of(&Cell::Text("count".into())), 1.0),
            None => {
                for column in &chosen.y {
                    let at = series.named(&column.name);
                    if let Some(value) = column.cells.get(row).and_then(Cell::number) {
                        take(label, at, value);
                    }
                }
            }
        }
    }
    if spec.aggregate.is_none() && cells.values().any(|values| values.len() > 1) {
        notes.push("several rows of the same category were added up; `aggregate` can be mean, count, min, max, median".into());
    }
    let mut value =
        |series: usize, label: usize| cells.get_mut(&(series, label)).and_then(|values| how.of(values));
    let all: Vec<Series> = (0..series.names.len())
        .map(|at| Series {
            name: series.names.get(at).cloned().unwrap_or_default(),
            values: (0..labels.names.len()).map(|label| value(at, label)).collect(),
        })
        .collect();
    let mut found = Categories { labels: labels.names, series: all, names: chosen.names(spec) };
    if chosen.y.len() > 1 {
        found.names.y = spec.y_label.clone().unwrap_or_default();
    }
    found.limit_series(how, notes);
    found.order(spec, &labels.cells);
    found.limit_labels(spec, how, notes);
    if spec.kind == Kind::Pie {
        found.only_positive(notes)?;
    }
    Ok(found)
}

impl Categories {
    fn total(&self, label: usize) -> f64 {
        self.series.iter().filter_map(|series| series.values.get(label).copied().flatten()).sum()
    }

    fn limit_series(&mut self, how: Aggregate, notes: &mut Vec<String>) {
        if self.series.len() <= MOST_SERIES {
            return;
        }
        let size = |series: &Series| series.values.iter().flatten().map(|value| value.abs()).sum::<f64>();
        self.series.sort_by(|one, other| size(other).total_cmp(&size(one)));
        let rest = self.series.split_off(MOST_SERIES - 1);
        if can_add_up(how) {
            self.series.push(added_up(&rest, self.labels.len()));
            notes.push(format!("{} small series were added up as `{OTHER}`", rest.len()));
        } else {
            notes.push(format!("{} small series were left out", rest.len()));
        }
    }

    fn order(&mut self, spec: &Spec, cells: &[Cell]) {
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        match spec.sort {
            Sort::None if spec.kind == Kind::Pie => {
                order.sort_by(|a, b| self.total(*b).total_cmp(&self.total(*a)));
            }
            Sort::None => return,
            Sort::Value => order.sort_by(|a, b| self.total(*b).total_cmp(&self.total(*a))),
            Sort::Ascending => order.sort_by(|a, b| self.total(*a).total_cmp(&self.total(*b))),
            Sort::X => order.sort_by(|a, b| by_cell(cells.get(*a), cells.get(*b))),
        }
        self.keep(&order);
    }

    fn keep(&mut self, which: &[usize]) {
        self.labels = which.iter().filter_map(|at| self.labels.get(*at).cloned()).collect();
        for series in &mut self.series {
            series.values = which.iter().map(|at| series.values.get(*at).copied().flatten()).collect();
        }
    }

    /// The largest in their order; the rest becomes one category where that means something.
    fn limit_labels(&mut self, spec: &Spec, how: Aggregate, notes: &mut Vec<String>) {
        let most = match spec.kind {
            Kind::Pie => spec.top.unwrap_or(MOST_SLICES).min(MOST_SLICES),
            Kind::Heatmap => spec.top.unwrap_or(60),
            _ => spec.top.unwrap_or(MOST_CATEGORIES),
        };
        if self.labels.len() <= most {
            return;
        }
        let mut by_size: Vec<usize> = (0..self.labels.len()).collect();
        by_size.sort_by(|a, b| self.total(*b).abs().total_cmp(&self.total(*a).abs()));
        let mut kept: Vec<usize> = by_size.iter().take(most).copied().collect();
        kept.sort_unstable();
        let rest: Vec<usize> = by_size.into_iter().skip(most).collect();
        let others: Vec<Option<f64>> = self
            .series
            .iter()
            .map(|series| {
                rest.iter().filter_map(|at| series.values.get(*at).copied().flatten()).reduce(|a, b| a + b)
            })
            .collect();
        self.keep(&kept);
        if can_add_up(how) && spec.kind != Kind::Heatmap {
            self.labels.push(format!("{OTHER} ({})", rest.len()));
            for (series, other) in self.series.iter_mut().zip(others) {
                series.values.push(other);
            }
            notes.push(format!("{} small categories were added up as `{OTHER}`", rest.len()));
        } else {
            notes.push(format!("{} small categories were left out", rest.len()));
        }
    }

    fn only_positive(&mut self, notes: &mut Vec<String>) -> Result<(), ChartError> {
        let kept: Vec<usize> = (0..self.labels.len()).filter(|at| self.total(*at) > 0.0).collect();
        if kept.is_empty() {
            return Err(ChartError::Wish("a pie needs values above zero; draw a bar chart instead".into()));
        }
        if kept.len() < self.labels.len() {
            notes.push(format!(
                "{} categories are not above zero and have no slice",
                self.labels.len() - kept.len()
            ));
        }
        self.keep(&kept);
        Ok(())
    }
}

fn can_add_up(how: Aggregate) -> bool {
    matches!(how, Aggregate::Sum | Aggregate::Count)
}

fn added_up(rest: &[Series], count: usize) -> Series {
    let values = (0..count).map(|at| {
        rest.iter().filter_map(|series| series.values.get(at).copied().flatten()).reduce(|a, b| a + b)
    });
    Series { name: OTHER.into(), values: values.collect() }
}

/// Numbers before dates before names.
fn by_cell(one: Option<&Cell>, other: Option<&Cell>) -> std::cmp::Ordering {
    let key = |cell: Option<&Cell>| match cell {
        Some(cell) => {
            let number = cell.number().or_else(|| match cell {
                Cell::Text(text) => time::read(text),
                _ => None,
            });
            (number.is_none(), number.unwrap_or(0.0), cell.text())
        }
        None => (true, 0.0, String::new()),
    };
    let (one, other) = (key(one), key(other));
    one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).then_with(|| one.2.cmp(&other.2))
}

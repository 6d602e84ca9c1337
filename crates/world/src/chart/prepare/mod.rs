//! From a table to what is drawn: categories with series, points, bins or a grid.

mod bins;
mod categories;
mod chosen;
mod clouds;
mod summary;

use super::error::ChartError;
use super::scale::Unit;
use super::spec::{Aggregate, Kind, Spec};
use super::table::{Cell, Column, Table};
use chosen::Chosen;
use std::collections::HashMap;

/// What is drawn.
#[derive(Clone, Debug)]
pub enum Prepared {
    Categories(Categories),
    Points { unit: Unit, series: Vec<Cloud>, names: Names },
    Bins { edges: Vec<f64>, series: Vec<Series>, names: Names },
    Grid(Categories),
}

/// The names of the two axes.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub x: String,
    pub y: String,
}

#[derive(Clone, Debug, Default)]
pub struct Categories {
    pub labels: Vec<String>,
    pub series: Vec<Series>,
    pub names: Names,
}

/// One value per category; none where there was no row.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub name: String,
    pub values: Vec<Option<f64>>,
}

#[derive(Clone, Debug, Default)]
pub struct Cloud {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// More cannot be told apart by colour.
const MOST_SERIES: usize = 12;
pub const OTHER: &str = "Other";

pub fn prepare(spec: &Spec, table: &Table, notes: &mut Vec<String>) -> Result<Prepared, ChartError> {
    let chosen = Chosen::new(spec, table)?;
    let prepared = match spec.kind {
        Kind::Histogram => bins::histogram(spec, &chosen, notes)?,
        Kind::Scatter => clouds::points(spec, &chosen, Unit::Number, notes)?,
        Kind::Line | Kind::Area => match chosen.unit() {
            Some(unit) => clouds::points(spec, &chosen, unit, notes)?,
            None => Prepared::Categories(categories::categories(spec, &chosen, notes)?),
        },
        Kind::Heatmap => Prepared::Grid(categories::categories(spec, &chosen, notes)?),
        Kind::Bar | Kind::GroupedBar | Kind::StackedBar | Kind::Pie => {
            Prepared::Categories(categories::categories(spec, &chosen, notes)?)
        }
    };
    Ok(prepared)
}

impl Aggregate {
    fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Count => "count",
            Self::Min => "min",
            Self::Max => "max",
            Self::Median => "median",
        }
    }

    fn of(self, values: &mut [f64]) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^52")]
        let count = values.len() as f64;
        match self {
            Self::Count => return Some(count),
            _ if values.is_empty() => return None,
            Self::Sum => Some(values.iter().sum()),
            Self::Mean => Some(values.iter().sum::<f64>() / count),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Median => {
                values.sort_by(f64::total_cmp);
                let (low, high) = (values.get((values.len() - 1) / 2)?, values.get(values.len() / 2)?);
                Some((low + high) / 2.0)
            }
        }
        .filter(|value| value.is_finite())
    }
}

fn no_numbers(column: &Column) -> ChartError {
    let text = column.cells.iter().enumerate().find(|(_, cell)| **cell != Cell::Missing);
    let example = text.map(|(row, cell)| {
        let shown: String = cell.text().chars().take(40).collect();
        format!(" (row {} is `{shown}`); choose another `y`, or set `aggregate` to count", row + 1)
    });
    ChartError::NoNumbers { column: column.name.clone(), example: example.unwrap_or_default() }
}

/// Says how many cells were left out because they are no numbers.
fn count_skipped(column: &Column, notes: &mut Vec<String>) -> Result<(), ChartError> {
    let is_wrong = |cell: &&Cell| **cell != Cell::Missing && cell.number().is_none();
    let wrong = column.cells.iter().filter(is_wrong).count();
    let missing = column.cells.iter().filter(|cell| **cell == Cell::Missing).count();
    if wrong + missing == column.cells.len() {
        return Err(no_numbers(column));
    }
    if let Some((row, cell)) = column.cells.iter().enumerate().find(|(_, cell)| is_wrong(cell)) {
        let shown: String = cell.text().chars().take(30).collect();
        notes.push(format!(
            "{wrong} cells of `{}` are no numbers and were left out (the first: `{shown}` in row {})",
            column.name,
            row + 1
        ));
    }
    if missing > 0 {
        notes.push(format!("{missing} cells of `{}` are empty", column.name));
    }
    Ok(())
}

/// Categories in the order in which they are met.
#[derive(Default)]
struct Keys {
    numbers: HashMap<String, usize>,
    names: Vec<String>,
    cells: Vec<Cell>,
}

impl Keys {
    fn of(&mut self, cell: &Cell) -> usize {
        let name = cell.text();
        if let Some(at) = self.numbers.get(&name) {
            return *at;
        }
        self.cells.push(cell.clone());
        self.names.push(name.clone());
        self.numbers.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }

    fn named(&mut self, name: &str) -> usize {
        match self.numbers.get(name) {
            Some(at) => *at,
            None => self.of(&Cell::Text(name.into())),
        }
    }
}

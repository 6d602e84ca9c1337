//! The columns in their roles, found out where they were not named.

use super::{Names, no_numbers};
use crate::chart::error::ChartError;
use crate::chart::scale::Unit;
use crate::chart::spec::{Aggregate, Kind, Spec};
use crate::chart::table::{Cell, Column, Table};
use crate::chart::time;

/// The columns in their roles.
pub struct Chosen<'a> {
    pub x: &'a Column,
    pub y: Vec<&'a Column>,
    pub series: Option<&'a Column>,
}

impl<'a> Chosen<'a> {
    pub fn new(spec: &Spec, table: &'a Table) -> Result<Self, ChartError> {
        let named = |name: &str| table.column(name).ok_or(ChartError::Empty);
        let series = spec.series.as_deref().map(named).transpose()?;
        let is_numeric = |column: &&Column| {
            let sample = column.cells.iter().filter(|cell| **cell != Cell::Missing).take(200);
            let (mut numbers, mut all) = (0, 0);
            for cell in sample {
                numbers += usize::from(cell.number().is_some());
                all += 1;
            }
            numbers * 2 > all
        };
        let first = table.columns.first().ok_or(ChartError::Empty)?;
        let of_numbers = || table.columns.iter().find(is_numeric);
        let x = match &spec.x {
            Some(name) => named(name)?,
            None if spec.kind == Kind::Histogram => match spec.y_names().first() {
                Some(name) => named(name)?,
                None => of_numbers().unwrap_or(first),
            },
            None => first,
        };
        let mut y: Vec<&Column> = spec.y_names().into_iter().map(named).collect::<Result<_, _>>()?;
        if y.is_empty() && !spec.is_count() {
            let is_free = |column: &&Column| {
                column.name != x.name && series.is_none_or(|series| series.name != column.name)
            };
            y = table.columns.iter().filter(is_free).filter(is_numeric).collect();
            if matches!(spec.kind, Kind::Pie | Kind::Heatmap) || series.is_some() {
                y.truncate(1);
            }
        }
        // Rows that are only counted need no values, and neither does a histogram.
        if y.is_empty() && !spec.is_count() && spec.kind != Kind::Histogram {
            let column = table.columns.get(1).unwrap_or(first);
            return Err(no_numbers(column));
        }
        if y.len() > 1 && series.is_some() {
            return Err(ChartError::Wish(
                "give either several columns as `y` or a `series` column, not both".into(),
            ));
        }
        Ok(Self { x, y, series })
    }

    /// What the axis shows, if it is no list of names.
    pub fn unit(&self) -> Option<Unit> {
        let mut cells = self.x.cells.iter().filter(|cell| **cell != Cell::Missing).peekable();
        cells.peek()?;
        let is_year =
            |cell: &Cell| cell.number().is_some_and(|n| n.fract() == 0.0 && (1000.0..3000.0).contains(&n));
        let text = |cell: &Cell| matches!(cell, Cell::Text(text) if time::read(text).is_some());
        if cells.clone().all(text) {
            return Some(Unit::Time);
        }
        if cells.clone().all(is_year) {
            return Some(Unit::Year);
        }
        cells.all(|cell| cell.number().is_some()).then_some(Unit::Number)
    }

    pub fn names(&self, spec: &Spec) -> Names {
        let y = match (spec.is_count(), self.y.as_slice()) {
            (true, _) | (false, []) => "count".to_owned(),
            (false, [one]) => match spec.aggregate {
                None | Some(Aggregate::Sum) => one.name.clone(),
                Some(how) => format!("{} of {}", how.name(), one.name),
            },
            (false, _) => String::new(),
        };
        Names {
            x: spec.x_label.clone().unwrap_or_else(|| self.x.name.clone()),
            y: spec.y_label.clone().unwrap_or(y),
        }
    }
}

//! Data drawn as a chart: rows or CSV in, SVG out, with ECharts and Mermaid source of the same data.
//!
//! Three steps: `table` reads the columns that are needed, `prepare` groups and sums them up, `draw` and the two writers
//! show what came out. What was left out, added up or thinned is said in `notes`: a chart must not lie by omission.

mod draw;
mod echarts;
mod error;
mod mermaid;
mod number;
mod palette;
mod points;
mod prepare;
mod scale;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod time;

pub use error::ChartError;
pub use spec::{Aggregate, Columns, Kind, Sort, Spec};
pub use table::Data;

use serde_json::Value;

/// One chart, in every form.
#[derive(Clone, Debug)]
pub struct Chart {
    pub svg: String,
    /// The `option` object of ECharts.
    pub echarts: Value,
    /// Or why Mermaid has no such chart.
    pub mermaid: Result<String, &'static str>,
    /// What was drawn, in a line or two, for whoever cannot see it.
    pub summary: String,
    /// What was left out or changed on the way.
    pub notes: Vec<String>,
}

/// Reads the data and draws it.
pub fn chart(spec: &Spec, data: Data<'_>) -> Result<Chart, ChartError> {
    spec.check()?;
    let mut notes = Vec::new();
    let table = table::read(spec, data, &mut notes)?;
    let prepared = prepare::prepare(spec, &table, &mut notes)?;
    Ok(Chart {
        svg: draw::draw(spec, &prepared, &mut notes),
        echarts: echarts::option(spec, &prepared),
        mermaid: mermaid::source(spec, &prepared),
        summary: prepared.summary(),
        notes,
    })
}

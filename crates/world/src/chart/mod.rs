//! Data drawn as a chart.

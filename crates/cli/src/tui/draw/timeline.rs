//! When everybody worked, waited or stood still: the waterfall of `fugato trace`, growing.

use crate::render::canvas::Line;
use crate::runs::{Chart, Steps};
use crate::tui::model::Model;

/// More rows are folded.
const SHOWN_NODES: usize = 400;
/// Lines of the axis: they stay while the rest is scrolled.
const AXIS: usize = 2;

pub fn lines(model: &Model) -> (Vec<Line>, Vec<Line>) {
    let Some(watched) = model.watched.as_ref().filter(|watched| watched.run.is_some()) else {
        return (Vec::new(), Vec::new());
    };
    let chart = Chart {
        lang: model.lang,
        width: model.width,
        columns: model.columns,
        nodes: SHOWN_NODES,
        steps: if model.is_deep { Steps::All } else { Steps::None },
    };
    let mut lines = chart.draw(&watched.tracer.trace);
    let fixed = if lines.len() > AXIS { lines.drain(..AXIS).collect() } else { Vec::new() };
    (fixed, lines)
}

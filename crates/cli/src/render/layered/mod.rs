//! A directed graph as a picture of cells: layers from top to bottom, boxes side by side, arrows between them.
//!
//! Pure: boxes and edges in, lines of spans out, the same every time. Three steps, one file each: `layers` (which box on
//! which line, in which order), `places` (columns), `wires` (where the arrows run). What does not fit gives `None`, and
//! the caller shows something else.

mod layers;
mod places;
#[cfg(test)]
mod tests;
mod wires;

use super::Width;
use super::canvas::{Canvas, DOWN, Line, width_of};

/// What to draw.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub boxes: Vec<TextBox>,
    /// From, to: indexes of `boxes`.
    pub edges: Vec<(usize, usize)>,
}

/// A box with a title in its upper edge.
#[derive(Clone, Debug, Default)]
pub struct TextBox {
    pub title: Line,
    pub lines: Vec<Line>,
}

impl TextBox {
    /// Border and one blank on either side.
    fn columns(&self, width: Width) -> usize {
        let text = self.lines.iter().map(|line| width_of(line, width)).max().unwrap_or(0);
        // The corners, a blank on either side, and one dash: ┌ title ─┐
        text.max(width_of(&self.title, width) + 1) + 4
    }

    fn rows(&self) -> usize {
        self.lines.len() + 2
    }
}

/// Past this a picture is no longer read, and the outline says the same in fewer lines.
const MAX_BOXES: usize = 40;
/// Ordering compares edges in pairs; forty boxes never need more.
const MAX_SEGMENTS: usize = 600;

/// Something on a layer: a box, or the place where an edge passes by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Box(usize),
    /// An edge of this box on its way further down.
    Pass(usize),
}

impl Item {
    /// Whose edges leave here.
    fn source(self) -> usize {
        match self {
            Self::Box(source) | Self::Pass(source) => source,
        }
    }
}

/// Draws the graph into at most this many columns. `None`: too wide, too large, or it has a cycle.
pub fn draw(graph: &Graph, width: Width, columns: usize) -> Option<Vec<Line>> {
    if graph.boxes.len() > MAX_BOXES {
        return None;
    }
    let layered = layers::assign(graph)?;
    let placed = places::assign(&layered, graph, width, columns)?;
    let heights: Vec<usize> = layered
        .layers
        .iter()
        .map(|layer| layer.iter().map(|item| height(*item, graph)).max().unwrap_or(0))
        .collect();
    let wired = wires::route(&layered, &placed)?;
    let gaps: Vec<usize> = wired.iter().map(|gap| gap.tracks + 1).collect();
    let rows = heights.iter().sum::<usize>() + gaps.iter().sum::<usize>();
    let used = placed.iter().flatten().map(|place| place.left + place.columns).max().unwrap_or(0);
    let mut canvas = Canvas::new(used, rows, width);
    let mut top = 0;
    let mut bends: Vec<Option<usize>> = Vec::new();
    for (at, layer) in layered.layers.iter().enumerate() {
        let below = top + heights.get(at).copied().unwrap_or(0);
        let gap = wired.get(at);
        for (nth, item) in layer.iter().enumerate() {
            let place = placed.get(at).and_then(|places| places.get(nth)).copied().unwrap_or_default();
            let leaves = gap.and_then(|gap| gap.leaves.get(nth).copied().flatten());
            match item {
                Item::Box(number) => {
                    let Some(drawn) = graph.boxes.get(*number) else { continue };
                    let bottom = top + drawn.rows() - 1;
                    // A net of its own: an edge that touches the frame must not become part of it.
                    let frame = graph.boxes.len() + number;
                    canvas.frame((top, place.left), (place.columns, drawn.rows()), frame, &drawn.title);
                    for (line, row) in drawn.lines.iter().zip(top + 1..) {
                        canvas.text(row, place.left + 2, line);
                    }
                    if let Some(column) = leaves {
                        canvas.port(bottom, column, DOWN);
                        if bottom + 1 < below {
                            canvas.vertical(column, bottom + 1, below, *number);
                        }
                    }
                }
                Item::Pass(source) => {
                    if let Some(column) = bends.get(nth).copied().flatten() {
                        canvas.vertical(column, top, below, *source);
                    }
                }
            }
        }
        if let Some(gap) = gap {
            gap.draw(&mut canvas, below);
            bends.clone_from(&gap.arrives);
        }
        top = below + gaps.get(at).copied().unwrap_or(0);
    }
    Some(canvas.lines())
}

fn height(item: Item, graph: &Graph) -> usize {
    match item {
        Item::Box(number) => graph.boxes.get(number).map_or(0, TextBox::rows),
        Item::Pass(_) => 0,
    }
}

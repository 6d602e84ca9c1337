//! From times to cells. Long times in which nobody works (a person thinks, the machine is off) are squeezed: a question
//! that was answered the next day must not press the work into one column.

use super::bars::Trace;

/// The time of a run laid over a number of cells.
#[derive(Clone, Debug)]
pub struct Scale {
    pub cells: usize,
    from: i64,
    stretches: Vec<Stretch>,
    /// Milliseconds that are drawn.
    drawn: i64,
}

/// A piece of time, drawn as it is or shorter.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: i64,
    to: i64,
    /// Where it is drawn, in drawn milliseconds.
    place: i64,
    length: i64,
}

impl Stretch {
    fn is_squeezed(&self) -> bool {
        self.length < self.to - self.from
    }
}

/// A mark on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    pub cell: usize,
    /// Since the beginning, or since the last mark of that kind.
    pub time: i64,
    pub since: Since,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    Beginning,
    /// After squeezed time, whose own mark is the last one from the beginning.
    Squeeze,
}

impl Scale {
    pub fn new(trace: &Trace, cells: usize) -> Self {
        let work = work(trace);
        let active: i64 = work.iter().map(|(from, to)| to - from).sum();
        let mut stretches: Vec<Stretch> = Vec::new();
        let (mut at, mut place) = (trace.from, 0);
        let mut push = |from: i64, to: i64, length: i64| {
            let longer = stretches.last_mut().filter(|last| !last.is_squeezed() && length == to - from);
            match longer {
                Some(last) => (last.to, last.length) = (to, last.length + length),
                None => stretches.push(Stretch { from, to, place, length }),
            }
            place += length;
        };
        for (from, to) in work.into_iter().chain([(trace.to, trace.to)]) {
            let gap = from - at;
            if gap > 0 {
                let is_long = active > 0 && gap > active / 2;
                push(at, from, if is_long { (active / 6).max(1).min(gap) } else { gap });
            }
            if to > from {
                push(from, to, to - from);
            }
            at = at.max(to);
        }
        Self { cells, from: trace.from, stretches, drawn: place.max(1) }
    }

    /// The cell in which this moment lies.
    pub fn cell(&self, at: i64) -> usize {
        let cell = self.place(at) / i128::from(self.drawn);
        usize::try_from(cell).unwrap_or(0).min(self.cells.saturating_sub(1))
    }

    /// The cell after the last one touched.
    pub fn end_cell(&self, at: i64) -> usize {
        let drawn = i128::from(self.drawn);
        usize::try_from((self.place(at) + drawn - 1) / drawn).unwrap_or(0).min(self.cells)
    }

    /// Drawn milliseconds times cells.
    fn place(&self, at: i64) -> i128 {
        let nth = self.stretches.partition_point(|stretch| stretch.to < at);
        let Some(stretch) = self.stretches.get(nth).or(self.stretches.last()) else { return 0 };
        let inside = i128::from((at - stretch.from).clamp(0, stretch.to - stretch.from));
        let real = i128::from((stretch.to - stretch.from).max(1));
        let cells = i128::try_from(self.cells).unwrap_or(0);
        (i128::from(stretch.place) * real + inside * i128::from(stretch.length)) * cells / real
    }

    /// Cells that stand for more time than they show.
    pub fn squeezed(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let squeezed = self.stretches.iter().filter(|stretch| stretch.is_squeezed());
        squeezed.map(|stretch| {
            let from = self.cell(stretch.from);
            from + usize::from(self.end_cell(stretch.from) > from)..self.end_cell(stretch.to)
        })
    }

    /// Round times, about a label apart, in every stretch that is drawn as it is.
    pub fn ticks(&self) -> Vec<Tick> {
        let wanted = i64::try_from((self.cells / 10).max(1)).unwrap_or(1);
        let step = STEPS.iter().copied().find(|step| self.drawn / step <= wanted);
        let step = step.unwrap_or(self.drawn / wanted).max(1);
        let mut ticks = Vec::new();
        for stretch in self.stretches.iter().filter(|stretch| !stretch.is_squeezed()) {
            let offset = stretch.from - self.from;
            let count = usize::try_from(stretch.length / step).unwrap_or(0).min(self.cells);
            ticks.extend((0i64..).take(count + 1).map(|nth| {
                let cell = self.cell(stretch.from + nth * step);
                match (nth, offset) {
                    (0, _) => Tick { cell, time: offset, since: Since::Beginning },
                    (nth, 0) => Tick { cell, time: nth * step, since: Since::Beginning },
                    (nth, _) => Tick { cell, time: nth * step, since: Since::Squeeze },
                }
            }));
        }
        ticks
    }
}

/// When anything was at work, in order, without overlaps.
fn work(trace: &Trace) -> Vec<(i64, i64)> {
    let mut pieces: Vec<(i64, i64)> = Vec::with_capacity(trace.bars.len());
    for bar in &trace.bars {
        let end = bar.end.unwrap_or(trace.to);
        let mut at = bar.start;
        for pause in &bar.breaks {
            if pause.start > at {
                pieces.push((at, pause.start));
            }
            at = at.max(pause.end.unwrap_or(end));
        }
        if end > at {
            pieces.push((at, end));
        }
    }
    pieces.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (from, to) in pieces {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// Milliseconds to a day.
const STEPS: &[i64] = &[
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
    600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
];

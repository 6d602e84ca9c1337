//! The bare programs beside runs of nodes that do nothing: the same graph, one journal line per node, lines that wait
//! together made durable with one `fdatasync`, and a node that ends only when its line is on the disk.
//!
//! Two of them: as one writes it with tokio, a task per node and a thread that writes; and the least there can be, a loop
//! without tasks that handles a whole wave at once.

use crate::BenchError;
use crate::bare::tell;
use crate::figure::millis;
use serde_json::json;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Nodes at work at the same time, here and in the run that is measured.
pub const CONCURRENT: u32 = 1024;

/// What each node waits for: up to two earlier nodes, the same on every machine.
pub fn graph(count: u32) -> Vec<Vec<u32>> {
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = |below: u32| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        u32::try_from(seed % u64::from(below.max(1))).unwrap_or(0)
    };
    (0..count)
        .map(|at| {
            let mut after: Vec<u32> = (0..random(3)).filter(|_| at > 0).map(|_| random(at)).collect();
            after.sort_unstable();
            after.dedup();
            after
        })
        .collect()
}

/// A task per node.
pub fn part(dir: &str, count: &str) -> Result<(), BenchError> {
    let graph = graph(count.parse()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let began = Instant::now();
    runtime.block_on(with_tasks(Path::new(dir), &graph))?;
    tell(&json!({"total_ms": millis(began.elapsed())}))
}

/// A loop.
pub fn loop_part(dir: &str, count: &str) -> Result<(), BenchError> {
    let graph = graph(count.parse()?);
    let began = Instant::now();
    with_a_loop(Path::new(dir), &graph)?;
    tell(&json!({"total_ms": millis(began.elapsed())}))
}

/// Which nodes can start.
struct Open {
    next: Vec<Vec<u32>>,
    missing: Vec<usize>,
    ready: VecDeque<u32>,
    left: usize,
}

impl Open {
    fn new(graph: &[Vec<u32>]) -> Self {
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
        let mut missing = Vec::with_capacity(graph.len());
        for (at, after) in (0u32..).zip(graph) {
            missing.push(after.len());
            for before in after {
                if let Some(list) = next.get_mut(*before as usize) {
                    list.push(at);
                }
            }
        }
        let free = |(at, left): (u32, &usize)| (*left == 0).then_some(at);
        let ready = (0u32..).zip(&missing).filter_map(free).collect();
        Self { next, missing, ready, left: graph.len() }
    }

    fn end(&mut self, node: u32) {
        self.left -= 1;
        for after in self.next.get(node as usize).into_iter().flatten() {
            if let Some(left) = self.missing.get_mut(*after as usize) {
                *left -= 1;
                if *left == 0 {
                    self.ready.push_back(*after);
                }
            }
        }
    }
}

type Line = (String, oneshot::Sender<()>);

async fn with_tasks(dir: &Path, graph: &[Vec<u32>]) -> Result<(), BenchError> {
    let mut open = Open::new(graph);
    let (journal, lines) = mpsc::unbounded_channel::<Line>();
    let file = File::create(dir.join("journal.jsonl"))?;
    let writer = std::thread::spawn(move || write(file, lines));
    let mut tasks = JoinSet::new();
    while open.left > 0 {
        while tasks.len() < CONCURRENT as usize
            && let Some(node) = open.ready.pop_front()
        {
            let journal = journal.clone();
            tasks.spawn(async move {
                let (written, durable) = oneshot::channel();
                let line = format!("{{\"node\":\"n{node}\",\"status\":\"done\"}}\n");
                // A writer that failed says so when it is joined.
                let _ = journal.send((line, written));
                durable.await.map(|()| node)
            });
        }
        let Some(done) = tasks.join_next().await else { break };
        open.end(done??);
    }
    drop(journal);
    writer.join().map_err(|_| "the writer panicked")??;
    if open.left == 0 { Ok(()) } else { Err("nodes were left over".into()) }
}

/// Everything that waits, one write, one sync, then the answers.
fn write(mut file: File, mut lines: mpsc::UnboundedReceiver<Line>) -> Result<(), std::io::Error> {
    let (mut text, mut waiting) = (String::new(), Vec::new());
    while let Some(first) = lines.blocking_recv() {
        let mut next = Some(first);
        while let Some((line, written)) = next {
            text.push_str(&line);
            waiting.push(written);
            next = lines.try_recv().ok();
        }
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        text.clear();
        for written in waiting.drain(..) {
            // Nobody waits any more: then nobody needs it.
            let _ = written.send(());
        }
    }
    Ok(())
}

fn with_a_loop(dir: &Path, graph: &[Vec<u32>]) -> Result<(), BenchError> {
    let mut file = File::create(dir.join("journal.jsonl"))?;
    let mut open = Open::new(graph);
    let mut lines = Vec::new();
    while !open.ready.is_empty() {
        let together: Vec<u32> = open.ready.drain(..open.ready.len().min(CONCURRENT as usize)).collect();
        lines.clear();
        for node in &together {
            writeln!(lines, "{{\"node\":\"n{node}\",\"status\":\"done\"}}")?;
        }
        file.write_all(&lines)?;
        file.sync_data()?;
        together.into_iter().for_each(|node| open.end(node));
    }
    if open.left == 0 { Ok(()) } else { Err("nodes were left over".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_write_one_line_per_node() {
        let graph = graph(500);
        let lines = |dir: &Path| std::fs::read_to_string(dir.join("journal.jsonl")).unwrap().lines().count();
        let dir = tempfile::tempdir().unwrap();
        with_a_loop(dir.path(), &graph).unwrap();
        assert_eq!(lines(dir.path()), 500);
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        runtime.block_on(with_tasks(dir.path(), &graph)).unwrap();
        assert_eq!(lines(dir.path()), 500);
    }
}

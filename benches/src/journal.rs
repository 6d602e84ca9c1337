//! The bare program beside runs of nodes that do nothing: the same graph, one journal line per node, all lines that are
//! ready together made durable with one `fdatasync`.

use crate::BenchError;
use crate::bare::tell;
use crate::figure::millis;
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

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

pub fn part(dir: &str, count: &str) -> Result<(), BenchError> {
    let graph = graph(count.parse()?);
    let began = Instant::now();
    run(Path::new(dir), &graph)?;
    tell(&json!({"total_ms": millis(began.elapsed())}))
}

fn run(dir: &Path, graph: &[Vec<u32>]) -> Result<(), BenchError> {
    let mut file = File::create(dir.join("journal.jsonl"))?;
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
    let mut missing: Vec<usize> = Vec::with_capacity(graph.len());
    for (at, after) in (0u32..).zip(graph) {
        missing.push(after.len());
        for before in after {
            if let Some(list) = next.get_mut(*before as usize) {
                list.push(at);
            }
        }
    }
    let is_free = |(at, left): (u32, &usize)| (*left == 0).then_some(at);
    let mut ready: std::collections::VecDeque<u32> = (0u32..).zip(&missing).filter_map(is_free).collect();
    let mut lines = Vec::new();
    let mut done = 0;
    while !ready.is_empty() {
        let together: Vec<u32> = ready.drain(..ready.len().min(CONCURRENT as usize)).collect();
        lines.clear();
        for node in &together {
            writeln!(lines, "{{\"node\":\"n{node}\",\"status\":\"done\"}}")?;
        }
        file.write_all(&lines)?;
        file.sync_data()?;
        done += together.len();
        for node in together {
            for after in next.get(node as usize).into_iter().flatten() {
                if let Some(left) = missing.get_mut(*after as usize) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push_back(*after);
                    }
                }
            }
        }
    }
    if done == graph.len() { Ok(()) } else { Err("nodes were left over".into()) }
}

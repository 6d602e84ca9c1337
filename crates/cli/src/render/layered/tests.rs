//! Whole pictures, compared cell by cell.

use super::*;
use crate::render::canvas::{LEFT, RIGHT, Span, strings};
use std::collections::BTreeSet;

fn graph(boxes: &[(&str, &[&str])], edges: &[(usize, usize)]) -> Graph {
    let boxes = boxes
        .iter()
        .map(|(title, lines)| TextBox {
            title: vec![Span::plain(title)],
            lines: lines.iter().map(|line| vec![Span::plain(line)]).collect(),
        })
        .collect();
    Graph { boxes, edges: edges.to_vec() }
}

fn drawn(graph: &Graph, width: Width, columns: usize) -> Option<String> {
    let lines = strings(&draw(graph, width, columns)?);
    Some(anstream::adapter::strip_str(&lines.join("\n")).to_string())
}

#[track_caller]
fn looks(graph: &Graph, width: Width, expected: &str) {
    let picture = drawn(graph, width, 100).unwrap();
    let expected: Vec<&str> = expected.trim_matches('\n').lines().map(str::trim_end).collect();
    assert_eq!(picture.lines().collect::<Vec<_>>(), expected, "\n{picture}");
}

#[test]
fn a_chain_is_a_column() {
    let chain = graph(&[("setup", &["get-config", "get-directives"]), ("写作", &["简报"])], &[(0, 1)]);
    let expected = "
┌ setup ─────────┐
│ get-config     │
│ get-directives │
└────────┬───────┘
         ▼
     ┌ 写作 ─┐
     │ 简报  │
     └───────┘";
    looks(&chain, Width::Narrow, expected);
}

fn diamond() -> Graph {
    let boxes: [(&str, &[&str]); 4] =
        [("a", &["one"]), ("left", &["two two two"]), ("右", &["三", "four"]), ("end", &["five"])];
    graph(&boxes, &[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)])
}

#[test]
fn an_edge_over_several_layers_passes_beside_the_boxes() {
    let expected = "
               ┌ a ──┐
               │ one │
               └──┬──┘
       ┌──────────┼─────────┐
       ▼          ▼         │
┌ left ───────┐  ┌ 右 ──┐   │
│ two two two │  │ 三   │   │
└──────┬──────┘  │ four │   │
       │         └───┬──┘   │
       └────────┐ ┌──┘      │
                │ │ ┌───────┘
                ▼ ▼ ▼
              ┌ end ─┐
              │ five │
              └──────┘";
    looks(&diamond(), Width::Narrow, expected);
}

#[test]
fn where_box_lines_are_two_cells_wide_the_picture_is_ascii() {
    let picture = drawn(&diamond(), Width::Wide, 100).unwrap();
    assert!(picture.is_ascii() || picture.chars().all(|c| c.is_ascii() || "右三".contains(c)), "{picture}");
    assert!(picture.lines().any(|line| line.trim_end() == "       +----------+---------+"), "{picture}");
}

#[test]
fn crossing_lines_pass_over_each_other() {
    let boxes: [(&str, &[&str]); 4] = [("a", &["one"]), ("b", &["two"]), ("c", &["three"]), ("d", &["four"])];
    let cross = graph(&boxes, &[(0, 2), (0, 3), (1, 2), (1, 3)]);
    let expected = "
 ┌ a ──┐  ┌ b ──┐
 │ one │  │ two │
 └──┬──┘  └──┬──┘
    │ ┌──────┴──┐
    ├─│───────┐ │
    ▼ ▼       ▼ ▼
┌ c ────┐  ┌ d ───┐
│ three │  │ four │
└───────┘  └──────┘";
    looks(&cross, Width::Narrow, expected);
}

#[test]
fn what_cannot_be_drawn_is_none() {
    assert!(draw(&diamond(), Width::Narrow, 20).is_none());
    assert!(draw(&graph(&[("a", &[]), ("b", &[])], &[(0, 1), (1, 0)]), Width::Narrow, 80).is_none());
    assert!(draw(&graph(&[("a", &[])], &[(0, 7)]), Width::Narrow, 80).is_none());
    let many = Graph { boxes: vec![TextBox::default(); MAX_BOXES + 1], edges: Vec::new() };
    assert!(draw(&many, Width::Narrow, 10_000).is_none());
    assert_eq!(draw(&Graph::default(), Width::Narrow, 80), Some(Vec::new()));
}

/// Follows the lines of a picture with a finger, as a reader would.
fn edges_seen(picture: &str) -> BTreeSet<(String, String)> {
    let rows: Vec<Vec<char>> = picture.lines().map(|line| line.chars().collect()).collect();
    let at =
        |row: usize, column: usize| rows.get(row).and_then(|row| row.get(column)).copied().unwrap_or(' ');
    // Titles are single letters: `┌ a ─`.
    let title_at = |row: usize, column: usize| {
        let left = (0..=column).rev().find(|column| at(row, *column) == '┌').unwrap();
        at(row, left + 2).to_string()
    };
    let box_above = |row: usize, column: usize| {
        let left = (0..column).rev().find(|column| at(row, *column) != '─')?;
        let top = (0..row).rev().find(|row| at(*row, left) != '│')?;
        let title = at(top, left + 2);
        (at(row, left) == '└' && at(top, left) == '┌' && title.is_alphabetic()).then(|| title.to_string())
    };
    let mut seen = BTreeSet::new();
    for (row, cells) in rows.iter().enumerate() {
        for column in (0..cells.len()).filter(|column| at(row, *column) == '┬') {
            let Some(from) = box_above(row, column) else { continue };
            let mut been: BTreeSet<(usize, usize, u8)> = BTreeSet::new();
            let mut open = vec![(row + 1, column, DOWN)];
            while let Some((row, column, heading)) = open.pop() {
                if !been.insert((row, column, heading)) {
                    continue;
                }
                let exits = match at(row, column) {
                    '▼' => {
                        seen.insert((from.clone(), title_at(row + 1, column)));
                        continue;
                    }
                    // A line that meets an upright one passes below it.
                    '│' if heading != DOWN => heading,
                    '│' => DOWN,
                    '─' => heading,
                    '┘' | '┤' if heading == DOWN => {
                        LEFT | if at(row, column) == '┤' { DOWN } else { 0 }
                    }
                    '└' | '├' if heading == DOWN => {
                        RIGHT | if at(row, column) == '├' { DOWN } else { 0 }
                    }
                    '┴' if heading == DOWN => LEFT | RIGHT,
                    '┼' if heading == DOWN => LEFT | RIGHT | DOWN,
                    '┐' | '┌' => DOWN,
                    '┬' => heading | DOWN,
                    other => panic!("{other} at {row}:{column} heading {heading}\n{picture}"),
                };
                let steps =
                    [(DOWN, row + 1, column), (LEFT, row, column.wrapping_sub(1)), (RIGHT, row, column + 1)];
                open.extend(
                    steps.iter().filter(|(side, ..)| exits & side != 0).map(|(side, r, c)| (*r, *c, *side)),
                );
            }
        }
    }
    seen
}

#[test]
fn a_reader_who_follows_the_lines_finds_every_edge_and_no_other() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let letters: Vec<String> = ('a'..='z').map(String::from).collect();
    let mut drawn_at_all = 0;
    for _ in 0..400 {
        let count = usize::try_from(2 + random(11)).unwrap();
        let boxes: Vec<TextBox> = (0..count)
            .map(|at| TextBox {
                title: vec![Span::plain(&letters[at])],
                lines: (0..=random(3))
                    .map(|_| vec![Span::plain("x".repeat(1 + random(14) as usize))])
                    .collect(),
            })
            .collect();
        let mut edges = Vec::new();
        for to in 1..count {
            for from in 0..to {
                if random(10) < 3 {
                    edges.push((from, to));
                }
            }
        }
        let graph = Graph { boxes, edges };
        let Some(picture) = drawn(&graph, Width::Narrow, 160) else { continue };
        drawn_at_all += 1;
        let expected: BTreeSet<(String, String)> =
            graph.edges.iter().map(|(from, to)| (letters[*from].clone(), letters[*to].clone())).collect();
        assert_eq!(edges_seen(&picture), expected, "\n{picture}");
    }
    assert!(drawn_at_all > 300, "{drawn_at_all}");
}

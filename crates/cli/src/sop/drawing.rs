//! A program as a picture: a box per declaration, arrows from what it needs; where that does not fit, level by level.
//! Pure: a program in, lines out.

use crate::printer::style;
use crate::render::canvas::{Line, Span, Strokes, strings};
use crate::render::layered::{self, Graph, TextBox};
use crate::runs::{Paper, cut_line};
use fugato_model::{escape_for_terminal, words};
use fugato_skill::sop::{Argument, BUILT_IN, Declaration, Program};
use std::collections::HashMap;

/// Of what a command is told: enough to know which one it is.
const SHOWN_CELLS: usize = 32;

pub fn draw(program: &Program, paper: Paper) -> Vec<String> {
    if program.is_empty() {
        let nothing = words!("the program declares nothing", "程序没有任何声明");
        return vec![nothing.in_lang(paper.lang).to_owned()];
    }
    let picture = layered::draw(&graph(program, paper), paper.width, paper.columns);
    strings(&picture.unwrap_or_else(|| outline(program, paper)))
}

fn graph(program: &Program, paper: Paper) -> Graph {
    let levels = program.levels();
    let declarations: Vec<&Declaration> = levels.iter().flatten().copied().collect();
    let numbers: HashMap<&str, usize> = declarations.iter().map(|found| &*found.name).zip(0..).collect();
    let boxes = declarations.iter().map(|declaration| TextBox {
        title: vec![Span::new(style::NAME, format!("@{}", declaration.name))],
        lines: contents(declaration, paper),
    });
    let edges = declarations.iter().zip(0..).flat_map(|(declaration, to)| {
        let numbers = &numbers;
        program.dependencies(declaration).filter_map(move |name| Some((*numbers.get(&**name)?, to)))
    });
    Graph { boxes: boxes.collect(), edges: edges.collect() }
}

fn contents(declaration: &Declaration, paper: Paper) -> Vec<Line> {
    let mut lines = vec![work(declaration, paper)];
    if let Some(says) = declaration.description.as_deref().filter(|says| !says.is_empty()) {
        let first = says.lines().next().unwrap_or_default();
        lines.push(vec![Span::new(style::DIM, shortened(first, paper))]);
    }
    lines
}

/// The command, and the beginning of what it is told.
fn work(declaration: &Declaration, paper: Paper) -> Line {
    let look = if BUILT_IN.contains(&&*declaration.command) { style::DIM } else { style::BOLD };
    let mut line = vec![Span::new(look, shortened(&declaration.command, paper))];
    let texts: Vec<String> = declaration.arguments.iter().map(argument).collect();
    if !texts.is_empty() {
        line.push(Span::plain(format!(" {}", shortened(&texts.join(" "), paper))));
    }
    line
}

fn argument(argument: &Argument) -> String {
    match argument {
        Argument::Reference(name) => format!("${name}"),
        Argument::Literal(text) => {
            let start: String = text.chars().take(4 * SHOWN_CELLS).collect();
            start.split_whitespace().collect::<Vec<_>>().join(" ")
        }
    }
}

fn shortened(text: &str, paper: Paper) -> String {
    paper.width.cut(&escape_for_terminal(text), SHOWN_CELLS)
}

/// One level after the other, each declaration with what it needs.
fn outline(program: &Program, paper: Paper) -> Vec<Line> {
    let (needs, bar, last_bar) = match Strokes::from(paper.width) {
        Strokes::Lines => ("◀──", "├─ ", "└─ "),
        Strokes::Ascii => ("<--", "|- ", "`- "),
    };
    let mut lines: Vec<Line> = Vec::new();
    for (level, number) in program.levels().iter().zip(1..) {
        let title = words!("level {number}", "第 {number} 层");
        lines.push(vec![Span::new(style::DIM, title.in_lang(paper.lang))]);
        for (at, declaration) in level.iter().enumerate() {
            let branch = if at + 1 == level.len() { last_bar } else { bar };
            let mut line = vec![
                Span::plain(branch),
                Span::new(style::NAME, format!("@{}", declaration.name)),
                Span::plain("  "),
            ];
            line.extend(work(declaration, paper));
            let names: Vec<&str> = program.dependencies(declaration).map(|name| &**name).collect();
            if !names.is_empty() {
                line.push(Span::new(style::DIM, format!("  {needs} {}", names.join(", "))));
            }
            lines.push(cut_line(line, paper));
        }
    }
    lines
}

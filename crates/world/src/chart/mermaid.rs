//! The same chart as Mermaid source, where Mermaid has such a chart.

use super::prepare::{Categories, Prepared};
use super::spec::{Kind, Spec};
use std::fmt::Write as _;

/// More bars than Mermaid draws legibly.
const MOST: usize = 60;

pub fn source(spec: &Spec, prepared: &Prepared) -> Result<String, &'static str> {
    match (prepared, spec.kind) {
        (Prepared::Categories(data), Kind::Pie) => Ok(pie(spec, data)),
        (Prepared::Categories(data), Kind::Bar | Kind::GroupedBar | Kind::Line)
            if data.labels.len() > MOST =>
        {
            Err("Mermaid draws at most about 60 categories legibly; set `top`")
        }
        (Prepared::Categories(data), Kind::Bar | Kind::Line) => {
            let values: Vec<_> = data.series.iter().map(|series| series.values.clone()).collect();
            xy(spec, &data.labels, &values, (&data.names.x, &data.names.y))
        }
        (Prepared::Categories(_), Kind::GroupedBar) => {
            Err("Mermaid draws bars of several series on top of each other")
        }
        (Prepared::Points { series, names, unit }, Kind::Line) => {
            let [one] = series.as_slice() else {
                return Err("Mermaid draws lines of several series only over shared categories");
            };
            if one.points.len() > MOST {
                return Err("Mermaid draws at most about 60 points legibly; aggregate by a coarser column");
            }
            let label = |x: f64| match unit {
                super::scale::Unit::Time => super::time::show(x, 86_400.0),
                _ => super::number::show(x).replace(',', ""),
            };
            let labels: Vec<String> = one.points.iter().map(|(x, _)| label(*x)).collect();
            let values = vec![one.points.iter().map(|(_, y)| Some(*y)).collect()];
            xy(spec, &labels, &values, (&names.x, &names.y))
        }
        (Prepared::Bins { edges, series, names }, _) => {
            let [one] = series.as_slice() else { return Err("Mermaid has no histogram of several series") };
            let labels: Vec<String> =
                edges.iter().take(one.values.len()).map(|edge| super::number::show(*edge)).collect();
            xy(spec, &labels, std::slice::from_ref(&one.values), (&names.x, &names.y))
        }
        (_, Kind::StackedBar) => Err("Mermaid has no stacked bars"),
        (_, Kind::Area) => Err("Mermaid has no area chart"),
        (_, Kind::Scatter) => Err("Mermaid has no scatter chart"),
        (_, Kind::Heatmap) => Err("Mermaid has no heatmap"),
        _ => Err("Mermaid has no such chart"),
    }
}

fn pie(spec: &Spec, data: &Categories) -> String {
    let mut text = String::from("pie showData");
    if let Some(title) = &spec.title {
        let _ = write!(text, " title {}", one_line(title));
    }
    text.push('\n');
    for (at, label) in data.labels.iter().enumerate() {
        let value: f64 =
            data.series.iter().filter_map(|series| series.values.get(at).copied().flatten()).sum();
        let _ = writeln!(text, "    {} : {}", quoted(label), plain(value));
    }
    text
}

fn xy(
    spec: &Spec,
    labels: &[String],
    series: &[Vec<Option<f64>>],
    (x, y): (&str, &str),
) -> Result<String, &'static str> {
    let mut text = format!("xychart-beta{}\n", if spec.horizontal { " horizontal" } else { "" });
    if let Some(title) = &spec.title {
        let _ = writeln!(text, "    title {}", quoted(title));
    }
    let labels: Vec<String> = labels.iter().map(|label| quoted(label)).collect();
    let _ = writeln!(text, "    x-axis {}[{}]", named(x), labels.join(", "));
    let all = series.iter().flatten().flatten().copied();
    let (low, high) = all.fold((0.0f64, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    let _ = writeln!(
        text,
        "    y-axis {}{} --> {}",
        named(y),
        plain(low),
        plain(if high > low { high } else { low + 1.0 })
    );
    let mark = if spec.kind == Kind::Line { "line" } else { "bar" };
    for values in series {
        if values.iter().any(Option::is_none) {
            return Err("Mermaid has no way to leave a value out; fill the gaps first");
        }
        let values: Vec<String> = values.iter().flatten().map(|value| plain(*value)).collect();
        let _ = writeln!(text, "    {mark} [{}]", values.join(", "));
    }
    Ok(text)
}

fn named(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{} ", quoted(name)) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text).replace('"', "'"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Without exponents and separators.
fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

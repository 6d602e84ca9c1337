//! The same chart as the `option` of ECharts, for pages that draw it themselves.

use super::prepare::{Categories, Names, Prepared, Series};
use super::scale::Unit;
use super::spec::{Kind, Spec};
use super::{palette, time};
use serde_json::{Map, Value, json};

pub fn option(spec: &Spec, prepared: &Prepared) -> Value {
    let mut option = Map::new();
    if let Some(title) = &spec.title {
        option.insert("title".into(), json!({"text": title}));
    }
    option.insert("color".into(), (0..12).map(palette::color).collect());
    let trigger = match prepared {
        Prepared::Categories(_) if spec.kind != Kind::Pie => "axis",
        _ => "item",
    };
    option.insert("tooltip".into(), json!({"trigger": trigger}));
    match prepared {
        Prepared::Categories(data) if spec.kind == Kind::Pie => pie(&mut option, data),
        Prepared::Categories(data) => categories(&mut option, spec, data),
        Prepared::Points { unit, series, names } => {
            let is_time = *unit == Unit::Time;
            let at = |x: f64| if is_time { json!(time::show(x, 86_400.0)) } else { json!(x) };
            let kind = if spec.kind == Kind::Scatter { "scatter" } else { "line" };
            let series: Vec<Value> = series
                .iter()
                .map(|cloud| {
                    let points: Vec<Value> = cloud.points.iter().map(|(x, y)| json!([at(*x), y])).collect();
                    let mut one = json!({"name": cloud.name, "type": kind, "data": points});
                    if spec.kind == Kind::Area {
                        set(&mut one, "areaStyle", json!({}));
                    }
                    one
                })
                .collect();
            axes(
                &mut option,
                names,
                json!({"type": if is_time { "time" } else { "value" }, "scale": true}),
                false,
            );
            option.insert("series".into(), series.into());
        }
        Prepared::Bins { edges, series, names } => {
            let bins: Vec<String> = edges
                .windows(2)
                .filter_map(|edge| match edge {
                    [from, to] => {
                        Some(format!("{}–{}", super::number::show(*from), super::number::show(*to)))
                    }
                    _ => None,
                })
                .collect();
            axes(&mut option, names, json!({"type": "category", "data": bins}), false);
            let one = |series: &Series| json!({"name": series.name, "type": "bar", "stack": "all", "barCategoryGap": "2%", "data": series.values});
            option.insert("series".into(), series.iter().map(one).collect());
        }
        Prepared::Grid(data) => grid(&mut option, data),
    }
    let names: Vec<Value> = option
        .get("series")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|series| series.get("name").cloned())
        .collect();
    if names.len() > 1 {
        option.insert("legend".into(), json!({"data": names, "top": 28}));
    }
    Value::Object(option)
}

fn set(value: &mut Value, key: &str, to: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.into(), to);
    }
}

fn axes(option: &mut Map<String, Value>, names: &Names, mut along: Value, is_lying: bool) {
    set(&mut along, "name", names.x.as_str().into());
    let values = json!({"type": "value", "name": names.y});
    let (x, y) = if is_lying { (values, along) } else { (along, values) };
    option.insert("xAxis".into(), x);
    option.insert("yAxis".into(), y);
}

fn categories(option: &mut Map<String, Value>, spec: &Spec, data: &Categories) {
    let kind = if matches!(spec.kind, Kind::Line | Kind::Area) { "line" } else { "bar" };
    let is_stacked = spec.kind == Kind::StackedBar || (spec.kind == Kind::Area && data.series.len() > 1);
    let one = |series: &Series| {
        let mut one = json!({"name": series.name, "type": kind, "data": series.values});
        if is_stacked {
            set(&mut one, "stack", "all".into());
        }
        if spec.kind == Kind::Area {
            set(&mut one, "areaStyle", json!({}));
        }
        one
    };
    let lying = spec.horizontal && kind == "bar";
    axes(option, &data.names, json!({"type": "category", "data": data.labels}), lying);
    if lying {
        // ECharts counts from the bottom.
        option.get_mut("yAxis").into_iter().for_each(|axis| set(axis, "inverse", true.into()));
    }
    option.insert("series".into(), data.series.iter().map(one).collect());
}

fn pie(option: &mut Map<String, Value>, data: &Categories) {
    let value = |at: usize| {
        data.series.iter().filter_map(|series| series.values.get(at).copied().flatten()).sum::<f64>()
    };
    let slices: Vec<Value> = data
        .labels
        .iter()
        .enumerate()
        .map(|(at, label)| json!({"name": label, "value": value(at)}))
        .collect();
    option.insert("legend".into(), json!({"orient": "vertical", "right": 10, "top": "middle"}));
    option.insert("series".into(), json!([{"type": "pie", "radius": "65%", "data": slices}]));
}

fn grid(option: &mut Map<String, Value>, data: &Categories) {
    let rows: Vec<&str> = data.series.iter().map(|series| series.name.as_str()).collect();
    let mut cells = Vec::new();
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (row, series) in data.series.iter().enumerate() {
        for (column, value) in series.values.iter().enumerate() {
            if let Some(value) = value {
                (low, high) = (low.min(*value), high.max(*value));
                cells.push(json!([column, row, value]));
            }
        }
    }
    option.insert("xAxis".into(), json!({"type": "category", "data": data.labels, "name": data.names.x}));
    option.insert("yAxis".into(), json!({"type": "category", "data": rows, "inverse": true}));
    option.insert("visualMap".into(), json!({"min": low, "max": high, "calculable": true, "right": 0}));
    option.insert("series".into(), json!([{"type": "heatmap", "data": cells, "label": {"show": true}}]));
}

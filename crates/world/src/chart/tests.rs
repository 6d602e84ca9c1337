//! Charts from data as people have it. With `FUGATO_PICTURES=DIR` each is also written there as PNG, to look at.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const SALES: &str = "month,region,sales,cost\n2026-01,North,1200,800\n2026-01,South,900,700\n2026-02,North,1500,820\n\
    2026-02,South,1100,750\n2026-03,North,1350,900\n2026-03,South,-200,650\n2026-04,North,1800,1000\n2026-04,South,,600\n";

#[expect(clippy::needless_pass_by_value, reason = "called with json!")]
fn spec(value: Value) -> Spec {
    serde_json::from_value(value.clone()).unwrap()
}

fn drawn(name: &str, wish: Value, data: Data<'_>) -> Chart {
    let made = chart(&spec(wish), data).unwrap();
    let dir = std::env::var_os("FUGATO_PICTURES");
    let png = crate::picture::png(&made.svg, if dir.is_some() { 1.0 } else { 0.25 }).unwrap();
    if let Some(dir) = dir {
        std::fs::write(std::path::Path::new(&dir).join(format!("chart-{name}.png")), png.bytes).unwrap();
    }
    made
}

fn csv(text: &str) -> Data<'_> {
    Data::Csv(Box::new(text.as_bytes()))
}

#[test]
fn every_kind_is_drawn_from_one_table() {
    for kind in ["bar", "grouped-bar", "stacked-bar", "line", "area", "heatmap"] {
        let made = drawn(
            kind,
            json!({"kind": kind, "x": "month", "y": "sales", "series": "region", "title": format!("Sales by month and region ({kind}) 销售额")}),
            csv(SALES),
        );
        assert!(made.summary.contains("North") && made.svg.contains("销售额"), "{}", made.summary);
        assert!(
            made.notes.iter().any(|note| note.contains("1 cells of `sales` are empty")),
            "{:?}",
            made.notes
        );
    }
    let pie = drawn("pie", json!({"kind": "pie", "x": "region", "y": "cost", "title": "Cost"}), csv(SALES));
    insta::assert_snapshot!(pie.mermaid.unwrap());
    let scatter = drawn(
        "scatter",
        json!({"kind": "scatter", "x": "sales", "y": "cost", "series": "region"}),
        csv(SALES),
    );
    assert_eq!(scatter.mermaid, Err("Mermaid has no scatter chart"));
    drawn(
        "lying",
        json!({"kind": "bar", "x": "month", "y": ["sales", "cost"], "horizontal": true, "aggregate": "mean"}),
        csv(SALES),
    );
}

#[test]
fn categories_are_counted_averaged_sorted_and_cut_to_the_largest() {
    let text = "name,n\na,1\nb,5\na,3\nc,2\nd,1\nb,7\n";
    let values = |wish: Value| drawn("small", wish, csv(text)).summary;
    assert!(values(json!({"x": "name", "y": "n", "aggregate": "mean"})).contains("a 2, b 6, c 2, d 1"));
    assert!(values(json!({"x": "name", "aggregate": "count"})).contains("a 2, b 2, c 1, d 1"));
    assert!(
        values(json!({"x": "name", "y": "n", "aggregate": "median", "sort": "value"})).contains("b 6, a 2")
    );
    assert!(
        values(json!({"x": "name", "y": "n", "aggregate": "sum", "top": 2, "sort": "value"}))
            .contains("b 12, a 4, Other (2) 3")
    );
    assert!(values(json!({"x": "name", "y": "n", "aggregate": "max", "top": 1})).contains("1 categories"));
    let made = drawn("small", json!({"x": "name", "y": "n"}), csv(text));
    assert!(made.notes[0].contains("added up"), "{:?}", made.notes);
}

#[test]
fn long_labels_many_categories_and_chinese_do_not_overlap() {
    let rows: Vec<Value> = (0..14).map(|n| json!({"城市": format!("第{n}个名字很长的城市（样本 {n}）"), "人口": (n * 37 % 11 + 1) * 1_000_000})).collect();
    drawn(
        "long-labels",
        json!({"x": "城市", "y": "人口", "title": "人口（按城市）"}),
        Data::Rows(&json!(rows)),
    );
    drawn(
        "long-labels-lying",
        json!({"x": "城市", "y": "人口", "horizontal": true, "sort": "value"}),
        Data::Rows(&json!(rows)),
    );
    let many: Vec<Value> =
        (0..150).map(|n| json!({"day": format!("d{n}"), "v": (f64::from(n) / 9.0).sin()})).collect();
    let made = drawn("many", json!({"x": "day", "y": "v"}), Data::Rows(&json!(many)));
    assert!(made.notes.iter().any(|note| note.contains("label of the axis")), "{:?}", made.notes);
    let series: Vec<Value> =
        (0..400).map(|n| json!({"x": n % 20, "s": format!("series {}", n / 20), "v": n % 7})).collect();
    let made = drawn(
        "many-series",
        json!({"kind": "stacked-bar", "x": "x", "y": "v", "series": "s", "aggregate": "sum"}),
        Data::Rows(&json!(series)),
    );
    assert!(made.notes.iter().any(|note| note.contains("9 small series were added up")), "{:?}", made.notes);
    let slices: Vec<Value> =
        (1..30).map(|n| json!({"what": format!("slice number {n}"), "v": n * n})).collect();
    drawn(
        "pie-many",
        json!({"kind": "pie", "x": "what", "y": "v", "title": "Thirty slices"}),
        Data::Rows(&json!(slices)),
    );
}

#[test]
fn numbers_dates_and_years_have_their_own_axes() {
    let days: String = (0..200)
        .map(|n| {
            format!(
                "2026-{:02}-{:02},{}\n",
                n / 28 + 1,
                n % 28 + 1,
                (f64::from(n) / 15.0).cos() * 40.0 + f64::from(n)
            )
        })
        .collect();
    let made = drawn("dates", json!({"kind": "line", "title": "Daily"}), csv(&format!("day,value\n{days}")));
    assert!(made.svg.contains("2026-03") && made.summary.contains("200 points"), "{}", made.summary);
    let years = drawn("years", json!({"kind": "area"}), csv("year,a,b\n2019,3,5\n2020,4,1\n2022,9,2\n"));
    assert!(years.svg.contains(">2020<") && !years.svg.contains("2,020"));
    let made =
        drawn("gap", json!({"kind": "line", "x": "m", "y": "v"}), csv("m,v\nJan,1\nFeb,\nMar,4\nApr,5\n"));
    assert!(made.mermaid.unwrap_err().contains("gaps"));
}

#[test]
fn a_histogram_has_round_edges_and_counts_everything() {
    let values: String = (0..5000)
        .map(|n| {
            format!("{}\n", ((n * 7919 % 1000) as f64 / 1000.0 + (n * 104_729 % 1000) as f64 / 1000.0) * 50.0)
        })
        .collect();
    let made = drawn(
        "histogram",
        json!({"kind": "histogram", "x": "v", "title": "Spread"}),
        csv(&format!("v\n{values}")),
    );
    assert!(made.summary.contains("5,000 values"), "{}", made.summary);
    let exact =
        drawn("histogram-4", json!({"kind": "histogram", "x": "v", "bins": 4}), csv(&format!("v\n{values}")));
    assert!(exact.summary.contains("4 bins"), "{}", exact.summary);
    drawn("histogram-same", json!({"kind": "histogram"}), csv("v\n5\n5\n5\n"));
}

#[test]
fn hard_values_are_drawn_and_what_is_missing_is_said() {
    for kind in ["bar", "stacked-bar", "line", "area", "scatter", "histogram"] {
        let wish = json!({"kind": kind, "x": "x", "y": "y"});
        drawn("one", wish.clone(), csv("x,y\n1,5\n"));
        drawn("zero", wish.clone(), csv("x,y\n1,0\n2,0\n"));
        drawn("negative", wish.clone(), csv("x,y\n1,-5\n2,-7\n"));
        let made =
            drawn("huge", wish.clone(), csv("x,y\n1,1e299\n2,-1e299\n3,NaN\n4,inf\n5,abc\n6,1e-300\n"));
        assert!(!made.svg.contains("NaN") && !made.svg.contains("inf"), "{kind}");
        if kind != "histogram" {
            assert!(
                made.notes.iter().any(|note| note.contains("2 cells of `y` are no numbers")),
                "{:?}",
                made.notes
            );
        }
    }
}

#[test]
fn very_many_points_become_a_small_picture() {
    let text: String = (0..300_000u32).map(|n| format!("{n},{}\n", n % 1000)).collect();
    let text = format!("x,y\n{text}");
    for kind in ["line", "scatter"] {
        let began = std::time::Instant::now();
        let made = drawn("million", json!({"kind": kind, "x": "x", "y": "y"}), csv(&text));
        println!("{kind}: {:?}", began.elapsed());
        assert!(made.svg.len() < 2_000_000, "{}", made.svg.len());
        assert!(
            made.notes.iter().any(|note| note.contains("300000 points are shown as")),
            "{:?}",
            made.notes
        );
    }
}

#[test]
fn tables_are_read_as_they_come() {
    let same = |data: Data<'_>| chart(&spec(json!({"x": "a", "y": "b"})), data).unwrap().summary;
    let expected = same(csv("a,b\nx,1\ny,2\n"));
    for text in [
        "\u{feff}a;b\r\nx;1\r\ny;2\r\n",
        "a\tb\nx\t1\n\ny\t2",
        "\"a\"|\"b\"\n\"x\"|\"1\"\ny|2\n",
        " a , b \nx, 1\ny, 2\n",
    ] {
        assert_eq!(same(csv(text)), expected, "{text:?}");
    }
    for rows in [
        json!([{"a": "x", "b": 1}, {"a": "y", "b": "2"}]),
        json!([["a", "b"], ["x", 1], ["y", 2]]),
        json!({"a": ["x", "y"], "b": [1, 2]}),
        json!("a,b\nx,1\ny,2"),
    ] {
        assert_eq!(same(Data::Rows(&rows)), expected, "{rows}");
    }
    let ragged = chart(&spec(json!({"x": "a", "y": "b"})), csv("a,b\nx,1,9\ny\n\"q\"\"uote\",3\n")).unwrap();
    assert!(ragged.notes[0].contains("2 rows have more or fewer"), "{:?}", ragged.notes);
    assert!(ragged.summary.contains("q\"uote 3"), "{}", ragged.summary);
}

#[test]
fn wrong_wishes_say_what_would_work() {
    let refused = |wish: Value, text: &str| chart(&spec(wish), csv(text)).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            refused(json!({"x": "Mont", "y": "sales"}), SALES),
            refused(json!({"x": "month", "y": "region"}), SALES),
            refused(json!({"x": "month", "y": "zzz"}), SALES),
            refused(json!({"x": "a"}), "a\n"),
            refused(json!({}), ""),
            refused(json!({"kind": "heatmap", "x": "month"}), SALES),
            refused(json!({"x": "month", "y": ["sales", "cost"], "series": "region"}), SALES),
            refused(json!({"kind": "pie", "x": "a", "y": "b"}), "a,b\nx,-1\n"),
            refused(json!({"width": 5}), SALES),
            refused(json!({"top": 0}), SALES),
            chart(&spec(json!({})), Data::Rows(&json!(7))).unwrap_err().to_string(),
        ]
        .join("\n")
    );
}

#[test]
fn other_programs_get_the_same_data() {
    let bar = chart(&spec(json!({"x": "month", "y": "sales", "aggregate": "sum", "title": "S"})), csv(SALES))
        .unwrap();
    insta::assert_snapshot!(bar.mermaid.unwrap());
    insta::assert_snapshot!(serde_json::to_string_pretty(&bar.echarts).unwrap());
    let stacked = chart(
        &spec(json!({"kind": "stacked-bar", "x": "month", "y": "sales", "series": "region"})),
        csv(SALES),
    )
    .unwrap();
    assert_eq!(stacked.echarts["series"][1]["stack"], "all");
    assert_eq!(stacked.echarts["series"][1]["data"][3], Value::Null);
    let line = chart(&spec(json!({"kind": "line"})), csv("day,v\n2026-01-01,1\n2026-01-02,2\n")).unwrap();
    assert_eq!(line.echarts["xAxis"]["type"], "time");
    assert_eq!(line.echarts["series"][0]["data"][1], json!(["2026-01-02", 2.0]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: fugato_testkit::cases(128), ..ProptestConfig::default() })]

    #[test]
    fn no_table_and_no_wish_panics(
        text in "(a|b|1|-2\\.5|1e999|NaN|,|\n|\"|;|中|2026-01-02| ){0,80}",
        kind in prop_oneof![Just("bar"), Just("stacked-bar"), Just("line"), Just("area"), Just("scatter"), Just("pie"), Just("histogram")],
        horizontal in any::<bool>(),
        top in proptest::option::of(1usize..5),
    ) {
        if let Ok(made) = chart(&spec(json!({"kind": kind, "horizontal": horizontal, "top": top})), csv(&format!("x,y\n{text}"))) {
            prop_assert!(!made.svg.contains("\"NaN") && !made.svg.contains("inf"), "{}", made.svg);
            prop_assert!(crate::picture::png(&made.svg, 0.1).is_ok());
        }
    }
}

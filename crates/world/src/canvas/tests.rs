//! Canvases as they live: random changes, layouts, texts. What must hold after each of them is checked by `assert_sound`.

mod drawn;
mod random;
mod texts;

use super::from_text::{Format, from_text};
use super::*;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Valid as a file, ids unique, edges between nodes that are there.
fn assert_sound(canvas: &Canvas) {
    let text = print(canvas);
    assert_eq!(&parse(&text).unwrap(), canvas, "{text}");
    assert!(canvas.dangling().is_empty(), "{text}");
}

/// No two nodes touch unless one is a group around the other.
fn assert_apart(canvas: &Canvas) {
    let parents = containment::parents(canvas);
    let mut rects: Vec<(Rect, usize)> =
        canvas.nodes.iter().enumerate().filter_map(|(at, node)| Some((node.rect()?, at))).collect();
    rects.sort_by_key(|(rect, _)| rect.x);
    for (place, (one, at)) in rects.iter().enumerate() {
        for (other, beside) in rects.iter().skip(place + 1).take_while(|(other, _)| other.x < one.right()) {
            let nested = containment::ancestors(&parents, *at).any(|outer| outer == *beside)
                || containment::ancestors(&parents, *beside).any(|outer| outer == *at);
            assert!(
                nested || !one.overlaps(*other),
                "{} at {one:?} and {} at {other:?}",
                canvas.nodes[*at].id(),
                canvas.nodes[*beside].id()
            );
        }
    }
}

fn node(text: &str) -> NewNode {
    NewNode { text: Some(text.into()), ..NewNode::default() }
}

fn edge(from: &str, to: &str) -> NewEdge {
    NewEdge { from: from.into(), to: to.into(), ..NewEdge::default() }
}

#[expect(clippy::needless_pass_by_value, reason = "called with json!")]
fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn ids_are_made_from_text_and_never_collide() {
    let mut canvas = Canvas::default();
    let added =
        add(&mut canvas, &[node("Launch plan!"), node("launch plan"), node("发布计划"), node("…")]).unwrap();
    assert_eq!(added.ids, ["launch-plan", "launch-plan-2", "发布计划", "node"]);
    let taken = NewNode { id: Some("node".into()), ..node("x") };
    assert_eq!(add(&mut canvas, &[taken]), Err(CanvasError::Taken("node".into())));
    assert_sound(&canvas);
}

#[test]
fn a_thousand_equal_nodes_get_ids_and_places_quickly() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &vec![node("same"); 5000]).unwrap();
    assert_apart(&canvas);
    assert_eq!(canvas.nodes[4999].id(), "same-5000");
}

#[test]
fn nodes_find_a_free_place_near_another_or_in_a_group() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &[node("a"), node("b"), node("c")]).unwrap();
    for _ in 0..6 {
        add(&mut canvas, &[NewNode { near: Some("b".into()), ..node("beside b") }]).unwrap();
    }
    assert_apart(&canvas);
    let made = group(
        &mut canvas,
        &NewGroup { ids: vec!["c".into()], label: Some("C".into()), ..NewGroup::default() },
    );
    let made = made.or_else(|_| {
        let wish =
            NewGroup { ids: vec!["c".into()], label: Some("C".into()), arrange: true, ..NewGroup::default() };
        group(&mut canvas, &wish)
    });
    let id = made.unwrap();
    let inside =
        NewNode { group: Some(id.clone()), ..node("a long text inside the group that is wider than it was") };
    add(&mut canvas, &[inside.clone(), inside.clone(), inside]).unwrap();
    assert_apart(&canvas);
    assert_sound(&canvas);
    let shown = outline(&canvas, &Selection { group: Some(id), ..Selection::default() }).unwrap();
    assert_eq!(shown.matches("  [a-long-text").count(), 3, "{shown}");
}

#[test]
fn wrong_wishes_are_named_with_what_was_meant() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &[node("launch")]).unwrap();
    let sentences = [
        add(&mut canvas.clone(), &[NewNode { near: Some("lunch".into()), ..node("x") }])
            .unwrap_err()
            .to_string(),
        add(&mut canvas.clone(), &[NewNode { x: Some(1), ..node("x") }]).unwrap_err().to_string(),
        add(&mut canvas.clone(), &[NewNode { kind: Some("circle".into()), ..node("x") }])
            .unwrap_err()
            .to_string(),
        add(&mut canvas.clone(), &[NewNode { color: Some("blue".into()), ..node("x") }])
            .unwrap_err()
            .to_string(),
        add(&mut canvas.clone(), &[NewNode { group: Some("launch".into()), ..node("x") }])
            .unwrap_err()
            .to_string(),
        connect(&mut canvas.clone(), &[edge("launch", "landing")]).unwrap_err().to_string(),
        update(&mut canvas.clone(), &[object(json!({"id": "launch", "x": "left"}))]).unwrap_err().to_string(),
        update(&mut canvas.clone(), &[object(json!({"text": "x"}))]).unwrap_err().to_string(),
        group(&mut canvas.clone(), &NewGroup::default()).unwrap_err().to_string(),
        outline(&canvas, &Selection { ids: vec!["launche".into()], ..Selection::default() })
            .unwrap_err()
            .to_string(),
    ];
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn removing_a_node_removes_its_edges_and_a_second_time_nothing() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &[node("a"), node("b"), node("c")]).unwrap();
    connect(&mut canvas, &[edge("a", "b"), edge("b", "c"), edge("a", "c")]).unwrap();
    let removed = remove(&mut canvas, &["b".into(), "a-c".into()]);
    assert_eq!((removed.nodes.len(), removed.edges.len(), removed.unknown.len()), (1, 3, 0));
    let again = remove(&mut canvas, &["b".into(), "a-c".into()]);
    assert_eq!(again.unknown, ["b", "a-c"]);
    assert_sound(&canvas);
}

#[test]
fn members_move_with_their_group_and_a_second_time_stay() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &[node("a"), node("b")]).unwrap();
    let ids = vec!["a".into(), "b".into()];
    group(&mut canvas, &NewGroup { ids, id: Some("g".into()), ..NewGroup::default() }).unwrap();
    let before = canvas.node("a").unwrap().rect().unwrap();
    let change = object(json!({"id": "g", "x": 1000, "y": 2000, "color": "4"}));
    update(&mut canvas, std::slice::from_ref(&change)).unwrap();
    let after = canvas.node("a").unwrap().rect().unwrap();
    assert_eq!((after.x - before.x, after.y - before.y), (1020, 2020));
    let once = canvas.clone();
    update(&mut canvas, &[change]).unwrap();
    assert_eq!(canvas, once);
}

#[test]
fn null_removes_a_field_and_unknown_fields_can_be_set() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &[NewNode { color: Some("1".into()), ..node("a") }]).unwrap();
    update(&mut canvas, &[object(json!({"id": "a", "color": null, "styleAttributes": {"shape": "pill"}}))])
        .unwrap();
    assert_eq!(canvas.node("a").unwrap().color(), None);
    assert!(print(&canvas).contains("pill"));
    let gone = update(&mut canvas, &[object(json!({"id": "a", "text": null}))]);
    assert!(gone.unwrap_err().to_string().contains("`text` of node `a`: is missing"));
}

#[test]
fn a_group_does_not_catch_what_it_was_not_asked_to() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &[node("a"), node("between"), node("c")]).unwrap();
    let wish =
        NewGroup { ids: vec!["a".into(), "c".into()], label: Some("ends".into()), ..NewGroup::default() };
    let refused = group(&mut canvas.clone(), &wish).unwrap_err().to_string();
    assert!(refused.contains("`between` would be caught"), "{refused}");
    let id = group(&mut canvas, &NewGroup { arrange: true, ..wish }).unwrap();
    assert_apart(&canvas);
    let shown = outline(&canvas, &Selection { group: Some(id), ..Selection::default() }).unwrap();
    assert!(shown.contains("  [a]") && shown.contains("  [c]") && !shown.contains("between"), "{shown}");
}

#[test]
fn the_outline_is_short_and_complete() {
    let mut canvas = from_text("flowchart LR\n subgraph s [Sources]\n A[Calendar] \n B[Mail]\n end\n A & B -->|events| C{Enough?}\n C -- no --> A\n C ==> D([Brief])", Format::Auto, None).unwrap();
    canvas.edges.push(Edge { fields: object(json!({"id": "broken", "fromNode": "A", "toNode": "gone"})) });
    insta::assert_snapshot!(outline(&canvas, &Selection::default()).unwrap());
    let part = Selection { search: Some("mail".into()), ..Selection::default() };
    insta::assert_snapshot!(outline(&canvas, &part).unwrap());
}

#[test]
fn a_layout_of_a_part_leaves_the_rest_alone_or_is_refused() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &[node("a"), node("b"), node("far")]).unwrap();
    connect(&mut canvas, &[edge("a", "b")]).unwrap();
    update(&mut canvas, &[object(json!({"id": "far", "x": 0, "y": 100}))]).unwrap();
    let only = vec!["a".to_owned(), "b".to_owned()];
    let far = canvas.node("far").unwrap().clone();
    layout(&mut canvas, &Wish { only: only.clone(), ..Wish::default() }).unwrap();
    assert_eq!(canvas.node("far"), Some(&far));
    let down = Wish { only, direction: Direction::Down, ..Wish::default() };
    let refused = layout(&mut canvas.clone(), &down).unwrap_err().to_string();
    assert!(refused.contains("`far`"), "{refused}");
}

#[test]
fn ids_in_use_are_unique_over_nodes_and_edges() {
    let mut canvas = Canvas::default();
    add(&mut canvas, &[node("a"), node("b"), NewNode { id: Some("a-b".into()), ..node("x") }]).unwrap();
    let added = connect(&mut canvas, &[edge("a", "b"), edge("a", "b")]).unwrap();
    assert_eq!(added.ids, ["a-b-2", "a-b-3"]);
    assert_eq!(canvas.ids().len(), canvas.nodes.len() + canvas.edges.len());
    let unique: HashSet<_> = canvas.ids();
    assert!(unique.contains("a-b-3"));
}

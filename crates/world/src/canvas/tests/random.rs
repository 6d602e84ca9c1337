//! Random changes and graphs against what must always hold.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Add { text: String, near: Option<usize>, group: Option<usize>, many: usize },
    Update { at: usize, x: Option<i64>, y: Option<i64>, text: Option<String> },
    Remove { at: usize },
    Connect { from: usize, to: usize },
    Group { members: Vec<usize>, arrange: bool },
    Layout { direction: Direction, sizes: Sizes },
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Right), Just(Direction::Down), Just(Direction::Left), Just(Direction::Up)]
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0usize..24;
    let sizes = prop_oneof![Just(Sizes::Keep), Just(Sizes::Grow), Just(Sizes::Fit)];
    prop_oneof![
        3 => ("[a-c 中文]{0,40}", proptest::option::of(at.clone()), proptest::option::of(at.clone()), 1usize..4)
            .prop_map(|(text, near, group, many)| Step::Add { text, near, group, many }),
        2 => (at.clone(), proptest::option::of(-500i64..500), proptest::option::of(-500i64..500), proptest::option::of("[a-z ]{0,200}"))
            .prop_map(|(at, x, y, text)| Step::Update { at, x, y, text }),
        1 => at.clone().prop_map(|at| Step::Remove { at }),
        3 => (at.clone(), at.clone()).prop_map(|(from, to)| Step::Connect { from, to }),
        2 => (proptest::collection::vec(at, 1..4), any::<bool>())
            .prop_map(|(members, arrange)| Step::Group { members, arrange }),
        1 => (direction(), sizes).prop_map(|(direction, sizes)| Step::Layout { direction, sizes }),
    ]
}

/// Does the step; what it refuses must change nothing.
fn perform(canvas: &mut Canvas, step: &Step) {
    let id = |canvas: &Canvas, at: usize| {
        let count = canvas.nodes.len().max(1);
        canvas.nodes.get(at % count).map_or_else(|| "none".to_owned(), |node| node.id().to_owned())
    };
    let mut changed = canvas.clone();
    let done = match step {
        Step::Add { text, near, group, many } => {
            let near = near.filter(|_| group.is_none()).map(|at| id(canvas, at));
            let group = group.map(|at| id(canvas, at));
            let new = NewNode { near, group, ..node(text) };
            add(&mut changed, &vec![new; *many]).is_ok()
        }
        Step::Update { at, x, y, text } => {
            let mut change = object(json!({"id": id(canvas, *at), "custom": {"kept": [1, 2.5]}}));
            for (key, value) in [("x", x), ("y", y)] {
                if let Some(value) = value {
                    change.insert(key.into(), (*value).into());
                }
            }
            if let Some(text) = text {
                change.insert("text".into(), text.as_str().into());
            }
            update(&mut changed, &[change]).is_ok()
        }
        Step::Remove { at } => {
            remove(&mut changed, &[id(canvas, *at)]);
            true
        }
        Step::Connect { from, to } => {
            connect(&mut changed, &[edge(&id(canvas, *from), &id(canvas, *to))]).is_ok()
        }
        Step::Group { members, arrange } => {
            let ids = members.iter().map(|at| id(canvas, *at)).collect();
            group(
                &mut changed,
                &NewGroup { ids, arrange: *arrange, label: Some("G".into()), ..NewGroup::default() },
            )
            .is_ok()
        }
        Step::Layout { direction, sizes } => {
            let wish = Wish { direction: *direction, sizes: *sizes, only: Vec::new() };
            layout(&mut changed, &wish).unwrap();
            assert_apart(&changed);
            let once = changed.clone();
            layout(&mut changed, &wish).unwrap();
            assert_eq!(changed, once, "a second layout changes nothing");
            true
        }
    };
    if done {
        *canvas = changed;
    }
}

/// Where every node stands in the tree of groups.
fn membership(canvas: &Canvas) -> Vec<(String, Option<String>)> {
    let parents = containment::parents(canvas);
    let name = |at: usize| canvas.nodes[at].id().to_owned();
    (0..canvas.nodes.len()).map(|at| (name(at), parents[at].map(name))).collect()
}

/// Without what a layout may set.
fn unplaced(canvas: &Canvas) -> Canvas {
    let mut bare = canvas.clone();
    for node in &mut bare.nodes {
        for key in ["x", "y", "width", "height"] {
            node.fields.shift_remove(key);
        }
    }
    for edge in &mut bare.edges {
        for key in ["fromSide", "toSide"] {
            edge.fields.shift_remove(key);
        }
    }
    bare
}

proptest! {
    #![proptest_config(ProptestConfig { cases: fugato_testkit::cases(200), ..ProptestConfig::default() })]

    #[test]
    fn random_changes_keep_the_file_valid(steps in proptest::collection::vec(step(), 1..30)) {
        let mut canvas = Canvas::default();
        for step in &steps {
            perform(&mut canvas, step);
            assert_sound(&canvas);
        }
    }

    #[test]
    fn adding_connecting_and_grouping_never_overlap(
        steps in proptest::collection::vec(step(), 1..30)
    ) {
        let mut canvas = Canvas::default();
        for step in steps.iter().filter(|step| !matches!(step, Step::Update { .. })) {
            perform(&mut canvas, step);
            assert_apart(&canvas);
        }
    }

    #[test]
    fn a_layout_moves_and_sizes_but_keeps_everything_else(
        steps in proptest::collection::vec(step(), 1..30), direction in direction()
    ) {
        let mut canvas = Canvas::default();
        for step in &steps {
            perform(&mut canvas, step);
        }
        let before = canvas.clone();
        layout(&mut canvas, &Wish { direction, ..Wish::default() }).unwrap();
        assert_apart(&canvas);
        prop_assert_eq!(membership(&canvas), membership(&before));
        prop_assert_eq!(unplaced(&canvas), unplaced(&before));
    }

    #[test]
    fn any_graph_is_laid_out_without_overlap(
        count in 1usize..60,
        edges in proptest::collection::vec((0usize..60, 0usize..60), 0..150),
        direction in direction(),
    ) {
        let mut canvas = Canvas::default();
        let nodes: Vec<NewNode> = (0..count).map(|at| node(&"text ".repeat(at % 13 + 1))).collect();
        let ids = add(&mut canvas, &nodes).unwrap().ids;
        let edges: Vec<NewEdge> =
            edges.iter().map(|(from, to)| edge(&ids[from % count], &ids[to % count])).collect();
        connect(&mut canvas, &edges).unwrap();
        layout(&mut canvas, &Wish { direction, ..Wish::default() }).unwrap();
        assert_apart(&canvas);
    }

    #[test]
    fn unknown_fields_survive_any_reading_and_writing(
        key in "[a-z]{1,8}x", number in any::<f64>().prop_filter("JSON has no others", |n| n.is_finite()), text in ".{0,40}"
    ) {
        let value = json!({"number": number, "text": text, "list": [null, true, {"deep": text}]});
        let file = json!({
            "nodes": [
                {"id": "a", "type": "portal", key.clone(): value},
                {"id": "b", "type": "text", "x": 0, "y": 0, "width": 1, "height": 1, "text": text, key.clone(): value},
            ],
            "edges": [{"id": "e", "fromNode": "a", "toNode": "b", key.clone(): value}],
            key: value,
        });
        let printed = print(&parse(&file.to_string()).unwrap());
        prop_assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), file);
    }

    #[test]
    fn no_file_makes_reading_panic(text in "(\\{|\\}|\\[|\\]|\"nodes\"|\"edges\"|\"id\"|:|,|\"a\"|1|-1e999|\"type\"|\"text\"|null){0,40}") {
        let _ = parse(&text);
    }
}

#[test]
fn layouts_of_hard_graphs_end_soon() {
    let large = |count: usize, targets: &dyn Fn(usize) -> Vec<usize>| {
        let mut canvas = Canvas::default();
        let ids = add(&mut canvas, &vec![node("a node with some text"); count]).unwrap().ids;
        let mut edges = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            edges.extend(targets(at).into_iter().filter_map(|to| Some(edge(id, ids.get(to)?))));
        }
        connect(&mut canvas, &edges).unwrap();
        let began = std::time::Instant::now();
        layout(&mut canvas, &Wish::default()).unwrap();
        println!("{count} nodes, {} edges: {:?}", canvas.edges.len(), began.elapsed());
        assert_apart(&canvas);
    };
    // A chain, a star, a tree, a mesh with long edges, everything in one ring.
    large(5000, &|at| vec![at + 1]);
    large(5000, &|at| if at == 0 { (1..5000).collect() } else { vec![] });
    large(2000, &|at| vec![2 * at + 1, 2 * at + 2]);
    large(2000, &|at| vec![at + 1, at * 7 % 2000, at * 31 % 2000]);
    large(2000, &|at| vec![(at + 1) % 2000, (at + 1000) % 2000]);
}

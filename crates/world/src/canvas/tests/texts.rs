//! Markdown and Mermaid as people and models write them.

use super::*;
use proptest::prelude::*;

fn made(text: &str) -> Canvas {
    let canvas = from_text(text, Format::Auto, None).unwrap();
    assert_sound(&canvas);
    assert_apart(&canvas);
    canvas
}

/// The outline without places and colours.
fn shape(text: &str) -> String {
    let canvas = made(text);
    let outline = outline(&canvas, &Selection::default()).unwrap();
    let lines = outline.lines().skip(1).map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_place = |word: &str| {
            word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b',' | b'x' | b'-'))
                && word.contains([',', 'x'])
                && word.bytes().any(|b| b.is_ascii_digit())
        };
        words.into_iter().filter(|word| !is_place(word)).collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_outline_becomes_a_tree() {
    insta::assert_snapshot!(shape(
        "---\ntitle: x\n---\n# Launch 发布\nIn two weeks.\nStill in the paragraph.\n\n## Plan\n- write\n  - draft\n  - review\n\
         \t- deep\n- [ ] check\n## Risks\n1. late\n2) costly\n\n```rust\n# no heading\n- no item\n```\n***\n### Deeper\ntext"
    ));
}

#[test]
fn text_without_structure_becomes_a_node_per_paragraph() {
    insta::assert_snapshot!(shape("first\nparagraph\n\nsecond paragraph"));
}

#[test]
fn a_flowchart_becomes_nodes_groups_and_edges() {
    insta::assert_snapshot!(shape(
        r##"%%{init: {"theme": "dark"}}%%
flowchart LR
    %% a comment
    A["开始 (start)"] --> B{Enough?}; B -->|"yes, really"| C
    B -- not yet --> A
    B -. maybe .-> D([Ask "them"])
    C & D ==> E[[Sub<br/>routine]] --- F[(Store)]
    E <--> G((circle)):::done
    F --o H>flag] --x I
    subgraph one [Group one]
      direction TB
      a1 --> a2-b
      subgraph 内部
        c1
      end
    end
    I ---> one
    J@{ shape: rect, label: "new #35; style" } e1@==> K[/slanted/]
    K ~~~ L
    classDef done fill:#f00
    class A,B done
    click A "https://example.com"
    L == heavy ==> A"##
    ));
}

#[test]
fn directions_lead_where_they_say() {
    for (word, check) in [
        ("LR", (|a, b| a.right() < b.x) as fn(Rect, Rect) -> bool),
        ("RL", |a, b| b.right() < a.x),
        ("TD", |a, b| a.bottom() < b.y),
        ("BT", |a, b| b.bottom() < a.y),
    ] {
        let canvas = made(&format!("graph {word};A-->B;"));
        let rect = |id: &str| canvas.node(id).unwrap().rect().unwrap();
        assert!(check(rect("A"), rect("B")), "{word}");
    }
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let refused = |text: &str| from_text(text, Format::Mermaid, None).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            refused("sequenceDiagram\nA->>B: hi"),
            refused("flowchart LR\nA => B"),
            refused("flowchart LR\n\nA --> "),
            refused("flowchart LR\nA[open --> B"),
            refused("flowchart LR\nsubgraph x\nA"),
            refused("flowchart LR\nend"),
            refused("flowchart LR\nA -->|open B"),
            refused(""),
            from_text("", Format::Auto, None).unwrap_err().to_string(),
            from_text("text\n```mermaid\nflowchart LR\nA => B\n```", Format::Auto, None)
                .unwrap_err()
                .to_string(),
        ]
        .join("\n")
    );
}

#[test]
fn a_subgraph_inside_itself_is_refused() {
    let refused =
        from_text("flowchart LR\nsubgraph a\nsubgraph b\nsubgraph a\nend\nend\nend", Format::Auto, None);
    assert!(refused.unwrap_err().to_string().contains("inside itself"));
}

#[test]
fn a_line_is_no_bomb_and_depth_is_no_problem() {
    let many: Vec<String> = (0..200).map(|n| format!("n{n}")).collect();
    let bomb = format!("flowchart LR\n{0} --> {0}", many.join(" & "));
    assert!(from_text(&bomb, Format::Auto, None).unwrap_err().to_string().contains("10000 edges"));
    let deep: String = (0..300).map(|n| format!("subgraph s{n}\n")).collect();
    made(&format!("flowchart LR\n{deep}A --> B\n{}", "end\n".repeat(300)));
    let nested: String = (0..1000).map(|n| format!("{}- item\n", " ".repeat(n))).collect();
    made(&nested);
}

proptest! {
    #[test]
    fn random_markdown_never_panics(text in "(# |## |- |  - |1\\. |\t|\n|word |中文|```\n|---\n|> |\\|){0,60}") {
        if let Ok(canvas) = from_text(&text, Format::Markdown, None) {
            assert_sound(&canvas);
            assert_apart(&canvas);
        }
    }

    #[test]
    fn random_mermaid_never_panics(
        text in "(A|B|c-d|中|\\[|\\]|\\(|\\)|\\{|\\}|\"|-->|---|-\\.->|==>|--|\\||&|;|\n|subgraph |end\n|%%|<br>|#35;| |:::|@\\{|x|o|>|<){0,60}"
    ) {
        if let Ok(canvas) = from_text(&format!("flowchart TD\n{text}"), Format::Mermaid, None) {
            assert_sound(&canvas);
            assert_apart(&canvas);
        }
    }

    #[test]
    fn any_text_at_all_never_panics(text in ".{0,300}") {
        for format in [Format::Auto, Format::Markdown, Format::Mermaid] {
            let _ = from_text(&text, format, None);
        }
    }
}

//! Pictures of canvases. With `FUGATO_PICTURES=DIR` they are also written there as PNG, to look at.

use super::*;
use crate::picture::png;

fn draw(name: &str, canvas: &Canvas) -> String {
    let svg = to_svg(canvas);
    let dir = std::env::var_os("FUGATO_PICTURES");
    let picture = png(&svg, if dir.is_some() { 1.0 } else { 0.25 }).unwrap();
    if let Some(dir) = dir {
        std::fs::write(std::path::Path::new(&dir).join(format!("{name}.png")), picture.bytes).unwrap();
    }
    svg
}

#[test]
fn outlines_and_flowcharts_are_drawn_whole() {
    let outline = "# 发布计划 Launch\n## 准备 Preparation\n- 撰写文档：把所有功能的说明写成一页，包括安装、使用和常见问题\n- Review\n  - by the team\n  - by a customer who has never seen it\n\
        ## Risks\n1. late\n2. costly\n   - money\n   - people\n## Done\nNothing yet.\n";
    let svg = draw("outline", &from_text(outline, Format::Auto, None).unwrap());
    assert!(svg.contains("发布计划") && svg.contains("by a customer"));

    let mut flow = String::from("flowchart LR\n");
    for group in 0..5 {
        flow.push_str(&format!("subgraph g{group} [Stage {group} 阶段]\n"));
        for at in 0..8 {
            flow.push_str(&format!("n{group}_{at}[\"Step {at} of stage {group}\"]\n"));
        }
        for at in 0..7 {
            flow.push_str(&format!("n{group}_{} --> n{group}_{}\n", at / 2, at + 1));
        }
        flow.push_str("end\n");
    }
    flow.push_str("n0_7 --> n1_0\nn0_6 -->|second way| n2_0\nn1_5 --> n3_0\nn2_7 --> n3_0\nn3_6 --> n4_0\nn4_7 -->|again| n0_0\n");
    let canvas = from_text(&flow, Format::Auto, None).unwrap();
    assert_apart(&canvas);
    draw("flow40", &canvas);
    draw("flow40-down", &from_text(&flow, Format::Auto, Some(Direction::Down)).unwrap());

    let small = "flowchart TD\nA([开始]) --> B{数据是否完整？}\nB -->|是| C[生成报告]\nB -->|否| D[补充数据]\nD --> B\nC --> E[(归档)]\nC --> F[发送给客户，并在三天内确认是否收到]\nE & F --> G([结束])\n";
    draw("chinese", &from_text(small, Format::Auto, None).unwrap());
    draw("chinese-right", &from_text(small, Format::Auto, Some(Direction::Right)).unwrap());
}

#[test]
fn every_kind_of_node_is_drawn_and_an_empty_canvas_too() {
    let mut canvas = Canvas::default();
    assert!(to_svg(&canvas).contains("<svg"));
    add(
        &mut canvas,
        &[
            NewNode { file: Some("notes/plan.md".into()), ..NewNode::default() },
            NewNode {
                url: Some("https://example.com/a/very/long/address/that/does/not/fit".into()),
                ..NewNode::default()
            },
            NewNode { color: Some("1".into()), ..node("# Title\nwith **bold** text\n- and\n- a list") },
            NewNode { color: Some("#8800ff".into()), height: Some(60), ..node(&"long text ".repeat(40)) },
        ],
    )
    .unwrap();
    canvas.nodes.push(Node { fields: object(json!({"id": "p", "type": "portal"})) });
    let svg = draw("kinds", &canvas);
    assert!(svg.contains("notes/plan.md") && svg.contains("#8800ff") && svg.contains('…'));
}

#[test]
fn a_mesh_is_drawn() {
    let edges = "A-->B\nA-->C\nB-->D\nC-->D\nD-->E\nE-->B\nA-->E\nF-->E\nF-->G\nG-->A\nH-->I\nJ\nK\nL\n";
    draw("mesh", &from_text(&format!("flowchart LR\n{edges}"), Format::Auto, None).unwrap());
}

//! The stages of spec mode: which nodes run when, and whether that is possible.

use super::fields::STAGE_KEYS;
use super::json::join;
use super::read::Reader;
use super::{Agent, AgentRole};
use fugato_model::{AgentId, Code, nearest, words};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Range;
use serde::Serialize;
use std::collections::HashMap;

/// How the nodes of a stage run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StageMode {
    #[default]
    Serial,
    Parallel,
}

/// One step of a spec run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// Empty when the file gives none.
    pub id: String,
    pub mode: StageMode,
    pub nodes: Vec<AgentId>,
}

/// Reads `stages`; without them each node is a stage of its own, in order.
pub(super) fn read(
    reader: &mut Reader<'_, '_>,
    block: &Object<'_>,
    pointer: &str,
    nodes: &[Agent],
) -> Vec<Stage> {
    let Some(property) = block.get("stages") else {
        return nodes
            .iter()
            .map(|node| Stage {
                id: node.id.to_string(),
                mode: StageMode::Serial,
                nodes: vec![node.id.clone()],
            })
            .collect();
    };
    let pointer = join(pointer, "stages");
    let Value::Array(array) = &property.value else {
        reader.wrong_type(&pointer, &property.value, "a list of stages", "阶段列表");
        return Vec::new();
    };
    let mut stages = Vec::new();
    let mut placed: HashMap<AgentId, String> = HashMap::new();
    for (index, element) in array.elements.iter().enumerate() {
        let pointer = format!("{pointer}/{index}");
        let Value::Object(object) = element else {
            reader.wrong_type(&pointer, element, "an object", "对象");
            continue;
        };
        stages.push(stage(reader, object, &pointer, nodes, &mut placed));
    }
    fits(reader, &stages, nodes, &placed, property.name_range(), &pointer);
    stages
}

fn stage(
    reader: &mut Reader<'_, '_>,
    object: &Object<'_>,
    pointer: &str,
    nodes: &[Agent],
    placed: &mut HashMap<AgentId, String>,
) -> Stage {
    reader.unknown_keys(object, pointer, STAGE_KEYS);
    let id = reader.text(object, pointer, "id").unwrap_or_default();
    let mode = match reader.word(object, pointer, "mode", &["serial", "parallel"]).as_deref() {
        Some("parallel") => StageMode::Parallel,
        _ => StageMode::Serial,
    };
    let mut ids = Vec::new();
    for (listed, range, pointer) in reader.texts(object, pointer, "nodes").unwrap_or_default() {
        let Some(node) = nodes.iter().find(|node| node.id.as_str() == listed) else {
            unknown_node(reader, &listed, range, &pointer, nodes);
            continue;
        };
        if let Some(before) = placed.insert(node.id.clone(), pointer.clone()) {
            let id = &node.id;
            reader.report.error(
                Code::F0222,
                &pointer,
                range,
                words!("the node `{id}` is already in `{before}`", "节点 `{id}` 已在 `{before}` 中"),
            );
            continue;
        }
        ids.push(node.id.clone());
    }
    Stage { id, mode, nodes: ids }
}

fn unknown_node(reader: &mut Reader<'_, '_>, listed: &str, range: Range, pointer: &str, nodes: &[Agent]) {
    let shown: String = listed.chars().take(80).collect();
    let near = nearest(listed, nodes.iter().map(|node| node.id.as_str())).map(str::to_owned);
    let diagnostic = reader.report.error(
        Code::F0220,
        pointer,
        range,
        words!("there is no node `{shown}`", "没有名为 `{shown}` 的节点"),
    );
    if let (Some(diagnostic), Some(near)) = (diagnostic, near) {
        diagnostic.hint = Some(words!("did you mean `{near}`?", "是否想写 `{near}`？"));
    }
}

/// Every node runs once, and a review has something after it to guard.
fn fits(
    reader: &mut Reader<'_, '_>,
    stages: &[Stage],
    nodes: &[Agent],
    placed: &HashMap<AgentId, String>,
    range: Range,
    pointer: &str,
) {
    for node in nodes.iter().filter(|node| !placed.contains_key(&node.id)) {
        let id = &node.id;
        reader.report.warning(
            Code::F0222,
            pointer,
            range,
            words!("the node `{id}` is in no stage and never runs", "节点 `{id}` 不在任何阶段中，不会运行"),
        );
    }
    let last = stages.iter().rev().find(|stage| !stage.nodes.is_empty());
    for id in last.into_iter().flat_map(|stage| &stage.nodes) {
        let review = nodes.iter().any(|node| node.id == *id && node.role == AgentRole::ReviewNode);
        if review {
            reader.report.error(
                Code::F0222,
                pointer,
                range,
                words!(
                    "the review node `{id}` is in the last stage: nothing follows its verdict",
                    "评审节点 `{id}` 在最后一个阶段：其结论之后没有任何步骤"
                ),
            );
        }
    }
}

/// The range of a property's key.
pub(super) trait NameRange {
    fn name_range(&self) -> Range;
}

impl NameRange for jsonc_parser::ast::ObjectProp<'_> {
    fn name_range(&self) -> Range {
        use jsonc_parser::common::Ranged as _;
        self.name.range()
    }
}

//! The agents of a mode: their fields, their ids, and that no two share one.

use super::block::Standing;
use super::fields::{self, AgentKey, Shape};
use super::json::join;
use super::lists::Level;
use super::read::Reader;
use super::{Agent, AgentRole, Mode};
use fugato_model::{AgentId, Code, Words, words};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Range;
use std::collections::HashMap;

impl Reader<'_, '_> {
    pub(super) fn agents(
        &mut self,
        block: &Object<'_>,
        mode: Mode,
        pointer: &str,
        key: AgentKey,
        agents: &mut Vec<Agent>,
    ) {
        let at = join(pointer, key.key);
        let Some(property) = block.get(key.key) else {
            if key.required {
                self.missing(
                    &at,
                    key.key,
                    mode.as_str(),
                    Range::new(block.range.start, block.range.start + 1),
                );
            }
            return;
        };
        match (key.shape, &property.value) {
            (Shape::One { id }, Value::Object(object)) => {
                agents.extend(self.agent(object, key.role, &at, Some(id)));
            }
            (Shape::Many, Value::Array(array)) => {
                if array.elements.is_empty() && key.required {
                    self.missing(&format!("{at}/0"), key.key, mode.as_str(), array.range);
                }
                for (index, element) in array.elements.iter().enumerate() {
                    let at = format!("{at}/{index}");
                    match element {
                        Value::Object(object) => agents.extend(self.agent(object, key.role, &at, None)),
                        other => self.wrong_type(&at, other, "an object", "对象"),
                    }
                }
            }
            (Shape::One { .. }, other) => self.wrong_type(&at, other, "an object", "对象"),
            (Shape::Many, other) => self.wrong_type(&at, other, "a list of objects", "对象列表"),
        }
    }

    fn agent(
        &mut self,
        object: &Object<'_>,
        role: AgentRole,
        pointer: &str,
        fixed: Option<&str>,
    ) -> Option<Agent> {
        self.unknown_keys(object, pointer, &fields::agent_fields(role));
        let id = self.agent_id(object, pointer, fixed);
        let role = self.node_role(object, pointer, role);
        let skills = self.skills(object, pointer, Level::Agent);
        let agent = Agent {
            id: id?,
            role,
            description: self.text(object, pointer, "description"),
            system_prompt: self.text(object, pointer, "systemPrompt"),
            user_prompt_template: self.text(object, pointer, "userPromptTemplate"),
            model: self.text(object, pointer, "model"),
            preset: self.text(object, pointer, "preset"),
            tools: self.texts(object, pointer, "tools").map(|tools| names(&tools)),
            max_rounds: self.count(object, pointer, "maxRounds"),
            optional: self.flag(object, pointer, "optional"),
            pointer: pointer.to_owned(),
            skills,
            standing: Standing::Sound,
            place: object.range.into(),
        };
        Some(agent)
    }

    fn node_role(&mut self, object: &Object<'_>, pointer: &str, role: AgentRole) -> AgentRole {
        if role != AgentRole::WorkerNode {
            return role;
        }
        match self.word(object, pointer, "type", &["worker", "review"]).as_deref() {
            Some("review") => AgentRole::ReviewNode,
            _ => AgentRole::WorkerNode,
        }
    }

    fn agent_id(&mut self, object: &Object<'_>, pointer: &str, fixed: Option<&str>) -> Option<AgentId> {
        let at = join(pointer, "id");
        let Some(property) = object.get("id") else {
            if let Some(fixed) = fixed {
                return AgentId::parse(fixed).ok();
            }
            let range = Range::new(object.range.start, object.range.start + 1);
            let diagnostic =
                self.report.error(Code::F0213, &at, range, words!("the agent has no `id`", "代理没有 `id`"));
            if let Some(diagnostic) = diagnostic {
                diagnostic.hint = Some(words!("add \"id\": \"critic\"", "请添加 \"id\": \"critic\""));
            }
            return None;
        };
        let Value::StringLit(text) = &property.value else {
            self.wrong_type(&at, &property.value, "a string", "字符串");
            return None;
        };
        match AgentId::parse(&text.value) {
            Ok(id) => Some(id),
            Err(error) => {
                let Words { en, zh } = error.words();
                self.report.error(
                    Code::F0213,
                    &at,
                    text.range,
                    words!("the agent id is not accepted: {en}", "代理 id 不可用：{zh}"),
                );
                None
            }
        }
    }

    /// Two agents of one id cannot be told apart: the first stays, refused, so that the id still means something.
    pub(super) fn unique_ids(&mut self, agents: &mut Vec<Agent>) {
        let mut first: HashMap<AgentId, usize> = HashMap::with_capacity(agents.len());
        let mut doubles: Vec<(usize, usize)> = Vec::new();
        for (at, agent) in agents.iter().enumerate() {
            match first.get(&agent.id) {
                Some(before) => doubles.push((*before, at)),
                None => {
                    first.insert(agent.id.clone(), at);
                }
            }
        }
        for (before, at) in &doubles {
            let (Some(one), Some(two)) = (agents.get(*before), agents.get(*at)) else { continue };
            let (id, first_pointer, pointer) = (&one.id, &one.pointer, &two.pointer);
            let source = self.report.source;
            let range = Range::new(two.place.start, two.place.start + 1);
            let diagnostic = self.report.error(
                Code::F0213,
                &join(pointer, "id"),
                range,
                words!(
                    "the id `{id}` is used by both `{first_pointer}` and `{pointer}`",
                    "id `{id}` 同时用于 `{first_pointer}` 和 `{pointer}`"
                ),
            );
            if let Some(diagnostic) = diagnostic {
                *diagnostic = diagnostic.clone().related(
                    source,
                    one.place.start,
                    one.place.start + 1,
                    words!("first used here", "第一次用在这里"),
                );
            }
        }
        for (before, _) in &doubles {
            if let Some(agent) = agents.get_mut(*before) {
                agent.standing = Standing::Refused;
            }
        }
        let mut position = 0;
        let mut drop = doubles.iter().map(|(_, at)| *at).peekable();
        agents.retain(|_| {
            let keep = drop.next_if_eq(&position).is_none();
            position += 1;
            keep
        });
    }
}

pub(super) fn names(texts: &[(String, Range, String)]) -> Vec<String> {
    texts.iter().map(|(text, ..)| text.clone()).collect()
}

//! What kind of answer a question takes, and where the answer goes. Read from the agent's own `ask_user` call, so the log
//! needs to say it only once.

use crate::plan::{PlanNode, Work};
use fugato_model::{Words, words};
use fugato_skill::VarName;
use serde_json::Value;

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerType {
    #[default]
    Text,
    Number,
    Boolean,
    /// Any JSON.
    Json,
    /// One of the options, by its words or its number.
    Choice,
}

/// What an `ask_user` call wants besides its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    pub answer_type: AnswerType,
    /// The variable of an inline phase that takes the answer.
    pub variable: Option<String>,
}

impl AnswerType {
    const ALL: [(&'static str, Self); 5] = [
        ("text", Self::Text),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("json", Self::Json),
        ("choice", Self::Choice),
    ];

    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("text", |(name, _)| name)
    }

    /// What the person's words mean. An answer of the wrong form is refused, and the question stays open.
    pub fn read(self, text: &str, options: &[String]) -> Result<Value, Words> {
        let said = text.trim();
        match self {
            Self::Text => Ok(Value::String(text.to_owned())),
            Self::Number => match serde_json::from_str(said) {
                Ok(value @ Value::Number(_)) => Ok(value),
                _ => Err(words!(
                    "`{said}` is not a number, such as 3 or -0.5",
                    "`{said}` 不是数字（例如 3、-0.5）"
                )),
            },
            Self::Boolean => match said.to_lowercase().as_str() {
                "true" | "yes" | "y" | "1" | "是" | "对" | "好" => Ok(Value::Bool(true)),
                "false" | "no" | "n" | "0" | "否" | "不" | "不是" => Ok(Value::Bool(false)),
                _ => Err(words!("`{said}` is neither yes nor no", "`{said}` 不是“是”也不是“否”")),
            },
            Self::Json => serde_json::from_str(said)
                .map_err(|error| words!("the answer is not JSON: {error}", "回答不是 JSON：{error}")),
            Self::Choice => chosen(said, options),
        }
    }
}

fn chosen(said: &str, options: &[String]) -> Result<Value, Words> {
    let by_words = options.iter().find(|option| option.trim().eq_ignore_ascii_case(said));
    // Options that are numbers themselves are meant by their words, which were looked at first.
    let by_number = || options.get(said.parse::<usize>().ok()?.checked_sub(1)?);
    match by_words.or_else(by_number) {
        Some(option) => Ok(Value::String(option.clone())),
        None => {
            let numbered = options.iter().enumerate().map(|(at, option)| format!("{}. {option}", at + 1));
            let list = numbered.collect::<Vec<_>>().join(", ");
            Err(words!("`{said}` is not one of: {list}", "`{said}` 不在选项中：{list}"))
        }
    }
}

impl Wants {
    /// Reads a call. The error is for the model: `node` is what it works for, whose variables alone it may set.
    pub(crate) fn of(arguments: &Value, node: Option<&PlanNode>) -> Result<Self, String> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::trim);
        let answer_type = match text("type") {
            None | Some("") => AnswerType::Text,
            Some(name) => {
                let known = AnswerType::ALL.iter().find(|(known, _)| *known == name);
                known.map(|(_, kind)| *kind).ok_or_else(|| {
                    format!("`type` is `{name}`; expected text, number, boolean, json or choice")
                })?
            }
        };
        let has_options =
            arguments.get("options").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        if answer_type == AnswerType::Choice && !has_options {
            return Err("`type: choice` needs `options`".to_owned());
        }
        let Some(name) = text("variable").filter(|name| !name.is_empty()) else {
            return Ok(Self { answer_type, variable: None });
        };
        let sets: &[String] = match node.map(|node| &node.work) {
            Some(Work::Inline { sets, .. }) => sets,
            _ => return Err("`variable` is for inline phases; put the answer into your result".to_owned()),
        };
        if VarName::parse_output(name).is_err() || !sets.iter().any(|set| set == name) {
            let list = if sets.is_empty() { "none".to_owned() } else { sets.join(", ") };
            return Err(format!("this phase does not set `{name}`; it sets: {list}"));
        }
        Ok(Self { answer_type, variable: Some(name.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_read_by_its_type_or_refused() {
        let options = ["红".to_owned(), "Blue".to_owned(), "3".to_owned()];
        for (kind, said, means) in [
            (AnswerType::Text, " as it is ", Some(json!(" as it is "))),
            (AnswerType::Number, " 42 ", Some(json!(42))),
            (AnswerType::Number, "-0.5", Some(json!(-0.5))),
            (AnswerType::Number, "four", None),
            (AnswerType::Number, "\"4\"", None),
            (AnswerType::Boolean, "Yes", Some(json!(true))),
            (AnswerType::Boolean, "否", Some(json!(false))),
            (AnswerType::Boolean, "perhaps", None),
            (AnswerType::Json, "{\"a\": [1]}", Some(json!({"a": [1]}))),
            (AnswerType::Json, "{a}", None),
            (AnswerType::Choice, "红", Some(json!("红"))),
            (AnswerType::Choice, "blue", Some(json!("Blue"))),
            (AnswerType::Choice, "1", Some(json!("红"))),
            (AnswerType::Choice, "3", Some(json!("3"))),
            (AnswerType::Choice, "4", None),
            (AnswerType::Choice, "0", None),
        ] {
            assert_eq!(kind.read(said, &options).ok(), means, "{kind:?} {said}");
        }
    }
}

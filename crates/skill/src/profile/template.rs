//! A profile to start from, for `profile new MODE`: small, commented, and clean under lint.

use super::Mode;
use fugato_model::Lang;

/// The text of a new profile.
pub fn template(mode: Mode, lang: Lang) -> String {
    let head = match lang {
        Lang::En => ENGLISH_HEAD,
        Lang::Zh => CHINESE_HEAD,
    };
    let body = match (mode, lang) {
        (Mode::Single, Lang::En) => {
            r#"  "node": {
    "description": "Answers one task.",
    "systemPrompt": "You do the task and nothing else."
  }"#
        }
        (Mode::Single, Lang::Zh) => {
            r#"  "node": {
    "description": "完成一项任务。",
    "systemPrompt": "你只完成交给你的任务。"
  }"#
        }
        (Mode::Loop, Lang::En) => {
            r#"  "loopAgent": {
    "description": "Works with tools until it is done.",
    "systemPrompt": "Work step by step. Call finalize with the result.",
    "maxRounds": 20
  }"#
        }
        (Mode::Loop, Lang::Zh) => {
            r#"  "loopAgent": {
    "description": "使用工具，直到完成为止。",
    "systemPrompt": "请逐步工作，完成后调用 finalize 提交结果。",
    "maxRounds": 20
  }"#
        }
        (Mode::Director, Lang::En) => {
            r#"  "mainAgent": {
    "systemPrompt": "You plan the work, dispatch sub-agents and write the result."
  },
  "subAgents": [
    {
      "id": "critic",
      "description": "Finds what is weak in a draft.",
      "systemPrompt": "You read the draft and name its three weakest places.",
      // "+" inherits the mode's list; names after it are added.
      "skills": { "visible": ["+"] }
    }
  ]"#
        }
        (Mode::Director, Lang::Zh) => {
            r#"  "mainAgent": {
    "systemPrompt": "你负责规划、派发子代理，并写出最终结果。"
  },
  "subAgents": [
    {
      "id": "critic",
      "description": "找出草稿的薄弱之处。",
      "systemPrompt": "你阅读草稿，指出最薄弱的三处。",
      // "+" 继承模式级列表，其后的名称会追加进来。
      "skills": { "visible": ["+"] }
    }
  ]"#
        }
        (Mode::Spec, Lang::En) => {
            r#"  "nodes": [
    { "id": "draft", "type": "worker", "systemPrompt": "You write a first draft." },
    { "id": "check", "type": "review", "systemPrompt": "You approve the draft or ask for a rerun." },
    { "id": "final", "type": "worker", "systemPrompt": "You write the final text." }
  ],
  "stages": [
    { "id": "write", "mode": "serial", "nodes": ["draft"] },
    { "id": "review", "mode": "serial", "nodes": ["check"] },
    { "id": "finish", "mode": "serial", "nodes": ["final"] }
  ]"#
        }
        (Mode::Spec, Lang::Zh) => {
            r#"  "nodes": [
    { "id": "draft", "type": "worker", "systemPrompt": "你写出初稿。" },
    { "id": "check", "type": "review", "systemPrompt": "你评审初稿：通过，或要求重做。" },
    { "id": "final", "type": "worker", "systemPrompt": "你写出定稿。" }
  ],
  "stages": [
    { "id": "write", "mode": "serial", "nodes": ["draft"] },
    { "id": "review", "mode": "serial", "nodes": ["check"] },
    { "id": "finish", "mode": "serial", "nodes": ["final"] }
  ]"#
        }
        (Mode::Agenda, Lang::En) => {
            r#"  "planner": {
    "systemPrompt": "You keep the to-do list and dispatch workers."
  },
  "workers": [
    { "id": "researcher", "description": "Collects facts.", "systemPrompt": "You collect facts and name your sources." },
    { "id": "writer", "description": "Writes a section.", "systemPrompt": "You write one section from the given facts." }
  ],
  "finalWorker": {
    "systemPrompt": "You write the result from all outputs."
  }"#
        }
        (Mode::Agenda, Lang::Zh) => {
            r#"  "planner": {
    "systemPrompt": "你维护待办清单并派发任务。"
  },
  "workers": [
    { "id": "researcher", "description": "收集事实。", "systemPrompt": "你收集事实并注明来源。" },
    { "id": "writer", "description": "撰写一节内容。", "systemPrompt": "你根据给出的事实撰写一节内容。" }
  ],
  "finalWorker": {
    "systemPrompt": "你根据全部产出写出最终结果。"
  }"#
        }
    };
    format!("{{\n  \"mode\": \"{mode}\",\n{head}{body}\n}}\n")
}

const ENGLISH_HEAD: &str = r#"  // Skills every agent of this mode may see: names, or "*" for everything installed.
  // "deny" takes away at either level and always wins.
  "skills": { "visible": ["*"], "deny": [] },
"#;
const CHINESE_HEAD: &str = r#"  // 本模式下所有代理可见的技能：写名称，或用 "*" 表示全部已安装的技能。
  // 两级的 "deny" 合并生效，且总是优先。
  "skills": { "visible": ["*"], "deny": [] },
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn every_template_reads_clean_and_is_of_its_mode() {
        for mode in Mode::ALL {
            for lang in [Lang::En, Lang::Zh] {
                let parsed = Profile::parse("new.jsonc", &template(mode, lang));
                assert_eq!(parsed.diagnostics, [], "{mode} {lang:?}");
                let profile = parsed.profile.unwrap();
                assert_eq!((profile.mode, profile.modes()), (mode, vec![mode]));
                assert!(!profile.agents(mode).is_empty());
            }
        }
    }
}

//! The failure order, every combination, from a SKILL.md through the planner: fallback, then optional, then abort.

use crate::planner::{self, SubSkillFacts};
use crate::*;
use fugato_model::chat::{Answer, Message, ModelFault, Part, Role, StopReason, ToolCall, Usage};
use fugato_skill::phases::{Source, SubSkill, read};
use serde_json::{Value, json};

/// A run of a skill with these phases, right after it began.
fn begun(phases: &str, body: &str) -> Live {
    begun_with(phases, body, None)
}

fn begun_with(phases: &str, body: &str, class: Option<EffectClass>) -> Live {
    let text = format!("---\nname: s\ndescription: d\nphases:\n{phases}---\n{body}");
    let found = |path: &fugato_model::RelPath| SubSkill::Found {
        path: path.to_string(),
        text: "---\nname: x\ndescription: d\nmetadata:\n  fugato-run: main.sh\n---\nDo X.\n".into(),
    };
    let (phased, problems) = read(Source { path: "SKILL.md", text: &text, side_file: None }, &found);
    let phased = phased.unwrap_or_else(|| panic!("{problems:?}"));
    let facts = |_: &fugato_model::RelPath| SubSkillFacts {
        instructions: "Do X.".into(),
        entry: Some("main.sh".into()),
        class,
        ..SubSkillFacts::default()
    };
    let (plan, context) = planner::plan(&phased, &text, &facts).unwrap();
    let spec = RunSpec {
        id: "run_1".into(),
        skill: SkillPin { name: "s".into(), dir: "/s".into(), digest: None },
        title: "s".into(),
        plan,
        context,
        model: "m".into(),
        ..RunSpec::default()
    };
    let kind = EventKind::RunCreated { spec: std::sync::Arc::new(spec) };
    let created = Event { v: 1, seq: 1, at: 0, by: By::User, kind };
    let run = Run::created(&created).unwrap();
    let mut live = Live { run, log: vec![created] };
    live.tell(Input::Go);
    live
}

struct Live {
    run: Run,
    log: Vec<Event>,
}

impl Live {
    fn tell(&mut self, input: Input) {
        let events = self.run.decide(input, 1).unwrap();
        self.log.extend(events);
        let again = Run::replay(&self.log).unwrap();
        assert_eq!((again.variables, again.nodes), (self.run.variables.clone(), self.run.nodes.clone()));
    }

    fn only(&self) -> (EffectKey, Effect) {
        let mut wanted: Vec<_> = self.run.wanted().map(|(key, effect)| (key, effect.clone())).collect();
        assert_eq!(wanted.len(), 1, "{wanted:?}");
        wanted.remove(0)
    }

    fn end(&mut self, completion: Completion) {
        let (key, _) = self.only();
        self.tell(Input::Completed { key, completion });
    }

    fn outcome(&self) -> Option<Outcome> {
        self.run.ended.as_ref().map(|(outcome, ..)| *outcome)
    }

    fn has(&self, kind: &str) -> usize {
        let of = |event: &&Event| serde_json::to_value(&event.kind).unwrap()["type"] == kind;
        self.log.iter().filter(of).count()
    }
}

fn says(text: &str) -> Completion {
    let (stop, usage) = (StopReason::EndTurn, Usage::default());
    let answer = Answer { message: Message::assistant(text), stop, usage };
    Completion::Answered { answer: Box::new(answer), micro_usd: None }
}

fn calls(name: &str, arguments: Value) -> Completion {
    let call = ToolCall { id: "c".into(), name: name.into(), arguments };
    let message = Message { role: Role::Assistant, parts: vec![Part::ToolCall(call)] };
    let answer = Answer { message, stop: StopReason::ToolUse, usage: Usage::default() };
    Completion::Answered { answer: Box::new(answer), micro_usd: None }
}

fn broken() -> Completion {
    Completion::ModelFailed { fault: ModelFault::Transient, message: "down".into() }
}

fn one(more: &str) -> String {
    format!("  - name: a\n    subagents:\n      - {{skill: _sub/x, type: explore, output: X{more}}}\n")
}

#[test]
fn every_combination_of_fallback_optional_and_on_error_follows_the_fixed_order() {
    for bits in 0..8_u8 {
        let (fallback, optional, shown) = (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0);
        let mut more = String::new();
        for (is_set, field) in
            [(fallback, ", fallback: inline"), (optional, ", optional: true"), (shown, ", on_error: sorry")]
        {
            more += if is_set { field } else { "" };
        }
        let after = |second_fails: bool| {
            let mut live = begun(&one(&more), "# s\n");
            live.end(broken());
            if fallback {
                assert_eq!(live.run.node(2).unwrap().attempt, 2, "{more}");
                assert_eq!(live.run.agents[1].path.as_str(), "main", "{more}");
                live.end(if second_fails { broken() } else { says("X: 7") });
            }
            live
        };
        let expected = |live: &Live, caught: bool| {
            let (outcome, value) = match (caught, optional) {
                (true, _) => (Outcome::Complete, Some(json!("7"))),
                (false, true) => (Outcome::Complete, Some(Value::Null)),
                (false, false) => (Outcome::Failed, None),
            };
            assert_eq!(live.outcome(), Some(outcome), "{more}");
            assert_eq!(live.run.variables.get("X").cloned(), value, "{more}");
        };
        expected(&after(false), fallback);
        let live = after(true);
        expected(&live, false);
        assert_eq!(live.has("node.failed"), 1 + usize::from(fallback), "{more}");
        let on_error = live.run.plan_node(2).unwrap().on_error.as_deref();
        assert_eq!(on_error, shown.then_some("sorry"), "{more}");
    }
}

#[test]
fn a_fallback_keeps_the_rights_of_its_type_and_the_next_phase_has_its_own() {
    let phases = "  - name: talk\n    inline: true\n  - name: a\n    depends_on: [talk]\n    subagents:\n      - {skill: _sub/x, type: explore, fallback: inline}\n  - name: end\n    depends_on: [a]\n    inline: true\n";
    let mut live = begun(phases, "# s\n");
    assert_eq!(live.run.agents[0].access, Access::ReadWrite);
    live.end(says("hello"));
    live.end(broken());
    assert_eq!(live.run.agents[0].access, Access::ReadOnly, "explore, also in the main conversation");
    live.end(calls("Write", json!({"path": "x", "content": "y"})));
    assert_eq!(live.has("tool.requested"), 0, "the call was refused");
    live.end(says("done"));
    assert_eq!(live.run.agents[0].access, Access::ReadWrite);
}

#[test]
fn what_may_have_happened_is_not_done_again_by_a_fallback() {
    let script = "  - name: a\n    subagents:\n      - {skill: _sub/x, type: script, output: X, fallback: inline, optional: true}\n";
    let mut live = begun(script, "# s\n");
    live.tell(Input::Recover { epoch: 2 });
    assert_eq!(live.has("node.uncertain"), 1);
    live.tell(Input::Answer { question: 0, answer: "fail".into() });
    assert_eq!((live.run.agents.len(), live.outcome()), (0, Some(Outcome::Complete)), "null, no fallback");
    // The same for a tool of an agent.
    let agent =
        "  - name: a\n    subagents:\n      - {skill: _sub/x, type: general-purpose, fallback: inline}\n";
    let mut live = begun(agent, "# s\n");
    live.end(calls("Bash", json!({"command": "mail"})));
    live.tell(Input::Recover { epoch: 2 });
    live.end(broken());
    assert_eq!((live.run.agents.len(), live.outcome()), (1, Some(Outcome::Failed)));
}

#[test]
fn a_fallback_runs_although_what_its_subagent_required_is_null() {
    let phases = "  - name: off\n    enabled: false\n    subagents:\n      - {skill: _sub/x, type: explore, output: OFF}\n  - name: a\n    depends_on: [off]\n    subagents:\n      - {skill: _sub/x, type: explore, args: 'v={{OFF}}', requires: [OFF], output: X, fallback: inline}\n";
    let mut live = begun(phases, "# s\n");
    assert!(live.run.agents[0].messages[0].text().contains("v=\n"), "null renders empty");
    live.end(says("X: by hand"));
    assert_eq!(live.run.variables["X"], "by hand");
    assert_eq!(live.has("node.warned"), 1);
    let optional = phases.replace("fallback: inline", "optional: true");
    let live = begun(&optional, "# s\n");
    assert_eq!((live.run.agents.len(), &live.run.variables["X"]), (0, &Value::Null));
}

#[test]
fn json_that_cannot_be_read_is_repaired_once_and_a_reported_failure_is_an_answer() {
    let mut live = begun(&one(""), "# s\n");
    live.end(says("```json\n{\"X\": [1, }\n```"));
    assert_eq!(live.outcome(), None);
    assert!(live.run.agents[0].messages.last().unwrap().text().contains("cannot be used"));
    live.end(says("```json\n{\"X\": [1]}\n```"));
    assert_eq!(live.run.variables["X"], json!([1]));
    let mut live = begun(&one(""), "# s\n");
    live.end(says("```json\n{\"X\": [1, }\n```"));
    live.end(says("```json\n{\"X\": [1, }\n```"));
    assert_eq!(live.outcome(), Some(Outcome::Failed));
    let mut live = begun(&one(""), "# s\n");
    live.end(says("{\"success\": false, \"message\": \"no\"}"));
    assert_eq!((live.outcome(), live.has("agent.continued")), (Some(Outcome::Failed), 0));
}

#[test]
fn types_that_write_may_write_and_the_others_may_not() {
    for (kind, access) in [
        ("explore", Access::ReadOnly),
        ("plan", Access::ReadOnly),
        ("extractor", Access::ReadOnly),
        ("general-purpose", Access::ReadWrite),
        ("coder", Access::ReadWrite),
        ("doc-editor", Access::ReadWrite),
        ("data-analyst", Access::ReadWrite),
    ] {
        let live = begun(&one("").replace("explore", kind), "# s\n");
        assert_eq!(live.run.agents[0].access, access, "{kind}");
    }
}

#[test]
fn a_script_gets_its_own_variables_and_not_every_one() {
    let phases = "  - name: a\n    subagents:\n      - {skill: _sub/x, type: script, output: BIG}\n      - {skill: _sub/x, type: script, output: USED}\n      - {skill: _sub/x, type: script, requires: [USED], args: '{{USED.n}}'}\n";
    let mut live = begun(phases, "# s\n");
    live.end(Completion::Script { stdout: "{\"BIG\": 1}".into() });
    live.end(Completion::Script { stdout: "{\"n\": 2}".into() });
    let (_, Effect::RunScript { arguments, .. }) = live.only() else { panic!("a script is wanted") };
    assert_eq!(arguments, json!({"args": "2", "context": {"USED": {"n": 2}}}));
    assert_eq!(live.has("node.printed"), 2, "the raw text is in the log");
}

#[test]
fn a_once_only_script_that_was_cut_short_is_a_failure_that_nothing_does_again() {
    let cut = || Completion::ScriptCutShort { message: fugato_model::words!("too long", "超时") };
    for (effect, more, then) in [
        (EffectClass::Once, "", AfterFailure::Abort),
        (EffectClass::Once, "        optional: true\n", AfterFailure::Null),
        (EffectClass::Once, "        fallback: inline\n", AfterFailure::Abort),
        (EffectClass::Once, "        fallback: inline\n        optional: true\n", AfterFailure::Null),
        (EffectClass::Read, "        fallback: inline\n", AfterFailure::Inline),
        (EffectClass::Idempotent, "        fallback: inline\n        optional: true\n", AfterFailure::Inline),
    ] {
        let phases = format!(
            "  - name: a\n    subagents:\n      - skill: x\n        type: script\n        output: X\n{more}"
        );
        let mut live = begun_with(&phases, "", Some(effect));
        live.end(cut());
        let failed = live.log.iter().find_map(|event| match &event.kind {
            EventKind::NodeFailed { then, message, .. } => {
                Some((*then, message.en.contains("may or may not")))
            }
            _ => None,
        });
        assert_eq!(failed, Some((then, effect == EffectClass::Once)), "{effect:?} {more}");
        // Its own failure is a definite one.
        let mut live = begun_with(&phases, "", Some(effect));
        live.end(Completion::ScriptFailed { message: fugato_model::words!("no", "不"), last_line: None });
        assert!(!live.log.iter().any(|event| matches!(event.kind, EventKind::NodeUncertain { .. })));
    }
}

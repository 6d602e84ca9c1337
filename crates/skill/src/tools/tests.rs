//! The tools as an agent calls them: JSON in, JSON or one error out.

use super::*;
use crate::fixture::{broken, internal, inventory, profile, skill};
use crate::policy::resolve;
use crate::profile::Mode;
use crate::{Installed, Inventory};
use fugato_model::RelPath;
use serde_json::{Value, json};

/// Files of every skill, by path.
struct Files(Vec<(&'static str, &'static [u8])>);

impl SkillFiles for Files {
    fn read(&self, skill: &Installed, path: &RelPath) -> Result<Vec<u8>, ToolError> {
        let found = self.0.iter().find(|(name, _)| *name == path.as_str());
        found
            .map(|(_, bytes)| bytes.to_vec())
            .ok_or_else(|| ToolError::NoFile { name: skill.label(), path: path.as_str().to_owned() })
    }

    fn list(&self, _: &Installed) -> Result<Vec<RelPath>, ToolError> {
        Ok(self.0.iter().map(|(path, _)| RelPath::parse(path).unwrap()).collect())
    }
}

fn files() -> Files {
    Files(vec![
        ("SKILL.md", "---\nname: a\n---\n第一步：写作\nstep two\n".as_bytes()),
        ("logo.png", b"\x89PNG\xff"),
        ("ref/more.md", b"more STEP words\n"),
    ])
}

fn called(list: &str, tool: &str, arguments: &Value) -> Result<Value, ToolError> {
    let mut tagged = skill("b");
    tagged.head.tags = vec!["Écriture".into()];
    let inventory =
        Inventory::new(vec![skill("a"), tagged, internal("hidden"), broken("bad"), skill("denied")]);
    let text = format!(
        "{{\"mode\": \"single\", \"node\": {{\"skills\": {{\"visible\": {list}, \"deny\": [\"denied\"]}}}}}}"
    );
    let profile = profile(&text);
    let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &inventory);
    call(tool, arguments, &resolution, &files())
}

#[test]
fn listing_shows_what_is_visible_and_filters_by_any_field() {
    let names = |query: Value| {
        let items = called("[\"b\", \"hidden\", \"*\"]", "skill_list", &query).unwrap();
        let items = items.as_array().unwrap().clone();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(Value::Null), ["b", "a"]);
    assert_eq!(names(json!({})), ["b", "a"]);
    assert_eq!(names(json!({"query": "WHAT A"})), ["a"]);
    assert_eq!(names(json!({"query": "éCRIT"})), ["b"]);
    assert_eq!(names(json!({"query": "none"})), [""; 0]);
    let item = called("[\"b\"]", "skill_list", &Value::Null).unwrap();
    assert_eq!(item, json!([{"name": "b", "description": "What b does.", "tags": ["Écriture"]}]));
}

#[test]
fn tags_carry_no_hidden_text_and_queries_have_a_length() {
    let mut odd = skill("odd");
    odd.head.tags = vec!["pdf\u{e0041}\u{e0042}".into(), "a\u{202e}\n b".into(), "\u{200b}".into()];
    let inventory = Inventory::new(vec![odd]);
    let profile = profile("{\"mode\": \"single\", \"node\": {}}");
    let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &inventory);
    let items = call("skill_list", &Value::Null, &resolution, &files()).unwrap();
    assert_eq!(items[0]["tags"], json!(["pdf", "a b"]));
    let long = "é".repeat(2000);
    for (tool, arguments) in
        [("skill_list", json!({ "query": long })), ("skill_search", json!({"name": "odd", "query": long}))]
    {
        let answer = call(tool, &arguments, &resolution, &files());
        assert!(matches!(answer, Err(ToolError::BadArgument { .. })), "{tool}: {answer:?}");
    }
}

/// What one call puts into a context is bounded, however many skills there are.
#[test]
fn a_list_of_very_many_skills_shortens_and_then_asks_for_a_query() {
    let listed = |count: usize, query: Option<&str>| {
        let inventory = Inventory::new((0..count).map(|n| skill(&format!("skill-{n:05}"))).collect());
        let profile = profile("{\"mode\": \"single\", \"node\": {}}");
        let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &inventory);
        call("skill_list", &json!({ "query": query }), &resolution, &files())
    };
    let few = listed(100, None).unwrap();
    assert!(few.as_array().unwrap().iter().all(|item| item["description"] != ""));
    let some = listed(900, None).unwrap();
    assert!(some.as_array().unwrap().iter().all(|item| item["description"] == ""));
    assert!(some.as_array().unwrap().len() == 900 && some.to_string().len() <= MAX_READ_BYTES);
    let many = listed(10_000, None).unwrap_err();
    assert!(many.to_string().contains("10000") && many.to_string().contains("query"), "{many}");
    assert_eq!(listed(10_000, Some("skill-0999")).unwrap().as_array().unwrap().len(), 10);
}

#[test]
fn invisible_and_missing_skills_give_the_same_error() {
    for tool in ["skill_read", "skill_search"] {
        let answer =
            |name: &str| called("[\"a\", \"denied\", \"bad\"]", tool, &json!({"name": name, "query": "x"}));
        let answer = |name: &str| match tool {
            "skill_read" => called("[\"a\", \"denied\", \"bad\"]", tool, &json!({ "name": name })),
            _ => answer(name),
        };
        for name in ["b", "denied", "bad", "hidden", "gone", "../a", ""] {
            assert_eq!(answer(name), Err(ToolError::NotAvailable { name: name.into() }), "{tool} {name}");
        }
        let error = answer("b").unwrap_err();
        assert_eq!(
            error.to_string().replace('b', "?"),
            answer("gone").unwrap_err().to_string().replace("gone", "?").replace('b', "?")
        );
        assert!(answer("a").is_ok());
    }
}

#[test]
fn reading_pages_through_json() {
    let page = called("[\"a\"]", "skill_read", &json!({"name": "a", "offset": 4, "limit": 1})).unwrap();
    assert_eq!(
        page,
        json!({"content": "第一步：写作\n", "totalLines": 5, "truncated": true, "nextOffset": 5})
    );
    let page = called("[\"a\"]", "skill_read", &json!({"name": "a", "offset": "5"})).unwrap();
    assert_eq!(page, json!({"content": "step two\n", "totalLines": 5, "truncated": false}));
    let inside =
        called("[\"a\"]", "skill_read", &json!({"name": "a", "path": "ref/more.md", "offset": "1:5"}))
            .unwrap();
    assert_eq!(inside["content"], "STEP words\n");
}

#[test]
fn searching_covers_all_text_files_or_one() {
    let found =
        called("[\"a\"]", "skill_search", &json!({"name": "a", "query": "step", "contextLines": 0})).unwrap();
    assert_eq!(
        found,
        json!({
            "hits": [
                {"path": "SKILL.md", "lineStart": 5, "lineEnd": 5, "snippet": "step two"},
                {"path": "ref/more.md", "lineStart": 1, "lineEnd": 1, "snippet": "more STEP words"}
            ],
            "binary": ["logo.png"]
        })
    );
    let found = called("[\"a\"]", "skill_search", &json!({"name": "a", "query": "写作", "path": "SKILL.md"}))
        .unwrap();
    assert_eq!(found["hits"][0]["lineStart"], 2);
    let binary = called("[\"a\"]", "skill_search", &json!({"name": "a", "query": "x", "path": "logo.png"}));
    assert_eq!(binary, Err(ToolError::Binary { path: "logo.png".into(), offset: 0 }));
}

#[test]
fn bad_arguments_are_named() {
    let argument = |tool: &str, arguments: Value| match called("[\"a\"]", tool, &arguments) {
        Err(ToolError::BadArgument { argument, .. }) => argument,
        other => panic!("{other:?}"),
    };
    assert_eq!(argument("skill_read", json!({})), "name");
    assert_eq!(argument("skill_read", json!({"name": 3})), "name");
    assert_eq!(argument("skill_read", json!({"name": "a", "offset": 0})), "offset");
    assert_eq!(argument("skill_read", json!({"name": "a", "offset": -1})), "offset");
    assert_eq!(argument("skill_read", json!({"name": "a", "limit": 0})), "limit");
    assert_eq!(argument("skill_read", json!({"name": "a", "limit": 1.5})), "limit");
    assert_eq!(argument("skill_read", json!([])), "arguments");
    assert_eq!(argument("skill_search", json!({"name": "a", "query": ""})), "query");
    assert_eq!(
        argument("skill_search", json!({"name": "a", "query": "x", "contextlines": 1})),
        "contextlines"
    );
    for path in ["../x", "/etc/passwd", "a\\b", "C:x", "CON", ""] {
        assert_eq!(argument("skill_read", json!({"name": "a", "path": path})), "path", "{path}");
    }
    assert_eq!(
        called("[\"a\"]", "skill_write", &json!({})),
        Err(ToolError::UnknownTool("skill_write".into()))
    );
    assert!(matches!(
        called("[\"a\"]", "skill_read", &json!({"name": "a", "path": "gone.md"})),
        Err(ToolError::NoFile { .. })
    ));
}

#[test]
fn schemas_accept_the_calls_of_the_seed_and_refuse_others() {
    let definitions = definitions();
    let valid = |tool: &str, arguments: Value| {
        let tool = definitions.iter().find(|definition| definition.name == tool).unwrap();
        jsonschema::draft202012::new(&tool.parameters).unwrap().is_valid(&arguments)
    };
    assert!(valid("skill_list", json!({})) && valid("skill_list", json!({"query": "x"})));
    assert!(valid("skill_read", json!({"name": "a", "path": "x.md", "offset": "3:120", "limit": 10})));
    assert!(valid("skill_search", json!({"name": "a", "query": "x", "limit": 5, "contextLines": 0})));
    assert!(!valid("skill_read", json!({})) && !valid("skill_read", json!({"name": "a", "offset": "x"})));
    assert!(!valid("skill_search", json!({"name": "a"})) && !valid("skill_list", json!({"q": 1})));
    for tool in edit_tools::definitions() {
        jsonschema::draft202012::new(&tool.parameters).unwrap();
    }
}

#[test]
fn editing_tools_propose_and_change_nothing_else() {
    let text = "{\n  \"mode\": \"single\", // one\n  \"node\": {}\n}\n";
    let call = |tool: &str, arguments: Value| edit_tools::call(tool, &arguments, text, Mode::Single);
    let edited = call("skill_bind_to_agent", json!({"agentId": "node", "skillName": "x"})).unwrap();
    assert!(edited.text.contains("\"visible\": [\"+\", \"x\"]") && edited.text.contains("// one"));
    assert!(edited.diff.contains("+      \"visible\": [\"+\", \"x\"]"));
    let edited =
        call("skill_bind_to_agent", json!({"agentId": "node", "skillName": "x", "list": "deny"})).unwrap();
    assert!(edited.text.contains("\"deny\": [\"x\"]"));
    let edited = call("skill_unbind_from_agent", json!({"agentId": "node", "skillName": "x"})).unwrap();
    assert!(!edited.is_change());
    let edited = call("skill_set_mode_defaults", json!({"visible": ["x", "*"]})).unwrap();
    assert!(edited.text.contains("\"visible\": [\"x\", \"*\"]"));
    let argument = |tool: &str, arguments: Value| match call(tool, arguments) {
        Err(ToolError::BadArgument { argument, .. }) => argument,
        other => panic!("{other:?}"),
    };
    assert_eq!(argument("skill_bind_to_agent", json!({"agentId": "nod", "skillName": "x"})), "agentId");
    assert_eq!(argument("skill_bind_to_agent", json!({"agentId": "node", "skillName": "X"})), "skillName");
    assert_eq!(
        argument("skill_bind_to_agent", json!({"agentId": "node", "skillName": "x", "list": "y"})),
        "list"
    );
    assert_eq!(argument("skill_set_mode_defaults", json!({"visible": ["+", "x"]})), "skillName");
    assert_eq!(argument("skill_set_mode_defaults", json!({})), "visible");
    assert_eq!(argument("skill_set_mode_defaults", json!({"deny": "x"})), "deny");
}

#[test]
fn a_review_node_has_the_tools_of_its_neighbours() {
    let text = r#"{"mode": "spec", "nodes": [{"id": "w"}, {"id": "r", "type": "review"}, {"id": "e"}]}"#;
    let profile = profile(text);
    let installed = inventory(&["a", "b"]);
    let seen: Vec<_> = profile
        .agents(Mode::Spec)
        .iter()
        .map(|agent| list(&resolve(&profile, Mode::Spec, agent, &installed), None))
        .collect();
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].len(), 2);
}

use super::*;
use crate::fixture::profile;

const FILE: &str = r#"// The crew of a short play.
{
  "mode": "director",
  // Shared by everybody.
  "skills": { "visible": ["style"], "deny": [] },
  "mainAgent": {
    "systemPrompt": "Lead.", // short on purpose
  },
  "subAgents": [
    {
      "id": "critic",
      "skills": {
        "visible": [
          "+",
          "method", // how to judge
        ]
      }
    },
    { "id": "scribe", "skills": { "visible": ["only"] } }, /* quarantined */
    { "id": "mute", "skills": { "none": true, "visible": ["old"] } }
  ]
}
"#;

fn visible_of(text: &str, agent: &str) -> Option<Vec<String>> {
    let profile = profile(text);
    let block = profile.agent(profile.mode, agent).unwrap().skills.clone()?;
    Some(block.visible_entries()?.iter().map(ToString::to_string).collect())
}

fn bound(agent: &str, skill: &str) -> Edited {
    bind(FILE, Mode::Director, agent, skill, List::Visible).unwrap()
}

/// `-` is what keeps the rest of the list from having an effect.
#[test]
fn taking_away_the_mark_for_nothing_is_refused() {
    let text = FILE.replace(r#"["only"]"#, r#"["-", "*"]"#);
    let error = unbind(&text, Mode::Director, "scribe", "-", List::Visible).unwrap_err();
    assert_eq!(error, EditError::NotForList { entry: Entry::Nothing, list: List::Visible });
}

fn comments(text: &str) -> Vec<&str> {
    let marks = [
        "// The crew of a short play.",
        "// Shared by everybody.",
        "// short on purpose",
        "// how to judge",
        "/* quarantined */",
    ];
    marks.into_iter().filter(|mark| text.contains(mark)).collect()
}

#[test]
fn binding_writes_what_the_agent_needs_and_no_more() {
    for (agent, expected) in [
        ("main", vec!["+", "new"]),
        ("critic", vec!["+", "method", "new"]),
        ("scribe", vec!["only", "new"]),
        ("mute", vec!["new"]),
    ] {
        let edited = bound(agent, "new");
        assert_eq!(visible_of(&edited.text, agent).unwrap(), expected, "{agent}");
        assert_eq!(comments(&edited.text).len(), 5, "{}", edited.text);
        let again = bind(&edited.text, Mode::Director, agent, "new", List::Visible).unwrap();
        assert!(!again.is_change() && again.text == edited.text);
    }
}

#[test]
fn an_edit_touches_only_its_lines() {
    insta::assert_snapshot!(bound("main", "new").diff, @r#"
    --- a/profile
    +++ b/profile
    @@ -5,6 +5,9 @@
       "skills": { "visible": ["style"], "deny": [] },
       "mainAgent": {
         "systemPrompt": "Lead.", // short on purpose
    +    "skills": {
    +      "visible": ["+", "new"]
    +    },
       },
       "subAgents": [
         {
    "#);
    insta::assert_snapshot!(bound("critic", "new").diff, @r#"
    --- a/profile
    +++ b/profile
    @@ -13,6 +13,7 @@
             "visible": [
               "+",
               "method", // how to judge
    +          "new",
             ]
           }
         },
    "#);
    insta::assert_snapshot!(bound("scribe", "new").diff, @r#"
    --- a/profile
    +++ b/profile
    @@ -16,7 +16,7 @@
             ]
           }
         },
    -    { "id": "scribe", "skills": { "visible": ["only"] } }, /* quarantined */
    +    { "id": "scribe", "skills": { "visible": ["only", "new"] } }, /* quarantined */
         { "id": "mute", "skills": { "none": true, "visible": ["old"] } }
       ]
     }
    "#);
}

#[test]
fn unbinding_the_last_name_never_widens() {
    let unbound =
        |agent: &str, skill: &str| unbind(FILE, Mode::Director, agent, skill, List::Visible).unwrap();
    assert_eq!(visible_of(&unbound("critic", "method").text, "critic").unwrap(), ["+"]);
    assert_eq!(visible_of(&unbound("scribe", "only").text, "scribe").unwrap(), ["-"]);
    assert_eq!(visible_of(&unbound("critic", "+").text, "critic").unwrap(), ["method"]);
    let nothing = unbound("main", "method");
    assert!(!nothing.is_change() && nothing.text == FILE);
}

#[test]
fn what_an_edit_does_not_do_is_said() {
    let still = unbind(FILE, Mode::Director, "critic", "style", List::Visible).unwrap();
    assert!(!still.is_change());
    assert!(still.notes[0].en.contains("--deny") && still.notes[0].zh.contains("继承"));
    let denied = bind(FILE, Mode::Director, "critic", "method", List::Deny).unwrap();
    let bound = bind(&denied.text, Mode::Director, "critic", "method", List::Visible).unwrap();
    assert!(bound.notes[0].en.contains("/subAgents/0/skills/deny/0"));
    let star = r#"{"mode": "single", "node": {}}"#;
    let edited = unbind(star, Mode::Single, "node", "x", List::Visible).unwrap();
    assert!(edited.notes[0].en.contains("through `*`"));
}

#[test]
fn marks_are_bound_as_marks() {
    assert_eq!(visible_of(&bound("main", "*").text, "main").unwrap(), ["+", "*"]);
    assert_eq!(visible_of(&bound("scribe", "+").text, "scribe").unwrap(), ["+", "only"]);
    assert_eq!(visible_of(&bound("main", "+").text, "main").unwrap(), ["+"]);
    let refused = |skill: &str, list| bind(FILE, Mode::Director, "main", skill, list).unwrap_err();
    assert!(matches!(refused("-", List::Visible), EditError::NotForList { .. }));
    assert!(matches!(refused("+", List::Deny), EditError::NotForList { .. }));
    assert!(matches!(refused("Foo", List::Visible), EditError::Entry(_)));
    let all = bind(FILE, Mode::Director, "main", "*", List::Deny).unwrap();
    assert!(all.text.contains("\"deny\": [\"*\"]"));
}

#[test]
fn what_cannot_be_edited_says_why() {
    let error = bind(FILE, Mode::Director, "critc", "x", List::Visible).unwrap_err();
    assert_eq!(error.hint().unwrap().en, "did you mean `critic`?");
    assert_eq!(bind(FILE, Mode::Loop, "loop", "x", List::Visible), Err(EditError::NoMode(Mode::Loop)));
    let broken = FILE.replace("\"deny\": []", "\"deny\": [\"Foo\"]");
    match bind(&broken, Mode::Director, "main", "x", List::Visible) {
        Err(EditError::Profile(found)) => assert_eq!(found[0].code, fugato_model::Code::F0212),
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_change_in_place_and_keep_what_a_missing_block_meant() {
    let entries =
        |names: &[&str]| Some(names.iter().map(|name| Entry::parse(name).unwrap()).collect::<Vec<_>>());
    let edited = set_defaults(FILE, Mode::Director, entries(&["tone", "style"]), entries(&["x"])).unwrap();
    assert!(
        edited.text.contains(r#""skills": { "visible": ["tone", "style"], "deny": ["x"] },"#),
        "{}",
        edited.text
    );
    assert_eq!(comments(&edited.text).len(), 5);
    let bare = "{\n  \"mode\": \"single\",\n  \"node\": {}\n}\n";
    let edited = set_defaults(bare, Mode::Single, None, entries(&["x"])).unwrap();
    let block = profile(&edited.text).mode_skills(Mode::Single).cloned().unwrap();
    assert_eq!(block.visible_entries().unwrap(), [Entry::All], "everything but `x`, not nothing");
    assert!(edited.text.find("\"mode\"") < edited.text.find("\"skills\""));
    assert!(matches!(
        set_defaults(bare, Mode::Single, entries(&["+", "x"]), None),
        Err(EditError::NotForList { .. })
    ));
    let same = set_defaults(FILE, Mode::Director, entries(&["style"]), None).unwrap();
    assert!(!same.is_change());
    let many: Vec<String> = (0..5_000).map(|n| format!("s{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let edited = set_defaults(FILE, Mode::Director, entries(&many), None).unwrap();
    assert_eq!(
        profile(&edited.text).mode_skills(Mode::Director).unwrap().visible.as_ref().unwrap().len(),
        5_000
    );
}

#[test]
fn modes_crlf_and_byte_order_marks_are_kept() {
    let text =
        "\u{feff}{\r\n  \"modes\": {\r\n    \"loop\": {\r\n      \"loopAgent\": {}\r\n    }\r\n  }\r\n}\r\n";
    let edited = bind(text, Mode::Loop, "loop", "x", List::Visible).unwrap();
    assert!(edited.text.starts_with('\u{feff}'));
    assert_eq!(edited.text.matches('\n').count(), edited.text.matches("\r\n").count());
    assert_eq!(visible_of(&edited.text, "loop").unwrap(), ["+", "x"]);
}

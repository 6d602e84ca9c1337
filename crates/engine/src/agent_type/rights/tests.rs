//! Rights never widen downwards: in examples, and over random trees of agents.

use super::super::{Executor, built_in_types};
use super::*;
use proptest::prelude::*;

const TOOLS: [&str; 12] = [
    "Read",
    "Write",
    "Bash",
    "Grep",
    "browser-click",
    "skill_read",
    "submit_result",
    "ask_user",
    "Agent",
    "SendMessage",
    "db__query",
    "github__push",
];

fn master() -> Rights {
    Rights::of_master(TOOLS, Access::ReadWrite, 1)
}

fn kind(name: &str) -> AgentType {
    built_in_types().into_iter().find(|kind| kind.name == name).unwrap()
}

fn tools(rights: &Rights) -> Vec<&str> {
    rights.tools.iter().map(String::as_str).collect()
}

#[test]
fn a_child_has_what_both_its_parent_and_its_kind_have() {
    let coder = master().for_child(&kind("coder"));
    assert_eq!(tools(&coder), ["Bash", "Grep", "Read", "Write", "skill_read", "submit_result"]);
    let browser = master().for_child(&kind("browser"));
    assert_eq!(tools(&browser), ["browser-click", "skill_read", "submit_result"]);
    // The kind says Bash; a parent that only reads has none to give.
    let reader = Rights::of_master(TOOLS, Access::ReadOnly, 1);
    assert_eq!(tools(&reader.for_child(&kind("coder"))), ["Grep", "Read", "skill_read", "submit_result"]);
}

#[test]
fn a_child_of_the_last_level_cannot_delegate() {
    let all = AgentType::named("x");
    assert!(master().has_tool("Agent"));
    let child = master().for_child(&all);
    assert!(!child.has_tool("Agent") && !child.has_tool("SendMessage") && child.levels == 0);
    let deeper = Rights::of_master(TOOLS, Access::ReadWrite, 2).for_child(&all);
    assert!(deeper.has_tool("Agent") && !deeper.for_child(&all).has_tool("Agent"));
}

#[test]
fn servers_and_rules_narrow_layer_by_layer() {
    let mut git = AgentType::named("git");
    git.only = vec!["Bash(git:*)".into()];
    git.mcp_servers = Some(vec!["db".into()]);
    let mut status = AgentType::named("status");
    status.only = vec!["Bash(git status:*)".into(), "Bash(npm:*)".into()];
    let both = Rights::of_master(TOOLS, Access::ReadWrite, 2).for_child(&git).for_child(&status);
    // Two layers, each of which a call must fit: the second cannot undo the first.
    assert_eq!(both.only.len(), 2);
    assert!(both.has_tool("db__query") && !both.has_tool("github__push"));
}

fn names() -> impl Strategy<Value = Option<Vec<String>>> {
    prop::option::of(prop::collection::vec(
        prop::sample::select(vec!["db", "github", "pdf", "*"]).prop_map(str::to_owned),
        0..3,
    ))
}

fn any_kind() -> impl Strategy<Value = AgentType> {
    let tool = prop::sample::select(vec![
        "Read",
        "Write",
        "Bash",
        "browser-*",
        "db__*",
        "Agent",
        "*",
        "skill_read",
        "github__push",
    ]);
    let tool = tool.prop_map(str::to_owned);
    let rule =
        prop::sample::select(vec!["Bash(git:*)", "Bash(npm:*)", "Write(src/**)"]).prop_map(str::to_owned);
    (
        prop::option::of(prop::collection::vec(tool.clone(), 0..5)),
        prop::collection::vec(tool, 0..2),
        any::<(bool, bool)>(),
        names(),
        names(),
        prop::collection::vec(rule.clone(), 0..3),
        prop::collection::vec(rule, 0..2),
    )
        .prop_map(|(tools, disallowed, (writes, asks), skills, mcp_servers, only, deny)| AgentType {
            tools,
            disallowed,
            access: if writes { Access::ReadWrite } else { Access::ReadOnly },
            executor: Executor::Model,
            skills,
            mcp_servers,
            only,
            deny,
            asking: if asks { Asking::Ask } else { Asking::Refuse },
            ..AgentType::named("any")
        })
}

fn any_rights() -> impl Strategy<Value = Rights> {
    (prop::collection::vec(any_kind(), 0..3), 0u32..4).prop_map(|(kinds, levels)| {
        let all = Rights::of_master(TOOLS, Access::ReadWrite, levels);
        kinds.iter().fold(all, |rights, kind| rights.narrowed(kind))
    })
}

/// A tree as the parent of each node.
fn tree() -> impl Strategy<Value = Vec<(usize, AgentType)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any_kind()), 1..12).prop_map(|nodes| {
        nodes.into_iter().enumerate().map(|(at, (parent, kind))| (parent.index(at + 1), kind)).collect()
    })
}

fn cases() -> ProptestConfig {
    let wanted = std::env::var("FUGATO_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(2_000), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    /// G26: random trees of agents; every one is covered by every one above it.
    #[test]
    fn no_agent_of_any_tree_has_more_than_those_above_it(tree in tree(), levels in 0u32..5) {
        let mut rights = vec![Rights::of_master(TOOLS, Access::ReadWrite, levels)];
        let mut above: Vec<Vec<usize>> = vec![Vec::new()];
        for (parent, kind) in &tree {
            let child = rights[*parent].for_child(kind);
            let mut line = above[*parent].clone();
            line.push(*parent);
            for ancestor in &line {
                prop_assert!(rights[*ancestor].covers(&child), "{:?}\n{:?}", rights[*ancestor], child);
            }
            for tool in &child.tools {
                prop_assert!(kind.has_tool(tool), "{tool}");
                prop_assert!(child.access == Access::ReadWrite || changes_nothing(tool), "{tool}");
            }
            prop_assert!(child.levels > 0 || !child.has_tool("Agent"));
            rights.push(child);
            above.push(line);
        }
    }

    #[test]
    fn meeting_is_associative_commutative_and_idempotent(a in any_rights(), b in any_rights(), c in any_rights()) {
        prop_assert_eq!(a.meet(&b).meet(&c), a.meet(&b.meet(&c)));
        prop_assert_eq!(a.meet(&b), b.meet(&a));
        prop_assert_eq!(a.meet(&a), a.clone());
        prop_assert!(a.covers(&a.meet(&b)) && b.covers(&a.meet(&b)));
    }

    #[test]
    fn the_order_of_kinds_on_the_way_down_does_not_matter(rights in any_rights(), a in any_kind(), b in any_kind()) {
        prop_assert_eq!(rights.narrowed(&a).narrowed(&b), rights.narrowed(&b).narrowed(&a));
        prop_assert_eq!(rights.narrowed(&a).narrowed(&a), rights.narrowed(&a));
    }
}

#[test]
fn who_may_not_have_a_person_asked_has_no_tool_for_it() {
    let master = Rights::of_master(tools::names(), Access::ReadWrite, 1);
    let mut kind = AgentType::named("quiet");
    assert!(master.for_child(&kind).has_tool(tools::ASK));
    kind.asking = Asking::Refuse;
    assert!(!master.for_child(&kind).has_tool(tools::ASK));
}

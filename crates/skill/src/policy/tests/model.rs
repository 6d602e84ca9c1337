//! Resolution against an independent reference: lists of plain texts, no indexes, written straight from the rules.

use super::*;
use crate::fixture::cases;
use crate::policy::edit::{self, List};
use fugato_model::SkillName;
use proptest::prelude::*;

/// The reference: what (mode list, agent list, denies) show of what is installed.
fn reference(
    mode: &Option<(Option<Vec<String>>, Vec<String>)>,
    agent: &Option<(Option<Vec<String>>, Vec<String>)>,
    listed: &[String],
    usable: &[String],
) -> Vec<String> {
    let mode_list = match mode {
        None => vec!["*".to_owned()],
        Some((None, _)) => vec![],
        Some((Some(list), _)) if list.iter().any(|x| x == "-") => vec![],
        Some((Some(list), _)) => list.clone(),
    };
    let list: Vec<String> = match agent.as_ref().and_then(|(visible, _)| visible.clone()) {
        None => mode_list,
        Some(own) if own.iter().any(|x| x == "-") => vec![],
        Some(own) if own.is_empty() => mode_list,
        Some(own) if own[0] == "+" => mode_list.into_iter().chain(own.into_iter().skip(1)).collect(),
        Some(own) => own,
    };
    let deny: Vec<&String> = mode.iter().chain(agent).flat_map(|(_, deny)| deny).collect();
    let mut result: Vec<String> = Vec::new();
    for name in list.iter().filter(|x| !["+", "*"].contains(&x.as_str())) {
        if usable.contains(name) && !result.contains(name) {
            result.push(name.clone());
        }
    }
    if list.iter().any(|x| x == "*") {
        for name in listed {
            if !result.contains(name) {
                result.push(name.clone());
            }
        }
    }
    result.retain(|name| !deny.iter().any(|denied| *denied == name || *denied == "*"));
    result
}

/// Names that look alike, sort oddly, or come from scripts where case and width matter.
const NAMES: [&str; 14] =
    ["a", "ab", "a-b", "a1", "z", "é", "中文", "中文-技能", "мой", "नमस्ते", "ß", "x2", "0", "ﬀ"];

type Block = Option<(Option<Vec<String>>, Vec<String>)>;

fn name() -> impl Strategy<Value = String> {
    // `ﬀ` is no canonical name: it is asked about, never installed.
    let canonical = NAMES.into_iter().filter(|name| SkillName::parse(name).is_ok());
    prop::sample::select(canonical.map(str::to_owned).collect::<Vec<_>>())
}

fn visible(inherit: bool) -> impl Strategy<Value = Vec<String>> {
    let rest = prop::collection::vec(
        prop_oneof![8 => name(), 1 => Just("*".to_owned()), 1 => Just("-".to_owned())],
        0..6,
    );
    (rest, prop::bool::ANY, prop::bool::ANY).prop_map(move |(rest, plus, again)| {
        let mut list = rest;
        if inherit && plus {
            list.insert(0, "+".to_owned());
            if again {
                list.push("+".to_owned());
            }
        }
        list
    })
}

fn block(inherit: bool) -> impl Strategy<Value = Block> {
    let deny = prop::collection::vec(prop_oneof![9 => name(), 1 => Just("*".to_owned())], 0..3);
    prop::option::weighted(0.8, (prop::option::weighted(0.8, visible(inherit)), deny))
}

fn json(block: &Block) -> String {
    let Some((visible, deny)) = block else { return String::new() };
    let list = |list: &[String]| serde_json::to_string(list).unwrap();
    let visible = visible.as_ref().map(|own| format!("\"visible\": {}, ", list(own))).unwrap_or_default();
    format!("\"skills\": {{{visible}\"deny\": {}}}", list(deny))
}

fn text(mode: &Block, agent: &Block) -> String {
    let mode = json(mode);
    let comma = if mode.is_empty() { String::new() } else { format!(", {mode}") };
    single(&comma, &json(agent))
}

/// Each name: in which scopes, and what kind it is.
fn installed() -> impl Strategy<Value = Vec<Installed>> {
    let scope = prop::sample::select(vec!["global", "project", "preset:中文 导演", "character:林黛玉"]);
    prop::collection::vec((name(), scope, 0u8..8), 0..14).prop_map(|found| {
        let mut skills: Vec<Installed> = Vec::new();
        for (name, scope, kind) in found {
            let mut one = match kind {
                0 => internal(&name),
                1 => broken(&name),
                _ => skill(&name),
            };
            one.scope = scope.parse().unwrap();
            one.rank =
                ["g", "pro", "pre", "c"].iter().position(|head| scope.starts_with(head)).unwrap() as u32;
            one.dir = format!("/{scope}/{name}").into();
            if !skills.iter().any(|other| other.dir == one.dir) {
                skills.push(one);
            }
        }
        skills
    })
}

/// The usable winner of each name by the plain rule: the highest scope that is not broken.
fn effective(skills: &[Installed]) -> Vec<&Installed> {
    let mut best: std::collections::BTreeMap<String, &Installed> = std::collections::BTreeMap::new();
    for skill in skills.iter().filter(|skill| skill.usable) {
        let entry = best.entry(skill.label()).or_insert(skill);
        if entry.scope < skill.scope {
            *entry = skill;
        }
    }
    best.into_values().collect()
}

fn seen(text: &str, inventory: &Inventory) -> Vec<String> {
    let profile = profile(text);
    let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], inventory);
    names(resolution.visible())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn resolution_is_the_reference(mode in block(false), agent in block(true), skills in installed()) {
        let usable: Vec<String> = effective(&skills).iter().map(|skill| skill.label()).collect();
        let listed: Vec<String> = effective(&skills)
            .iter()
            .filter(|skill| !skill.head.is_unlisted())
            .map(|skill| skill.label())
            .collect();
        let expected = reference(&mode, &agent, &listed, &usable);
        let winners: Vec<_> = effective(&skills).iter().map(|skill| skill.dir.clone()).collect();
        let inventory = Inventory::new(skills.clone());
        let profile = profile(&text(&mode, &agent));
        let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &inventory);
        let shown: Vec<&Installed> = resolution.visible().collect();
        prop_assert_eq!(names(shown.iter().copied()), expected.clone());
        for skill in shown {
            prop_assert!(winners.contains(&skill.dir), "the wrong scope won");
        }
        for name in NAMES {
            let may = expected.iter().any(|seen| seen == name);
            prop_assert_eq!(resolution.can_read(name).is_some(), may, "{}", name);
            prop_assert_eq!(resolution.why(name).is_visible(), may, "{}", name);
        }
        for name in resolution.denied() {
            prop_assert!(!expected.contains(&name.to_string()));
        }
    }

    #[test]
    fn binding_and_unbinding_give_back_the_same_access(
        mode in block(false), agent in block(true), skills in installed(), name in name()
    ) {
        let inventory = Inventory::new(skills);
        let before = text(&mode, &agent);
        let listed = agent.as_ref().and_then(|(own, _)| own.as_ref()).is_some_and(|own| own.contains(&name));
        let bound = edit::bind(&before, Mode::Single, "node", &name, List::Visible).unwrap();
        let twice = edit::bind(&bound.text, Mode::Single, "node", &name, List::Visible).unwrap();
        prop_assert!(!twice.is_change() && twice.text == bound.text);
        // Binding shows the name, when it is there to show, and takes nothing away.
        let (had, has) = (seen(&before, &inventory), seen(&bound.text, &inventory));
        prop_assert!(had.iter().all(|one| has.contains(one)));
        prop_assert!(has.iter().all(|one| had.contains(one) || *one == name));
        let back = edit::unbind(&bound.text, Mode::Single, "node", &name, List::Visible).unwrap();
        let after = seen(&back.text, &inventory);
        prop_assert!(after.iter().all(|one| has.contains(one)), "unbinding widened");
        if !listed {
            prop_assert_eq!(after.clone().into_iter().collect::<std::collections::BTreeSet<_>>(),
                had.into_iter().collect::<std::collections::BTreeSet<_>>());
        }
    }

    #[test]
    fn unbinding_a_mark_never_widens(
        mode in block(false), agent in block(true), skills in installed(), mark in prop::sample::select(vec!["+", "*"])
    ) {
        let inventory = Inventory::new(skills);
        let before = text(&mode, &agent);
        let after = edit::unbind(&before, Mode::Single, "node", mark, List::Visible).unwrap().text;
        let had = seen(&before, &inventory);
        prop_assert!(seen(&after, &inventory).iter().all(|one| had.contains(one)), "{}", after);
    }

    #[test]
    fn denying_hides_and_undoing_it_shows_again(
        mode in block(false), agent in block(true), skills in installed(), name in name()
    ) {
        let inventory = Inventory::new(skills);
        let before = text(&mode, &agent);
        let denied = edit::bind(&before, Mode::Single, "node", &name, List::Deny).unwrap();
        prop_assert!(!seen(&denied.text, &inventory).contains(&name));
        let own = agent.as_ref().is_some_and(|(_, deny)| deny.contains(&name));
        if !own {
            let back = edit::unbind(&denied.text, Mode::Single, "node", &name, List::Deny).unwrap();
            prop_assert_eq!(seen(&back.text, &inventory), seen(&before, &inventory));
        }
    }
}

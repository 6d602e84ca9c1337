//! What policy costs with ten thousand skills and a thousand agents. Targets: one resolution under 1 ms, a thousand
//! agents under 100 ms.

use fugato_model::SkillName;
use fugato_skill::profile::{Mode, Profile};
use fugato_skill::{Installed, Inventory, SkillHead, catalog, policy, tools};
use std::sync::LazyLock;

const SKILLS: usize = 10_000;
const AGENTS: usize = 1_000;

fn main() {
    divan::main();
}

static INVENTORY: LazyLock<Inventory> = LazyLock::new(|| {
    let skills = (0..SKILLS).map(|n| {
        let name = format!("skill-{n:05}");
        let head = SkillHead {
            name: SkillName::parse(&name).ok(),
            description: "Explains how one thing is done well, in three or four short steps.".into(),
            ..SkillHead::default()
        };
        Installed::sound(head, fugato_model::Scope::Global, format!("/skills/{name}"))
    });
    Inventory::new(skills.collect())
});

/// Five shared skills, a method each, one in three denies something, one in ten sees everything.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let shared: Vec<String> = (0..5).map(|n| format!("\"skill-{n:05}\"")).collect();
    let agents: Vec<String> = (0..AGENTS)
        .map(|n| {
            let list = if n % 10 == 0 { "\"*\"".into() } else { format!("\"skill-{:05}\"", n * 7 % SKILLS) };
            let deny = if n % 3 == 0 { "\"skill-00001\"" } else { "" };
            format!(
                "{{\"id\": \"agent{n}\", \"skills\": {{\"visible\": [\"+\", {list}], \"deny\": [{deny}]}}}}"
            )
        })
        .collect();
    format!(
        "{{\"mode\": \"director\", \"skills\": {{\"visible\": [{}]}}, \"mainAgent\": {{}}, \"subAgents\": [{}]}}",
        shared.join(", "),
        agents.join(",\n")
    )
});

static PROFILE: LazyLock<Option<Profile>> = LazyLock::new(|| Profile::parse("bench", &TEXT).profile);

/// The agent of that number; number 10 sees everything.
fn resolution(agent: usize) -> Option<policy::Resolution<'static>> {
    let profile = PROFILE.as_ref()?;
    let agent = profile.agents(Mode::Director).get(agent + 1)?;
    Some(policy::resolve(profile, Mode::Director, agent, &INVENTORY))
}

#[divan::bench]
fn parse_profile_of_1000_agents() -> bool {
    Profile::parse("bench", divan::black_box(&TEXT)).has_errors()
}

#[divan::bench]
fn resolve_one_agent_by_name() -> bool {
    resolution(divan::black_box(1)).is_some()
}

#[divan::bench]
fn resolve_one_agent_by_star() -> bool {
    resolution(divan::black_box(10)).is_some()
}

#[divan::bench]
fn resolve_1000_agents() -> usize {
    (0..AGENTS).filter(|agent| resolution(*agent).is_some()).count()
}

#[divan::bench]
fn iterate_everything_by_star() -> usize {
    resolution(10).map_or(0, |resolution| resolution.visible().count())
}

#[divan::bench]
fn key_by_star() -> bool {
    resolution(10).map(|resolution| resolution.key()).is_some()
}

#[divan::bench]
fn catalog_of_10000_skills() -> usize {
    resolution(10).map_or(0, |resolution| catalog::render(&resolution, catalog::DEFAULT_BUDGET).text.len())
}

#[divan::bench]
fn lint_1000_agents() -> usize {
    PROFILE.as_ref().map_or(0, |profile| policy::lint(profile, &INVENTORY).len())
}

#[divan::bench(args = ["needle", "иголка", "细针"])]
fn search_16_mib(bencher: divan::Bencher<'_, '_>, query: &str) {
    let line = "Prose with some words in it, а также немного текста, 还有一些中文。\n";
    let text = line.repeat(16 * 1024 * 1024 / line.len());
    bencher
        .counter(divan::counter::BytesCount::new(text.len()))
        .bench(|| tools::search([("a.md", text.as_bytes())], divan::black_box(query), 10, 2).hits.len());
}

#[divan::bench]
fn read_a_page_of_4_mib(bencher: divan::Bencher<'_, '_>) {
    let text = "one line of a reference\n".repeat(4 * 1024 * 1024 / 24);
    let offset = tools::Offset { line: 100_000, byte: 0 };
    bencher.bench(|| tools::read("a", "ref.md", text.as_bytes(), offset, None).is_ok());
}

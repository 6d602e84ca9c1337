//! Every combination of the shapes a mode's and an agent's lists can have, against a table written by hand.

use super::*;

/// a, b, c installed; `m` is listed by the mode only in name, `gone` nowhere.
const MODE: [(&str, &str, &str); 5] = [
    // the block, what it means as a list, its deny
    ("", "*", ""),
    ("{}", "", ""),
    ("{\"visible\": [\"a\"]}", "a", ""),
    ("{\"visible\": [\"b\", \"*\"]}", "b*", ""),
    ("{\"visible\": [\"a\", \"b\"], \"deny\": [\"b\"]}", "ab", "b"),
];

const AGENT: [(&str, &str, &str); 11] = [
    // the block; `M` stands for the mode's list
    ("", "M", ""),
    ("{\"visible\": []}", "M", ""),
    ("{\"visible\": [\"+\"]}", "M", ""),
    ("{\"visible\": [\"+\", \"c\"]}", "Mc", ""),
    ("{\"visible\": [\"+\", \"*\"]}", "M*", ""),
    ("{\"visible\": [\"c\", \"*\"]}", "c*", ""),
    ("{\"visible\": [\"c\"]}", "c", ""),
    ("{\"visible\": [\"+\", \"c\"], \"deny\": [\"a\"]}", "Mc", "a"),
    ("{\"visible\": [\"+\"], \"deny\": [\"*\"]}", "M", "*"),
    ("{\"visible\": [\"-\"]}", "", ""),
    ("{\"none\": true, \"visible\": [\"c\"]}", "", ""),
];

/// What each cell shows: rows are modes, columns agents.
const EXPECTED: [[&str; 11]; 5] = [
    ["abc", "abc", "abc", "cab", "abc", "cab", "c", "cb", "", "", ""],
    ["", "", "", "c", "abc", "cab", "c", "c", "", "", ""],
    ["a", "a", "a", "ac", "abc", "cab", "c", "c", "", "", ""],
    ["bac", "bac", "bac", "bca", "bac", "cab", "c", "bc", "", "", ""],
    ["a", "a", "a", "ac", "ac", "ca", "c", "c", "", "", ""],
];

#[test]
fn all_combinations_of_plus_star_and_deny() {
    let installed = inventory(&["a", "b", "c"]);
    for ((mode, mode_list, mode_deny), row) in MODE.iter().zip(EXPECTED) {
        for ((agent, agent_list, agent_deny), expected) in AGENT.iter().zip(row) {
            let block =
                |block: &str| if block.is_empty() { String::new() } else { format!("\"skills\": {block}") };
            let comma = if mode.is_empty() { String::new() } else { format!(", {}", block(mode)) };
            let profile = profile(&single(&comma, &block(agent)));
            let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &installed);
            assert_eq!(names(resolution.visible()).concat(), expected, "mode {mode} agent {agent}");
            // The hand-written cell itself follows from the lists: guards the table against typing errors.
            let list = agent_list.replace('M', mode_list);
            let denied = format!("{mode_deny}{agent_deny}");
            let named = list.chars().filter(|c| *c != '*');
            let mut derived: Vec<char> = Vec::new();
            for name in named.chain(if list.contains('*') { "abc".chars() } else { "".chars() }) {
                if !derived.contains(&name) && !denied.contains(name) && !denied.contains('*') {
                    derived.push(name);
                }
            }
            assert_eq!(derived.iter().collect::<String>(), expected, "table: mode {mode} agent {agent}");
        }
    }
}

//! Where an agent's files lie: a directory whose path reads like the agent's id and can do no harm.
//!
//! Each part of the id between slashes becomes a directory, so that `agents/setup/get-config/status.json`, the path other
//! programs build from the id, is the file. Kept are a–z, 0–9, `-`, `_`, `.` and Chinese characters; every other byte
//! becomes `%xx`. Capital letters are escaped too: `A` and `a` stay apart on disks that ignore case.

use std::fmt::Write as _;

/// The relative directory of an agent. Two ids never share one.
pub fn agent_dir(id: &str) -> String {
    let parts: Vec<String> = id.split('/').map(part_name).collect();
    let dir = parts.join("/");
    if parts.len() <= DEEPEST && dir.len() <= LONGEST { dir } else { format!("~{}", digest(id)) }
}

/// The id a directory stands for. `None`: nobody's, or shortened; `status.json` inside names the agent.
pub fn agent_of_dir(dir: &str) -> Option<String> {
    let id = dir.split('/').map(part_of_name).collect::<Option<Vec<_>>>()?.join("/");
    (agent_dir(&id) == dir).then_some(id)
}

/// File systems allow 255 bytes for a name and mostly 4096 for a path; both leave room for what comes before and after.
const LONGEST_PART: usize = 120;
const LONGEST: usize = 600;
const DEEPEST: usize = 12;

/// Names that mean something else inside an agent's directory, or are devices on Windows whatever follows the dot.
const TAKEN: [&str; 4] = ["status.json", "stream.jsonl", "inbox.jsonl", "outbox.jsonl"];
const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

fn part_name(part: &str) -> String {
    if part.is_empty() {
        return "%".to_owned();
    }
    let stem = part.split('.').next().unwrap_or_default();
    let escape_first = part.starts_with('.') || TAKEN.contains(&part) || DEVICES.contains(&stem);
    let last = part.chars().count().saturating_sub(1);
    let mut name = String::with_capacity(part.len());
    let mut short = 0;
    for (at, c) in part.chars().enumerate() {
        // Windows drops a dot at the end.
        let plain = is_plain(c) && !(at == 0 && escape_first) && !(at == last && c == '.');
        if plain {
            name.push(c);
        } else {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(name, "%{byte:02x}");
            }
        }
        if name.len() <= LONGEST_PART / 2 {
            short = name.len();
        }
    }
    if name.len() > LONGEST_PART {
        // `~` is never plain: a shortened name is nobody's full name.
        name.truncate(short);
        let _ = write!(name, "~{}", digest(part));
    }
    name
}

fn part_of_name(name: &str) -> Option<String> {
    if name == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Characters without case and without a second way to write them. The common ideographs have neither; letters with
/// accents have both, and disks fold them.
fn is_plain(c: char) -> bool {
    c.is_ascii_lowercase()
        || c.is_ascii_digit()
        || matches!(c, '-' | '_' | '.')
        || matches!(c, '\u{4E00}'..='\u{9FFF}')
}

/// 128 bits: ids that differ never meet.
fn digest(text: &str) -> String {
    let digest = fugato_skill::digest_bytes(text.as_bytes());
    digest.as_bytes().iter().take(16).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_ids_are_their_own_directories_and_others_are_made_safe() {
        for (id, dir) in [
            ("main", "main"),
            ("setup/get-config.2", "setup/get-config.2"),
            ("收集/日历", "收集/日历"),
            ("../../etc", "%2e%2e/%2e%2e/etc"),
            ("/etc", "%/etc"),
            ("Builder", "%42uilder"),
            ("a b", "a%20b"),
            ("é", "%c3%a9"),
            ("con", "%63on"),
            ("nul.txt", "%6eul.txt"),
            ("a/status.json", "a/%73tatus.json"),
            ("a/.quarantine", "a/%2equarantine"),
            ("end.", "end%2e"),
            ("", "%"),
            ("50%", "50%25"),
            ("~a", "%7ea"),
        ] {
            assert_eq!(agent_dir(id), dir);
            assert_eq!(agent_of_dir(dir).as_deref(), Some(id));
        }
    }

    #[test]
    fn endless_ids_are_shortened_and_stay_apart() {
        let (a, b) = ("长".repeat(400) + "a", "长".repeat(400) + "b");
        assert_ne!(agent_dir(&a), agent_dir(&b));
        assert!(agent_dir(&a).len() <= LONGEST_PART + 70 && agent_dir(&a).starts_with("长长"));
        assert!(agent_dir(&"x/".repeat(100)).len() < 70);
        assert_eq!(agent_of_dir(&agent_dir(&a)), None);
    }

    proptest! {
        #[test]
        fn any_id_has_a_safe_directory_that_leads_back(id in "\\PC{0,40}|[a-zA-Z./%~ 中é\\x00-\\x1f-]{0,60}") {
            let dir = agent_dir(&id);
            for part in dir.split('/') {
                prop_assert!(!part.is_empty() && part.len() <= 200 && !part.starts_with('.') && !part.ends_with('.'));
                prop_assert!(part.chars().all(|c| is_plain(c) || matches!(c, '%' | '~')), "{dir}");
                prop_assert!(!TAKEN.contains(&part));
            }
            if let Some(back) = agent_of_dir(&dir) {
                prop_assert_eq!(back, id);
            } else {
                prop_assert!(dir.contains('~'));
            }
        }
    }
}

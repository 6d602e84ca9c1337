//! Short ids for agents outside, made of what people call them: safe as a word of a command and as part of a path.

/// The id a text gives, made unlike all that are `taken`. Letters and digits of any script are kept, the rest becomes single
/// hyphens; `all` and what is too long or empty is never an id.
pub fn agent_name(text: &str, otherwise: &str, taken: impl Fn(&str) -> bool) -> String {
    let name = Some(slug(text)).filter(|name| !name.is_empty()).unwrap_or_else(|| slug(otherwise));
    let name = if name.is_empty() { "agent".to_owned() } else { name };
    let is_reserved = matches!(name.as_str(), "all" | "user" | "engine" | "system");
    if !is_reserved && !taken(&name) {
        return name;
    }
    let numbered = (2..=u32::MAX).map(|n| format!("{name}-{n}"));
    numbered.into_iter().find(|name| !taken(name)).unwrap_or(name)
}

/// Long enough to tell agents apart, short enough to type.
const LONGEST: usize = 32;

fn slug(text: &str) -> String {
    let mut slug = String::new();
    let mut count = 0;
    for c in text.chars().flat_map(char::to_lowercase).take(400) {
        if count >= LONGEST {
            break;
        }
        if c.is_alphanumeric() {
            slug.push(c);
            count += 1;
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
            count += 1;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn descriptions_become_words_of_a_command() {
        let free = |text: &str| agent_name(text, "general-purpose", |_| false);
        assert_eq!(free("Scrape site A"), "scrape-site-a");
        assert_eq!(free("  ../../etc/passwd\0"), "etc-passwd");
        assert_eq!(free("检查 登录"), "检查-登录");
        assert_eq!(free("…"), "general-purpose");
        assert_eq!(free("All"), "all-2");
        assert_eq!(agent_name("", "", |_| false), "agent");
        assert_eq!(agent_name("x", "", |name| name != "x-4"), "x-4");
        assert!(free(&"long words ".repeat(50)).chars().count() <= LONGEST);
    }

    proptest! {
        #[test]
        fn any_text_gives_a_name_that_is_no_path_and_nobody_s(text in "\\PC{0,80}|[./\\\\a-z \\x00-\\x1f-]{0,60}") {
            let name = agent_name(&text, "agent", |name| name.len() % 2 == 0 && name.len() < 9);
            prop_assert!(!name.is_empty() && name != "all" && !name.starts_with('-'));
            prop_assert!(name.chars().all(|c| c.is_alphanumeric() || c == '-'), "{name}");
        }
    }
}

//! Numbers with their nouns, as English wants them.

/// `1 skill`, `2 skills`.
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        assert_eq!(
            [count(0, "skill"), count(1, "skill"), count(2, "skill")],
            ["0 skills", "1 skill", "2 skills"]
        );
    }
}

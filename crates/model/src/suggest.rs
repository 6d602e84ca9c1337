//! "Did you mean": the nearest of the things that exist.

/// The best candidate for a misspelt word, if one is near enough to be worth saying.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (score(&folded, candidate), candidate))
        .filter(|(score, _)| *score >= NEAR_ENOUGH)
        // The first of equals wins, so the answer does not depend on anything but the candidates' order.
        .fold(None, |best: Option<(f64, &str)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .map(|(_, candidate)| candidate)
}

/// All candidates, the nearest first: for messages that list what is accepted.
pub fn nearest_first<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = word.to_lowercase();
    let mut scored: Vec<_> = candidates.into_iter().map(|c| (score(&folded, c), c)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Below this, a suggestion reads as a joke. Chosen on real typos: `gathr`/`gather` 0.94, `lop`/`loop` 0.93,
/// `directer`/`director` 0.95; unrelated words of one length stay under 0.7.
const NEAR_ENOUGH: f64 = 0.76;

/// In bytes. Comparing costs the product of both lengths, and a text of a megabyte is no misspelt word.
const LONGEST_WORD: usize = 256;

/// A misspelling keeps most letters in place (Jaro–Winkler), or one word continues the other (`critic`,
/// `voice_critic`).
fn score(folded: &str, candidate: &str) -> f64 {
    if folded.len().max(candidate.len()) > LONGEST_WORD {
        return 0.0;
    }
    let candidate = candidate.to_lowercase();
    let similar = strsim::jaro_winkler(folded, &candidate);
    let contained = folded.chars().count() >= 4 && candidate.contains(folded);
    if contained { similar.max(0.8) } else { similar }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_find_their_word() {
        let modes = ["director", "loop", "spec", "agenda", "single"];
        assert_eq!(nearest("directer", modes), Some("director"));
        assert_eq!(nearest("Lop", modes), Some("loop"));
        assert_eq!(nearest("alowed-tools", ["name", "allowed-tools"]), Some("allowed-tools"));
        assert_eq!(nearest("语音批评", ["语音评论", "剧情"]), Some("语音评论"));
        assert_eq!(nearest("xyzzy", modes), None);
        let long = "loop".repeat(1_000_000);
        assert_eq!(nearest(&long, [long.as_str(), "loop"]), None);
        assert_eq!(nearest_first("spce", modes).first(), Some(&"spec"));
    }
}

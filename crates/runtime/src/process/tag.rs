//! The mark of a process as a number in its limits. A program drops its environment and leaves its session as it likes;
//! limits stay with it and everything it starts, and may be lowered but, except by root, not raised.
//!
//! The limit used is the time of real-time scheduling in microseconds: as large as these numbers are (over a hundred
//! thousand years) it limits nothing.

/// Set in every tag, so that no limit anybody would set by hand looks like one.
const TAGGED: u64 = 1 << 62;
/// Children of one owner; past sixteen million the count begins again.
const COUNT: u64 = (1 << 24) - 1;

/// `1234-567-8` is a child of the owner `1234-567`; other texts have no tag.
pub(super) fn of_mark(mark: &str) -> Option<u64> {
    let (owner, count) = mark.rsplit_once('-')?;
    Some(of_owner(owner)? | (count.parse::<u64>().ok()? & COUNT))
}

/// The tag that all children of this owner have, but for their count.
pub(super) fn of_owner(owner: &str) -> Option<u64> {
    let (pid, start) = owner.split_once('-')?;
    let [pid, start] = [pid.parse::<u64>().ok()?, start.parse::<u64>().ok()?];
    // The mixing of SplitMix64: owners whose numbers are close have tags that are not.
    let mut mixed = (pid << 40) ^ start;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let identity = (mixed ^ (mixed >> 31)) & ((1 << 38) - 1);
    Some(TAGGED | (identity << 24))
}

pub(super) fn owner_part(tag: u64) -> u64 {
    tag & !COUNT
}

/// What `/proc/PID/limits` says, if it is a tag.
pub(super) fn read(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    let hard: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (hard & TAGGED != 0 && hard < TAGGED << 1).then_some(hard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_an_owner_have_tags_of_their_own_that_lead_to_it() {
        let [one, two, other] = ["12-345-0", "12-345-1", "12-346-0"].map(|mark| of_mark(mark).unwrap());
        assert!(one != two && owner_part(one) == owner_part(two));
        assert_eq!(Some(owner_part(one)), of_owner("12-345"));
        assert_ne!(owner_part(one), owner_part(other));
        assert_eq!((of_mark("sweep-1"), of_mark(""), of_owner("12")), (None, None, None));
    }

    #[test]
    fn limits_that_are_no_tags_are_not_taken_for_one() {
        let line = |hard: &str| {
            format!("Max cpu time  1 2 us\nMax realtime timeout      7         {hard}      us\n")
        };
        let tag = of_mark("12-345-7").unwrap();
        assert_eq!(read(&line(&tag.to_string())), Some(tag));
        for hard in ["unlimited", "950000", "18446744073709551614", "x"] {
            assert_eq!(read(&line(hard)), None, "{hard}");
        }
        assert_eq!(read(""), None);
    }
}

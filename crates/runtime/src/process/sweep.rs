//! After a crash: ends the processes that the dead owner had recorded, and nobody else's.

use super::Recorded;
use super::ending::end_all;
use super::procfs::{self, Stat};
use super::tag;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes that were ended.
    pub ended: Vec<u32>,
    /// Processes that did not end (stuck in the kernel, or of another user).
    pub left: Vec<u32>,
}

/// Orphans have nobody who waits for them; this is enough to finish writing a file.
const GRACE: Duration = Duration::from_secs(1);

/// Ends what is left of these processes and of everything they started. Blocks for about a second if some resist.
///
/// Pass only records whose owner is surely gone. A record of an earlier boot, a number that now belongs to a younger
/// process, and processes without our mark are left alone.
pub fn sweep(records: &[Recorded]) -> Swept {
    sweep_within(records, GRACE)
}

/// The same, with another time between asking and forcing.
pub(super) fn sweep_within(records: &[Recorded], grace: Duration) -> Swept {
    let boot = procfs::boot_id();
    let current: Vec<&Recorded> =
        records.iter().filter(|record| !boot.is_empty() && record.boot_id == boot).collect();
    if current.is_empty() {
        return Swept::default();
    }
    let starts: HashMap<u32, u64> = current.iter().map(|record| (record.pid, record.start_time)).collect();
    let (owners, marks): (Vec<&str>, HashSet<&str>) = {
        let marks = current.iter().map(|record| record.mark.as_str());
        (marks.clone().filter(|mark| mark.ends_with('-')).collect(), marks.collect())
    };
    let is_marked =
        |mark: &String| marks.contains(mark.as_str()) || owners.iter().any(|owner| mark.starts_with(*owner));
    let tags: HashSet<u64> = marks.iter().filter_map(|mark| tag::of_mark(mark)).collect();
    let owner_tags: HashSet<u64> =
        owners.iter().filter_map(|owner| tag::of_owner(owner.strip_suffix('-')?)).collect();
    let is_tagged = |tag: u64| tags.contains(&tag) || owner_tags.contains(&tag::owner_part(tag));
    let oldest = current.iter().map(|record| record.start_time).min().unwrap_or(0);
    let seen = RefCell::new(BTreeSet::new());
    let find = || {
        let own = std::process::id();
        let alive: Vec<Stat> = procfs::all()
            .filter(|stat| stat.pid != own && !stat.is_ended() && stat.start >= oldest)
            .collect();
        let is_recorded = |stat: &Stat| starts.get(&stat.pid) == Some(&stat.start);
        let leaders: HashSet<u32> =
            alive.iter().filter(|stat| is_recorded(stat)).map(|stat| stat.pid).collect();
        let is_ours = |stat: &Stat| {
            leaders.contains(&stat.pid)
                || leaders.contains(&stat.session)
                || procfs::tag(stat.pid).is_some_and(is_tagged)
                || procfs::marks(stat.pid).iter().any(is_marked)
        };
        let found: Vec<Stat> = alive.into_iter().filter(is_ours).collect();
        seen.borrow_mut().extend(found.iter().map(|stat| stat.pid));
        found
    };
    let left: BTreeSet<u32> =
        end_all(find, grace, || false, std::thread::sleep).iter().map(|stat| stat.pid).collect();
    let ended = seen.into_inner().difference(&left).copied().collect();
    Swept { ended, left: left.into_iter().collect() }
}

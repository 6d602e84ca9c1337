//! Many events as one row: JSON documents, each ended by a line break. Readable with any SQLite shell, and searching one
//! in the middle is a scan for line breaks.
//!
//! Knows nothing of what the documents mean.

/// A row is closed when it has grown past this, so that reading one event never means reading megabytes.
pub const FULL_AT: usize = 256 * 1024;

/// A run's row number and an event's number share one integer key, so that the log of a run is one range of one tree
/// and an append touches a single tree. 2^40 events per run, 2^23 runs per store.
const SEQ_BITS: u32 = 40;
pub const MAX_SEQ: u64 = (1 << SEQ_BITS) - 1;
pub const MAX_RUN: i64 = (1 << (63 - SEQ_BITS)) - 1;

/// The key of the row whose first event is `seq`. Too large a number is the largest possible one.
pub fn key(run: i64, seq: u64) -> i64 {
    (run << SEQ_BITS) | i64::try_from(seq.min(MAX_SEQ)).unwrap_or(0)
}

pub fn seq_of(key: i64) -> u64 {
    u64::try_from(key).unwrap_or(0) & MAX_SEQ
}

/// Adds one document. A raw line break in JSON can only stand between tokens, so a blank says the same.
pub fn push(body: &mut Vec<u8>, event: &[u8]) {
    let start = body.len();
    body.extend_from_slice(event);
    let added = body.get_mut(start..).unwrap_or_default();
    if memchr::memchr2(b'\n', b'\r', added).is_some() {
        added.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }
    body.push(b'\n');
}

/// The document that starts at `offset`, and where the next one starts. `None` at the end, or when the body is torn.
pub fn document(body: &[u8], offset: usize) -> Option<(&[u8], usize)> {
    let rest = body.get(offset..)?;
    let length = memchr::memchr(b'\n', rest)?;
    Some((rest.get(..length)?, offset + length + 1))
}

/// Where document number `index` starts.
pub fn offset_of(body: &[u8], index: u64) -> Option<usize> {
    let mut offset = 0;
    for _ in 0..index {
        offset = document(body, offset)?.1;
    }
    Some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_order_runs_then_events() {
        assert!(key(1, MAX_SEQ) < key(2, 0));
        assert!(key(7, 4) < key(7, 5));
        assert_eq!(seq_of(key(7, 5)), 5);
        assert!(key(MAX_RUN, MAX_SEQ) > 0, "the largest key is still positive");
    }

    #[test]
    fn a_line_break_between_tokens_becomes_a_blank() {
        let mut body = Vec::new();
        push(&mut body, b"{\n\"a\":1\r\n}");
        assert_eq!(body, b"{ \"a\":1  }\n");
    }

    proptest! {
        #[test]
        fn documents_come_back_by_number(events in proptest::collection::vec("[^\n\r]{0,40}", 0..40)) {
            let mut body = Vec::new();
            events.iter().for_each(|event| push(&mut body, event.as_bytes()));
            for (index, event) in events.iter().enumerate() {
                let offset = offset_of(&body, index as u64).unwrap();
                prop_assert_eq!(document(&body, offset).unwrap().0, event.as_bytes());
            }
            prop_assert!(document(&body, body.len()).is_none());
        }
    }
}

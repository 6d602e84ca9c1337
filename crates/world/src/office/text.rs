//! Plain text in whatever encoding it was saved: marks first, then UTF-8 if it is that, then a guess by its letters.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, GB18030, GBK, UTF_8};

/// Judged by its beginning. A cut character at the end of the sample is no reason to doubt UTF-8.
pub(super) fn encoding_of(sample: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(sample) {
        return encoding;
    }
    match std::str::from_utf8(sample) {
        Ok(_) => return UTF_8,
        Err(error) if error.error_len().is_none() => return UTF_8,
        Err(_) => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let guess = detector.guess(None, Utf8Detection::Allow);
    // The national standard holds everything that its older name does, and more.
    if guess == GBK { GB18030 } else { guess }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_found_by_what_is_in_them() {
        let chinese = "姓名,城市,备注\n张伟,北京,第一季度销售数据\n李娜,上海,需要跟进\n";
        let (gb, _, _) = GB18030.encode(chinese);
        assert_eq!(encoding_of(&gb), GB18030);
        assert_eq!(encoding_of(chinese.as_bytes()), UTF_8);
        assert_eq!(encoding_of(&chinese.as_bytes()[..7]), UTF_8);
        assert_eq!(encoding_of(b"\xff\xfea\0").name(), "UTF-16LE");
        assert_eq!(
            encoding_of("café, naïve, coût".chars().map(|c| c as u8).collect::<Vec<_>>().as_slice()).name(),
            "windows-1252"
        );
    }
}

//! Moments as other programs read them: `2026-02-15T08:30:00.123Z`.

use fugato_skill::dates::Date;

/// ISO 8601, UTC, milliseconds. Moments before 1970 or after 9999 are moved to those ends.
pub fn timestamp(millis: i64) -> String {
    Stamps::default().of(millis)
}

/// Many moments of one run: most fall into the second of the one before, whose text is kept.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    second: i64,
    text: String,
}

impl Stamps {
    pub fn of(&mut self, millis: i64) -> String {
        let millis = millis.clamp(0, LAST);
        let (seconds, rest) = (millis / 1000, millis % 1000);
        if self.second != seconds || self.text.is_empty() {
            let day = Date::from_unix(seconds, 0);
            let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
            self.text = format!("{day}T{hour:02}:{minute:02}:{second:02}.");
            self.second = seconds;
        }
        let mut text = String::with_capacity(self.text.len() + 4);
        text.push_str(&self.text);
        for digit in [rest / 100, rest / 10 % 10, rest % 10] {
            text.push(u32::try_from(digit).ok().and_then(|digit| char::from_digit(digit, 10)).unwrap_or('0'));
        }
        text.push('Z');
        text
    }
}

/// The last millisecond of the year 9999.
const LAST: i64 = 253_402_300_799_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_utc_with_milliseconds_and_never_outside_the_calendar() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_709_251_199_007, "2024-02-29T23:59:59.007Z"),
            (i64::MIN, "1970-01-01T00:00:00.000Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(timestamp(millis), text);
        }
        let mut stamps = Stamps::default();
        for millis in [0, 999, 1000, 1001, 5_999, 5_050, 5_000, 86_400_000, 0] {
            assert_eq!(stamps.of(millis), timestamp(millis));
        }
    }
}

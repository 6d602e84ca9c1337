//! The moment a run begins, as a person's calendar has it: captured once, recorded, never asked for again.

use super::clock::wall;
use fugato_skill::dates::Date;

/// A moment and the zone it is told in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub millis: i64,
    /// How far clocks are ahead of UTC.
    pub offset_seconds: i32,
    /// `Asia/Shanghai`, or the offset when the zone has no name.
    pub zone: String,
}

impl Moment {
    /// Now, in the zone of `TZ` or of the machine; UTC if neither can be told.
    pub fn now() -> Self {
        Self::at(wall(), &jiff::tz::TimeZone::try_system().unwrap_or(jiff::tz::TimeZone::UTC))
    }

    fn at(millis: i64, zone: &jiff::tz::TimeZone) -> Self {
        let timestamp = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
        let offset = zone.to_offset(timestamp);
        let named = zone.iana_name().map_or_else(|| offset.to_string(), str::to_owned);
        Self { millis, offset_seconds: offset.seconds(), zone: named }
    }

    pub fn date(&self) -> Date {
        Date::from_unix(self.millis.div_euclid(1000), self.offset_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::{TimeZone, offset};

    #[test]
    fn the_day_is_that_of_the_zone() {
        // 2026-02-15 23:30 UTC.
        let millis = 1_771_198_200_000;
        let in_zone = |zone: &TimeZone| Moment::at(millis, zone);
        assert_eq!(in_zone(&TimeZone::UTC).date().to_string(), "2026-02-15");
        let east = in_zone(&TimeZone::fixed(offset(8)));
        assert_eq!((east.date().to_string().as_str(), east.offset_seconds), ("2026-02-16", 28_800));
        assert_eq!(in_zone(&TimeZone::fixed(offset(-11))).date().to_string(), "2026-02-15");
        // A rule with summer time and no name, as TZ may give it.
        let rule = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        assert_eq!(in_zone(&rule).offset_seconds, -5 * 3600);
        assert_eq!(in_zone(&rule).zone, "-05");
    }
}

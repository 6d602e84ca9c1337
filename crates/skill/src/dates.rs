//! Days, and the day a person means: what `TODAY` and `TARGET_DATE` of a run are made of.
//!
//! Knows no clock: the caller says what second it is and how far the person's zone is from UTC.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A day of the Gregorian calendar. Shown and stored as `2026-02-15`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// Days since 1970-01-01. The only field, so that every value is a real day.
    days: i64,
}

/// The text is not a day `YYYY-MM-DD` of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date of the form YYYY-MM-DD")]
pub struct NotADate;

const SECONDS_PER_DAY: i64 = 86_400;

impl Date {
    /// `None` for a day that does not exist, or a year outside 1–9999.
    pub fn new(year: i64, month: u32, day: u32) -> Option<Self> {
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 {
            return None;
        }
        // Counting years from March puts the leap day last: every month then starts at a fixed day of its year.
        let shifted = if month <= 2 { year - 1 } else { year };
        let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
        let day_of_year = i64::from((153 * ((month + 9) % 12) + 2) / 5 + day - 1);
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let date = Self { days: era * 146_097 + day_of_era - 719_468 };
        // 31 April counts as 1 May above; a day that exists comes back as itself.
        (date.parts() == (year, month, day)).then_some(date)
    }

    /// The day at a moment, where clocks are `offset_seconds` ahead of UTC. Moments outside the calendar's years are
    /// moved to its ends.
    pub fn from_unix(seconds: i64, offset_seconds: i32) -> Self {
        let local = seconds.saturating_add(i64::from(offset_seconds));
        Self { days: local.div_euclid(SECONDS_PER_DAY) }.clamped()
    }

    /// Another day, `days` later (or earlier).
    #[must_use]
    pub fn plus(self, days: i64) -> Self {
        Self { days: self.days.saturating_add(days) }.clamped()
    }

    /// 0 is Monday, 6 is Sunday.
    pub fn weekday(self) -> u8 {
        // 1970-01-01 was a Thursday.
        u8::try_from((self.days + 3).rem_euclid(7)).unwrap_or_default()
    }

    /// Year, month, day.
    pub fn parts(self) -> (i64, u32, u32) {
        let shifted = self.days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year, u32::try_from(month).unwrap_or(1), u32::try_from(day).unwrap_or(1))
    }

    fn clamped(self) -> Self {
        /// 0001-01-01 and 9999-12-31.
        const RANGE: (i64, i64) = (-719_162, 2_932_896);
        Self { days: self.days.clamp(RANGE.0, RANGE.1) }
    }
}

/// The day the arguments speak of: the first of an ISO date, `today`, `tomorrow`, `yesterday`, a weekday (the next such
/// day after today), or the same in Chinese; today if none is there.
pub fn target_date(arguments: &str, today: Date) -> Date {
    date_in(arguments, today).unwrap_or(today)
}

/// The same, if there is one.
pub fn date_in(arguments: &str, today: Date) -> Option<Date> {
    // A short form (`fri`) is a day only when nothing else is said: `sun`, `sat` and `mon` are words, too.
    if let Some(weekday) = WEEKDAYS.iter().position(|name| is_short_form(arguments.trim(), name)) {
        return Some(next(today, weekday));
    }
    let mut rest = arguments;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        if let Some(date) = date_at(rest, before, today) {
            return Some(date);
        }
        before = first;
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    None
}

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn is_short_form(text: &str, weekday: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.len() >= 3 && weekday.starts_with(&text)
}

/// The day named at the start of `rest`. `before`: the character in front of it.
fn date_at(rest: &str, before: char, today: Date) -> Option<Date> {
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        return if before.is_ascii_digit() { None } else { numeric(rest) };
    }
    if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        // Whole words only. A letter of another script in front is no part of an English word.
        return if before.is_ascii_alphanumeric() { None } else { english(rest, today) };
    }
    chinese(rest, today)
}

/// `2026-02-15`, `2026/2/15`, `2026年2月15日`.
fn numeric(text: &str) -> Option<Date> {
    let (year, rest) = number(text, 4..=4)?;
    let (month, day) = if let Some(rest) = rest.strip_prefix('年') {
        let (month, rest) = number(rest, 1..=2)?;
        (month, number(rest.strip_prefix('月')?, 1..=2)?)
    } else {
        let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/'))?;
        let digits = if separator == '-' { 2..=2 } else { 1..=2 };
        let (month, rest) = number(rest.strip_prefix(separator)?, digits.clone())?;
        (month, number(rest.strip_prefix(separator)?, digits)?)
    };
    Date::new(i64::from(year), month, day.0)
}

/// The digits at the start, if they are as many as allowed, and what follows them.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<(u32, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let value = text.get(..len).filter(|_| digits.contains(&len))?.parse().ok()?;
    Some((value, text.get(len..)?))
}

fn english(rest: &str, today: Date) -> Option<Date> {
    let word = first_word(rest).to_ascii_lowercase();
    match word.as_str() {
        "today" => Some(today),
        "tomorrow" => Some(today.plus(1)),
        "yesterday" => Some(today.plus(-1)),
        "last" => {
            let after = rest.get(word.len()..)?.trim_start();
            let weekday = weekday_of(first_word(after))?;
            Some(previous(today, weekday))
        }
        word => weekday_of(word).map(|weekday| next(today, weekday)),
    }
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

fn weekday_of(word: &str) -> Option<usize> {
    WEEKDAYS.iter().position(|name| name.eq_ignore_ascii_case(word))
}

fn chinese(rest: &str, today: Date) -> Option<Date> {
    const DAYS: [(&str, i64); 8] = [
        ("大后天", 3),
        ("大前天", -3),
        ("后天", 2),
        ("前天", -2),
        ("明天", 1),
        ("昨天", -1),
        ("今天", 0),
        ("今日", 0),
    ];
    if let Some((_, days)) = DAYS.iter().find(|(word, _)| rest.starts_with(word)) {
        return Some(today.plus(*days));
    }
    let (week, rest) = match rest.chars().next()? {
        '上' => (Some(-1), rest.strip_prefix('上')?),
        '下' => (Some(1), rest.strip_prefix('下')?),
        '本' => (Some(0), rest.strip_prefix('本')?),
        _ => (None, rest),
    };
    let rest = rest.strip_prefix('个').filter(|_| week.is_some()).unwrap_or(rest);
    let rest = ["周", "星期", "礼拜"].iter().find_map(|word| rest.strip_prefix(word))?;
    let weekday = match rest.chars().next()? {
        '一' => 0,
        '二' => 1,
        '三' => 2,
        '四' => 3,
        '五' => 4,
        '六' => 5,
        '日' | '天' => 6,
        _ => return None,
    };
    Some(match week {
        // 上周一 and 下周一 are days of the week before and after this one; a bare 周一 is the one to come.
        Some(weeks) => {
            let monday = today.plus(-i64::from(today.weekday()));
            monday.plus(weeks * 7 + i64::try_from(weekday).unwrap_or_default())
        }
        None => next(today, weekday),
    })
}

/// The next such weekday after today: one to seven days ahead.
fn next(today: Date, weekday: usize) -> Date {
    let ahead = (6 + i64::try_from(weekday).unwrap_or_default() - i64::from(today.weekday())).rem_euclid(7);
    today.plus(ahead + 1)
}

fn previous(today: Date, weekday: usize) -> Date {
    next(today, weekday).plus(if usize::from(today.weekday()) == weekday { -14 } else { -7 })
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.parts();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Date {
    type Err = NotADate;

    fn from_str(text: &str) -> Result<Self, NotADate> {
        if text.len() != 10 || text.contains('/') {
            return Err(NotADate);
        }
        numeric(text).ok_or(NotADate)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn known_days_have_known_numbers() {
        for (seconds, offset, day) in [
            (0, 0, "1970-01-01"),
            (-1, 0, "1969-12-31"),
            (951_782_400, 0, "2000-02-29"),
            (1_771_113_599, 0, "2026-02-14"),
            (1_771_113_599, 3600, "2026-02-15"),
            (1_771_113_600, -3600, "2026-02-14"),
            (i64::MAX, i32::MAX, "9999-12-31"),
            (i64::MIN, i32::MIN, "0001-01-01"),
        ] {
            assert_eq!(Date::from_unix(seconds, offset).to_string(), day, "{seconds}");
        }
        assert_eq!(date("1970-01-01").weekday(), 3);
        assert_eq!(date("2026-02-15").weekday(), 6);
        for text in ["2026-02-29", "2026-13-01", "2026-00-10", "0000-01-01", "2026-2-1", "2026/02/15", "x"] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_day_meant_is_found_in_the_arguments() {
        // A Sunday.
        let today = date("2026-02-15");
        for (arguments, expected) in [
            ("", "2026-02-15"),
            ("plan the launch", "2026-02-15"),
            ("brief for 2026-03-01, please", "2026-03-01"),
            ("scope=2026-03-01", "2026-03-01"),
            ("2026/3/1", "2026-03-01"),
            ("2026年3月1日的安排", "2026-03-01"),
            ("12026-03-01 1999-02-30", "2026-02-15"),
            ("Tomorrow", "2026-02-16"),
            ("today's plan, not tomorrow", "2026-02-15"),
            ("what did I do yesterday?", "2026-02-14"),
            ("monday", "2026-02-16"),
            ("next Sunday", "2026-02-22"),
            ("sunday", "2026-02-22"),
            ("fri", "2026-02-20"),
            ("the sun sat in a satellite", "2026-02-15"),
            ("last friday", "2026-02-13"),
            ("last sunday", "2026-02-08"),
            ("mondays are hard", "2026-02-15"),
            ("明天的简报", "2026-02-16"),
            ("昨天", "2026-02-14"),
            ("大后天", "2026-02-18"),
            ("周一", "2026-02-16"),
            ("星期天", "2026-02-22"),
            ("下周一", "2026-02-16"),
            ("上个星期三", "2026-02-04"),
            ("周末", "2026-02-15"),
            ("看tomorrow", "2026-02-16"),
        ] {
            assert_eq!(target_date(arguments, today).to_string(), expected, "{arguments}");
        }
    }

    proptest! {
        #[test]
        fn days_and_their_parts_agree(days in -719_162i64..=2_932_896) {
            let day = Date { days };
            let (year, month, of_month) = day.parts();
            prop_assert_eq!(Date::new(year, month, of_month), Some(day));
            prop_assert_eq!(day.to_string().parse(), Ok(day));
            let weekday = usize::from(day.weekday());
            prop_assert_eq!(next(day, weekday), day.plus(7));
        }

        #[test]
        fn any_arguments_give_a_day(text in "\\PC{0,40}|[0-9年月日/-]{0,14}|(上|下|个|周|一|日|last |monday){0,6}") {
            let today = date("2026-02-15");
            let _ = target_date(&text, today);
        }
    }
}

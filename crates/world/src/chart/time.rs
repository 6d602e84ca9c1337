//! Dates on an axis, as seconds since 1970; no time zones, because tables rarely have them.

/// `2026-03-05`, `2026/3/5`, `2026-03`, `2026年3月5日`, each with an optional time of day.
pub fn read(text: &str) -> Option<f64> {
    let text = text.trim();
    if !text.starts_with(|c: char| c.is_ascii_digit()) || text.len() > 40 {
        return None;
    }
    let text = text.replace(['年', '月'], "-").replace('日', "");
    let text = text.trim().trim_end_matches('-');
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.trim())),
        None => (text, None),
    };
    let mut parts = date.split(['-', '/', '.']);
    let year: i64 = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let month: i64 = parts.next()?.parse().ok().filter(|month| (1..=12).contains(month))?;
    let day: i64 = match parts.next() {
        Some(day) => day.parse().ok().filter(|day| (1..=days_in(year, month)).contains(day))?,
        None => 1,
    };
    if parts.next().is_some() {
        return None;
    }
    let seconds = time.map_or(Some(0.0), time_of_day)?;
    Some(as_float(days_from(year, month, day)) * 86_400.0 + seconds)
}

fn time_of_day(text: &str) -> Option<f64> {
    let text = text.trim_end_matches('Z');
    // An offset is read over: the axis shows what the table says.
    let text = text.split(['+']).next().unwrap_or(text);
    let mut parts = text.split(':');
    let hour: f64 = parts.next()?.parse().ok().filter(|hour| (0.0..24.0).contains(hour))?;
    let minute: f64 = parts.next()?.parse().ok().filter(|minute| (0.0..60.0).contains(minute))?;
    let second: f64 = parts.next().map_or(Some(0.0), |second| second.parse().ok())?;
    (0.0..61.0).contains(&second).then_some(hour * 3600.0 + minute * 60.0 + second)
}

fn days_in(year: i64, month: i64) -> i64 {
    let next = if month == 12 { days_from(year + 1, 1, 1) } else { days_from(year, month + 1, 1) };
    next - days_from(year, month, 1)
}

/// Days since 1970-01-01 in the Gregorian calendar, counted from March so that leap days come last.
fn days_from(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month, day of a number of days since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let part = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * part + 2) / 5 + 1, if part < 10 { part + 3 } else { part - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[expect(clippy::cast_precision_loss, reason = "days of a few thousand years")]
fn as_float(days: i64) -> f64 {
    days as f64
}

#[expect(clippy::cast_possible_truncation, reason = "casts saturate, and dates are of a few thousand years")]
fn as_days(seconds: f64) -> i64 {
    (seconds / 86_400.0).floor() as i64
}

/// Ticks between two moments with their labels, about this many.
pub fn ticks(from: f64, to: f64, wanted: usize) -> Vec<(f64, String)> {
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let step = ((to - from) / wanted.max(1) as f64).max(1.0);
    const CLOCK: [f64; 11] =
        [1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 10_800.0, 21_600.0, 86_400.0, 172_800.0, 604_800.0];
    if let Some(step) = CLOCK.iter().find(|one| **one >= step) {
        let mut ticks = Vec::new();
        let mut at = (from / step).ceil() * step;
        while at <= to && ticks.len() < 100 {
            ticks.push((at, show(at, *step)));
            at += step;
        }
        return ticks;
    }
    let months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12_000];
    let long = |months: i64| as_float(months) * 2_629_746.0;
    let months = months.into_iter().find(|months| long(*months) >= step).unwrap_or(24_000);
    let (year, month, _) = date_of(as_days(from));
    let mut number = (year * 12 + month - 1).div_euclid(months) * months;
    let mut ticks = Vec::new();
    while ticks.len() < 100 {
        let (year, month) = (number.div_euclid(12), number.rem_euclid(12) + 1);
        let at = as_float(days_from(year, month, 1)) * 86_400.0;
        if at > to {
            break;
        }
        if at >= from {
            let label = if months >= 12 { format!("{year}") } else { format!("{year}-{month:02}") };
            ticks.push((at, label));
        }
        number += months;
    }
    ticks
}

/// A moment, as exactly as steps of this many seconds need.
pub fn show(seconds: f64, step: f64) -> String {
    let days = as_days(seconds);
    let (year, month, day) = date_of(days);
    if step >= 86_400.0 {
        return format!("{year}-{month:02}-{day:02}");
    }
    let rest = seconds - as_float(days) * 86_400.0;
    #[expect(clippy::cast_possible_truncation, reason = "within a day")]
    let rest = rest.floor() as i64;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let clock = match step < 60.0 {
        true => format!("{hour:02}:{minute:02}:{second:02}"),
        false => format!("{hour:02}:{minute:02}"),
    };
    if rest == 0 { format!("{month:02}-{day:02}") } else { clock }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_shown() {
        for (text, shown) in [
            ("2026-03-05", "2026-03-05"),
            ("2026/3/5", "2026-03-05"),
            ("2026年3月5日", "2026-03-05"),
            ("2024-02-29", "2024-02-29"),
            ("2026-03", "2026-03-01"),
            ("2026年3月", "2026-03-01"),
            ("1969-12-31T23:59:59Z", "1969-12-31"),
            ("0004-01-01", "4-01-01"),
        ] {
            assert_eq!(read(text).map(|at| show(at, 86_400.0)).as_deref(), Some(shown), "{text}");
        }
        for text in
            ["2026-13-01", "2023-02-29", "26-01-01", "2026", "12:30", "hello", "2026-01-01-01", "3.14"]
        {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("1970-01-02 01:00"), Some(90_000.0));
    }

    #[test]
    fn ticks_fit_the_span() {
        let labels = |from: &str, to: &str| {
            let ticks = ticks(read(from).unwrap(), read(to).unwrap(), 6);
            ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
        };
        assert_eq!(
            labels("2026-01-01", "2026-06-30"),
            ["2026-01", "2026-02", "2026-03", "2026-04", "2026-05", "2026-06"]
        );
        assert_eq!(labels("2020-01-01", "2026-01-01").len(), 4);
        assert!(labels("1500-01-01", "2026-01-01").len() <= 12);
        assert_eq!(
            labels("2026-01-01 00:00", "2026-01-01 12:00"),
            ["01-01", "03:00", "06:00", "09:00", "12:00"]
        );
    }
}

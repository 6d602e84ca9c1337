//! Days and times from serial numbers: a workbook counts days, and its format says how they look.

use super::{Epoch, Token};

pub(super) fn date(value: f64, tokens: &[Token], epoch: Epoch) -> Option<String> {
    let has_fraction = tokens.windows(2).any(|pair| matches!(pair, [Token::Point, Token::Digit(_)]));
    let moment = moment(value, epoch, has_fraction)?;
    let is_half_day = tokens.iter().any(|token| matches!(token, Token::Noon(..)));
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_after_point = at > 0 && tokens.get(at - 1) == Some(&Token::Point);
        match token {
            Token::Part(b'm', length) if is_minute(tokens, at) => {
                text.push_str(&padded(moment.millis / 60_000 % 60, *length));
            }
            Token::Part(letter, length) => text.push_str(&part(&moment, *letter, *length, is_half_day)),
            Token::Elapsed(letter) => text.push_str(&elapsed(moment.serial, *letter)),
            Token::Noon(before, after) => {
                text.push_str(if moment.millis < 43_200_000 { before } else { after });
            }
            Token::Digit(_) if is_after_point => {
                let count = tokens.iter().skip(at).take_while(|next| matches!(next, Token::Digit(_))).count();
                let millis = format!("{:03}", moment.millis % 1000);
                text.push_str(millis.get(..count.min(3)).unwrap_or_default());
            }
            Token::Point if matches!(tokens.get(at + 1), Some(Token::Digit(_))) => text.push('.'),
            Token::Point => text.push('.'),
            Token::Comma => text.push(','),
            Token::Slash => text.push('/'),
            Token::Text(more) => text.push_str(more),
            _ => {}
        }
    }
    Some(text)
}

/// A moment as a calendar has it.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    /// 0 is Sunday.
    weekday: i64,
    /// Thousandths of a second since midnight.
    millis: i64,
    serial: f64,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [(&str, &str); 7] = [
    ("Sunday", "日"),
    ("Monday", "一"),
    ("Tuesday", "二"),
    ("Wednesday", "三"),
    ("Thursday", "四"),
    ("Friday", "五"),
    ("Saturday", "六"),
];

fn moment(serial: f64, epoch: Epoch, has_fraction: bool) -> Option<Moment> {
    // The last day Excel knows is 31 December 9999.
    if !(0.0..2_958_466.0).contains(&serial) {
        return None;
    }
    let step = if has_fraction { 1.0 } else { 1000.0 };
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked above")]
    let total = ((serial * 86_400_000.0 / step).round() * step) as i64;
    let (mut days, millis) = (total.div_euclid(86_400_000), total.rem_euclid(86_400_000));
    days += match epoch {
        Epoch::Y1904 => 1462,
        // Excel believes in a 29 February 1900, so before it the count is one less.
        Epoch::Y1900 if days < 60 => 1,
        Epoch::Y1900 => 0,
    };
    let (year, month, day) = civil(days - 25_569);
    Some(Moment { year, month, day, weekday: (days + 6).rem_euclid(7), millis, serial })
}

/// Year, month and day of the days since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// `m` is a minute beside hours before it or seconds after it.
fn is_minute(tokens: &[Token], at: usize) -> bool {
    let is_part = |token: &&Token| matches!(token, Token::Part(..) | Token::Elapsed(_));
    let before = tokens.iter().take(at).rev().find(is_part);
    let after = tokens.iter().skip(at + 1).find(is_part);
    matches!(before, Some(Token::Part(b'h', _) | Token::Elapsed(b'h')))
        || matches!(after, Some(Token::Part(b's', _)))
}

fn padded(number: i64, length: usize) -> String {
    if length >= 2 { format!("{number:02}") } else { number.to_string() }
}

fn part(moment: &Moment, letter: u8, length: usize, is_half_day: bool) -> String {
    let month = usize::try_from(moment.month - 1).ok().and_then(|at| MONTHS.get(at)).copied().unwrap_or("");
    let weekday =
        usize::try_from(moment.weekday).ok().and_then(|at| WEEKDAYS.get(at)).copied().unwrap_or(("", ""));
    let hour = moment.millis / 3_600_000;
    match (letter, length) {
        (b'y', 1 | 2) => format!("{:02}", moment.year % 100),
        (b'y', _) => format!("{:04}", moment.year),
        (b'e', _) => moment.year.to_string(),
        // The Buddhist calendar.
        (b'b', _) => (moment.year + 543).to_string(),
        (b'm', 1 | 2) => padded(moment.month, length),
        (b'm', 3) => month.get(..3).unwrap_or(month).to_owned(),
        (b'm', 5) => month.get(..1).unwrap_or(month).to_owned(),
        (b'm', _) => month.to_owned(),
        (b'd', 1 | 2) => padded(moment.day, length),
        (b'd', 3) => weekday.0.get(..3).unwrap_or(weekday.0).to_owned(),
        (b'd', _) => weekday.0.to_owned(),
        (b'a', 1..=3) => weekday.1.to_owned(),
        (b'a', _) => format!("星期{}", weekday.1),
        (b'h', _) if is_half_day => padded((hour + 11) % 12 + 1, length),
        (b'h', _) => padded(hour, length),
        (b's', _) => padded(moment.millis / 1000 % 60, length),
        _ => String::new(),
    }
}

fn elapsed(serial: f64, letter: u8) -> String {
    let unit = match letter {
        b'h' => 24.0,
        b'm' => 1440.0,
        _ => 86_400.0,
    };
    // What is a whole number but for the last bits of a float must not be one less.
    format!("{:.0}", (serial * unit + 1e-6).floor())
}

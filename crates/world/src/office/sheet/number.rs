//! Numbers as a spreadsheet shows them: by the format code of their cell, dates included.

mod date;

use date::date;

/// From which day a workbook counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epoch {
    Y1900,
    /// Old files of the Mac.
    Y1904,
}

/// The codes every workbook knows by number. Those that follow the language of the machine are dates as ISO writes them.
pub(super) fn built_in(number: u16) -> &'static str {
    match number {
        1 => "0",
        2 => "0.00",
        3 => "#,##0",
        4 => "#,##0.00",
        5..=8 => "#,##0.00",
        9 => "0%",
        10 => "0.00%",
        11 => "0.00E+00",
        14 | 27..=31 | 36 | 50..=54 | 57 | 58 => "yyyy-mm-dd",
        15 => "d-mmm-yy",
        16 => "d-mmm",
        17 => "mmm-yy",
        18 => "h:mm AM/PM",
        19 => "h:mm:ss AM/PM",
        20 | 32 | 34 | 55 => "h:mm",
        21 | 33 | 35 | 56 => "h:mm:ss",
        22 => "yyyy-mm-dd h:mm",
        37..=40 => "#,##0.00;-#,##0.00",
        41..=44 => "#,##0.00",
        45 => "mm:ss",
        46 => "[h]:mm:ss",
        47 => "mm:ss.0",
        48 => "##0.0E+0",
        49 => "@",
        _ => "General",
    }
}

pub(super) fn shown(value: f64, code: &str, epoch: Epoch) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let sections = sections(code);
    let (section, value) = match (sections.as_slice(), value) {
        ([], _) => return general(value),
        ([_, second, ..], value) if value < 0.0 => (second, -value),
        ([_, _, third, ..], 0.0) => (third, value),
        ([first, ..], value) => (first, value),
    };
    let is_alone = sections.len() == 1;
    let tokens = tokens(section);
    if section.trim().eq_ignore_ascii_case("general") || section.trim() == "@" || tokens.is_empty() {
        return if section.is_empty() && !is_alone { String::new() } else { general(value) };
    }
    if tokens.iter().any(Token::is_time) {
        return date(value, &tokens, epoch).unwrap_or_else(|| general(value));
    }
    number(value, &tokens)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    /// `0`, `#`, `?`
    Digit(u8),
    Point,
    Comma,
    Percent,
    /// `E+`
    Exponent,
    Slash,
    /// A run of one letter of `ymdhsae`, in lower case.
    Part(u8, usize),
    /// `[h]`
    Elapsed(u8),
    /// `AM/PM` and its translations: the words for before and after noon.
    Noon(&'static str, &'static str),
    General,
}

impl Token {
    fn is_time(&self) -> bool {
        matches!(self, Self::Part(..) | Self::Elapsed(_) | Self::Noon(..))
    }
}

fn sections(code: &str) -> Vec<String> {
    let (mut sections, mut section) = (Vec::new(), String::new());
    let (mut is_quoted, mut is_escaped) = (false, false);
    for c in code.chars().take(512) {
        if c == ';' && !is_quoted && !is_escaped {
            sections.push(std::mem::take(&mut section));
            continue;
        }
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        section.push(c);
    }
    sections.push(section);
    sections
}

fn tokens(section: &str) -> Vec<Token> {
    let (mut tokens, mut rest) = (Vec::new(), section);
    while let Some(c) = rest.chars().next() {
        let (token, length) = token(c, rest);
        if let Some(token) = token {
            match (&token, tokens.last_mut()) {
                (Token::Text(more), Some(Token::Text(text))) => text.push_str(more),
                _ => tokens.push(token),
            }
        }
        rest = rest.get(length.max(c.len_utf8())..).unwrap_or_default();
    }
    tokens
}

/// The token at the beginning of `rest` and its length in bytes.
fn token(c: char, rest: &str) -> (Option<Token>, usize) {
    let noons = [("AM/PM", "AM", "PM"), ("A/P", "A", "P"), ("上午/下午", "上午", "下午")];
    for (code, before, after) in noons {
        if rest.get(..code.len()).is_some_and(|start| start.eq_ignore_ascii_case(code)) {
            return (Some(Token::Noon(before, after)), code.len());
        }
    }
    if rest.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("general")) {
        return (Some(Token::General), 7);
    }
    match c {
        '"' => {
            let inner = rest.get(1..).unwrap_or_default();
            let end = inner.find('"').unwrap_or(inner.len());
            (Some(Token::Text(inner.get(..end).unwrap_or_default().to_owned())), end + 2)
        }
        '\\' => {
            let next: String = rest.chars().skip(1).take(1).collect();
            let length = 1 + next.len();
            (Some(Token::Text(next)), length)
        }
        // A gap as wide as the next character; a fill.
        '_' | '*' => (None, 1 + rest.chars().nth(1).map_or(0, char::len_utf8)),
        '[' => bracket(rest),
        '0' | '#' | '?' => (Some(Token::Digit(if c == '0' { b'0' } else { b'#' })), 1),
        '.' => (Some(Token::Point), 1),
        ',' => (Some(Token::Comma), 1),
        '%' => (Some(Token::Percent), 1),
        '/' => (Some(Token::Slash), 1),
        '@' => (Some(Token::General), 1),
        'E' | 'e' if matches!(rest.as_bytes().get(1), Some(b'+' | b'-')) => (Some(Token::Exponent), 2),
        'y' | 'Y' | 'm' | 'M' | 'd' | 'D' | 'h' | 'H' | 's' | 'S' | 'a' | 'e' | 'b' => {
            let length = rest.bytes().take_while(|byte| byte.eq_ignore_ascii_case(&(c as u8))).count();
            (Some(Token::Part((c as u8).to_ascii_lowercase(), length)), length)
        }
        c => (Some(Token::Text(c.to_string())), c.len_utf8()),
    }
}

/// `[$¥-804]` is a sign, `[h]` counts hours, colours and conditions say nothing here.
fn bracket(rest: &str) -> (Option<Token>, usize) {
    let Some(end) = rest.find(']') else { return (None, rest.len()) };
    let inner = rest.get(1..end).unwrap_or_default();
    let token = match inner.strip_prefix('$') {
        Some(currency) => {
            let sign = currency.split('-').next().unwrap_or_default();
            (!sign.is_empty()).then(|| Token::Text(sign.to_owned()))
        }
        None => match inner.bytes().next().map(|byte| byte.to_ascii_lowercase()) {
            Some(letter @ (b'h' | b'm' | b's'))
                if inner.bytes().all(|byte| byte.eq_ignore_ascii_case(&letter)) =>
            {
                Some(Token::Elapsed(letter))
            }
            _ => None,
        },
    };
    (token, end + 1)
}

/// Fifteen significant digits, as Excel keeps them, and where the point stands.
fn decimal(value: f64) -> (Vec<u8>, i32) {
    let text = format!("{:.14e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    while digits.len() > 1 && digits.last() == Some(&b'0') {
        digits.pop();
    }
    (digits, exponent.parse().unwrap_or(0))
}

/// With this many places after the point, halves away from zero. The sign is left to the caller.
fn fixed(value: f64, places: usize) -> String {
    let (digits, exponent) = decimal(value);
    if exponent > 300 || digits.as_slice() == b"0" {
        return format!("{:.places$}", value.abs());
    }
    // The digit of the ones comes first, so a number below one begins with zeros.
    let mut all = vec![b'0'; usize::try_from(-exponent).unwrap_or(0)];
    all.extend(&digits);
    let wanted = usize::try_from(exponent).unwrap_or(0) + 1 + places;
    let rounds_up = all.get(wanted).is_some_and(|digit| *digit >= b'5');
    all.resize(wanted, b'0');
    if rounds_up {
        let mut at = all.len();
        loop {
            let Some(digit) = at.checked_sub(1).and_then(|before| all.get_mut(before)) else {
                all.insert(0, b'1');
                break;
            };
            if *digit == b'9' {
                *digit = b'0';
                at -= 1;
            } else {
                *digit += 1;
                break;
            }
        }
    }
    let point = all.len() - places;
    let mut text = String::from_utf8_lossy(&all).into_owned();
    if places > 0 {
        text.insert(point, '.');
    }
    text
}

/// Without a format: as few digits as say it.
pub(super) fn general(value: f64) -> String {
    let (digits, exponent) = decimal(value);
    let sign = if value < 0.0 { "-" } else { "" };
    let count = i32::try_from(digits.len()).unwrap_or(15);
    if (-10..=20).contains(&exponent) {
        let places = usize::try_from((count - 1 - exponent).max(0)).unwrap_or(0);
        return format!("{sign}{}", fixed(value, places));
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, &[]));
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{}E{exponent:+}", String::from_utf8_lossy(first), String::from_utf8_lossy(rest))
}

fn number(value: f64, tokens: &[Token]) -> String {
    if tokens.contains(&Token::General) || !tokens.iter().any(|token| matches!(token, Token::Digit(_))) {
        return literal(tokens, value);
    }
    // Fractions are shown as the number they are.
    if tokens.contains(&Token::Slash) {
        return general(value);
    }
    let percents = tokens.iter().filter(|token| **token == Token::Percent).count();
    let mut scaled = value * 100f64.powi(i32::try_from(percents.min(4)).unwrap_or(0));
    let point = tokens.iter().position(|token| *token == Token::Point);
    let exponent = tokens.iter().position(|token| *token == Token::Exponent);
    let is_digit = |at: &usize| matches!(tokens.get(*at), Some(Token::Digit(_)));
    let end = exponent.unwrap_or(tokens.len());
    let whole_end = point.unwrap_or(end).min(end);
    let places = (whole_end..end).filter(is_digit).count();
    let needed = (whole_end..end).filter(|at| tokens.get(*at) == Some(&Token::Digit(b'0'))).count();
    let first = (0..end).find(is_digit).unwrap_or(0);
    let last_whole = (0..whole_end).rev().find(is_digit).unwrap_or(first);
    let is_comma = |at: &usize| tokens.get(*at) == Some(&Token::Comma);
    let grouped = (first..last_whole).any(|at| is_comma(&at));
    // Commas behind the last digit of either side scale by a thousand each.
    let last_place = (whole_end..end).rev().find(is_digit).unwrap_or(whole_end);
    let thousands = (last_whole..whole_end).chain(last_place..end).filter(is_comma).count();
    scaled /= 1000f64.powi(i32::try_from(thousands.min(4)).unwrap_or(0));
    let mut power = 0;
    if exponent.is_some() && scaled != 0.0 {
        power = decimal(scaled).1;
        scaled /= 10f64.powi(power);
    }
    let text = fixed(scaled, places);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let padding = (first..whole_end).filter(|at| tokens.get(*at) == Some(&Token::Digit(b'0'))).count();
    let whole = placed(whole, padding, grouped, tokens.get(first..=last_whole).unwrap_or_default());
    let mut fraction = fraction.to_owned();
    while fraction.len() > needed && fraction.ends_with('0') {
        fraction.pop();
    }
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let mut shown = String::from(if value < 0.0 && !is_zero { "-" } else { "" });
    shown.push_str(&literals(tokens.get(..first).unwrap_or_default()));
    shown.push_str(&whole);
    if point.is_some() && (!fraction.is_empty() || needed > 0) {
        shown.push('.');
        shown.push_str(&fraction);
    }
    if exponent.is_some() {
        shown.push_str(&format!("E{}{:02}", if power < 0 { '-' } else { '+' }, power.abs()));
    }
    let last = (0..tokens.len()).rev().find(is_digit).unwrap_or(last_whole);
    shown.push_str(&literals(tokens.get(last + 1..).unwrap_or_default()));
    shown
}

/// The digits before the point: filled with zeros, grouped, or laid out between the texts of the pattern.
fn placed(whole: &str, padding: usize, grouped: bool, pattern: &[Token]) -> String {
    let whole = if whole == "0" && padding == 0 { "" } else { whole };
    let padded = format!("{}{whole}", "0".repeat(padding.min(64).saturating_sub(whole.len())));
    let mut parts: Vec<String> = Vec::new();
    let mut digits = padded.chars().rev();
    if pattern.iter().any(|token| matches!(token, Token::Text(_))) {
        for token in pattern.iter().rev() {
            match token {
                Token::Text(text) => parts.push(text.clone()),
                Token::Digit(_) => parts.extend(digits.next().map(String::from)),
                _ => {}
            }
        }
        parts.extend(digits.map(String::from));
    } else {
        for (at, digit) in digits.enumerate() {
            if grouped && at > 0 && at % 3 == 0 {
                parts.push(",".into());
            }
            parts.push(digit.to_string());
        }
    }
    parts.reverse();
    parts.concat()
}

fn literals(tokens: &[Token]) -> String {
    let texts = tokens.iter().map(|token| match token {
        Token::Text(text) => text.as_str(),
        Token::Percent => "%",
        _ => "",
    });
    texts.collect()
}

fn literal(tokens: &[Token], value: f64) -> String {
    let texts = tokens.iter().map(|token| match token {
        Token::Text(text) => text.clone(),
        Token::General => general(value),
        Token::Percent => "%".into(),
        _ => String::new(),
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: f64, code: &str) -> String {
        shown(value, code, Epoch::Y1900)
    }

    #[test]
    fn numbers_look_as_their_format_says() {
        for (value, code, expected) in [
            (0.1 + 0.2, "General", "0.3"),
            (1234.5, "#,##0.00", "1,234.50"),
            (-1234.567, "#,##0.00;(#,##0.00)", "(1,234.57)"),
            (0.256, "0%", "26%"),
            (0.2565, "0.00%", "25.65%"),
            (2.675, "0.00", "2.68"),
            (0.005, "0.00", "0.01"),
            (9.999, "0.00", "10.00"),
            (7.0, "000", "007"),
            (1234567.0, "0.0,,\"M\"", "1.2M"),
            (12.5, "[$¥-804]#,##0.00", "¥12.50"),
            (12.5, "\"RMB \"0.0", "RMB 12.5"),
            (0.0, "0;-0;\"zero\"", "zero"),
            (5.0, "0.##", "5"),
            (5.25, "0.##", "5.25"),
            (12345.0, "0.00E+00", "1.23E+04"),
            (13_800_138_000.0, "000-0000-0000", "138-0013-8000"),
            (-3.5, "0.0", "-3.5"),
            (-0.001, "0.00", "0.00"),
            (42.0, "", "42"),
            (42.0, "@", "42"),
            (1e21, "General", "1E+21"),
            (123456789012.0, "General", "123456789012"),
            (0.000012, "General", "0.000012"),
            (3.25, "# ?/?", "3.25"),
            (6.0, "0_);(0)", "6"),
        ] {
            assert_eq!(at(value, code), expected, "{value} as {code}");
        }
    }

    #[test]
    fn dates_are_dates_and_not_serial_numbers() {
        for (value, code, expected) in [
            (45356.0, "yyyy-mm-dd", "2024-03-05"),
            (45356.0, "yyyy/m/d", "2024/3/5"),
            (45356.0, "yyyy\"年\"m\"月\"d\"日\"", "2024年3月5日"),
            (45356.0, "[$-804]yyyy\"年\"m\"月\"d\"日\";@", "2024年3月5日"),
            (45356.0, "aaaa", "星期二"),
            (45356.75, "yyyy-mm-dd hh:mm:ss", "2024-03-05 18:00:00"),
            (45356.75, "h:mm AM/PM", "6:00 PM"),
            (45356.75, "上午/下午h:mm", "下午6:00"),
            (0.5, "h:mm", "12:00"),
            (1.5, "[h]:mm", "36:00"),
            (1.0 / 86_400.0 * 90.5, "mm:ss.0", "01:30.5"),
            (45356.0, "d-mmm-yy", "5-Mar-24"),
            (45356.0, "dddd, mmmm d", "Tuesday, March 5"),
            (59.0, "yyyy-mm-dd", "1900-02-28"),
            (1.0, "yyyy-mm-dd", "1900-01-01"),
            (61.0, "yyyy-mm-dd", "1900-03-01"),
            (-1.0, "yyyy-mm-dd", "-1"),
            (1e12, "yyyy", "1000000000000"),
        ] {
            assert_eq!(at(value, code), expected, "{value} as {code}");
        }
        assert_eq!(shown(0.0, "yyyy-mm-dd", Epoch::Y1904), "1904-01-01");
    }

    #[test]
    fn no_format_breaks_it() {
        let codes = [
            "\"",
            "\\",
            "[",
            "[h",
            ";;;;",
            "0,0,0.0.0%%E+E-",
            "yyyyyyyyyy",
            "_",
            "*",
            "年\"",
            "0\u{301}",
            "E+0",
        ];
        for code in codes {
            for value in [0.0, -1.0, 1e-300, 1e300, f64::MAX, f64::NAN, f64::INFINITY, 45356.123] {
                let _ = at(value, code);
            }
        }
    }
}

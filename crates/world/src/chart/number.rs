//! Numbers as people write them in tables, and as a chart shows them.

/// `1,234.5`, `12 %`, `$5`, `¥5`, `(5)` for minus five. `None`: not a number, or one beyond what can be drawn.
pub fn read(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return usable(number);
    }
    let (text, negative) = match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let text = text.trim_matches(|c: char| "$€£¥￥%％ \u{a0}".contains(c));
    if !text.bytes().all(|byte| byte.is_ascii_digit() || b",._'+-eE ".contains(&byte)) {
        return None;
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let plain: String = text.chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    let number: f64 = plain.parse().ok().filter(|_| has_digit && groups_of_three(text))?;
    usable(if negative { -number } else { number })
}

/// `1,5` is not fifteen: commas count as separators only where thousands end.
fn groups_of_three(text: &str) -> bool {
    let whole = text.split(['.', 'e', 'E']).next().unwrap_or(text);
    whole.split(',').skip(1).all(|group| group.len() == 3)
}

/// Past this, sums of a few numbers are infinite.
fn usable(number: f64) -> Option<f64> {
    (number.is_finite() && number.abs() < 1e300).then_some(number)
}

/// Short: `1.2M`, `12,345`, `0.05`, `3.2e-7`.
pub fn show(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e15).contains(&size) {
        let text = format!("{number:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(digits));
    }
    for (limit, letter) in [(1e12, "T"), (1e9, "B"), (1e6, "M")] {
        if size >= limit {
            return format!("{}{letter}", trimmed(&format!("{:.2}", number / limit)));
        }
    }
    let decimals = match size {
        _ if size >= 1000.0 => 1,
        _ if size >= 1.0 => 2,
        _ => 4,
    };
    grouped(trimmed(&format!("{number:.decimals$}")))
}

/// As far as steps of this size can be told apart.
pub fn show_step(number: f64, step: f64) -> String {
    // A step of 2.5 million needs its half, a step of a million does not; `show` keeps two decimals in any case.
    if number != 0.0 && number.abs() < step * 1e-6 { "0".into() } else { show(number) }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut shown = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    if let Some(fraction) = fraction {
        shown.push('.');
        shown.push_str(fraction);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_tables_have_them() {
        for (text, number) in [
            ("12", 12.0),
            (" 1,234.5 ", 1234.5),
            ("12 %", 12.0),
            ("$5", 5.0),
            ("￥1,000", 1000.0),
            ("(7)", -7.0),
            ("1e3", 1000.0),
            ("-0.5", -0.5),
        ] {
            assert_eq!(read(text), Some(number), "{text}");
        }
        for text in ["", "abc", "NaN", "inf", "1e301", "1,5", "12 apples", "--", "2024-01-02", "%", "1-2"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_shown_short() {
        let shown = [0.0, 5.0, -1234.5, 1_234_567.0, 2.5e9, 0.05, 3.2e-7, 1e20, 12345.0, 0.1 + 0.2].map(show);
        assert_eq!(shown, ["0", "5", "-1,234.5", "1.23M", "2.5B", "0.05", "3.2e-7", "1e20", "12,345", "0.3"]);
    }
}

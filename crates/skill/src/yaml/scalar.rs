//! What a scalar means in the YAML 1.2 core schema. `no`, `on`, `yes` and dates are text.

use super::{Node, NodeKind, Style};

/// A node's value by the core schema.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resolved<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    /// Also integers that do not fit 64 bits.
    Float(f64),
    Text(&'a str),
    Sequence,
    Mapping,
}

impl Node {
    pub fn resolve(&self) -> Resolved<'_> {
        match &self.kind {
            NodeKind::Scalar { text, style: Style::Plain } => resolve_plain(text),
            NodeKind::Scalar { text, .. } => Resolved::Text(text),
            NodeKind::Sequence { .. } => Resolved::Sequence,
            NodeKind::Mapping { .. } => Resolved::Mapping,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.resolve() {
            Resolved::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self.resolve() {
            Resolved::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// Integers too.
    #[expect(clippy::cast_precision_loss, reason = "a float is what was asked for")]
    pub fn as_f64(&self) -> Option<f64> {
        match self.resolve() {
            Resolved::Integer(value) => Some(value as f64),
            Resolved::Float(value) => Some(value),
            _ => None,
        }
    }

    /// Text only: `42` and `true` are not text, `"42"` is.
    pub fn as_str(&self) -> Option<&str> {
        match self.resolve() {
            Resolved::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        self.resolve() == Resolved::Null
    }
}

fn resolve_plain(text: &str) -> Resolved<'_> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        _ => match number(text) {
            Some(number) => number,
            None => Resolved::Text(text),
        },
    }
}

fn number(text: &str) -> Option<Resolved<'static>> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    match unsigned {
        ".inf" | ".Inf" | ".INF" => {
            let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
            return Some(Resolved::Float(f64::INFINITY * sign));
        }
        ".nan" | ".NaN" | ".NAN" if unsigned == text => return Some(Resolved::Float(f64::NAN)),
        _ => {}
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits_only = whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
    let exponent_ok = exponent.is_none_or(|e| all_digits(e.strip_prefix(['-', '+']).unwrap_or(e)));
    if !digits_only || (whole.is_empty() && fraction.is_empty()) || !exponent_ok {
        return None;
    }
    if exponent.is_none()
        && !mantissa.contains('.')
        && let Ok(integer) = text.parse()
    {
        return Some(Resolved::Integer(integer));
    }
    text.parse().ok().map(Resolved::Float)
}

#[expect(clippy::cast_precision_loss, reason = "a number past 64 bits is a float")]
fn radix(digits: &str, radix: u32) -> Option<Resolved<'static>> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some(match i64::from_str_radix(digits, radix) {
        Ok(integer) => Resolved::Integer(integer),
        Err(_) => Resolved::Float(u128::from_str_radix(digits, radix).map_or(f64::INFINITY, |n| n as f64)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for text in [
            "no",
            "on",
            "yes",
            "Off",
            "y",
            "2024-01-01",
            "1.2.3",
            "1_000",
            "0b1",
            "-",
            ".",
            "+.e",
            "0x",
            "1e",
            "-.nan",
            "inf",
        ] {
            assert_eq!(resolve_plain(text), Resolved::Text(text), "{text}");
        }
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(resolve_plain(text), Resolved::Null, "{text}");
        }
        for (text, value) in [("0", 0), ("-12", -12), ("+7", 7), ("0o17", 15), ("0xfF", 255), ("007", 7)] {
            assert_eq!(resolve_plain(text), Resolved::Integer(value), "{text}");
        }
        for (text, value) in
            [("1.0", 1.0), (".5", 0.5), ("1.", 1.0), ("-1e3", -1000.0), ("-.inf", f64::NEG_INFINITY)]
        {
            assert_eq!(resolve_plain(text), Resolved::Float(value), "{text}");
        }
        assert!(matches!(resolve_plain("99999999999999999999"), Resolved::Float(_)));
        assert!(matches!(resolve_plain(".nan"), Resolved::Float(n) if n.is_nan()));
        assert_eq!(resolve_plain("TRUE"), Resolved::Bool(true));
    }

    #[test]
    fn quotes_make_text() {
        let node = crate::yaml::parse("a: 'true'\nb: true\n", 0).unwrap();
        assert_eq!((node.get("a").unwrap().as_bool(), node.get("a").unwrap().as_str()), (None, Some("true")));
        assert_eq!((node.get("b").unwrap().as_bool(), node.get("b").unwrap().as_str()), (Some(true), None));
    }
}

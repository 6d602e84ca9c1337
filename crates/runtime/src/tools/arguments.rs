//! Reading the arguments of a call. Models are sloppy with numbers, so `"10"` and `10.0` are ten; unknown names are not
//! guessed, because an argument that is silently dropped makes a different call.

use super::outcome::Failure;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub(super) fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, Failure> {
    let nothing = Value::Object(serde_json::Map::new());
    let arguments = if arguments.is_null() { &nothing } else { arguments };
    T::deserialize(arguments).map_err(|error| Failure::new(format!("wrong arguments: {error}")))
}

/// A whole number that is not negative, however it was written.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    let number = match &value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    let shown = value.unwrap_or_default();
    number.map(Some).ok_or_else(|| D::Error::custom(format!("expected a whole number, found {shown}")))
}

fn whole(number: f64) -> Option<u64> {
    // Above 2^53 a float no longer tells neighbours apart; nothing here counts that far.
    let fits = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked on the line above")]
    fits.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[serde(default, deserialize_with = "count")]
        n: Option<u64>,
    }

    #[test]
    fn numbers_are_read_as_models_write_them() {
        for (value, expected) in
            [(json!(10), Some(10)), (json!("10"), Some(10)), (json!(10.0), Some(10)), (json!(null), None)]
        {
            assert_eq!(parse::<Sample>(&json!({"n": value})).unwrap().n, expected);
        }
        for value in [json!(-1), json!(1.5), json!("ten"), json!([]), json!(1e300), json!(true)] {
            let failure = parse::<Sample>(&json!({"n": value})).unwrap_err();
            assert!(format!("{failure:?}").contains("expected a whole number"), "{failure:?}");
        }
        assert_eq!(parse::<Sample>(&Value::Null).unwrap().n, None);
    }

    #[test]
    fn an_unknown_argument_is_named() {
        let failure = format!("{:?}", parse::<Sample>(&json!({"m": 1})).unwrap_err());
        assert!(failure.contains("`m`") && failure.contains("`n`"), "{failure}");
    }
}

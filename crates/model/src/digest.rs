//! A SHA-256 as an identity of content. Computing it is the business of the rooms that hold the bytes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

const PREFIX: &str = "sha256:";

/// The SHA-256 of some content, written `sha256:<64 hex digits>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest (expected `sha256:` and 64 hex digits)")]
pub struct DigestError(pub String);

impl Digest {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve hex digits: enough for eyes, never for identity.
    pub fn short(&self) -> String {
        self.0.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({}…)", self.short())
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let wrong = || DigestError(text.chars().take(80).collect());
        let hex = text.strip_prefix(PREFIX).ok_or_else(wrong)?.as_bytes();
        if hex.len() != 64 {
            return Err(wrong());
        }
        let mut bytes = [0u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            let digit = |c: u8| char::from(c).to_digit(16);
            let (Some(high), Some(low)) =
                (pair.first().copied().and_then(digit), pair.last().copied().and_then(digit))
            else {
                return Err(wrong());
            };
            *byte = u8::try_from(high * 16 + low).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

// Text where a person may read it (JSON, YAML), raw bytes in our own binary index.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
        } else {
            <[u8; 32]>::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let digest = Digest::from_bytes(std::array::from_fn(|i| u8::try_from(i * 7).unwrap()));
        assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        assert_eq!(serde_json::from_str::<Digest>(&serde_json::to_string(&digest).unwrap()).unwrap(), digest);
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "sha256:",
            "md5:00",
            &format!("sha256:{}", "g".repeat(64)),
            &format!("sha256:{}", "é".repeat(32)),
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}

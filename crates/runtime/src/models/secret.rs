//! A key, and where it comes from. It has no `Debug`, no `Display` and no `Serialize`: it can only be spent.

use super::error::ModelError;
use fugato_model::chat::ModelFault;
use fugato_model::words;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// A key command that asks for a password on a terminal nobody sees would wait for ever.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// Shorter values would be struck out of innocent words.
const SHORTEST_REDACTED: usize = 6;

#[derive(Clone)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    /// `None` for an empty value: an exported but empty variable is no key.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The key itself, for a header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The key without the word that some headers put before it.
    pub fn bare(&self) -> &str {
        self.0.strip_prefix("Bearer ").unwrap_or(&self.0)
    }

    /// Strikes the key out of foreign text that may repeat it.
    pub fn redact(&self, text: &str) -> String {
        let key = self.bare();
        if key.len() < SHORTEST_REDACTED { text.to_owned() } else { text.replace(key, "[key]") }
    }
}

/// Where a provider's key comes from.
pub(crate) enum KeySource {
    /// None is needed (a server on this machine).
    NotNeeded,
    /// None was found in these variables.
    Missing(Vec<String>),
    Given {
        secret: Secret,
        variable: String,
    },
    /// A command that prints the key; asked once, and again after it was refused.
    Command {
        command: String,
        cache: Mutex<Option<Secret>>,
    },
}

impl KeySource {
    pub fn command(command: String) -> Self {
        Self::Command { command, cache: Mutex::new(None) }
    }

    pub fn is_given(&self) -> bool {
        matches!(self, Self::Given { .. } | Self::Command { .. })
    }

    pub async fn get(&self, provider: &str) -> Result<Option<Secret>, ModelError> {
        match self {
            Self::NotNeeded => Ok(None),
            Self::Given { secret, .. } => Ok(Some(secret.clone())),
            Self::Missing(variables) => Err(missing(provider, variables)),
            Self::Command { command, cache } => {
                let mut cache = cache.lock().await;
                if let Some(secret) = &*cache {
                    return Ok(Some(secret.clone()));
                }
                let secret = ask(provider, command).await?;
                *cache = Some(secret.clone());
                Ok(Some(secret))
            }
        }
    }

    /// The key was refused: a command is asked again at the next call.
    pub async fn forget(&self) {
        if let Self::Command { cache, .. } = self {
            *cache.lock().await = None;
        }
    }
}

fn missing(provider: &str, variables: &[String]) -> ModelError {
    let variable = variables.first().map_or("FUGATO_API_KEY", String::as_str);
    ModelError::new(
        ModelFault::Unauthorized,
        words!(
            "no key for `{provider}`; set one: export {variable}=…",
            "没有 `{provider}` 的密钥；请设置：export {variable}=…"
        ),
    )
}

/// Runs the command. Its output is a secret and its complaints may hold one, so errors tell only how it ended.
async fn ask(provider: &str, command: &str) -> Result<Secret, ModelError> {
    let failed = |how: String| {
        ModelError::new(
            ModelFault::Unauthorized,
            words!(
                "the key command of `{provider}` gave no key: {how}",
                "`{provider}` 的密钥命令没有给出密钥：{how}"
            ),
        )
    };
    let mut child = tokio::process::Command::new("sh");
    child.arg("-c").arg(command).stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(COMMAND_TIMEOUT, child.output()).await;
    match output {
        Err(_) => Err(failed(format!("timeout after {} s", COMMAND_TIMEOUT.as_secs()))),
        Ok(Err(error)) => Err(failed(error.kind().to_string())),
        Ok(Ok(output)) if !output.status.success() => Err(failed(output.status.to_string())),
        Ok(Ok(output)) => std::str::from_utf8(&output.stdout)
            .ok()
            .and_then(Secret::new)
            .ok_or_else(|| failed("empty output".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_is_asked_once_and_again_after_a_refusal() {
        let dir = tempfile::tempdir().unwrap();
        let count = dir.path().join("count");
        let source = KeySource::command(format!(
            "echo x >> {0}; echo \" key-$(wc -l < {0} | tr -d ' ') \"",
            count.display()
        ));
        let key = async || source.get("p").await.unwrap().unwrap().expose().to_owned();
        assert_eq!((key().await, key().await), ("key-1".to_owned(), "key-1".to_owned()));
        source.forget().await;
        assert_eq!(key().await, "key-2");
    }

    #[tokio::test]
    async fn a_failing_command_tells_how_it_ended_and_nothing_it_printed() {
        for command in ["echo sk-canary; echo sk-canary >&2; exit 3", "true", "printf '  \\n'"] {
            let error = KeySource::command(command.to_owned()).get("p").await.err().unwrap();
            assert_eq!(error.fault, ModelFault::Unauthorized);
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        }
    }

    #[test]
    fn a_key_is_struck_out_of_foreign_text() {
        let secret = Secret::new("sk-abcdef").unwrap();
        assert_eq!(secret.redact("bad key sk-abcdef!"), "bad key [key]!");
        let token = Secret::new("Bearer abc-token").unwrap();
        assert_eq!(token.redact("no abc-token"), "no [key]");
        assert!(Secret::new(" \n").is_none());
    }
}

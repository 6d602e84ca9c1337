//! What of our environment a host sees: what it needs to run, to find its own settings and to reach its own model. Keys of
//! others stay with us.

use super::Host;
use std::ffi::OsString;

/// What every program needs, proxies and certificates included.
const ORDINARY: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
];

/// The variables a host is given out of `all` (usually `std::env::vars_os()`), and what we add so that it behaves as a child.
/// `further` are names that the person's own settings add (`hosts.NAME.env`).
pub fn environment(
    host: Host,
    all: impl IntoIterator<Item = (OsString, OsString)>,
    further: &[String],
) -> Vec<(OsString, OsString)> {
    let all: Vec<(OsString, OsString)> = all.into_iter().collect();
    let is_set = |name: &str| all.iter().any(|(key, value)| key == name && !value.is_empty());
    let uses_bedrock = is_set("CLAUDE_CODE_USE_BEDROCK");
    let uses_vertex = is_set("CLAUDE_CODE_USE_VERTEX");
    let passes = |name: &str| {
        if further.iter().any(|wanted| wanted == name) {
            return true;
        }
        let own = match host {
            Host::Claude => {
                (name.starts_with("ANTHROPIC_")
                    || name.starts_with("CLAUDE_")
                    || name.starts_with("DISABLE_"))
                    || (uses_bedrock && name.starts_with("AWS_"))
                    || (uses_vertex && (name.starts_with("GOOGLE_") || name == "CLOUD_ML_REGION"))
            }
            Host::Codex => name.starts_with("OPENAI_") || name.starts_with("CODEX_"),
        };
        (own && !is_about_a_parent(name)) || ORDINARY.contains(&name) || name.starts_with("LC_")
    };
    let mut kept: Vec<(OsString, OsString)> =
        all.iter().filter(|(key, _)| key.to_str().is_some_and(passes)).cloned().collect();
    let added: &[(&str, &str)] = match host {
        // A child that replaces itself in the middle of a run would be another program than the one that was looked at.
        Host::Claude => &[("DISABLE_AUTOUPDATER", "1")],
        Host::Codex => &[],
    };
    for (name, value) in added {
        if !kept.iter().any(|(key, _)| key == name) {
            kept.push((name.into(), value.into()));
        }
    }
    kept
}

/// What a host sets for its own children: fugato may run inside one, but the agent it starts is no part of it.
fn is_about_a_parent(name: &str) -> bool {
    const TOLD: &[&str] = &[
        "CLAUDE_CODE_AGENT",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_REMOTE",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_TASK_LIST_ID",
        "CLAUDE_EFFORT",
        "CLAUDE_PID",
        "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
        "CODEX_CI",
        "CODEX_MANAGED_BY_NPM",
        "CODEX_MANAGED_PACKAGE_ROOT",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "CODEX_SESSION_ID",
        "CODEX_THREAD_ID",
        "CODEX_TOOL_CALL_ID",
        "CODEX_VERSION",
    ];
    TOLD.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(host: Host, given: &[&str], further: &[&str]) -> Vec<String> {
        let further: Vec<String> = further.iter().map(|name| (*name).to_owned()).collect();
        let all = given.iter().map(|name| (OsString::from(name), OsString::from("x")));
        let kept = environment(host, all, &further);
        kept.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    const GIVEN: &[&str] = &[
        "PATH",
        "HOME",
        "LC_ALL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "CODEX_HOME",
        "GEMINI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "TEAM_KEY",
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CONFIG_DIR",
        "CODEX_SANDBOX",
        "FUGATO_HOME",
    ];

    #[test]
    fn a_host_sees_its_own_key_and_no_other() {
        assert_eq!(
            names(Host::Claude, GIVEN, &[]),
            [
                "PATH",
                "HOME",
                "LC_ALL",
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_BASE_URL",
                "CLAUDE_CONFIG_DIR",
                "DISABLE_AUTOUPDATER"
            ]
        );
        assert_eq!(
            names(Host::Codex, GIVEN, &[]),
            ["PATH", "HOME", "LC_ALL", "OPENAI_API_KEY", "CODEX_HOME"]
        );
    }

    #[test]
    fn cloud_keys_go_along_only_when_they_are_the_way_to_the_model_and_others_when_named() {
        let bedrock = [GIVEN, &["CLAUDE_CODE_USE_BEDROCK"]].concat();
        assert!(names(Host::Claude, &bedrock, &[]).contains(&"AWS_SECRET_ACCESS_KEY".to_owned()));
        assert!(!names(Host::Codex, &bedrock, &[]).contains(&"AWS_SECRET_ACCESS_KEY".to_owned()));
        assert!(names(Host::Codex, GIVEN, &["TEAM_KEY"]).contains(&"TEAM_KEY".to_owned()));
    }
}

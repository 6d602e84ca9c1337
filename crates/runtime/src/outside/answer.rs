//! The answer on standard output, as each host understands it. Never `allow`: without a decision the host's own rules apply.

use super::host::Host;
use fugato_engine::outside::{Answer, Denial, Guard};
use serde_json::{Map, Value, json};

/// The document for this event; `None`: there is nothing to say.
pub fn render(host: Host, event: &str, answer: &Answer) -> Option<String> {
    if let Guard::Deny(denial) = &answer.guard {
        return Some(deny(host, denial).to_string());
    }
    if let Some(reason) = &answer.block {
        return Some(json!({"decision": "block", "reason": reason}).to_string());
    }
    if answer.context.is_empty() || !host.hears_at(event) {
        return None;
    }
    let context = answer.context.join("\n\n");
    let output = json!({"hookEventName": event, "additionalContext": context});
    Some(json!({"hookSpecificOutput": output}).to_string())
}

fn deny(host: Host, denial: &Denial) -> Value {
    let reason = denial.reason();
    let mut document = denied(&reason);
    if *denial == Denial::Cancelled && host.can_be_stopped() {
        document.insert("continue".to_owned(), false.into());
        document.insert("stopReason".to_owned(), "cancelled by the operator".into());
    }
    Value::Object(document)
}

/// A denial with a reason, which every host understands.
pub fn denied(reason: &str) -> Map<String, Value> {
    let output = json!({
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
    });
    Map::from_iter([("hookSpecificOutput".to_owned(), output)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(denial: Denial) -> Answer {
        Answer { guard: Guard::Deny(denial), ..Answer::default() }
    }

    #[test]
    fn codex_never_gets_what_would_make_it_run_the_tool() {
        for host in [Host::Codex, Host::Other] {
            let text = render(host, "PreToolUse", &denial(Denial::Cancelled)).unwrap();
            assert!(text.contains("\"deny\"") && !text.contains("continue"), "{text}");
        }
        let text = render(Host::Claude, "PreToolUse", &denial(Denial::Cancelled)).unwrap();
        assert!(text.contains("\"continue\":false"), "{text}");
        let text = render(Host::Claude, "PreToolUse", &denial(Denial::Paused)).unwrap();
        assert!(!text.contains("continue") && text.contains("paused by the operator; wait"), "{text}");
    }

    #[test]
    fn nobody_is_ever_allowed_and_silence_is_no_answer() {
        let told = Answer { context: vec!["news".into()], ..Answer::default() };
        for host in [Host::Claude, Host::Codex, Host::Other] {
            for event in ["PreToolUse", "PostToolUse", "Stop", "SessionStart"] {
                assert_eq!(render(host, event, &Answer::default()), None);
                let text = render(host, event, &told).unwrap_or_default();
                assert!(!text.contains("allow"), "{text}");
                assert_eq!(text.contains("news"), host.hears_at(event));
            }
        }
    }
}

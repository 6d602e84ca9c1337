//! Any bytes as what a host sends to the hook: no panic, no path in a name, and never a guard without its arguments.
#![no_main]

use fugato_runtime::outside::{clean, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (text, is_lossy) = clean(bytes);
    let Ok(payload) = parse(&text, is_lossy) else { return };
    assert!(payload.session().len() <= 130 && !payload.session().contains(['/', '\0']));
    let event = payload.event().unwrap_or_else(|| "PreToolUse".to_owned());
    for event in [event.as_str(), "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "Other"] {
        let input = payload.input(event);
        // What is kept stays small, whatever came.
        assert!(format!("{input:?}").len() < 200_000);
    }
    if payload.call_problem().is_none() {
        assert!(payload.value("tool_input").is_some());
    }
});

//! Any text as the result of an agent or a program: a value or a message, never a panic.
#![no_main]

use fugato_skill::{VarName, outcome};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let name = VarName::parse("CALENDAR").ok();
    for output in [None, name.as_ref()] {
        for failure in [outcome::from_text(text, output).err(), outcome::from_program(text, output).err()] {
            assert!(failure.is_none_or(|failure| !failure.message.zh.is_empty()));
        }
    }
    if let Ok(value) = serde_json::from_str(text) {
        let _ = outcome::from_submitted(value, name.as_ref());
    }
});

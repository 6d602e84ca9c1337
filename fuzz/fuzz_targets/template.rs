//! Any text as a template: no panic, and values are inserted, never read again.
#![no_main]

use fugato_skill::interpolate::Template;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    let Ok(template) = Template::parse(text, 1) else { return };
    let value = json!({"a": [1, {"b": "{{SECRET}}"}], "c": text});
    let secret = Value::String("revealed-by-a-second-pass".into());
    // The secret may be shown only if the template itself names it, or says the same words.
    let lookup = |name: &str| if name == "SECRET" { Some(&secret) } else { Some(&value) };
    if let Ok(rendered) = template.render(&lookup)
        && !text.contains("SECRET")
        && !text.contains("second-pass")
    {
        assert!(!rendered.text.contains("revealed-by-a-second-pass"));
    }
    // Plans store templates: what is read back is the same.
    let stored = serde_json::to_string(&template).expect("a template is data");
    assert_eq!(serde_json::from_str::<Template>(&stored).expect("and reads back"), template);
});

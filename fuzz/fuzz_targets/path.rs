//! Any text as a path or a name: what is accepted stays beneath and is canonical.
#![no_main]

use fugato_model::{RelPath, Scope, SkillName};
use libfuzzer_sys::fuzz_target;
use std::path::{Component, Path};

fuzz_target!(|text: &str| {
    for text in [text, &format!("./{text}"), &format!("a/./{text}")] {
        let Ok(path) = RelPath::parse(text) else { continue };
        assert!(Path::new(path.as_str()).components().all(|part| matches!(part, Component::Normal(_))));
        assert_eq!(RelPath::parse(path.as_str()), Ok(path));
    }
    if let Ok(name) = SkillName::parse(text) {
        assert_eq!(SkillName::suggest(name.as_str()), Some(name));
    }
    if let Ok(scope) = text.parse::<Scope>() {
        assert_eq!(scope.to_string(), text);
    }
});

//! Any bytes as an archive: no panic, no name that leaves, no memory beyond the limits.
#![no_main]

use fugato_skill::archive;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(bundle) = archive::read_zip("fuzz.zip", bytes) {
        for skill in &bundle.skills {
            for path in skill.files.keys() {
                assert!(path.components().all(|part| part != ".."));
            }
        }
    }
});

//! Any bytes as a profile: no panic, and a profile without errors resolves for each of its agents.
#![no_main]

use fugato_skill::{Inventory, policy, profile::Profile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let parsed = Profile::parse_bytes("fuzz.jsonc", bytes);
    if let Some(profile) = &parsed.profile {
        let inventory = Inventory::default();
        let _ = policy::lint(profile, &inventory);
        for agent in profile.agents(profile.mode) {
            let resolution = policy::resolve(profile, profile.mode, agent, &inventory);
            assert_eq!(resolution.visible().count(), 0);
        }
    }
});

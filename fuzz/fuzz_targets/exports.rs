//! Any bytes as a file of another program: no panic, every line read or counted, and an agent's directory leads back.
#![no_main]

use fugato_runtime::exports::{agent_dir, agent_of_dir, read_control_json, read_jsonl, read_run_json, read_status_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(run) = read_run_json(bytes) {
        for agent in &run.agents {
            let dir = agent_dir(&agent.id);
            assert!(dir.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && part.len() < 256));
            assert!(agent_of_dir(&dir).is_none_or(|id| id == agent.id));
        }
    }
    let _ = read_status_json(bytes);
    if let Ok(directives) = read_control_json(bytes) {
        assert!(!directives.is_empty());
    }
    let lines = read_jsonl(bytes);
    let filled = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    assert!(lines.bad.len() <= filled && lines.read.len() + lines.bad.len() >= filled);
});

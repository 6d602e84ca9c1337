//! The identity of a resolution: a digest of everything the answer depends on, so that nothing stale can be served.
//!
//! A policy of names depends on those skills only; `*` depends on the whole inventory, whose stamp is computed once.

use super::resolve::{Resolution, State};
use crate::Installed;
use crate::profile::{Listed, SkillsBlock};
use fugato_model::Digest;
use sha2::{Digest as _, Sha256};

impl Resolution<'_> {
    /// SHA-256 of the inputs: mode, agent and its role, both skills blocks, and the skills they can reach.
    pub fn key(&self) -> Digest {
        let mut hasher = Sha256::new();
        text(&mut hasher, "fugato.resolution/1");
        text(&mut hasher, self.mode.as_str());
        text(&mut hasher, self.agent.id.as_str());
        text(&mut hasher, self.agent.role.as_str());
        let state = match self.state {
            State::Open => "open",
            State::Nothing => "nothing",
            State::Closed(_) => "closed",
        };
        text(&mut hasher, state);
        block(&mut hasher, self.mode_block);
        block(&mut hasher, self.agent.skills.as_ref());
        for name in self.granted_names() {
            text(&mut hasher, name.as_str());
            // A person is told whether a name is missing or broken.
            match self.installed(name.as_str()) {
                Some(skill) => installed(&mut hasher, skill),
                None => number(&mut hasher, 0),
            }
        }
        if self.depends_on_inventory() {
            hasher.update(self.inventory.stamp().as_bytes());
        }
        Digest::from_bytes(hasher.finalize().into())
    }
}

/// The digest of everything installed.
pub(crate) fn stamp_of(skills: &[Installed]) -> Digest {
    let mut hasher = Sha256::new();
    text(&mut hasher, "fugato.inventory/1");
    for skill in skills {
        installed(&mut hasher, skill);
    }
    Digest::from_bytes(hasher.finalize().into())
}

fn installed(hasher: &mut Sha256, skill: &Installed) {
    text(hasher, &skill.label());
    text(hasher, &skill.scope.to_string());
    text(hasher, &skill.dir.to_string_lossy());
    // A skill whose files could not all be read has no digest: what an agent would be shown stands in for it.
    text(hasher, &skill.head.description);
    skill.head.tags.iter().for_each(|tag| text(hasher, tag));
    let head = &skill.head;
    number(hasher, head.owns.len());
    head.owns.iter().for_each(|name| text(hasher, name));
    let flags = [skill.usable, head.internal, head.model_hidden, skill.digest.is_some()];
    hasher.update(flags.map(u8::from));
    if let Some(digest) = &skill.digest {
        hasher.update(digest.as_bytes());
    }
}

fn block(hasher: &mut Sha256, block: Option<&SkillsBlock>) {
    let Some(block) = block else {
        number(hasher, 0);
        return;
    };
    number(hasher, 1);
    hasher.update([u8::from(block.none), u8::from(block.visible.is_some())]);
    list(hasher, block.visible.as_deref().unwrap_or_default());
    list(hasher, &block.deny);
}

fn list(hasher: &mut Sha256, entries: &[Listed]) {
    number(hasher, entries.len());
    entries.iter().for_each(|listed| text(hasher, listed.entry.as_str()));
}

/// Length first, so that no two sequences of texts look alike.
fn text(hasher: &mut Sha256, text: &str) {
    number(hasher, text.len());
    hasher.update(text.as_bytes());
}

fn number(hasher: &mut Sha256, n: usize) {
    hasher.update((n as u64).to_le_bytes());
}

//! A skill that is not an orchestrator, pinned as what a call of it becomes: a program, phases, or an agent that reads it.

use super::{Failure, Pinning};
use crate::runs::kinds;
use crate::runs::start::{Way, digest_of, metadata, parts, script_digests, too_large};
use crate::{Inside, SkillDir, read_phases};
use fugato_engine::planner;
use fugato_engine::{Access, CallableWork, EffectClass, Plan, Work};
use fugato_model::{Code, Diagnostic, RelPath, words};
use fugato_skill::phases::prompt;
use fugato_skill::{Installed, problems};
use std::collections::HashMap;
use std::path::Path;

/// Who reads a skill that says nothing of the kind.
const KIND: &str = "general-purpose";

impl Pinning<'_> {
    pub(super) fn callable(&mut self, skill: &Installed) -> Result<CallableWork, Failure> {
        let shown = skill.dir.join(&skill.file).display().to_string();
        let unreadable = |why: &str| Failure::Itself(vec![problems::unreadable(&shown, why)]);
        let file = RelPath::parse(&skill.file).map_err(|error| unreadable(&error.words().en))?;
        let dir = SkillDir::open(&skill.dir).map_err(|error| unreadable(&error.to_string()))?;
        let text = dir.read(&file).map_err(|error| unreadable(&error.to_string()))?;
        let text = String::from_utf8(text).map_err(|_| unreadable("it is not UTF-8"))?;
        let metadata = metadata(&text, &file);
        if let Some(entry) = metadata.entry {
            return self.script(skill, entry, metadata.class.unwrap_or(EffectClass::Once), &shown);
        }
        let show = |path: &RelPath| skill.dir.join(path).display().to_string();
        let is_type = |name: &str| kinds::named(&self.started.types, name).is_some();
        let read = read_phases(&dir, &file, &self.started.installed, &is_type, &show);
        let diagnostics = read.all_diagnostics(Inside::Everything);
        if diagnostics.iter().any(Diagnostic::is_error) {
            return Err(Failure::Itself(diagnostics));
        }
        let Some(phased) = &read.phased else {
            let instructions = prompt::body(&text).trim().to_owned();
            let (agent_type, access) = (KIND.to_owned(), Access::ReadWrite);
            return Ok(CallableWork::Agent { agent_type, access, instructions, model: None, schema: None });
        };
        let parts = parts(&read, Way::Elsewhere, &mut HashMap::new());
        let facts = |path: &RelPath| parts.get(path).cloned().unwrap_or_default();
        let (mut plan, nulls) = planner::plan(phased, &read.skill_text, &facts)
            .map_err(|limit| Failure::Itself(vec![too_large(limit, &shown)]))?;
        self.types.extend(kinds::pin(&mut plan, self.started));
        name_apart(&skill.label(), &mut plan);
        self.digests.extend(script_digests(Path::new(""), &plan));
        Ok(CallableWork::Phases {
            agent_type: KIND.to_owned(),
            access: Access::ReadWrite,
            plan,
            schema: None,
            nulls: nulls.into_keys().collect(),
        })
    }

    fn script(
        &mut self,
        skill: &Installed,
        entry: String,
        class: EffectClass,
        shown: &str,
    ) -> Result<CallableWork, Failure> {
        let found = RelPath::parse(&entry).ok().and_then(|entry| digest_of(&skill.dir, &entry));
        let Some(digest) = found else {
            let entry = fugato_model::escape_for_terminal(&entry).into_owned();
            let message = words!(
                "the program `{entry}` of `fugato-run` cannot be read",
                "无法读取 `fugato-run` 的程序 `{entry}`"
            );
            return Err(Failure::Itself(vec![Diagnostic::error(Code::F0807, shown, message)]));
        };
        self.digests.insert(format!("{}/{entry}", skill.label()), digest);
        Ok(CallableWork::Script { dir: skill.dir.display().to_string(), entry, class })
    }
}

/// Parts of different skills may have one name: what their scripts contained is pinned under the skill's.
fn name_apart(skill: &str, plan: &mut Plan) {
    for node in &mut plan.nodes {
        if let Work::Script { skill: part, .. } = &mut node.work {
            *part = format!("{skill}/{part}");
        }
    }
}

//! `permissionMode`: what Claude Code lets a file ask for. Here a file can only ask for less.

use crate::fields::Fields;
use crate::problems::shorten;
use crate::yaml::Entry;
use fugato_model::{Code, words};

/// What is left of a permission mode once nothing may be widened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PermissionMode {
    /// As the parent.
    #[default]
    Inherit,
    /// Reads only.
    Plan,
    /// What would be asked of a person is refused.
    DontAsk,
}

const NAMES: [&str; 6] = ["default", "plan", "dontAsk", "acceptEdits", "auto", "bypassPermissions"];

pub(super) fn read(fields: &mut Fields<'_>, entry: &Entry) -> PermissionMode {
    let Some(text) = fields.text("permissionMode", entry) else { return PermissionMode::Inherit };
    match text.as_str() {
        "default" => PermissionMode::Inherit,
        "plan" => PermissionMode::Plan,
        "dontAsk" => PermissionMode::DontAsk,
        "acceptEdits" | "auto" | "bypassPermissions" => {
            let message = words!(
                "`{text}` would widen what the agent may do; a file cannot, so the rules of its parent stay",
                "`{text}` 会放宽代理的权限；文件无权这样做，仍以上级的规则为准"
            );
            let diagnostic = fields.warning(Code::F1105, "permissionMode", entry, message);
            fields.diagnostics.push(diagnostic.hint(words!(
                "permissionMode: default, or delete the line",
                "permissionMode: default，或删掉这一行"
            )));
            PermissionMode::Inherit
        }
        other => {
            let shown = shorten(other);
            let expected = NAMES.join(", ");
            let message = words!(
                "unknown mode `{shown}` (expected {expected}); the agent may only read",
                "未知的权限模式 `{shown}`（应为 {expected}）；代理只能读取"
            );
            let diagnostic = fields.warning(Code::F1105, "permissionMode", entry, message);
            let meant = fugato_model::nearest(other, NAMES).unwrap_or("default");
            fields
                .diagnostics
                .push(diagnostic.hint(words!("permissionMode: {meant}", "permissionMode: {meant}")));
            // Somebody meant to limit it: less is the safe reading.
            PermissionMode::Plan
        }
    }
}

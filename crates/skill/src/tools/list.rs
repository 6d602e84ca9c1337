//! `skill_list`: what the agent may see, filtered.

use super::fold::Needle;
use crate::catalog::clean_description as clean;
use crate::policy::Resolution;
use fugato_model::SkillName;
use serde::Serialize;

/// One skill as an agent sees it in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListItem {
    pub name: SkillName,
    pub description: String,
    pub tags: Vec<String>,
}

/// The visible skills whose name, description or a tag contains `query`, case-folded, in policy order. Skills that are
/// readable but unlisted stay out, as in the catalog.
pub fn list(resolution: &Resolution<'_>, query: Option<&str>) -> Vec<ListItem> {
    let needle = Needle::new(query.unwrap_or_default());
    resolution
        .catalog_entries()
        .filter(|skill| {
            let head = &skill.head;
            head.name.as_ref().is_some_and(|name| needle.is_in(name.as_str()))
                || needle.is_in(&head.description)
                || head.tags.iter().any(|tag| needle.is_in(tag))
        })
        .filter_map(|skill| {
            Some(ListItem {
                name: skill.head.name.clone()?,
                // The same words as in the catalog: no hidden text on either way.
                description: clean(&skill.head.description),
                tags: skill.head.tags.iter().map(|tag| clean(tag)).filter(|tag| !tag.is_empty()).collect(),
            })
        })
        .collect()
}

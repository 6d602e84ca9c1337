//! What Word, Excel and PowerPoint files share: relations between parts, and the properties of a document.

use super::answer::Answer;
use super::package::Package;
use super::xml::{Piece, Xml};
use super::{Trouble, Watch};
use std::collections::HashMap;
use std::rc::Rc;

/// Where the relations of a part lead: names of parts, or addresses. Shared, for a long one may be named a million times.
pub(super) fn relations(
    package: &mut Package<'_>,
    name: &str,
    base: &str,
    watch: &Watch<'_>,
) -> Result<HashMap<String, Rc<str>>, Trouble> {
    let bytes = package.small(name, watch)?.unwrap_or_default();
    let (mut xml, mut relations) = (Xml::new(bytes.as_slice()), HashMap::new());
    loop {
        match xml.next()? {
            Piece::Open(tag) if tag.name() == "Relationship" => {
                let (Some(id), Some(target)) = (tag.get("Id"), tag.get("Target")) else { continue };
                let is_outside = tag.get("TargetMode").as_deref() == Some("External");
                let target = if is_outside { target } else { resolved(base, &target) };
                relations.insert(id, target.into());
            }
            Piece::End => return Ok(relations),
            _ => {}
        }
    }
}

/// `../notesSlides/n.xml` from `ppt/slides` is `ppt/notesSlides/n.xml`.
fn resolved(base: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut way: Vec<&str> = base.split('/').collect();
    for step in target.split('/') {
        match step {
            ".." => drop(way.pop()),
            "." | "" => {}
            step => way.push(step),
        }
    }
    way.join("/")
}

/// Title, author and the like, from the part all formats of this family have.
pub(super) fn say_properties(
    package: &mut Package<'_>,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    for name in ["docProps/core.xml", "docProps/app.xml"] {
        let bytes = package.small(name, watch)?.unwrap_or_default();
        let mut xml = Xml::new(bytes.as_slice());
        loop {
            let shown = match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "title" => "title",
                    "creator" => "author",
                    "subject" => "subject",
                    "modified" => "modified",
                    "Pages" => "pages",
                    _ => continue,
                },
                Piece::End => break,
                _ => continue,
            };
            let value = xml.text()?;
            answer.about(shown, &value);
        }
    }
    Ok(())
}

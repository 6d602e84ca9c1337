//! Many skills at once, some of them broken: for tests and measurements of size.

use std::path::Path;

/// Writes `count` small skills below `root`; every `broken_every`-th has a different kind of damage (0 = none).
pub fn write_many_skills(root: &Path, count: usize, broken_every: usize) -> std::io::Result<()> {
    for number in 0..count {
        let name = format!("skill-{number:05}");
        let dir = root.join(&name);
        std::fs::create_dir_all(&dir)?;
        let is_broken = broken_every > 0 && number % broken_every == 0;
        let text = if is_broken { broken(&name, number / broken_every) } else { good(&name, number).into() };
        std::fs::write(dir.join("SKILL.md"), text)?;
    }
    Ok(())
}

fn good(name: &str, number: usize) -> String {
    let paragraph = format!("Step {number}: read the input, decide, write the answer, check it again.\n");
    format!(
        "---\nname: {name}\ndescription: Does thing number {number}. Use when somebody asks for thing {number}.\nlicense: MIT\nmetadata:\n  version: \"1.{number}\"\n  tags: generated, sample\n---\n# {name}\n\n{}",
        paragraph.repeat(8)
    )
}

fn broken(name: &str, kind: usize) -> Vec<u8> {
    match kind % 6 {
        0 => b"# no frontmatter\n".to_vec(),
        1 => format!("---\nname: {name}\ndescription: never closed\n").into_bytes(),
        2 => format!("---\nname: {name}\nname: {name}\ndescription: twice\n---\n").into_bytes(),
        3 => format!("---\nname: {name}\n---\nno description\n").into_bytes(),
        4 => [b"---\nname: ", name.as_bytes(), b"\ndescription: \xff\xfe\n---\n"].concat(),
        _ => Vec::new(),
    }
}

//! `fugato skill show`: one skill, whole.

use super::{OneSkill, view};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use crate::render::{self, Cell, Table};
use clap::Args;
use fugato_model::{Exit, Lang, RelPath};
use fugato_runtime::SkillDir;
use fugato_skill::{Installed, Inventory};

/// Show one skill: fields, files, problems, text.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    skill: OneSkill,
    /// Print the text of the skill too
    #[arg(long)]
    body: bool,
}

pub fn run(args: &ShowArgs, app: &mut App) -> Outcome {
    let (skill, inventory) = args.skill.find(app)?;
    let dir = SkillDir::open(&skill.dir);
    let files = dir.as_ref().map(SkillDir::list).unwrap_or_default();
    let body = dir.ok().and_then(|dir| {
        let bytes = dir.read(&RelPath::parse(&skill.file).ok()?).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    });
    if app.out.json {
        let mut document = serde_json::to_value(view(&skill, &inventory, app))
            .map_err(|error| CliError::internal(&error))?;
        if let Some(object) = document.as_object_mut() {
            object.insert("files".into(), files.iter().map(RelPath::as_str).collect());
            object.insert("license".into(), skill.head.license.clone().into());
            object.insert("compatibility".into(), skill.head.compatibility.clone().into());
            object.insert("version".into(), skill.head.version.clone().into());
            object.insert("allowedTools".into(), skill.head.allowed_tools.clone().into());
            object.insert("internal".into(), skill.head.internal.into());
            object.insert("modelInvocable".into(), (!skill.head.model_hidden).into());
            object.insert("userInvocable".into(), (!skill.head.user_hidden).into());
            if args.body {
                object.insert("body".into(), body.into());
            }
        }
        app.out.document("fugato.skill/v1", document)?;
        return Ok(Exit::Ok);
    }
    fields(&skill, &inventory, &files, app)?;
    let mut diagnostics = skill.diagnostics.clone();
    render::in_reading_order(&mut diagnostics);
    for diagnostic in &diagnostics {
        app.out.line("")?;
        let text = render::report(diagnostic, &app.out);
        app.out.line(text)?;
    }
    if let Some(body) = body.filter(|_| args.body) {
        app.out.line("")?;
        for line in body.lines() {
            // Tabs are layout; everything else a terminal would obey becomes visible.
            let shown: Vec<_> = line.split('\t').map(fugato_model::escape_for_terminal).collect();
            app.out.line(shown.join("\t"))?;
        }
    }
    Ok(Exit::Ok)
}

fn fields(
    skill: &Installed,
    inventory: &Inventory,
    files: &[RelPath],
    app: &mut App,
) -> Result<(), CliError> {
    let zh = app.out.lang == Lang::Zh;
    let word = |en: &'static str, chinese: &'static str| if zh { chinese } else { en };
    app.out.line(paint(style::NAME, fugato_model::escape_for_terminal(&skill.label())))?;
    let head = &skill.head;
    let mut table = Table::new(2).whole();
    let mut row = |label: &str, value: String| {
        if !value.is_empty() {
            table.row([Cell::styled(style::DIM, label), Cell::new(value)]);
        }
    };
    row(word("description", "描述"), head.description.split_whitespace().collect::<Vec<_>>().join(" "));
    row(word("kind", "种类"), super::list::kind_word(skill, app.out.lang).to_owned());
    row(word("scope", "范围"), skill.scope.to_string());
    row(word("path", "路径"), app.show_path(&skill.dir.join(&skill.file)));
    row(word("digest", "摘要"), skill.digest.map(|digest| digest.to_string()).unwrap_or_default());
    row(word("tags", "标签"), head.tags.join(", "));
    row(word("version", "版本"), head.version.clone().unwrap_or_default());
    row(word("license", "许可"), head.license.clone().unwrap_or_default());
    row(word("compatibility", "兼容性"), head.compatibility.clone().unwrap_or_default());
    row(word("allowed tools", "允许的工具"), head.allowed_tools.join(", "));
    let mut hidden = Vec::new();
    if head.internal {
        hidden.push(word("internal: only other skills start it", "内部技能：只能由其他技能启动"));
    }
    if head.model_hidden {
        hidden.push(word("not offered to models", "不提供给模型"));
    }
    row(word("hidden", "隐藏"), hidden.join("; "));
    let owners: Vec<_> = inventory.owners(&skill.label()).map(Installed::label).collect();
    row(word("owned by", "归其所有"), owners.join(", "));
    let others: Vec<_> = inventory
        .all()
        .iter()
        .filter(|other| other.label() == skill.label() && other.dir != skill.dir)
        .map(|other| format!("{} ({})", other.scope, app.show_path(&other.dir)))
        .collect();
    let relation = if inventory.is_shadowed(skill) {
        word("shadowed by", "被遮蔽于")
    } else {
        word("shadows", "遮蔽了")
    };
    row(relation, others.join(", "));
    let names: Vec<_> = files.iter().map(RelPath::as_str).collect();
    row(word("files", "文件"), format!("{} ({})", names.len(), names.join(", ")));
    table.print(&mut app.out)
}

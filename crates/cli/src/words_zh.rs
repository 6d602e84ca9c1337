//! Chinese for `--help`. English lives with each argument; a missing entry here falls back to it.

use clap::Command;
use fugato_model::Lang;

/// Path of the command, its one-line description.
const ABOUT: &[(&str, &str)] = &[
    ("", "把 Agent Skills 作为有界、可观察、可恢复的多代理程序来运行"),
    ("run", "运行技能：有阶段时按子代理图执行，否则由一个代理执行"),
    ("plan", "显示技能将如何执行，不调用模型"),
    ("resume", "继续被中断的运行"),
    ("answer", "回答运行提出的问题"),
    ("runs", "列出本项目的运行"),
    ("events", "输出运行的所有事件"),
    ("trace", "以瀑布图显示运行"),
    ("cost", "运行的费用，按代理列出"),
    ("skill", "技能：列出、检查、搜索、新建、安装、移动、锁定"),
    ("skill ls", "列出这里的技能"),
    ("skill show", "显示一个技能：字段、文件、问题、正文"),
    ("skill check", "检查技能文件和配置"),
    ("skill search", "在所有技能或某个技能中搜索文本"),
    ("skill read", "输出技能中的一个文件"),
    ("skill new", "新建技能"),
    ("skill add", "从目录、.zip、角色卡或预设文件安装技能"),
    ("skill mv", "把技能移到另一个范围"),
    ("skill rename", "重命名技能、其目录和 `name:`"),
    ("skill rm", "移除技能（移入回收站）"),
    ("skill export", "把技能写成 .zip"),
    ("skill lock", "在 skills.lock.json 中固定所有技能的摘要"),
    ("skill verify", "将已安装的技能与 skills.lock.json 比较"),
    ("skill validate", "按参考校验器检查技能目录"),
    ("skill read-properties", "按参考实现输出技能属性"),
    ("skill to-prompt", "输出参考实现的 <available_skills> 块"),
    ("policy", "策略：哪个代理能看到哪些技能，以及为什么"),
    ("policy resolve", "每个代理能看到什么"),
    ("policy explain", "每个代理为什么能（或不能）看到每个技能"),
    ("policy lint", "检查配置：失效的名称、拼写错误、意外之处"),
    ("policy bind", "让代理能看到某个技能（或用 --deny 禁止）"),
    ("policy unbind", "从代理的列表中去掉某个技能"),
    ("policy defaults", "设置模式级列表"),
    ("policy diff", "两个配置之间每个代理的变化"),
    ("profile", "配置：新建、检查、输出模式定义"),
    ("profile new", "为某个模式写一个起始配置"),
    ("profile check", "检查配置（同 `policy lint`）"),
    ("profile schema", "输出配置的 JSON Schema,供编辑器使用"),
    ("demo", "在临时目录中离线演示 fugato 的功能"),
    ("init", "准备当前项目：技能目录和设置文件"),
    ("doctor", "这台机器和项目能做什么，有什么问题"),
    ("config", "各项设置及其来源"),
    ("config list", "所有设置"),
    ("config get", "一项设置"),
    ("config set", "写入一项设置，保留文件中的注释"),
    ("config schema", "输出设置文件的 JSON Schema"),
    ("path", "输出当前项目的状态目录"),
    ("explain", "解释错误代码，例如 F0107"),
    ("completions", "输出某个 shell 的补全脚本"),
    ("man", "输出手册页，或把所有手册页写入目录"),
    ("version", "输出版本号"),
];

/// Long name of a flag, its description wherever it occurs.
const FLAGS: &[(&str, &str)] = &[
    ("json", "输出一个 JSON 文档而不是文本"),
    ("lang", "消息语言：en 或 zh [默认：取自系统区域设置]"),
    ("directory", "如同在该目录中启动一样工作"),
    ("color", "何时使用颜色 [默认：auto] [环境变量：NO_COLOR、CLICOLOR_FORCE]"),
    ("skills", "同时查找该目录（范围 global;可重复）"),
    ("preset", "使用该预设的技能 [默认：取自配置]"),
    ("character", "使用该角色的技能 [默认：取自配置]"),
    ("scope", "技能所在的范围"),
    ("as", "按该代理所得到的内容回答"),
    ("profile", "指明该代理的配置文件"),
    ("mode", "配置的模式 [默认：配置中的模式]"),
    ("agent", "只看该代理"),
    ("watch", "有变化时重新执行"),
    ("strict", "更严格：按参考校验器的规则，或让警告也算失败"),
    ("fix", "修复无需询问即可修复的问题；`portable` 还会把阶段移到附属文件"),
    ("dry-run", "只显示将要发生的变化，不做更改"),
    ("deny", "禁止列表"),
    ("visible", "可见列表"),
    ("force", "覆盖已有文件"),
    ("output", "要写入的文件"),
    ("limit", "最多返回的数量"),
    ("problems", "只列出有问题的技能"),
    ("purge", "彻底删除"),
    ("body", "同时输出技能正文"),
    ("on-conflict", "名称已被占用时怎么办"),
    ("all", "全部"),
    ("catalog", "输出代理系统消息中的目录"),
    ("origin", "显示每个值来自哪一层、哪一行"),
];

/// Puts Chinese descriptions where there are some.
pub fn translate(command: Command, lang: Lang) -> Command {
    match lang {
        Lang::En => command,
        Lang::Zh => walk(command, "").subcommand_help_heading("命令"),
    }
}

fn walk(mut command: Command, path: &str) -> Command {
    if let Some((_, about)) = ABOUT.iter().find(|(known, _)| *known == path) {
        command = command.about(*about).long_about(None::<&str>);
    }
    let flags: Vec<_> = command
        .get_arguments()
        .filter_map(|arg| {
            let long = arg.get_long()?;
            let (_, help) = FLAGS.iter().find(|(known, _)| *known == long)?;
            Some((arg.get_id().clone(), *help))
        })
        .collect();
    for (id, help) in flags {
        command = command.mut_arg(id, |arg| arg.help(help));
    }
    let children: Vec<String> = command.get_subcommands().map(|child| child.get_name().to_owned()).collect();
    for child in children {
        let deeper = if path.is_empty() { child.clone() } else { format!("{path} {child}") };
        command = command.mut_subcommand(child, |sub| walk(sub, &deeper));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn paths(command: &Command, path: &str, all: &mut Vec<String>) {
        all.push(path.to_owned());
        for child in command.get_subcommands() {
            let deeper = format!("{path} {}", child.get_name());
            paths(child, deeper.trim(), all);
        }
    }

    #[test]
    fn every_command_has_chinese_help_and_no_entry_is_left_over() {
        let mut all = Vec::new();
        paths(&crate::args::Cli::command(), "", &mut all);
        let known: Vec<_> = ABOUT.iter().map(|(path, _)| (*path).to_owned()).collect();
        all.sort();
        let mut sorted = known;
        sorted.sort();
        assert_eq!(all, sorted);
    }

    #[test]
    fn definitions_are_sound_in_both_languages() {
        crate::args::Cli::command().debug_assert();
        translate(crate::args::Cli::command(), Lang::Zh).debug_assert();
    }
}

//! Chinese for `--help`. English lives with each argument and is the key here, so that a text that changes in one
//! language cannot be forgotten in the other: the tests compare both.

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use fugato_model::Lang;

/// Path of the command, its one-line description.
const ABOUT: &[(&str, &str)] = &[
    ("", "把 Agent Skills 作为有界、可观察、可恢复的多代理程序来运行"),
    ("run", "运行技能：有阶段时按子代理图执行，否则由一个代理执行"),
    ("plan", "显示技能将如何执行，不调用模型"),
    ("status", "当前运行的情况：各代理、依赖关系和最近的事件"),
    ("intervene", "暂停、恢复、取消或重定向运行中的代理"),
    ("pause", "让一个代理或所有代理停住：不再开始新的操作"),
    ("resume", "让暂停的代理继续，或继续被中断的运行"),
    ("cancel", "停止一个代理，或整个运行"),
    ("redirect", "给代理换一个任务"),
    ("restart", "让节点重新开始，或让代理中断当前操作后继续"),
    ("rerun", "重新运行：全部，或从某个节点或阶段开始"),
    ("go", "把任务交给主代理，由它把合适的部分委派给子代理"),
    ("chat", "与编排器对话：它记得说过的话，必要时会向您提问"),
    ("answer", "回答运行提出的问题"),
    ("send", "给代理发一条消息；已结束的代理会继续工作"),
    ("approve", "批准或拒绝等待许可的工具调用"),
    ("watch", "在整个屏幕上实时观察运行，并进行干预"),
    ("runs", "本项目的运行：列出、查看、移除、导出、导入"),
    ("runs ls", "列出本项目的运行，最新的在前"),
    ("runs show", "在一页中查看一个运行：状态、节点、变量和费用"),
    ("runs rm", "移除运行的记录"),
    ("runs export", "把一个运行及其日志提到的全部内容写入一个文件"),
    ("runs import", "导入在别处导出的运行"),
    ("events", "输出运行的事件，或持续跟随"),
    ("trace", "以瀑布图显示运行"),
    ("cost", "运行的费用，按代理列出"),
    ("diff", "两个运行有何不同；输出相同时退出码为 0，否则为 1"),
    ("replay", "根据日志重现运行当时的显示"),
    ("hook", "Claude Code 和 Codex 就其代理的行动调用的钩子；安装、卸载、检查"),
    ("hook install", "让 Claude Code 和 Codex 调用钩子；显示其设置的变化"),
    ("hook uninstall", "从它们的设置中去掉钩子"),
    ("hook doctor", "钩子装在哪里、是否有效，以及各主机能做和不能做的事"),
    ("plugin", "供其他程序加载的内容：Claude Code 插件"),
    ("plugin export", "写出 Claude Code 插件目录：/status 和 /intervene 命令、钩子和说明它们的技能"),
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
    ("sop", "SOP 语言的程序：检查、运行、画图"),
    ("sop check", "检查程序：列出每个错误及其行号"),
    ("sop run", "运行程序，以这里的技能作为命令"),
    ("sop graph", "逐层画出谁依赖谁"),
    ("agents", "代理的种类：列出、查看、检查"),
    ("agents ls", "列出这里可以启动的代理种类"),
    ("agents show", "显示一种代理：工具、限额、指令、问题"),
    ("agents check", "检查代理文件"),
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
    ("profile schema", "输出配置的 JSON Schema，供编辑器使用"),
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

/// English help of an argument or of a possible value, its Chinese. Defaults stand in brackets, as in English.
const HELP: &[(&str, &str)] = &[
    ("Name of the orchestrator, or a path to its directory", "编排器的名称，或其目录的路径"),
    (
        "What to say; `-` reads it from the standard input. Without it, each line that is typed or piped in is said",
        "要说的话；`-` 从标准输入读取。省略时，输入或管道传入的每一行都是一条消息",
    ),
    ("Name of the conversation: each has a memory of its own", "会话名称：每个会话各有记忆"),
    (
        "List the conversations of this project, and which of them wait for you",
        "列出本项目的会话，以及哪些在等您回答",
    ),
    (
        "What does the work of agents without a kind of their own: a model, or Claude Code or Codex as a child process",
        "由谁完成没有自己种类的代理的工作：模型，或作为子进程的 Claude Code 或 Codex",
    ),
    (
        "Which hosts, separated by commas [default: those that are here]",
        "哪些主机，以逗号分隔 [default: 这里已有的]",
    ),
    ("Which hosts, separated by commas [default: all]", "哪些主机，以逗号分隔 [default: 全部]"),
    (
        "Whose settings: yours for every project, or this project's on this machine",
        "写入谁的设置：您所有项目的，或本机上此项目的",
    ),
    (
        "Also record that you trust the hook, where the host asks for it (Codex)",
        "同时记录您信任该钩子（用于需要信任的主机，如 Codex）",
    ),
    (
        "The directory to write; it must be empty, new, or an earlier export",
        "要写入的目录；须为空、不存在，或是以前导出的",
    ),
    (
        "Only names and descriptions with this text [default: all]",
        "只列出名称或描述含有此文本的 [default: 全部]",
    ),
    (
        "The program that calls it: `claude` or `codex` [default: by what it sends]",
        "调用它的程序：`claude` 或 `codex` [default: 根据其发送的内容判断]",
    ),
    ("The event, in case standard input does not say", "事件名称，用于标准输入未说明的情况"),
    ("The request: what `$input` is in the program", "请求：程序中 `$input` 的值"),
    ("Commands the program may run [default: from the settings]", "程序最多运行的命令数 [default: 来自设置]"),
    ("The program; `-` reads it from the standard input", "程序文件；`-` 表示从标准输入读取"),
    (
        "Also take these for commands, separated by commas [default: the skills that are here]",
        "还把这些名称当作命令，以逗号分隔 [default: 这里的技能]",
    ),
    ("Name of the kind of agent", "代理种类的名称"),
    (
        "Also the agents of this profile that its master delegates to [default: none]",
        "还包括此配置中由主代理委派的代理 [default: 无]",
    ),
    (
        "Agent files or directories of them [default: all agents that are here]",
        "代理文件，或其所在目录 [default: 这里的全部代理]",
    ),
    ("Forgive nothing, and name what only fugato reads", "不容忍任何问题，并指出只有 fugato 才读取的字段"),
    (
        "Write the files of all runs for other programs anew, from the log",
        "根据日志重新生成所有运行供其他程序读取的文件",
    ),
    ("Name of the skill, or a path to its directory", "技能名称，或其目录的路径"),
    ("Arguments of the skill", "技能的参数"),
    (
        "The task, in your words; `-` reads it from the standard input",
        "用自己的话描述任务；`-` 表示从标准输入读取",
    ),
    (
        "What does the master's work: a model, or Claude Code or Codex as a child process",
        "由谁完成主代理的工作：模型，或作为子进程的 Claude Code、Codex",
    ),
    (
        "The agent, as `fugato status` names it; `all` for everybody at work",
        "代理名称（见 `fugato status`）；`all` 表示所有正在工作的代理",
    ),
    ("What to do; on a terminal it is asked for when missing", "要做什么；在终端上缺少时会询问"),
    ("The agent, as `fugato status` names it, or `all`", "代理名称（见 `fugato status`），或 `all`"),
    ("The new instruction of a redirect; for the others, why", "重定向的新指令；其他操作则为原因"),
    ("Do not ask before everything is cancelled", "取消全部之前不询问"),
    ("Why, for the record", "原因，供记录"),
    ("The new instruction; on a terminal it is asked for when missing", "新的指令；在终端上缺少时会询问"),
    ("The node or agent, as `fugato status` names it", "节点或代理的名称（见 `fugato status`）"),
    (
        "A paused agent, `all`, or a run (the beginning of its id is enough) [default: the active run]",
        "暂停的代理、`all`，或运行的编号（前缀即可） [默认：当前活动的运行]",
    ),
    ("What the message is", "消息的类型"),
    ("The message", "消息内容"),
    (
        "The run, or the beginning of its id [default: the active one]",
        "运行的编号或其前缀 [默认：当前活动的运行]",
    ),
    ("Leave nothing out, however long it gets", "全部显示，不限长度"),
    ("Stay, and show it anew as it changes", "持续显示，随变化刷新"),
    (
        "Also what the run changed in the project's files, as git sees it",
        "同时显示项目文件的改动（由 git 统计）",
    ),
    ("The same call is not asked about again in this run", "本次运行中相同的调用不再询问"),
    ("Do not allow it, and say why", "拒绝，并说明原因"),
    (
        "The model, as provider/name, `script:FILE` or `echo` [default: the first provider with a key]",
        "模型：提供方/名称、`script:文件` 或 `echo` [默认：第一个有密钥的提供方]",
    ),
    ("Set a variable (repeatable)", "设置变量（可重复）"),
    ("Stop before the run costs more than this", "费用超过该值之前停止"),
    ("Stop before the run uses more tokens than this", "词元超过该值之前停止"),
    (
        "Stop when the run has worked this long (`90s`, `10m`, `2h`)",
        "运行工作时间达到该值时停止（`90s`、`10m`、`2h`）",
    ),
    (
        "Model calls one agent may make [default: 50; of an earlier run, what it had]",
        "单个代理的模型调用次数上限 [默认：50；已有的运行则沿用原值]",
    ),
    (
        "At most this many nodes at once [default: 4; of an earlier run, what it had]",
        "同时执行的节点数上限 [默认：4；已有的运行则沿用原值]",
    ),
    (
        "Start it and go on: it works in the background, and leaves questions open",
        "启动后立即返回：在后台运行，遇到问题则等待回答",
    ),
    ("Go on with this run instead, as `fugato resume RUN` does", "改为继续该运行，同 `fugato resume 运行`"),
    ("The model, as for `run` [default: the one the run had]", "模型，写法同 `run` [默认：该运行原来的模型]"),
    (
        "Run only this node or phase and what depends on it; the rest keeps its results [default: everything]",
        "只执行该节点或阶段以及依赖它的部分；其余沿用原结果 [默认：全部执行]",
    ),
    ("Only runs that stand like this [default: all]", "只列出处于该状态的运行 [默认：全部]"),
    ("Only runs of this skill [default: all]", "只列出该技能的运行 [默认：全部]"),
    ("All of them, however many", "全部列出，不限数量"),
    ("The runs, or the beginnings of their ids", "运行的编号或其前缀"),
    (
        "Every run that has not changed for this long, such as 30d, 12h or 8w",
        "所有这么久没有变化的运行，例如 30d、12h 或 8w",
    ),
    ("Show what would be removed and change nothing", "只显示将移除什么，不做更改"),
    ("Do not ask", "不询问"),
    (
        "The file to write, or `-` for stdout [default: RUN.jsonl]",
        "要写入的文件，`-` 表示标准输出 [默认：运行编号.jsonl]",
    ),
    (
        "The file `fugato runs export` wrote, or `-` for stdin",
        "`fugato runs export` 写出的文件，`-` 表示标准输入",
    ),
    ("Go on until the run ends, with what another process adds", "持续输出其他进程写入的事件，直到运行结束"),
    ("Only events after the one with this number [default: all]", "只输出该编号之后的事件 [默认：全部]"),
    (
        "Only events of this type, such as run.ended or node.* (repeatable) [default: all]",
        "只输出该类型的事件，例如 run.ended 或 node.*（可重复） [默认：全部]",
    ),
    (
        "The run before, or the beginning of its id [default: the parent of the newest, or the second newest]",
        "变化前的运行，编号或其前缀 [默认：最新运行的来源，或次新的运行]",
    ),
    (
        "The run after; with only one run, that one is compared with its parent [default: the newest]",
        "变化后的运行；只给出一个运行时，将它与其来源比较 [默认：最新的运行]",
    ),
    ("So many times as fast; no pause is longer than two seconds", "加快的倍数；每次停顿不超过两秒"),
    ("Without pauses [default: only off a terminal]", "不停顿 [默认：仅在非终端时]"),
    ("Print each event as one line of JSON", "每个事件输出一行 JSON"),
    (
        "With --jsonl: also the text of models and what scripts write, as it arrives",
        "与 --jsonl 一起使用：同时输出模型正在生成的文本和脚本的输出",
    ),
    ("Never ask on the terminal: leave the question open and end", "不在终端提问：保留问题并结束"),
    (
        "Run commands and scripts without a sandbox: they can do what you can do",
        "不用沙箱运行命令和脚本：它们能做您能做的一切",
    ),
    ("Let commands and scripts use the network", "允许命令和脚本使用网络"),
    ("The run, or the beginning of its id [default: the newest]", "运行的编号或其前缀 [默认：最新的运行]"),
    ("The run, or the beginning of its id", "运行的编号或其前缀"),
    (
        "The run, or the beginning of its id [default: the active one, else the newest]",
        "运行的编号或其前缀 [默认：当前运行，否则最新的运行]",
    ),
    (
        "Show every model and tool call [default: when there are few]",
        "显示每次模型和工具调用 [默认：数量少时显示]",
    ),
    (
        "Show every row [default: long and unfinished ones, the rest folded]",
        "显示每一行 [默认：显示耗时长和未完成的，其余折叠]",
    ),
    ("The answer", "回答内容"),
    ("At most this many", "最多这么多"),
    ("Which question, when several are open [default: the oldest]", "有多个问题时回答哪一个 [默认：最早的]"),
    ("Print one JSON document instead of text", "输出一个 JSON 文档而不是文本"),
    (
        "Language of messages: en or zh [default: from the locale]",
        "消息语言：en 或 zh [默认：取自系统区域设置]",
    ),
    (
        "Work as if started in this directory [default: where you are]",
        "如同在该目录中启动一样工作 [默认：当前目录]",
    ),
    (
        "When to use colours [default: auto] [env: NO_COLOR, CLICOLOR_FORCE]",
        "何时使用颜色 [默认：auto] [环境变量：NO_COLOR、CLICOLOR_FORCE]",
    ),
    (
        "Also look in this directory (scope global; repeatable) [default: from the settings]",
        "同时查找该目录（范围 global；可重复） [默认：取自设置]",
    ),
    (
        "Use the skills of this preset [default: from the profile, then the settings]",
        "使用该预设的技能 [默认：先取自配置，再取自设置]",
    ),
    (
        "Use the skills of this character [default: from the profile, then the settings]",
        "使用该角色的技能 [默认：先取自配置，再取自设置]",
    ),
    (
        "Answer as this agent would be answered [default: as for a person]",
        "按该代理所得到的内容回答 [默认：按人来回答]",
    ),
    ("The profile that names the agent", "定义该代理的配置文件"),
    ("The mode of the profile [default: the profile's]", "配置的模式 [默认：配置中的模式]"),
    (
        "Only names, descriptions and tags with this text [default: all]",
        "只列出名称、描述或标签含该文本的技能 [默认：全部]",
    ),
    ("Only this scope [default: all]", "只列出该范围 [默认：全部]"),
    ("Only skills with problems", "只列出有问题的技能"),
    ("List again whenever something changes", "有变化时重新列出"),
    ("Name of the skill", "技能名称"),
    (
        "Take the one of this scope, when several have the name [default: the one that wins]",
        "多个技能同名时取该范围中的一个 [默认：生效的那个]",
    ),
    ("Print the text of the skill too", "同时输出技能正文"),
    (
        "Skill files, directories or profiles [default: all skills that are here]",
        "技能文件、目录或配置 [默认：这里的所有技能]",
    ),
    ("Hold skills to the rules of the reference validator", "按参考校验器的规则检查技能"),
    (
        "Repair what can be repaired without a question [default: nothing; without =HOW: safe]",
        "修复无需询问即可修复的问题 [默认：不修复；不写 =HOW 时为 safe]",
    ),
    ("Quoting, names, slips of the pen", "引号、名称、笔误"),
    (
        "Also move phases into a side file that other validators accept",
        "还把阶段移到其他校验器也接受的附属文件",
    ),
    ("Check again whenever something changes", "有变化时重新检查"),
    (
        "The text to find (any script; upper and lower case are the same)",
        "要查找的文本（任何文字；不区分大小写）",
    ),
    ("Only in this skill [default: in all]", "只在该技能中查找 [默认：所有技能]"),
    ("Only in this file of each skill [default: in all]", "只在每个技能的该文件中查找 [默认：所有文件]"),
    ("At most this many hits per skill", "每个技能最多返回多少处"),
    ("Lines around each hit", "每处前后显示的行数"),
    ("File inside the skill [default: SKILL.md]", "技能中的文件 [默认：SKILL.md]"),
    ("First line, or the `line:byte` cursor of an earlier answer", "起始行，或上次回答给出的 `行:字节` 位置"),
    (
        "At most this many lines [default: as many as fit into 51,200 bytes]",
        "最多多少行 [默认：不超过 51,200 字节]",
    ),
    (
        "Name: lower-case letters and digits of any script, and single hyphens",
        "名称：任何文字的小写字母和数字，以及单个连字符",
    ),
    (
        "What it does and when to use it, in one or two sentences [default: a sentence to replace]",
        "用一两句话说明它做什么、何时使用 [默认：一句待替换的话]",
    ),
    ("What kind of skill", "技能的种类"),
    ("One agent reads the text", "由一个代理阅读正文"),
    ("A DAG of subagents", "由子代理组成的有向无环图"),
    ("A bounded session over other skills (oskill.md)", "编排其他技能的有界会话（oskill.md）"),
    ("Where to put it", "放在哪个范围"),
    ("What to install: judged by its content, not by its name", "要安装的内容：按内容而不是文件名判断"),
    ("Where to install it", "安装到哪个范围"),
    (
        "Only these skills of the source (repeatable) [default: the only one]",
        "只安装其中这些技能（可重复） [默认：唯一的那个]",
    ),
    ("All skills of the source", "安装其中所有技能"),
    ("What to do with a name that is taken", "名称已被占用时怎么办"),
    ("Stop and change nothing", "停止，不做任何更改"),
    ("Keep what is installed", "保留已安装的"),
    ("Replace it; the old one goes to the trash", "替换；旧的移入回收站"),
    ("Show what would happen and change nothing", "只显示将要发生的变化，不做更改"),
    ("The scope to move it to", "要移到的范围"),
    ("The new name", "新名称"),
    (
        "Tell which lines of these profiles name the skill (repeatable)",
        "指出这些配置中哪些行提到该技能（可重复）",
    ),
    ("Delete it for good", "彻底删除"),
    (
        "The file to write, or `-` for stdout [default: NAME.zip]",
        "要写入的文件，`-` 表示标准输出 [默认：名称.zip]",
    ),
    ("Overwrite the file", "覆盖已有文件"),
    ("Only these skills [default: all usable ones]", "只固定这些技能 [默认：所有可用的技能]"),
    ("The file to write", "要写入的文件"),
    ("The file to compare with", "要比较的文件"),
    ("The skill's directory, or its SKILL.md", "技能目录，或其中的 SKILL.md"),
    (
        "Print all fields and the body of one file, whatever its name",
        "输出一个文件的所有字段和正文，不论其文件名",
    ),
    ("Skill directories, or their SKILL.md files", "技能目录，或其中的 SKILL.md"),
    ("The profile (JSON or JSONC)", "配置文件（JSON 或 JSONC）"),
    ("Profiles (JSON or JSONC)", "配置文件（JSON 或 JSONC）"),
    ("The mode to look at [default: the profile's]", "要查看的模式 [默认：配置中的模式]"),
    ("The mode to edit [default: the profile's]", "要编辑的模式 [默认：配置中的模式]"),
    ("The mode to compare [default: each profile's]", "要比较的模式 [默认：各配置中的模式]"),
    ("Only this agent [default: all]", "只看该代理 [默认：全部]"),
    ("Print the catalog the agent's system message gets", "输出代理系统消息中的目录"),
    (
        "Only this skill, installed or not [default: all that the policy names]",
        "只看该技能，无论是否已安装 [默认：策略提到的所有技能]",
    ),
    ("Every installed skill, also those the policy does not mention", "所有已安装的技能，包括策略没有提到的"),
    ("Warnings fail too", "警告也算失败"),
    ("Agent id", "代理的 id"),
    ("Skill name", "技能名称"),
    ("Put it on the deny list", "放进禁止列表"),
    ("Take it from the deny list", "从禁止列表中去掉"),
    ("Show the change and write nothing", "只显示变化，不写入"),
    (
        "The mode-level visible list: names separated by commas, or `*`; an empty value empties it [default: unchanged]",
        "模式级可见列表：用逗号分隔的名称，或 `*`；空值表示清空 [默认：不变]",
    ),
    ("The mode-level deny list [default: unchanged]", "模式级禁止列表 [默认：不变]"),
    ("The profile before", "变化前的配置"),
    ("The profile after", "变化后的配置"),
    ("director, loop, spec, agenda or single", "director、loop、spec、agenda 或 single"),
    ("Only this mode [default: all]", "只输出该模式 [默认：全部]"),
    ("Show which layer and line each value comes from", "显示每个值来自哪一层、哪一行"),
    ("The setting; `fugato config list` shows all", "设置项；`fugato config list` 列出全部"),
    ("The value; directories are separated as in PATH", "值；多个目录像 PATH 那样分隔"),
    ("Which file to write", "写入哪个文件"),
    ("Yours, for every project", "你自己的，对所有项目有效"),
    ("fugato.toml, shared with the project", "fugato.toml，随项目共享"),
    ("fugato.local.toml, yours in this project", "fugato.local.toml，只属于你在本项目中的设置"),
    ("The code, such as F0107; without one, all codes are listed", "错误代码，例如 F0107；不给出时列出全部"),
    (
        "The shell; for bash: source <(fugato completions bash)",
        "shell 名称；bash 用法：source <(fugato completions bash)",
    ),
    (
        "Write one page per command into this directory (made if missing) [default: print the first page]",
        "把每个命令的手册页写入该目录（不存在则创建） [默认：输出首页]",
    ),
];

/// Help, headings and bracketed remarks in the person's language.
pub fn translate(command: Command, lang: Lang) -> Command {
    match lang {
        Lang::En => command,
        Lang::Zh => walk(command, ""),
    }
}

fn walk(mut command: Command, path: &str) -> Command {
    if let Some((_, about)) = ABOUT.iter().find(|(known, _)| *known == path) {
        command = command.about(*about).long_about(None::<&str>);
    }
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help("显示帮助");
    command = command
        .disable_help_flag(true)
        .arg(help.help_heading("全局选项"))
        .subcommand_help_heading("命令")
        .subcommand_value_name("命令")
        .help_template("{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}");
    if path.is_empty() {
        let version =
            Arg::new("version").short('V').long("version").action(ArgAction::Version).help("显示版本号");
        command = command.disable_version_flag(true).arg(version.help_heading("全局选项"));
    }
    let children: Vec<String> = command.get_subcommands().map(|child| child.get_name().to_owned()).collect();
    for child in children {
        let deeper = if path.is_empty() { child.clone() } else { format!("{path} {child}") };
        command = command.mut_subcommand(child, |sub| walk(sub, &deeper));
    }
    // Arguments under a heading of their own are sorted by name unless they are told their order.
    let mut order = 0;
    command.mut_args(|arg| {
        order += 1;
        chinese(arg).display_order(order)
    })
}

/// clap writes `[default: …]` and the like in English only, so these are written here.
fn chinese(arg: Arg) -> Arg {
    let Some(help) = arg.get_help().map(StyledStr::to_string) else { return arg };
    let mut short = of_help(&help).unwrap_or(&help).to_owned();
    if !arg.get_default_values().is_empty() && !short.contains("[默认") {
        let values: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        short.push_str(&format!(" [默认：{}]", values.join("、")));
    }
    if let Some(variable) = arg.get_env() {
        short.push_str(&format!(" [环境变量：{}]", variable.to_string_lossy()));
    }
    let values = if arg.get_action().takes_values() { arg.get_possible_values() } else { Vec::new() };
    let mut long = None;
    if !values.is_empty() {
        if values.iter().any(|value| value.get_help().is_some()) {
            let lines = values.iter().map(|value| {
                let about = value.get_help().map(StyledStr::to_string).unwrap_or_default();
                format!("\n- {}：{}", value.get_name(), of_help(&about).unwrap_or(&about))
            });
            long = Some(format!("{short}\n可选：{}", lines.collect::<String>()));
        }
        let names: Vec<_> = values.iter().map(|value| value.get_name().to_owned()).collect();
        short.push_str(&format!(" [可选：{}]", names.join("、")));
    }
    let heading = match arg.get_help_heading() {
        Some(_) => "全局选项",
        None if arg.is_positional() => "参数",
        None => "选项",
    };
    let takes_values = arg.get_action().takes_values();
    let arg = arg.help(short).help_heading(heading);
    let arg = match long {
        Some(long) => arg.long_help(long),
        None => arg,
    };
    if !takes_values {
        return arg;
    }
    arg.hide_default_value(true).hide_env(true).hide_possible_values(true)
}

fn of_help(english: &str) -> Option<&'static str> {
    HELP.iter().find(|(known, _)| *known == english).map(|(_, chinese)| *chinese)
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

    fn helps(command: &Command, all: &mut std::collections::BTreeSet<String>) {
        for arg in command.get_arguments() {
            let help = arg.get_help().map(StyledStr::to_string);
            all.insert(
                help.unwrap_or_else(|| panic!("`{}` of `{}` has no help", arg.get_id(), command.get_name())),
            );
            for value in arg.get_possible_values() {
                all.extend(value.get_help().map(StyledStr::to_string));
            }
        }
        command.get_subcommands().for_each(|child| helps(child, all));
    }

    #[test]
    fn every_argument_has_help_in_both_languages_and_no_entry_is_left_over() {
        let mut all = std::collections::BTreeSet::new();
        helps(&crate::args::Cli::command(), &mut all);
        let known: std::collections::BTreeSet<_> =
            HELP.iter().map(|(english, _)| (*english).to_owned()).collect();
        assert_eq!(all, known);
    }

    #[test]
    fn definitions_are_sound_in_both_languages() {
        crate::args::Cli::command().debug_assert();
        translate(crate::args::Cli::command(), Lang::Zh).debug_assert();
    }
}

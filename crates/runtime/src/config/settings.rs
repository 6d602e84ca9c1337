//! The one table of settings: key, type, default, environment variable, meaning. A new setting is a new row.

use super::kind::{Kind, Value};

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Dotted: `catalog.budget_bytes` is `budget_bytes` in `[catalog]`.
    pub key: &'static str,
    pub kind: Kind,
    pub default: Default,
    pub env: &'static str,
    pub doc_en: &'static str,
    pub doc_zh: &'static str,
}

/// What holds when nobody says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    Unset,
    Text(&'static str),
    Integer(i64),
    NoDirectories,
    Boolean(bool),
    NoRules,
}

/// All settings, in the order they are listed.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "lang",
        kind: Kind::Choice(&["auto", "en", "zh"]),
        default: Default::Text("auto"),
        env: "FUGATO_LANG",
        doc_en: "language of messages; `auto` follows the locale",
        doc_zh: "界面语言；`auto` 跟随系统区域设置",
    },
    Setting {
        key: "color",
        kind: Kind::Choice(&["auto", "always", "never"]),
        default: Default::Text("auto"),
        env: "FUGATO_COLOR",
        doc_en: "colour on the terminal; `auto` means only on a terminal and without `NO_COLOR`",
        doc_zh: "终端颜色；`auto` 表示仅在终端中且未设置 `NO_COLOR` 时启用",
    },
    Setting {
        key: "catalog.budget_bytes",
        kind: Kind::Integer { min: 256, max: 4 * 1024 * 1024 },
        default: Default::Integer(24 * 1024),
        env: "FUGATO_CATALOG_BUDGET_BYTES",
        doc_en: "largest catalog of skills put into a prompt, in bytes",
        doc_zh: "写入提示词的技能目录的最大字节数",
    },
    Setting {
        key: "skills.extra",
        kind: Kind::Directories,
        default: Default::NoDirectories,
        env: "FUGATO_SKILLS_EXTRA",
        doc_en: "further directories with skills, as global roots; a later one wins",
        doc_zh: "额外的技能目录，作为全局根目录；靠后的优先",
    },
    Setting {
        key: "skills.preset",
        kind: Kind::Text,
        default: Default::Unset,
        env: "FUGATO_SKILLS_PRESET",
        doc_en: "the active preset scope",
        doc_zh: "当前启用的预设作用域",
    },
    Setting {
        key: "skills.character",
        kind: Kind::Text,
        default: Default::Unset,
        env: "FUGATO_SKILLS_CHARACTER",
        doc_en: "the active character scope",
        doc_zh: "当前启用的角色作用域",
    },
    Setting {
        key: "sandbox.backend",
        kind: Kind::Choice(&["auto", "landlock", "bubblewrap", "none"]),
        default: Default::Text("auto"),
        env: "FUGATO_SANDBOX_BACKEND",
        doc_en: "what closes in commands and scripts; `auto`: Landlock, else bubblewrap, else they are refused; `none`: nothing does",
        doc_zh: "用什么隔离命令和脚本；`auto`：Landlock，否则 bubblewrap，再否则拒绝运行；`none`：不隔离",
    },
    Setting {
        key: "sandbox.network",
        kind: Kind::Boolean,
        default: Default::Boolean(false),
        env: "FUGATO_SANDBOX_NETWORK",
        doc_en: "whether commands and scripts may use the network",
        doc_zh: "命令和脚本是否可以使用网络",
    },
    Setting {
        key: "sandbox.local_sockets",
        kind: Kind::Boolean,
        default: Default::Boolean(false),
        env: "FUGATO_SANDBOX_LOCAL_SOCKETS",
        doc_en: "whether they may talk to other programs of this machine through sockets (containers, the desktop, key agents)",
        doc_zh: "是否可以通过套接字与本机其他程序通信（容器、桌面、密钥代理）",
    },
    Setting {
        key: "sandbox.writable",
        kind: Kind::Directories,
        default: Default::NoDirectories,
        env: "FUGATO_SANDBOX_WRITABLE",
        doc_en: "directories they may also write, besides the project and the scratch directory",
        doc_zh: "除项目和临时目录外还可写入的目录",
    },
    Setting {
        key: "sandbox.readable",
        kind: Kind::Directories,
        default: Default::NoDirectories,
        env: "FUGATO_SANDBOX_READABLE",
        doc_en: "places they may read although secrets are usually kept there",
        doc_zh: "通常存放机密但允许读取的位置",
    },
    Setting {
        key: "sandbox.processes",
        kind: Kind::Integer { min: 8, max: 1_000_000 },
        default: Default::Integer(1024),
        env: "FUGATO_SANDBOX_PROCESSES",
        doc_en: "processes of one command at once; more end it",
        doc_zh: "一条命令同时运行的进程数；超过即终止",
    },
    Setting {
        key: "sandbox.memory_mb",
        kind: Kind::Integer { min: 64, max: 16_000_000 },
        default: Default::Unset,
        env: "FUGATO_SANDBOX_MEMORY_MB",
        doc_en: "memory of one command and everything it starts, in MiB; half of the machine's unless set",
        doc_zh: "一条命令及其启动的全部进程的内存（MiB）；默认为本机内存的一半",
    },
    Setting {
        key: "sandbox.file_mb",
        kind: Kind::Integer { min: 1, max: 100_000_000 },
        default: Default::Integer(16 * 1024),
        env: "FUGATO_SANDBOX_FILE_MB",
        doc_en: "largest file a command may write, in MiB",
        doc_zh: "命令可写入的最大文件（MiB）",
    },
    Setting {
        key: "permissions.mode",
        kind: Kind::Choice(&["default", "accept-edits", "ask", "dont-ask", "read-only"]),
        default: Default::Text("default"),
        env: "FUGATO_PERMISSIONS_MODE",
        doc_en: "calls of tools that no rule names: happen, ask except for reading and editing, ask except for reading, are refused except for reading, only reading at all",
        doc_zh: "未被规则提及的工具调用：直接执行；读取和编辑之外需询问；读取之外需询问；读取之外拒绝；只允许读取",
    },
    Setting {
        key: "permissions.allow",
        kind: Kind::Rules,
        default: Default::NoRules,
        env: "FUGATO_PERMISSIONS_ALLOW",
        doc_en: "calls that happen without asking, such as `Bash(git status:*)`; the rules of all layers count",
        doc_zh: "无需询问即可执行的调用，如 `Bash(git status:*)`；各层规则都有效",
    },
    Setting {
        key: "permissions.ask",
        kind: Kind::Rules,
        default: Default::NoRules,
        env: "FUGATO_PERMISSIONS_ASK",
        doc_en: "calls you are asked about first; the rules of all layers count, and win over `allow`",
        doc_zh: "执行前需询问的调用；各层规则都有效，优先于 `allow`",
    },
    Setting {
        key: "permissions.deny",
        kind: Kind::Rules,
        default: Default::NoRules,
        env: "FUGATO_PERMISSIONS_DENY",
        doc_en: "calls that are refused; the rules of all layers count, and win over `ask` and `allow`",
        doc_zh: "被拒绝的调用；各层规则都有效，优先于 `ask` 和 `allow`",
    },
    Setting {
        key: "ui.ambiguous_width",
        kind: Kind::Integer { min: 1, max: 2 },
        default: Default::Integer(1),
        env: "FUGATO_UI_AMBIGUOUS_WIDTH",
        doc_en: "cells of characters of ambiguous width: 2 on terminals set up for East Asian text",
        doc_zh: "宽度不定的字符所占的列数：按东亚文字设置的终端为 2",
    },
    Setting {
        key: "model",
        kind: Kind::Model,
        default: Default::Unset,
        env: "FUGATO_MODEL",
        doc_en: "the model of runs that name none; else the first provider with a key, else a local server",
        doc_zh: "未指定模型时使用的模型；否则为第一个有密钥的提供方，再否则为本地服务",
    },
    Setting {
        key: "calls.connect_seconds",
        kind: Kind::Integer { min: 1, max: 600 },
        default: Default::Integer(15),
        env: "FUGATO_CALLS_CONNECT_SECONDS",
        doc_en: "how long a connection to a provider may take",
        doc_zh: "连接提供方的最长时间（秒）",
    },
    Setting {
        key: "calls.first_byte_seconds",
        kind: Kind::Integer { min: 1, max: 3600 },
        default: Default::Integer(60),
        env: "FUGATO_CALLS_FIRST_BYTE_SECONDS",
        doc_en: "how long a provider may take until its answer begins",
        doc_zh: "等待回答开始的最长时间（秒）",
    },
    Setting {
        key: "calls.idle_seconds",
        kind: Kind::Integer { min: 1, max: 3600 },
        default: Default::Integer(120),
        env: "FUGATO_CALLS_IDLE_SECONDS",
        doc_en: "how long an answer may pause between two pieces",
        doc_zh: "回答两部分之间的最长间隔（秒）",
    },
    Setting {
        key: "calls.total_seconds",
        kind: Kind::Integer { min: 1, max: 86400 },
        default: Default::Integer(3600),
        env: "FUGATO_CALLS_TOTAL_SECONDS",
        doc_en: "how long one model call may take in all",
        doc_zh: "一次模型调用的最长总时间（秒）",
    },
    Setting {
        key: "calls.attempts",
        kind: Kind::Integer { min: 1, max: 20 },
        default: Default::Integer(6),
        env: "FUGATO_CALLS_ATTEMPTS",
        doc_en: "requests per model call before it fails, the first included",
        doc_zh: "一次模型调用失败前的请求次数，含第一次",
    },
    Setting {
        key: "calls.at_once",
        kind: Kind::Integer { min: 1, max: 10_000 },
        default: Default::Unset,
        env: "FUGATO_CALLS_AT_ONCE",
        doc_en: "requests under way at once to one provider; unlimited unless set",
        doc_zh: "同时向一个提供方发出的请求数；不设置则不限",
    },
    Setting {
        key: "agents.memory_seconds",
        kind: Kind::Integer { min: 1, max: 31_536_000 },
        default: Default::Integer(300),
        env: "FUGATO_AGENTS_MEMORY_SECONDS",
        doc_en: "how long a subagent that ended stays in memory; a later message brings it back from the log",
        doc_zh: "已结束的子代理在内存中保留的时间（秒）；之后的消息会从日志中恢复它",
    },
    Setting {
        key: "orchestration.loop_steps",
        kind: Kind::Integer { min: 1, max: 1000 },
        default: Default::Integer(20),
        env: "FUGATO_ORCHESTRATION_LOOP_STEPS",
        doc_en: "model calls of an orchestrator's loop session between two answers of yours",
        doc_zh: "编排器的 loop 会话在您两次回答之间的模型调用次数",
    },
    Setting {
        key: "orchestration.sop_commands",
        kind: Kind::Integer { min: 1, max: 1_000_000 },
        default: Default::Integer(100),
        env: "FUGATO_ORCHESTRATION_SOP_COMMANDS",
        doc_en: "commands that a SOP program may start; then it halts",
        doc_zh: "一个 SOP 程序可执行的命令数；达到后停止",
    },
    Setting {
        key: "orchestration.sop_prompt_chars",
        kind: Kind::Integer { min: 1, max: 4_000_000_000 },
        default: Default::Integer(1_000_000),
        env: "FUGATO_ORCHESTRATION_SOP_PROMPT_CHARS",
        doc_en: "characters of all prompts of a SOP program together; then it halts",
        doc_zh: "一个 SOP 程序全部提示词的总字符数；达到后停止",
    },
    Setting {
        key: "orchestration.sop_failures",
        kind: Kind::Integer { min: 1, max: 1_000_000 },
        default: Default::Integer(10),
        env: "FUGATO_ORCHESTRATION_SOP_FAILURES",
        doc_en: "failures of one command of a SOP program; then it halts",
        doc_zh: "SOP 程序中同一命令失败的次数；达到后停止",
    },
    Setting {
        key: "orchestration.plans",
        kind: Kind::Integer { min: 1, max: 20 },
        default: Default::Integer(3),
        env: "FUGATO_ORCHESTRATION_PLANS",
        doc_en: "plans a model may write for one request to a SOP session, the first included",
        doc_zh: "模型为一次 SOP 请求最多可写的计划数，含第一份",
    },
    Setting {
        key: "orchestration.open_lists",
        kind: Kind::Boolean,
        default: Default::Boolean(true),
        env: "FUGATO_ORCHESTRATION_OPEN_LISTS",
        doc_en: "whether an orchestrator without a list of allowed skills may call all of them, or does not run; yours only",
        doc_zh: "没有允许列表的编排器可调用全部技能（true）还是不能运行（false）；仅限您自己的设置",
    },
    Setting {
        key: "web.allow",
        kind: Kind::Hosts,
        default: Default::Unset,
        env: "FUGATO_WEB_ALLOW",
        doc_en: "hosts that WebFetch and the browser may reach though they are not on the public internet; yours only",
        doc_zh: "WebFetch 和浏览器可访问的非公网主机；仅限您自己的设置",
    },
    Setting {
        key: "search.provider",
        kind: Kind::Choice(&["brave", "tavily", "searxng"]),
        default: Default::Unset,
        env: "FUGATO_SEARCH_PROVIDER",
        doc_en: "who WebSearch asks; else whoever has a key in the environment, or `search.url`; yours only",
        doc_zh: "WebSearch 使用的搜索服务；未设置时取环境中有密钥者或 `search.url`；仅限您自己的设置",
    },
    Setting {
        key: "search.url",
        kind: Kind::Url,
        default: Default::Unset,
        env: "FUGATO_SEARCH_URL",
        doc_en: "address of a SearXNG, or of another server that speaks like the provider; yours only",
        doc_zh: "SearXNG 的地址，或与所选服务接口相同的其他服务地址；仅限您自己的设置",
    },
    Setting {
        key: "search.key_env",
        kind: Kind::Variable,
        default: Default::Unset,
        env: "FUGATO_SEARCH_KEY_ENV",
        doc_en: "the environment variable that holds the key of the search provider; yours only",
        doc_zh: "存放搜索服务密钥的环境变量；仅限您自己的设置",
    },
    Setting {
        key: "search.key_command",
        kind: Kind::Text,
        default: Default::Unset,
        env: "FUGATO_SEARCH_KEY_COMMAND",
        doc_en: "a shell command that prints the key of the search provider; yours only",
        doc_zh: "输出搜索服务密钥的 shell 命令；仅限您自己的设置",
    },
    Setting {
        key: "browser.program",
        kind: Kind::Text,
        default: Default::Unset,
        env: "FUGATO_BROWSER_PROGRAM",
        doc_en: "the Chromium for browser-* tools, a name or a path; else it is looked for in the usual places; yours only",
        doc_zh: "browser-* 工具使用的 Chromium，名称或路径；未设置时在常见位置查找；仅限您自己的设置",
    },
    Setting {
        key: "hook.wait_ms",
        kind: Kind::Integer { min: 0, max: crate::outside::LONGEST_WAIT_MS },
        default: Default::Integer(crate::outside::WAIT_MS),
        env: "FUGATO_HOOK_WAIT_MS",
        doc_en: "how long a paused agent outside waits inside its hook before its call is denied; below its program's own limit",
        doc_zh: "被暂停的外部代理在钩子中等待多久后其调用会被阻止，单位毫秒；应小于其程序自身的时限",
    },
    Setting {
        key: "ui.mouse",
        kind: Kind::Boolean,
        default: Default::Boolean(true),
        env: "FUGATO_UI_MOUSE",
        doc_en: "whether clicks and the wheel are for `fugato watch`; else they are the terminal's own, for selecting text",
        doc_zh: "`fugato watch` 是否接管鼠标点击和滚轮；否则由终端自己处理，便于选择文字",
    },
];

/// Settings that only the person's own file, environment and flags may give: a project comes with a clone.
const PERSONAL: &[&str] = &["sandbox.", "web.", "search.", "browser.", "orchestration.open_lists"];

impl Setting {
    /// Whether a file that comes with a project may say it: not what would give commands more than the person gave, nor
    /// where agents may go.
    pub fn is_for_projects(&self) -> bool {
        !PERSONAL.iter().any(|group| self.key.starts_with(group)) && self.key != "permissions.allow"
    }

    pub fn find(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    pub(super) fn default_value(&self) -> Value {
        match self.default {
            Default::Unset => Value::Unset,
            Default::Text(text) => Value::Text(text.to_owned()),
            Default::Integer(number) => Value::Integer(number),
            Default::NoDirectories => Value::Directories(Vec::new()),
            Default::Boolean(is) => Value::Boolean(is),
            Default::NoRules => Value::Rules(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_sound() {
        for setting in SETTINGS {
            let env = format!("FUGATO_{}", setting.key.replace('.', "_").to_uppercase());
            assert_eq!(setting.env, env);
            assert!(!setting.doc_en.is_empty() && !setting.doc_zh.is_empty());
            assert_eq!(SETTINGS.iter().filter(|other| other.key == setting.key).count(), 1);
            if setting.default != Default::Unset {
                assert!(setting.kind.accept(setting.default_value()).is_some(), "{}", setting.key);
            }
            // A key is either a table or a value, never both.
            assert!(!SETTINGS.iter().any(|other| other.key.starts_with(&format!("{}.", setting.key))));
        }
    }
}

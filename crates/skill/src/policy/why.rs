//! Why a skill is visible to an agent or not, as a value and as a sentence.

use fugato_model::{Code, SkillName, Words, words};
use serde::Serialize;

/// The two places a policy is written at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Mode,
    Agent,
}

impl Level {
    fn words(self) -> Words {
        match self {
            Self::Mode => words!("the mode", "模式"),
            Self::Agent => words!("the agent", "代理"),
        }
    }
}

/// Which element of a deny list denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The name itself, at this index.
    Name(usize),
    /// `"*"`, at this index.
    Star(usize),
}

/// The reason for one name. Indexes are positions in the array as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
pub enum Why {
    GrantedByMode {
        index: usize,
    },
    GrantedByAgent {
        index: usize,
    },
    /// Without an index, the mode has no skills block at all, which means `["*"]`.
    GrantedByStar {
        level: Level,
        index: Option<usize>,
    },
    DeniedByMode {
        by: By,
    },
    DeniedByAgent {
        by: By,
    },
    /// Installed, but no list that applies names it. `replaced`: the mode's list does, and the agent's own list
    /// replaces the mode's (rule 3).
    NotListed {
        replaced: Option<usize>,
    },
    /// `listed`: where a list that applies names it.
    NotInstalled {
        listed: Option<(Level, usize)>,
    },
    /// Installed, but it could not be loaded.
    Broken {
        listed: Option<(Level, usize)>,
        code: Option<Code>,
    },
    /// Internal or hidden from models: `*` does not include it.
    Unlisted,
    /// Orchestrators list it by name, and so `*` leaves it to them.
    Owned {
        by: Vec<SkillName>,
    },
    /// `"none"": true` or `["-"]`: this agent has no skills.
    Nothing,
    /// The policy has an error; nothing is given out until it is repaired. `None`: the error concerns the whole file.
    Closed {
        level: Option<Level>,
    },
}

impl Why {
    pub const fn is_visible(&self) -> bool {
        matches!(self, Self::GrantedByMode { .. } | Self::GrantedByAgent { .. } | Self::GrantedByStar { .. })
    }

    /// The sentence for a person.
    pub fn words(&self) -> Words {
        match self {
            Self::GrantedByMode { index } => {
                words!("granted by the mode: visible/{index}", "由模式授予：visible/{index}")
            }
            Self::GrantedByAgent { index } => {
                words!("granted by the agent: visible/{index}", "由代理授予：visible/{index}")
            }
            Self::GrantedByStar { level, index: Some(index) } => {
                let level = level.words();
                Words {
                    en: format!("granted by `*` of {}: visible/{index}", level.en),
                    zh: format!("由{}的 `*` 授予：visible/{index}", level.zh),
                }
            }
            Self::GrantedByStar { index: None, .. } => words!(
                "granted because the mode has no skills block, which means every installed skill",
                "模式没有 skills 块，即全部已安装的技能可见"
            ),
            Self::DeniedByMode { by } => denied(Level::Mode, *by),
            Self::DeniedByAgent { by } => denied(Level::Agent, *by),
            Self::NotListed { replaced: None } => {
                words!("installed, but no list that applies names it", "已安装，但没有生效的列表包含它")
            }
            Self::NotListed { replaced: Some(index) } => words!(
                "the mode lists it (visible/{index}), but the agent's own list replaces the mode's",
                "模式列出了它（visible/{index}），但代理自己的列表取代了模式列表"
            ),
            Self::NotInstalled { listed: None } => words!("not installed", "未安装"),
            Self::NotInstalled { listed: Some((level, index)) } => {
                let level = level.words();
                Words {
                    en: format!("listed by {} (visible/{index}), but not installed", level.en),
                    zh: format!("{}列出了它（visible/{index}），但未安装", level.zh),
                }
            }
            Self::Broken { code: Some(code), .. } => {
                words!("installed, but it could not be loaded ({code})", "已安装，但无法加载（{code}）")
            }
            Self::Broken { code: None, .. } => {
                words!("installed, but it could not be loaded", "已安装，但无法加载")
            }
            Self::Unlisted => words!(
                "internal or hidden from models: `*` does not include it, only its name would",
                "内部技能或对模型隐藏：`*` 不包含它，只有写出名称才可见"
            ),
            Self::Owned { by } => {
                let by = by.iter().map(SkillName::as_str).collect::<Vec<_>>().join(", ");
                words!(
                    "owned by {by}, which calls it: `*` does not include it, only its name would",
                    "归 {by} 所有并由其调用：`*` 不包含它，只有写出名称才可见"
                )
            }
            Self::Nothing => words!(
                "the agent is given no skills (`none` or `-`)",
                "该代理不使用任何技能（`none` 或 `-`）"
            ),
            Self::Closed { level: Some(level) } => {
                let level = level.words();
                Words {
                    en: format!(
                        "the skills block of {} has an error: nothing is visible until it is repaired",
                        level.en
                    ),
                    zh: format!("{}的 skills 块有错误：修复之前什么都不可见", level.zh),
                }
            }
            Self::Closed { level: None } => words!(
                "the profile has an error: nothing is visible until it is repaired",
                "配置有错误：修复之前什么都不可见"
            ),
        }
    }
}

fn denied(level: Level, by: By) -> Words {
    let level = level.words();
    match by {
        By::Name(index) => Words {
            en: format!("denied by {}: deny/{index}", level.en),
            zh: format!("被{}禁止：deny/{index}", level.zh),
        },
        By::Star(index) => Words {
            en: format!("denied by `*` of {}: deny/{index}", level.en),
            zh: format!("被{}的 `*` 禁止：deny/{index}", level.zh),
        },
    }
}

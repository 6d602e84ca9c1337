//! How a row of the board stands, in one word. Which of them a row has is the roster's business.

use fugato_model::Lang;

/// How one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Pending,
    Queued,
    Running,
    Thinking,
    Acting,
    WaitsForAgents,
    Paused,
    WaitsForYou,
    Uncertain,
    Done,
    Concerns,
    Blocked,
    NeedsContext,
    Reused,
    FailedOptional,
    Failed,
    LimitReached,
    Cancelled,
    Interrupted,
    Skipped,
}

impl State {
    pub fn is_over(self) -> bool {
        matches!(
            self,
            Self::Done
                | Self::Concerns
                | Self::Blocked
                | Self::NeedsContext
                | Self::Reused
                | Self::FailedOptional
                | Self::Failed
                | Self::LimitReached
                | Self::Cancelled
                | Self::Skipped
        )
    }

    pub fn is_at_work(self) -> bool {
        matches!(self, Self::Running | Self::Thinking | Self::Acting | Self::WaitsForAgents)
    }

    pub fn word(self, lang: Lang) -> &'static str {
        let (english, chinese) = match self {
            Self::Pending => ("pending", "未开始"),
            Self::Queued => ("queued", "排队中"),
            Self::Running => ("running", "执行中"),
            Self::Thinking => ("thinking", "思考中"),
            Self::Acting => ("tool", "工具"),
            Self::WaitsForAgents => ("waits: agents", "等子代理"),
            Self::Paused => ("paused", "已暂停"),
            Self::WaitsForYou => ("waits for you", "等您回答"),
            Self::Uncertain => ("uncertain", "不确定"),
            Self::Done => ("done", "已完成"),
            Self::Concerns => ("done, concerns", "完成，有疑虑"),
            Self::Blocked => ("blocked", "受阻"),
            Self::NeedsContext => ("needs context", "需要更多信息"),
            Self::Reused => ("reused", "沿用"),
            Self::FailedOptional => ("failed, optional", "失败（可选）"),
            Self::Failed => ("failed", "失败"),
            Self::LimitReached => ("limit reached", "达到上限"),
            Self::Cancelled => ("cancelled", "已取消"),
            Self::Interrupted => ("interrupted", "已中断"),
            Self::Skipped => ("skipped", "已跳过"),
        };
        if lang == Lang::En { english } else { chinese }
    }
}

//! The words for how runs and agents stand. Words of other programs are kept as they are.

use std::fmt;

macro_rules! words_of {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($variant,)*
            /// A word of another program, or of a later version.
            Other(String),
        }

        impl $name {
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words_of! {
    /// `run.json`: how a run stands.
    RunWord {
        Running = "running",
        Paused = "paused",
        Complete = "complete",
        Failed = "failed",
        Aborted = "aborted",
        Interrupted = "interrupted",
    }
}

words_of! {
    /// `run.json`, `status.json`: how an agent stands.
    AgentWord {
        Pending = "pending",
        Running = "running",
        Paused = "paused",
        AwaitingInput = "awaiting_input",
        Done = "done",
        DoneWithConcerns = "done_with_concerns",
        Blocked = "blocked",
        NeedsContext = "needs_context",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

words_of! {
    /// `control.json`: what a directive asks for.
    Action {
        Pause = "pause",
        Resume = "resume",
        Cancel = "cancel",
        Redirect = "redirect",
    }
}

words_of! {
    /// `inbox.jsonl`, `outbox.jsonl`: what a message is.
    MessageType {
        Handoff = "handoff",
        Question = "question",
        Blocked = "blocked",
        Result = "result",
        Redirect = "redirect",
    }
}

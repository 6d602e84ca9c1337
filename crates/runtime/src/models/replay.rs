//! `replay:<run>`: the answers of a recorded run, given by whoever holds the records.

use super::About;
use super::error::ModelError;
use fugato_model::chat::{Answer, ModelFault};
use fugato_model::{Code, Words, words};

/// How a recorded call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Past {
    Answered(Answer),
    Failed { fault: ModelFault, message: String },
}

/// The answers of recorded runs.
pub trait Recorded: Send + Sync {
    /// What the model answered in `run` to this agent at this step; `None` when the record has no such answer.
    fn past(&self, run: &str, about: &About<'_>) -> Result<Option<Past>, Words>;
}

impl<F> Recorded for F
where
    F: Fn(&str, &About<'_>) -> Result<Option<Past>, Words> + Send + Sync,
{
    fn past(&self, run: &str, about: &About<'_>) -> Result<Option<Past>, Words> {
        self(run, about)
    }
}

pub(super) fn answer(
    recorded: Option<&dyn Recorded>,
    run: &str,
    about: &About<'_>,
) -> Result<Answer, ModelError> {
    let missing = |words| ModelError::new(ModelFault::Rejected, words).code(Code::F0611);
    let Some(recorded) = recorded else {
        return Err(missing(words!("recorded runs are not available here", "此处无法使用已记录的运行")));
    };
    let (agent, step) = (about.agent, about.step);
    match recorded.past(run, about).map_err(missing)? {
        Some(Past::Answered(answer)) => Ok(answer),
        Some(Past::Failed { fault, message }) => {
            Err(ModelError::new(fault, words!("{message}", "{message}")))
        }
        None => Err(missing(words!(
            "run `{run}` has no recorded answer for agent `{agent}` at step {step}",
            "运行 `{run}` 中没有智能体 `{agent}` 在第 {step} 步的答案记录"
        ))),
    }
}

//! Why there is no chart. Sentences for models: what was found, and what to do instead.

/// What is wrong with the data or the wish.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    #[error("there is no column `{name}`{hint}; the columns are {columns}")]
    NoColumn { name: String, hint: String, columns: String },
    #[error("{0}")]
    Data(String),
    #[error("line {line}: {problem}")]
    Csv { line: u64, problem: String },
    #[error("the column `{column}` has no numbers{example}")]
    NoNumbers { column: String, example: String },
    #[error("there are no rows to draw")]
    Empty,
    #[error("{0}")]
    Wish(String),
}

//! Why a canvas could not be read or changed. Sentences for models: what was found, and what to do instead.

/// What is wrong with a file or a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanvasError {
    #[error("line {line}, column {column}: this is not JSON: {problem}")]
    Syntax { line: usize, column: usize, problem: String },
    #[error("line {line}: `{at}`: {problem}")]
    Field { line: usize, at: String, problem: String },
    #[error("there is no node `{id}`{hint}")]
    NoNode { id: String, hint: String },
    #[error("there is no node and no edge `{id}`{hint}")]
    NoItem { id: String, hint: String },
    #[error("the id `{0}` is taken; give another, or leave it out and one is made")]
    Taken(String),
    #[error("`{field}` of {of}: {problem}")]
    Value { of: String, field: String, problem: String },
    #[error("{0}")]
    Refused(String),
    #[error("line {line}: {problem}")]
    Text { line: usize, problem: String },
}

//! Error of PTX text.

/// Reason why a PTX text cannot be run exactly.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("PTX line {line}: {problem}")]
pub struct ParseError {
    /// Line of the text, from 1.
    pub line: u32,
    /// Word or construct that is wrong there, and how.
    pub problem: String,
}

impl ParseError {
    pub(crate) fn new(line: u32, problem: impl Into<String>) -> Self {
        Self { line, problem: problem.into() }
    }

    pub(crate) fn expected(line: u32, expected: &str, found: &str) -> Self {
        Self::new(line, format!("expected {expected}, found `{found}`"))
    }

    pub(crate) fn undeclared(line: u32, name: &str) -> Self {
        Self::new(line, format!("`{name}` is not declared"))
    }

    pub(crate) fn twice(line: u32, name: &str) -> Self {
        Self::new(line, format!("`{name}` is there already"))
    }

    pub(crate) fn directive(line: u32, name: &str) -> Self {
        Self::new(line, format!("directive `{name}` is not supported"))
    }
}

//! What only the crates together can show.
#![forbid(unsafe_code)]

pub mod fuzz;
pub mod replay;

/// The front page's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct FrontPage;

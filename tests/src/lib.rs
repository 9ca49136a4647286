//! What only the crates together can show.
#![forbid(unsafe_code)]

pub mod replay;

//! Eighteen failures that users of mixed-precision training reported, each tried on burn. A module holds those of a kind.

#[path = "../common/mod.rs"]
mod common;

mod masters;
mod regions;
mod resume;
mod sets;
mod skips;
mod sums;
mod training;

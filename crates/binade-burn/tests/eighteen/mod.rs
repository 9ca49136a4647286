//! Failures that users of mixed-precision training reported, as far as burn's own code could show them. The kit and `binade-grad-scaler` test the
//! others.

mod masters;
mod resume;
mod skips;
mod sums;
mod training;

//! Failures that users of mixed-precision training reported, tried on burn where its own code could show them. The kit and
//! `binade-grad-scaler` have the others.

mod masters;
mod resume;
mod skips;
mod sums;
mod training;

//! Tests of what only the crates together show, in one program, which is linked once.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which end with the test")]

mod checkpoint_names;
mod common;
mod contracts;
mod fuzz_corpus;
mod golden;
mod golden_attention;
mod golden_autocast;
mod golden_clip;
mod golden_gradient_penalty;
mod golden_jmp;
mod golden_muon;
mod golden_scalers;
mod golden_semantics;
mod guides;
mod kit;
mod messages;
mod mistakes;
mod replay_command;

//! Random bytes as a checkpoint.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| binade_tests::fuzz::run("checkpoint", bytes));

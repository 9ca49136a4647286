//! Random bytes as a state.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| binade_tests::fuzz::run("state", bytes));

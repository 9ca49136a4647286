//! Random bytes as a policy.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| binade_tests::fuzz::run("policy", bytes));

//! Random bytes as a shape.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| binade_tests::fuzz::run("shape", bytes));

//! Random bytes as a report.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| binade_tests::fuzz::run("report", bytes));

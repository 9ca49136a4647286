//! Whole training runs on the CUDA backend, on the interpreter, held to the CPU's.

use crate::{
    Result,
    ci::{outcome::Outcome, tally},
    device, ptx,
};

/// The tests that compare the two.
const TESTS: [&str; 4] = ["--package", "binade-example-digits", "--test", "cuda"];

pub(super) fn run() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    tally::run(&device::on_interpreter(&ptx::driver()?, &TESTS.map(String::from)))
}

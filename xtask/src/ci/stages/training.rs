//! Whole training runs on the CUDA backend, on the interpreter, held to the CPU's.

use crate::{
    Result,
    binaries::{Binaries, Kind},
    ci::{outcome::Outcome, tally},
    device, ptx,
};

pub(super) fn run() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    let binaries = Binaries::built()?;
    let driver = ptx::driver(binaries.interpreter()?)?;
    tally::run(&device::with(&driver, binaries.call("digits", Kind::Tests, "cuda")?))
}

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
    let call = Binaries::built()?.call("digits", Kind::Tests, "cuda")?;
    tally::run(&device::with(&ptx::driver()?, call))
}

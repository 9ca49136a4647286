//! Every benchmark once, at tiny sizes, on the interpreter: that it works, not how fast.

use crate::{
    Result,
    binaries::{Binaries, Kind},
    ci::{outcome::Outcome, stages::plain},
    device, ptx,
};

pub(super) fn run() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    let binaries = Binaries::built()?;
    let driver = ptx::driver(binaries.interpreter()?)?;
    let call = binaries.call("binade-bench", Kind::Program, "speed")?;
    plain(&device::with(&driver, call.args(["--dry-run"])))
}

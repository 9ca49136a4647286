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
    let call = Binaries::built()?.call("binade-bench", Kind::Program, "speed")?;
    plain(&device::with(&ptx::driver()?, call.args(["--dry-run"])))
}

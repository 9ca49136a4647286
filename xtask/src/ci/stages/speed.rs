//! Every benchmark once, at tiny sizes, on the interpreter: that it works, not how fast.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    device, ptx,
    shell::Cargo,
};

pub(super) fn run() -> Result<Outcome> {
    if !cfg!(target_os = "linux") {
        let reason = "the stand-in for the driver is found by Linux's loader alone";
        return Ok(Outcome::Skipped(reason.into()));
    }
    let libraries = device::before(&ptx::driver()?, "LD_LIBRARY_PATH", ':');
    let call = Cargo::line("run --quiet --package binade-bench --bin speed -- --dry-run");
    plain(&call.var("LD_LIBRARY_PATH", libraries))
}

//! Every benchmark once, at tiny sizes, on the interpreter: that it works, not how fast.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    device, ptx,
    shell::Call,
};

pub(super) fn run() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    let libraries = device::before(&ptx::driver()?, "LD_LIBRARY_PATH", ':');
    let call = Call::cargo("run --quiet --package binade-bench --bin speed -- --dry-run");
    plain(&call.var("LD_LIBRARY_PATH", libraries))
}

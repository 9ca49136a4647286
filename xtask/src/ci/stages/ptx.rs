//! The CUDA backend's tests on the interpreter, as a GPU of each compute capability that kernels are built for, and how
//! much of each kernel they ran together.

use crate::{
    Result,
    ci::{outcome::Outcome, tally},
    coverage, device, ptx,
};

/// What the interpreter says it is.
const CAPABILITIES: [&str; 2] = ["7.5", "8.0"];

/// Tests that multiply matrices, by parts of their names: once more with the library's stand-in, the kernels having been
/// tested without it.
const BY_LIBRARY: [&str; 5] =
    ["librar", "ops_linear", "ops_conv2d", "ops_products::products", "gaps_are"];

/// The device tests alone: the rest of the package's tests need no device and run with everyone else's.
pub(super) fn run() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    let folder = ptx::driver()?;
    let covered = CAPABILITIES.map(|capability| folder.join("coverage").join(capability));
    let mut told = Vec::new();
    for (capability, covered) in CAPABILITIES.into_iter().zip(&covered) {
        coverage::empty(covered)?;
        let call = device::on_interpreter(&folder, &["--tests".into()]);
        let call = call.var("BINADE_PTX_COVERAGE", covered.display().to_string());
        match tally::run(&call.var("BINADE_PTX_CC", capability))? {
            Outcome::Passed(tally) => told.push(format!("{capability}: {tally}")),
            other => return Ok(other),
        }
    }
    let folder = ptx::with_libraries()?;
    for (capability, filter) in CAPABILITIES.iter().flat_map(|it| BY_LIBRARY.map(|of| (*it, of))) {
        let words = ["--lib", "--test", "device", "--", filter].map(String::from);
        let words = [&["--package", "binade-cuda"].map(String::from)[..], &words].concat();
        let call = device::with_libraries(&folder, &words).var("BINADE_PTX_CC", capability);
        match tally::run(&call)? {
            Outcome::Passed(tally) => {
                told.push(format!("{capability} by library, {filter}: {tally}"));
            }
            other => return Ok(other),
        }
    }
    let table = coverage::merged(&covered)?;
    print!("{table}");
    table.verdict()?;
    Ok(Outcome::Passed(told.join("; ")))
}

//! The CUDA backend's tests on the interpreter, as a GPU of each compute capability that has kernels of its own, and how much of
//! each kernel they ran together.

use std::path::{Path, PathBuf};

use crate::{
    Result,
    binaries::{Binaries, Kind},
    ci::{outcome::Outcome, tally},
    coverage, device, ptx,
    shell::Call,
};

/// Tests that multiply matrices, by parts of their names. The kernels of products alone differ by compute capability, and they alone
/// have libraries' stand-ins.
const PRODUCTS: [&str; 6] =
    ["gemm", "librar", "ops_linear", "ops_conv2d", "ops_products", "convolutions"];

/// One run of the tests.
struct Run {
    capability: &'static str,
    by_library: bool,
    /// Parts of names; an empty one is every test's.
    filters: &'static [&'static str],
}

const RUNS: [Run; 4] = [
    Run { capability: "8.0", by_library: false, filters: &[""] },
    Run { capability: "7.5", by_library: false, filters: &PRODUCTS },
    Run { capability: "8.0", by_library: true, filters: &PRODUCTS },
    Run { capability: "7.5", by_library: true, filters: &["librar", "bf16_before"] },
];

/// The tests that need a device: the rest of the package's run with everyone else's.
const TESTS: [(Kind, &str); 3] =
    [(Kind::Units, "binade_cuda"), (Kind::Tests, "device"), (Kind::Tests, "lost")];

pub(super) fn run() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    let binaries = Binaries::built()?;
    let interpreter = binaries.interpreter()?;
    let folders = [ptx::driver(interpreter)?, ptx::with_libraries(interpreter)?];
    let covered = folders[0].join("coverage");
    coverage::empty(&covered)?;
    let mut told = Vec::new();
    for run in &RUNS {
        match run.all(&binaries, &folders, &covered)? {
            Outcome::Passed(tally) => told.push(format!("{}: {tally}", run.name())),
            other => return Ok(other),
        }
    }
    let table = coverage::merged(&[covered])?;
    print!("{table}");
    table.verdict()?;
    Ok(Outcome::Passed(told.join("; ")))
}

/// The tests of where tensors begin, with all lengths: the usual run has every third.
pub(crate) fn starts() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    let binaries = Binaries::built()?;
    let driver = ptx::driver(binaries.interpreter()?)?;
    let call = binaries.call("binade-cuda", Kind::Tests, "device")?.args(["starts::"]);
    tally::run(&device::with(&driver, call).var("BINADE_FULL", "1"))
}

impl Run {
    fn name(&self) -> String {
        let library = if self.by_library { " by library" } else { "" };
        format!("{}{library}", self.capability)
    }

    /// The tests of all binaries, added up: a filter need not be one of each.
    fn all(&self, binaries: &Binaries, folders: &[PathBuf; 2], covered: &Path) -> Result<Outcome> {
        let mut calls = Vec::new();
        for (kind, name) in TESTS {
            for filter in self.filters {
                let call = binaries.call("binade-cuda", kind, name)?.args([*filter]);
                calls.push(self.with(call, folders, covered));
            }
        }
        tally::sum(&self.name(), &calls)
    }

    fn with(&self, call: Call, [driver, libraries]: &[PathBuf; 2], covered: &Path) -> Call {
        let call = if self.by_library {
            device::with_libraries(libraries, call)
        } else {
            device::with(driver, call).var("BINADE_PTX_COVERAGE", covered.display().to_string())
        };
        call.var("BINADE_PTX_CC", self.capability)
    }
}

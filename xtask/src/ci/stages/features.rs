//! The CUDA backend and candle's `cuda` feature in one program, on a machine that need not have CUDA.
//!
//! cudarc is one crate to both, built with what either asks of it; a choice of ours that excludes one of candle's would keep
//! the two apart. Linking would want CUDA's libraries, since candle's list has `dynamic-linking`; a check does not link.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    shell::{Call, root},
};

/// The package's lock file is committed as the workspace's is, so that a stranger's release cannot turn this red.
pub(super) fn run() -> Result<Outcome> {
    plain(&check())?;
    if cfg!(unix) { candle() } else { Ok(Outcome::passed()) }
}

/// candle itself, and its adapter: candle's build script starts a compiler of kernels, for which a script stands in. What was checked
/// is then Rust alone, and no kernel.
fn candle() -> Result<Outcome> {
    let nvcc = root().join("tests/features/nvcc");
    let nvcc = nvcc.to_str().ok_or("the repository's path is no UTF-8")?;
    plain(&check().args(["--features", "candle"]).var("NVCC", nvcc).var("CUDA_COMPUTE_CAP", "80"))
}

fn check() -> Call {
    let check = "check --quiet --locked --manifest-path tests/features/Cargo.toml";
    Call::cargo(check).args(["--target-dir", "target/features"])
}

//! The script on this machine: the same parts, with the PTX interpreter in the driver's place.

use std::{path::Path, process::Command};

use crate::{Result, device::before, ptx};

/// What the interpreter can show: compute-sanitizer wants a GPU.
const PARTS: [&str; 3] = ["tests", "conformance", "bench"];

/// Runs each part, also after one failed; the error names those that did.
pub(super) fn run(bundle: &Path) -> Result<()> {
    let libraries = before(&ptx::folder(false)?, "LD_LIBRARY_PATH", ':');
    let mut failed = Vec::new();
    for part in PARTS {
        if !ends_well(bundle, part, &libraries)? {
            failed.push(part);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

fn ends_well(bundle: &Path, part: &str, libraries: &str) -> Result<bool> {
    let mut script = Command::new(bundle.join("run.sh"));
    script
        .arg(part)
        .env("LD_LIBRARY_PATH", libraries)
        .env("BINADE_DEVICE", "ptx")
        // As `cargo xtask test --device ptx` has it: replicas want two.
        .env("BINADE_PTX_DEVICES", "2")
        .env("BINADE_DRY_RUN", "1")
        .env("BINADE_SECONDS", "3000")
        .env("OUT", bundle.with_file_name("bundle-results"));
    Ok(script.status()?.success())
}

//! The script on this machine: the same parts, with the PTX interpreter in the driver's place.

use std::{path::Path, process::Command};

use crate::{Result, device::before, ptx};

/// What the interpreter can show: compute-sanitizer wants a GPU.
const PARTS: [&str; 3] = ["tests", "conformance", "bench"];

/// Runs each part, and ends badly if one did.
pub(super) fn run(bundle: &Path) -> Result<()> {
    let driver = ptx::driver()?;
    for part in PARTS {
        let mut script = Command::new(bundle.join("run.sh"));
        script
            .arg(part)
            .env("LD_LIBRARY_PATH", before(&driver, "LD_LIBRARY_PATH", ':'))
            .env("BINADE_DEVICE", "ptx")
            .env("BINADE_DRY_RUN", "1")
            .env("OUT", bundle.with_file_name("bundle-results"));
        let status = script.status()?;
        if !status.success() {
            return Err(format!("`run.sh {part}` ended with {status}").into());
        }
    }
    Ok(())
}

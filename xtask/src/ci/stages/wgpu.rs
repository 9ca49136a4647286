//! The wgpu backend's device tests on two drivers that run on the CPU: with `f16`, and without it and with subnormals flushed.

use crate::{
    Result,
    ci::{outcome::Outcome, tally},
    shell::Cargo,
    vulkan,
};

/// The device tests alone: the rest of the package's tests need no device and run with everyone else's.
const TESTS: &str = "test --package binade-wgpu --test device";

pub(super) fn run() -> Result<Outcome> {
    let drivers = match vulkan::drivers() {
        Ok(drivers) => drivers,
        Err(why) => return Ok(Outcome::Skipped(why.to_string())),
    };
    let mut told = Vec::new();
    for driver in drivers {
        let call = driver.on(Cargo::line(TESTS).var("BINADE_REQUIRE", "wgpu"));
        match tally::run(&call)? {
            Outcome::Passed(tally) => told.push(format!("{}: {tally}", driver.name)),
            other => return Ok(other),
        }
    }
    Ok(Outcome::Passed(told.join("; ")))
}

//! The wgpu backend on two drivers that run on the CPU, with `f16`, and without it and with subnormals flushed: its device tests,
//! and training as on the CPU.

use crate::{
    Result,
    ci::{outcome::Outcome, tally},
    shell::Cargo,
    vulkan,
};

/// What needs a device alone: the rest of the packages' tests run with everyone else's.
const TESTS: [&str; 2] = [
    "test --package binade-wgpu --test device",
    "test --package binade-example-digits --test wgpu",
];

pub(super) fn run() -> Result<Outcome> {
    let drivers = match vulkan::drivers() {
        Ok(drivers) => drivers,
        Err(why) => return Ok(Outcome::Skipped(why.to_string())),
    };
    let mut told = Vec::new();
    for (driver, tests) in drivers.iter().flat_map(|driver| TESTS.map(|tests| (driver, tests))) {
        let call = driver.on(Cargo::line(tests).var("BINADE_REQUIRE", "wgpu"));
        match tally::run(&call)? {
            Outcome::Passed(tally) => told.push(format!("{}: {tally}", driver.name)),
            other => return Ok(other),
        }
    }
    Ok(Outcome::Passed(told.join("; ")))
}

//! The wgpu backend on two drivers that run on the CPU, one of which flushes subnormals and has no `f16`: its device tests,
//! training as on the CPU, and the kit.

use std::thread;

use crate::{
    Result,
    binaries::{Binaries, Kind},
    ci::{outcome::Outcome, stages::conformance, tally},
    vulkan::{self, Driver},
};

/// What needs a device: the rest of the packages' tests run with everyone else's.
const TESTS: [(&str, &str); 2] = [("binade-wgpu", "device"), ("digits", "wgpu")];

/// The drivers side by side, since either leaves a core idle half of the time.
pub(super) fn run() -> Result<Outcome> {
    let drivers = match vulkan::drivers() {
        Ok(drivers) => drivers,
        Err(why) => return Ok(Outcome::Skipped(why.to_string())),
    };
    let binaries = Binaries::built()?;
    let outcomes = thread::scope(|scope| {
        let on =
            |driver| on(driver, &binaries).unwrap_or_else(|why| Outcome::Failed(why.to_string()));
        let runs = drivers.each_ref().map(|driver| scope.spawn(move || on(driver)));
        runs.map(|run| run.join().unwrap_or_else(|_| Outcome::Failed("it panicked".to_owned())))
    });
    let told = drivers.iter().zip(outcomes).map(|(driver, outcome)| (driver.name, outcome));
    Ok(joined(told))
}

/// Passed if both are; what was wrong with the first that is not.
fn joined<'a>(outcomes: impl Iterator<Item = (&'a str, Outcome)>) -> Outcome {
    let mut told = Vec::new();
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Passed(tally) => told.push(format!("{name}: {tally}")),
            Outcome::Failed(why) => return Outcome::Failed(format!("{name}: {why}")),
            skipped @ Outcome::Skipped(_) => return skipped,
        }
    }
    Outcome::Passed(told.join("; "))
}

/// The tests, then the kit.
fn on(driver: &Driver, binaries: &Binaries) -> Result<Outcome> {
    let mut calls = Vec::new();
    for (package, name) in TESTS {
        let call = binaries.call(package, Kind::Tests, name)?;
        calls.push(driver.on(call.var("BINADE_REQUIRE", "wgpu")));
    }
    let outcome = tally::sum(driver.name, &calls)?;
    let Outcome::Passed(tests) = outcome else { return Ok(outcome) };
    let report = conformance::report(driver.name, driver.on(conformance::call(binaries, "wgpu")?))?;
    let outcome = conformance::verdict(&report)?;
    let Outcome::Passed(kit) = outcome else { return Ok(outcome) };
    Ok(Outcome::Passed(format!("{tests}, kit {kit}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_driver_that_fails_fails_the_stage_by_name() {
        let passed = || Outcome::Passed("3".to_owned());
        let of = |outcome| joined([("a", passed()), ("b", outcome)].into_iter());
        assert_eq!(of(passed()), Outcome::Passed("a: 3; b: 3".to_owned()));
        assert_eq!(of(Outcome::Failed("1".to_owned())), Outcome::Failed("b: 1".to_owned()));
        assert_eq!(of(Outcome::Skipped("why".to_owned())), Outcome::Skipped("why".to_owned()));
    }
}

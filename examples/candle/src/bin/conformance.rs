//! Runs the conformance kit over candle's tensors and prints the report; ends badly where a contract is broken.

#[path = "../../../../crates/binade-candle/tests/common/mod.rs"]
mod common;

use binade_conformance::Runner;
use common::{CandleCpu, LACKING};
use std::process::ExitCode;

/// Takes `BINADE_CASE` and `BINADE_REQUIRE`, as the kit does everywhere.
fn main() -> ExitCode {
    let excuse = |runner: Runner, (part, reason): &(&str, &str)| runner.excuse(*part, *reason);
    let report = LACKING.iter().fold(Runner::from_env(), excuse).run(&CandleCpu);
    println!("{report}");
    if report.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

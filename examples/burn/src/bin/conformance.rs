//! The kit over burn's adapter, and its report: `cargo run -p binade-example-burn --bin conformance`.

use binade_conformance::Runner;
use binade_example_burn::{Flex, excused};
use std::process::ExitCode;

fn main() -> ExitCode {
    let report = excused(Runner::from_env()).run(&Flex::default());
    println!("{report}");
    if report.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

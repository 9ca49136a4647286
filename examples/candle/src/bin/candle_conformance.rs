//! The kit over candle's tensors, and its report: `cargo xtask conformance --device candle`.

#[path = "../../../../crates/binade-candle/tests/common/mod.rs"]
mod common;

use binade_conformance::Runner;
use binade_example_shared::kit;
use common::{CandleCpu, LACKING};
use std::io;
use std::process::ExitCode;

fn main() -> io::Result<ExitCode> {
    let excuse = |runner: Runner, (part, reason): &(&str, &str)| runner.excuse(*part, *reason);
    kit::main(|runner| LACKING.iter().fold(runner, excuse).run(&CandleCpu))
}

//! Runner of the kit over candle's tensors, with its report: `cargo run -p binade-example-candle --bin candle_conformance`.

#[path = "../../../../crates/binade-candle/tests/common/mod.rs"]
mod common;

use binade_example_shared::kit::{self, NoArguments};
use common::{CandleCpu, listed};
use std::process::ExitCode;

fn main() -> ExitCode {
    kit::main(|NoArguments {}, runner| Ok(listed(runner).run(&CandleCpu)))
}

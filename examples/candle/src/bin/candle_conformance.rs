//! Runner of the kit over candle's tensors, with its report: `cargo xtask conformance --device candle`.

#[path = "../../../../crates/binade-candle/tests/common/mod.rs"]
mod common;

use binade_example_shared::kit::{self, NoArguments};
use common::{CandleCpu, listed};
use std::process::ExitCode;

fn main() -> ExitCode {
    kit::main(|NoArguments {}, runner| Ok(listed(runner).run(&CandleCpu)))
}

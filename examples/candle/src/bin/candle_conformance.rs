//! Runner of the kit over candle's tensors, with its report: `cargo xtask conformance --device candle`.

#[path = "../../../../crates/binade-candle/tests/common/mod.rs"]
mod common;

use binade_example_shared::kit;
use common::{CandleCpu, listed};
use std::io;
use std::process::ExitCode;

fn main() -> io::Result<ExitCode> {
    kit::main(|runner| listed(runner).run(&CandleCpu))
}

//! Runner of the kit over burn's adapter, with its report: `cargo run -p binade-example-burn --bin burn_conformance`.

#[path = "../../../../crates/binade-burn/tests/common/flex.rs"]
mod flex;

use binade_example_shared::kit::{self, NoArguments};
use flex::{Flex, excused};
use std::process::ExitCode;

fn main() -> ExitCode {
    kit::main(|NoArguments {}, runner| Ok(excused(runner).run(&Flex::default())))
}
